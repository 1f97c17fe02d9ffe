package webhooks

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestLimit: one request too many is answered while the others are still at it, and with
// nothing that would make the API server wait and try again.
func TestLimit(t *testing.T) {
	const slots = 3
	entered, leave := make(chan struct{}), make(chan struct{})
	handler := limit(slots, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
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
