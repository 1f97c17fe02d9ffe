// Package ownerreferences is the guard: it judges every owner reference that a
// request adds or changes, before the garbage collector can act on it.
//
// The API server calls it only for requests that do so (by matchConditions), and
// goes on without it when it does not answer (failurePolicy Ignore by default).
// It denies only what a live read or the schema proves, and warns of what is
// doubtful; nothing is ever called absent because a cache does not hold it. A mode
// that is read from a cache may be behind by the delay of a watch.
package ownerreferences

import (
	"context"
	"net/http"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"labhub.io/teamspace/inventory"
	"labhub.io/teamspace/ownership/explain"
)

// Path is where the API server finds the guard.
const Path = "/ownerreferences"

// deadline bounds the look-ups of one request. It is below the timeout of the
// webhook, so that an unreadable owner ends in a warning and not in silence.
const deadline = 2 * time.Second

// Options of the guard.
type Options struct {
	// Mode of the cluster, for all that no namespace's label speaks for.
	Mode Mode

	// Namespaces reads the metadata of namespaces; a cache will do.
	Namespaces client.Reader

	// Owners reads owners live.
	Owners inventory.Owners

	// Access asks whether a user may read an object.
	Access Access
}

// Handler answers admission requests.
type Handler struct {
	modes  modes
	owners inventory.Owners
	access Access
}

// New returns a Handler.
func New(options Options) *Handler {
	return &Handler{
		modes:  modes{namespaces: options.Namespaces, cluster: options.Mode},
		owners: options.Owners,
		access: options.Access,
	}
}

// Handle implements admission.Handler.
func (h *Handler) Handle(ctx context.Context, review admission.Request) admission.Response {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	req, err := decode(review)
	if err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if !req.changed() {
		return admission.Allowed("")
	}
	mode := h.modes.of(ctx, req.Object.Namespace)
	if mode == Off {
		return admission.Allowed("")
	}
	problems := h.judge(ctx, req)
	a := answer(mode, problems)
	verdicts.WithLabelValues(string(mode), a.verdict).Inc()
	if a.verdict != verdictAllowed {
		// Object, resource and user are in the logger of the request.
		logf.FromContext(ctx).Info("Judged owner references", "verdict", a.verdict, "mode", mode, "message", a.message)
	}
	return a.response()
}

// judge looks at the owners, decides, and leaves out what the caller may not know.
func (h *Handler) judge(ctx context.Context, req request) []explain.Problem {
	if n := req.NewOwners(); n > inventory.MaxOwners {
		return []explain.Problem{explain.TooMany(n, inventory.MaxOwners)}
	}
	found := inventory.Examine(ctx, h.owners, req.Change)
	subject := req.Subject(found)
	if len(explain.Problems(subject)) == 0 {
		return nil
	}
	h.reveal(ctx, req, found, &subject)
	return explain.Problems(subject)
}
