package webhooks

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// TestLimit: one request too many is answered while the others are still at it, and with
// nothing that would make the API server wait and try again.
func TestLimit(t *testing.T) {
	const slots = 3
	entered, leave := make(chan struct{}), make(chan struct{})
	shed := 0
	handler := limit(slots, func() { shed++ }, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		entered <- struct{}{}
		<-leave
	}))
	call := func() *httptest.ResponseRecorder {
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil))
		return recorder
	}
	answered := make(chan int)
	for range slots {
		go func() { answered <- call().Code }()
	}
	for range slots {
		<-entered
	}
	refused := call()
	if refused.Code != http.StatusServiceUnavailable || refused.Header().Get("Retry-After") != "" {
		t.Errorf("got %d with %v", refused.Code, refused.Header())
	}
	if shed != 1 {
		t.Errorf("%d requests were counted as turned away", shed)
	}
	close(leave)
	for range slots {
		if code := <-answered; code != http.StatusOK {
			t.Errorf("got %d", code)
		}
	}
	go func() { answered <- call().Code }()
	<-entered
	if code := <-answered; code != http.StatusOK {
		t.Errorf("after the others left: %d", code)
	}
}

// TestFinishing: whoever is answered while the server is about to go looks for another
// one, and gets a whole answer although the server's own context has ended.
func TestFinishing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, draining := range []bool{false, true} {
		recorder := httptest.NewRecorder()
		handler := finishing(func() bool { return draining }, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if err := r.Context().Err(); err != nil {
				t.Errorf("the request has ended: %v", err)
			}
		}))
		handler.ServeHTTP(recorder, httptest.NewRequestWithContext(ctx, http.MethodPost, "/", nil))
		if got := recorder.Header().Get("Connection") == "close"; got != draining {
			t.Errorf("draining %t: Connection %q", draining, recorder.Header().Get("Connection"))
		}
	}
}

func TestTimed(t *testing.T) {
	seen := 0
	handler := timed(prometheus.ObserverFunc(func(seconds float64) {
		seen++
		if seconds < 0 {
			t.Errorf("it took %f s", seconds)
		}
	}), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil))
	if recorder.Code != http.StatusTeapot || seen != 1 {
		t.Errorf("answered %d, measured %d times", recorder.Code, seen)
	}
}
