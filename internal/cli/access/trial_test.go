package access

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestRefuses(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"let through":                    {nil, false},
		"a policy denies":                {apierrors.NewForbidden(pods, "p", errors.New("denied by a policy")), true},
		"a policy finds it invalid":      {apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "p", nil), true},
		"a webhook denies with a code":   {&apierrors.StatusError{ErrStatus: metav1.Status{Code: 418, Message: "admission webhook denied the request"}}, true},
		"a webhook cannot be called":     {apierrors.NewInternalError(errors.New("failed calling webhook")), true},
		"it cannot be deleted":           {apierrors.NewMethodNotSupported(pods, "delete"), true},
		"a webhook that takes no trials": {apierrors.NewBadRequest("admission webhook \"w\" does not support dry run"), false},
		"gone":                           {apierrors.NewNotFound(pods, "p"), false},
		"another one of that name":       {apierrors.NewConflict(pods, "p", errors.New("the UID differs")), false},
		"too much to do":                 {apierrors.NewTooManyRequests("later", 1), false},
		"no answer in time":              {apierrors.NewTimeoutError("too long", 1), false},
		"no server":                      {errors.New("connection refused"), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := refuses(tc.err); got != tc.want {
				t.Errorf("refuses(%v) = %t", tc.err, got)
			}
		})
	}
}
