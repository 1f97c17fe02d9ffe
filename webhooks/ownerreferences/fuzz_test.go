package ownerreferences

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// post sends a body to the guard as the API server does, and returns its answer.
func post(t *testing.T, handler http.Handler, body []byte) *httptest.ResponseRecorder {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, Path, bytes.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, request)
	return recorder
}

// webhook is the guard behind HTTP, with panics let through.
func webhook(access accessFunc) http.Handler {
	recoverPanic := false
	return &admission.Webhook{RecoverPanic: &recoverPanic, Handler: New(Options{
		Mode: Enforce, Namespaces: failing{}, Owners: newCluster(), Access: access,
	})}
}

// FuzzHandler: whatever arrives gets a proper review as answer, and messages of one
// line.
func FuzzHandler(f *testing.F) {
	for _, tc := range answers {
		request := tc.review.AdmissionRequest
		body, err := json.Marshal(admissionv1.AdmissionReview{
			TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"}, Request: &request,
		})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	for _, text := range malformed {
		f.Add([]byte(text))
	}
	handlers := []http.Handler{webhook(everything), webhook(nothing)}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, handler := range handlers {
			checkAnswer(t, post(t, handler, body))
		}
	})
}

func checkAnswer(t *testing.T, answer *httptest.ResponseRecorder) {
	t.Helper()
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(answer.Body.Bytes(), &review); err != nil || review.Response == nil {
		t.Fatalf("%d %s: %v", answer.Code, answer.Body, err)
	}
	for _, text := range append(review.Response.Warnings, messageOf(review.Response)) {
		// What could not be read is told in the words of the decoder.
		read := review.Response.Result == nil || review.Response.Result.Code != http.StatusBadRequest
		if read && strings.ContainsAny(text, "\n\r") {
			t.Errorf("several lines: %q", text)
		}
	}
}

func messageOf(response *admissionv1.AdmissionResponse) string {
	if response.Result == nil {
		return ""
	}
	return response.Result.Message
}

// malformed are bodies that are no review, or none of an object.
var malformed = []string{
	"", "null", "{", "[]", "7", `"review"`, "{}",
	`{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1"}`,
	`{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": null}`,
	`{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v9", "request": {"uid": "1"}}`,
	`{"kind": "Pod", "apiVersion": "v1"}`,
	`{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {"uid": "1", "object": 7}}`,
	`{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {"uid": "1", "object": {"metadata": null}, "oldObject": null}}`,
	`{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1beta1", "request": {"uid": "1", "operation": "CONNECT", "object": {}}}`,
}

// TestHandler_Malformed: what cannot be read is answered, and never by a panic.
func TestHandler_Malformed(t *testing.T) {
	handler := webhook(nothing)
	for _, text := range malformed {
		var review admissionv1.AdmissionReview
		answer := post(t, handler, []byte(text))
		if err := json.Unmarshal(answer.Body.Bytes(), &review); err != nil || review.Response == nil {
			t.Errorf("%s: %d %s", text, answer.Code, answer.Body)
			continue
		}
		if review.Response.Allowed != strings.Contains(text, `"request": {"uid"`) && !strings.Contains(text, `"object": 7`) {
			t.Errorf("%s: allowed: %t", text, review.Response.Allowed)
		}
	}
	oversized := post(t, handler, []byte(`{"kind": "`+strings.Repeat("x", 8<<20)+`"}`))
	if !strings.Contains(oversized.Body.String(), `"code":413`) {
		t.Errorf("oversized: %d %s", oversized.Code, oversized.Body)
	}
}
