package access

import (
	"context"
	"errors"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
)

// errMayNotDelete is the error of a trial that was not made: what the API server thinks of a
// deletion is told only to those who may delete.
var errMayNotDelete = errors.New("you may not delete it")

// TryDelete asks the API server with a dry run whether it would let a deletion through, and
// returns the reason if it would not. Nothing is deleted. An error says that it could not be
// asked.
func (c *Cluster) TryDelete(ctx context.Context, target Target, uid types.UID, cascade metav1.DeletionPropagation) (refusal string, err error) {
	if err := c.mayDelete(ctx, target); err != nil {
		return "", fmt.Errorf("asking whether %s may be deleted: %w", target, err)
	}
	err = c.Metadata.Resource(target.Resource).Namespace(target.Namespace).Delete(ctx, target.Name, metav1.DeleteOptions{
		DryRun: []string{metav1.DryRunAll}, Preconditions: &metav1.Preconditions{UID: &uid}, PropagationPolicy: &cascade,
	})
	if refuses(err) {
		return err.Error(), nil
	}
	if err != nil {
		return "", fmt.Errorf("trying to delete %s: %w", target, err)
	}
	return "", nil
}

func (c *Cluster) mayDelete(ctx context.Context, target Target) error {
	reviews, err := authorizationclient.NewForConfig(c.Config)
	if err != nil {
		return err
	}
	review, err := reviews.SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: target.Namespace, Verb: "delete", Name: target.Name,
			Group: target.Resource.Group, Version: target.Resource.Version, Resource: target.Resource.Resource,
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if !review.Status.Allowed {
		return errMayNotDelete
	}
	return nil
}

// refuses reports whether an error is what the deletion itself would be answered with, and
// not one that only the trial has: a webhook that takes no dry runs, an object that changed
// hands, a server that is in trouble or does not answer.
func refuses(err error) bool {
	if _, answered := errors.AsType[*apierrors.StatusError](err); !answered {
		return false
	}
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err), apierrors.IsTooManyRequests(err), apierrors.IsUnauthorized(err):
		return false
	case apierrors.IsTimeout(err), apierrors.IsServerTimeout(err), apierrors.IsServiceUnavailable(err):
		return false
	default:
		return !strings.Contains(err.Error(), "does not support dry run")
	}
}
