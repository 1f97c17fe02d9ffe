package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	serviceAccounts = schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}
	leases          = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
)

// errNoToken is the fault of an answer that should hold a token.
var errNoToken = errors.New("it holds no token")

// Token returns a token of the ServiceAccount, as its pods would get one.
func (c *Client) Token(ctx context.Context, namespace, account string, lifetime time.Duration) (string, error) {
	request := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "authentication.k8s.io/v1",
		"kind":       "TokenRequest",
		"metadata":   map[string]any{"name": account, "namespace": namespace},
		"spec":       map[string]any{"expirationSeconds": int64(lifetime.Seconds())},
	}}
	created, err := c.dynamic.Resource(serviceAccounts).Namespace(namespace).Create(ctx, request, metav1.CreateOptions{}, "token")
	if err != nil {
		return "", fmt.Errorf("requesting a token of the ServiceAccount %q in %q: %w", account, namespace, err)
	}
	token, _, err := unstructured.NestedString(created.Object, "status", "token")
	if err == nil && token == "" {
		err = errNoToken
	}
	if err != nil {
		return "", fmt.Errorf("requesting a token of the ServiceAccount %q in %q: reading the answer: %w", account, namespace, err)
	}
	return token, nil
}

// LeaseTakenSince reports whether some Lease in the namespace is held by
// somebody who took it at that time or later.
func (c *Client) LeaseTakenSince(ctx context.Context, namespace string, since time.Time) (bool, error) {
	list, err := c.dynamic.Resource(leases).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return false, fmt.Errorf("listing the Leases in %q: %w", namespace, err)
	}
	for _, lease := range list.Items {
		holder, _, _ := unstructured.NestedString(lease.Object, "spec", "holderIdentity")
		text, _, _ := unstructured.NestedString(lease.Object, "spec", "acquireTime")
		taken, err := time.Parse(time.RFC3339Nano, text)
		// The API keeps microseconds: what was taken in the same one counts.
		if holder != "" && err == nil && !taken.Before(since.Truncate(time.Microsecond)) {
			return true, nil
		}
	}
	return false, nil
}

// DeleteLeases deletes the Leases in the namespace. Whoever held one must be
// gone.
func (c *Client) DeleteLeases(ctx context.Context, namespace string) error {
	err := c.dynamic.Resource(leases).Namespace(namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("deleting the Leases in %q: %w", namespace, err)
	}
	return nil
}
