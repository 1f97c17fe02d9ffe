package ownerreferences

import (
	"fmt"
	"net/http"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"labhub.io/teamspace/ownership/explain"
)

// Verdicts, as the label of a metric and in the audit log.
const (
	verdictAllowed = "allowed"
	verdictWarned  = "warned"
	verdictDenied  = "denied"
)

// reply is what the guard has to say to one request.
type reply struct {
	mode     Mode
	verdict  string // what enforce would make of it
	message  string
	problems []explain.Problem // those that are told
	more     int               // those that are not
}

func answer(mode Mode, problems []explain.Problem) reply {
	r := reply{mode: mode, verdict: verdictAllowed}
	r.problems, r.more = explain.Cut(problems)
	switch {
	case len(problems) == 0:
		return r
	case r.problems[0].Deny:
		r.verdict = verdictDenied
	default:
		r.verdict = verdictWarned
	}
	r.message = explain.Join(r.complaints())
	if r.more > 0 {
		r.message += fmt.Sprintf("; and %d more", r.more)
	}
	return r
}

// complaints are the problems that decide: those that deny, if there are any.
func (r reply) complaints() []explain.Problem {
	if r.verdict != verdictDenied {
		return r.problems
	}
	return slices.DeleteFunc(slices.Clone(r.problems), func(p explain.Problem) bool { return !p.Deny })
}

func (r reply) response() admission.Response {
	response := admission.Allowed("")
	switch {
	case r.mode == Enforce && r.verdict == verdictDenied:
		response = r.denial()
	case r.mode == Enforce || r.mode == Warn:
		for _, p := range r.problems {
			response.Warnings = append(response.Warnings, p.Message())
		}
	}
	if r.verdict != verdictAllowed {
		response.AuditAnnotations = map[string]string{
			"verdict": r.verdict,
			"mode":    string(r.mode),
			"message": r.message,
		}
	}
	return response
}

// denial is always Forbidden: kubectl hides the message of an Invalid answer that
// does not come from the API server itself.
func (r reply) denial() admission.Response {
	details := &metav1.StatusDetails{}
	for _, p := range r.complaints() {
		details.Causes = append(details.Causes, metav1.StatusCause{
			Type:    metav1.CauseTypeFieldValueInvalid,
			Message: p.Message(),
			Field:   p.Path(),
		})
	}
	return admission.Response{AdmissionResponse: admissionv1.AdmissionResponse{
		Allowed: false,
		Result: &metav1.Status{
			Status:  metav1.StatusFailure,
			Code:    http.StatusForbidden,
			Reason:  metav1.StatusReasonForbidden,
			Message: r.message,
			Details: details,
		},
	}}
}
