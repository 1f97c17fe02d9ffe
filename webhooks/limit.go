package webhooks

import "net/http"

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
			next.ServeHTTP(w, r)
		default:
			shed()
			http.Error(w, "more requests than are judged at the same time", http.StatusServiceUnavailable)
		}
	})
}
