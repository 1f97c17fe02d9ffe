package webhooks

import (
	"net/http"
	"time"
)

// patience is how long a request may take to arrive: the API server has given up by then,
// and whoever else sends one slowly keeps no place.
const patience = 3 * time.Second

// limit lets a number of requests in at the same time and answers the others at once,
// with 503 and without a Retry-After: the API server then does what the failure policy
// says, instead of waiting for an answer that would come too late. It tells of each one
// that it turned away.
func limit(concurrency int, shed func(), next http.Handler) http.Handler {
	slots := make(chan struct{}, concurrency)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
			// A server that cannot do this has no slow clients: it is that of a test.
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(patience))
			next.ServeHTTP(w, r)
		default:
			shed()
			http.Error(w, "more requests than are judged at the same time", http.StatusServiceUnavailable)
		}
	})
}
