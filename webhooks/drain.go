package webhooks

import (
	"context"
	"net/http"
)

// finishing lets an answer be finished whatever becomes of the server, and asks for a new
// connection once the server is about to go: the next request comes to another replica
// then, and none is on its way when the listener closes.
//
// The library's server ends the context of a request together with its own. A verdict
// would then find nothing that it could read, and let pass what it should deny; the
// guard's own deadline bounds a request instead.
func finishing(draining func() bool, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if draining() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r.WithContext(context.WithoutCancel(r.Context())))
	})
}
