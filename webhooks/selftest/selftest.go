// Package selftest shows by two requests that the webhooks answer: a TeamSpace with an
// owner that is not there is denied by the guard, and one without is let in and gets its
// finalizer. Both are dry-runs, so that nothing is ever made.
package selftest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"labhub.io/teamspace/api/v1alpha1"
	"labhub.io/teamspace/webhooks/ownerreferences"
)

const (
	// guard is the name of the webhook that has to deny.
	guard = "ownerreferences.platform.labhub.io"

	// nobody is the uid of no object.
	nobody = "00000000-0000-0000-0000-000000000000"

	lookAgain = time.Second
)

// Creator makes objects; a client does.
type Creator interface {
	Create(ctx context.Context, object client.Object, options ...client.CreateOption) error
}

// Run makes both requests until they are answered as they should be in this mode of the
// guard, or the context ends: the webhooks are put into force a moment after their pods
// are ready. It returns the answers in words.
func Run(ctx context.Context, c Creator, mode ownerreferences.Mode) (answers []string, err error) {
	var last error
	err = wait.PollUntilContextCancel(ctx, lookAgain, true, func(ctx context.Context) (bool, error) {
		answers, last = once(ctx, c, mode)
		return last == nil, nil
	})
	if err != nil {
		return nil, errors.Join(last, err)
	}
	return answers, nil
}

func once(ctx context.Context, c Creator, mode ownerreferences.Mode) ([]string, error) {
	name := "selftest-" + utilrand.String(8)
	right := teamSpace(name)
	if err := admitted(right, c.Create(ctx, right, client.DryRunAll)); err != nil {
		return nil, err
	}
	wrong := teamSpace(name)
	wrong.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Namespace", Name: metav1.NamespaceSystem, UID: nobody}}
	answer := c.Create(ctx, wrong, client.DryRunAll)
	if err := judged(mode, answer); err != nil {
		return nil, err
	}
	answers := []string{fmt.Sprintf("a TeamSpace was let in, and got the finalizer %s", v1alpha1.Finalizer)}
	if answer == nil {
		return append(answers, fmt.Sprintf("a wrong owner reference was let in, as the mode %s has it", mode)), nil
	}
	return append(answers, "a wrong owner reference was denied: "+answer.Error()), nil
}

func teamSpace(name string) *v1alpha1.TeamSpace {
	return &v1alpha1.TeamSpace{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.TeamSpaceSpec{Pods: 1, CPU: "1"}}
}

// admitted judges the answer to what is right.
func admitted(ts *v1alpha1.TeamSpace, answer error) error {
	if answer != nil {
		return fmt.Errorf("a TeamSpace that is right was not let in: %w", answer)
	}
	if !controllerutil.ContainsFinalizer(ts, v1alpha1.Finalizer) {
		return fmt.Errorf("a TeamSpace was let in without the finalizer %s: no webhook was asked", v1alpha1.Finalizer)
	}
	return nil
}

// judged judges the answer to what is wrong. A denial by anybody else proves nothing.
func judged(mode ownerreferences.Mode, answer error) error {
	switch {
	case mode != ownerreferences.Enforce && answer != nil:
		return fmt.Errorf("the guard's mode is %s, yet a wrong owner reference was not let in: %w", mode, answer)
	case mode != ownerreferences.Enforce:
		return nil
	case answer == nil:
		return errors.New("a wrong owner reference was let in: the guard was not asked")
	case !apierrors.IsForbidden(answer) || !strings.Contains(answer.Error(), guard):
		return fmt.Errorf("a wrong owner reference was refused, but not by the guard: %w", answer)
	default:
		return nil
	}
}
