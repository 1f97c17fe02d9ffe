package selftest

import (
	"context"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"labhub.io/teamspace/api/v1alpha1"
	"labhub.io/teamspace/webhooks/ownerreferences"
)

// server answers as an API server would.
type server func(ts *v1alpha1.TeamSpace, wrong bool) error

func (s server) Create(_ context.Context, object client.Object, options ...client.CreateOption) error {
	o := &client.CreateOptions{}
	o.ApplyOptions(options)
	if len(o.DryRun) == 0 {
		return errors.New("this is no dry-run")
	}
	ts, ok := object.(*v1alpha1.TeamSpace)
	if !ok {
		return errors.New("this is no TeamSpace")
	}
	return s(ts, len(ts.OwnerReferences) > 0)
}

func forbidden(by string) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: "teamspaces"}, "x", errors.New(`admission webhook "`+by+`" denied the request`))
}

func TestOnce(t *testing.T) {
	// works does all right, with the guard in mode enforce.
	works := func(ts *v1alpha1.TeamSpace, wrong bool) error {
		controllerutil.AddFinalizer(ts, v1alpha1.Finalizer)
		if wrong {
			return forbidden(guard)
		}
		return nil
	}
	letsIn := func(ts *v1alpha1.TeamSpace, _ bool) error { return works(ts, false) }
	others := func(ts *v1alpha1.TeamSpace, wrong bool) error {
		if wrong {
			return forbidden("acme.example")
		}
		return works(ts, false)
	}
	tests := map[string]struct {
		mode   ownerreferences.Mode
		server server
		want   string // what the error has to say; empty: none
	}{
		"all is well":            {ownerreferences.Enforce, works, ""},
		"nobody is asked":        {ownerreferences.Enforce, func(*v1alpha1.TeamSpace, bool) error { return nil }, "no webhook was asked"},
		"the guard is not asked": {ownerreferences.Enforce, letsIn, "the guard was not asked"},
		"somebody else denies":   {ownerreferences.Enforce, others, "not by the guard"},
		"no permission":          {ownerreferences.Enforce, func(*v1alpha1.TeamSpace, bool) error { return forbidden("") }, "was not let in"},
		"warn lets in":           {ownerreferences.Warn, letsIn, ""},
		"off lets in":            {ownerreferences.Off, letsIn, ""},
		"audit denies, which is not what it does": {ownerreferences.Audit, works, "mode is audit"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			answers, err := once(t.Context(), tc.server, tc.mode)
			switch {
			case tc.want == "" && (err != nil || len(answers) != 2):
				t.Errorf("once = %q, %v", answers, err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("once: %v, want an error that says %q", err, tc.want)
			}
		})
	}
}

// TestRun_Patience: the webhooks come into force some moments late.
func TestRun_Patience(t *testing.T) {
	asked := 0
	late := server(func(ts *v1alpha1.TeamSpace, wrong bool) error {
		if asked++; asked > 1 {
			controllerutil.AddFinalizer(ts, v1alpha1.Finalizer)
		}
		if wrong {
			return forbidden(guard)
		}
		return nil
	})
	if answers, err := Run(t.Context(), late, ownerreferences.Enforce); err != nil || len(answers) != 2 {
		t.Errorf("Run = %q, %v", answers, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	never := server(func(*v1alpha1.TeamSpace, bool) error { return nil })
	if _, err := Run(ended, never, ownerreferences.Enforce); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "no webhook was asked") {
		t.Errorf("Run = %v: it has to say what was wrong last", err)
	}
}
