package webhooks

import "net/http"

// limit lets a number of requests in at the same time and answers the others at once,
// with 503 and without a Retry-After: the API server then does what the failure policy
// says, instead of waiting for an answer that would come too late.
func limit(concurrency int, next http.Handler) http.Handler {
	slots := make(chan struct{}, concurrency)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
			next.ServeHTTP(w, r)
		default:
			http.Error(w, "more requests than are judged at the same time", http.StatusServiceUnavailable)
		}
	})
}
