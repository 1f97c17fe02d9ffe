package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"labhub.io/teamspace/ownership/graph"
	"labhub.io/teamspace/ownership/rules"
)

// ErrGone is the error of a request for an object that does not exist any more, or
// never did.
var ErrGone = errors.New("the object does not exist")

// Space is the part of a cluster that one graph lives in. It is used by one goroutine
// at a time.
type Space struct {
	cluster    *Cluster
	prefix     string
	namespaces map[string]bool
	objects    map[types.UID]graph.Object // by the uid of the notation
	order      []types.UID
	real       map[types.UID]types.UID // by the uid of the notation
	notation   map[types.UID]types.UID // by the real uid
}

// NewSpace returns a space. The prefix begins all its names and tells it from others.
func (c *Cluster) NewSpace(prefix string) *Space {
	return &Space{
		cluster: c, prefix: prefix + "-", namespaces: map[string]bool{}, objects: map[types.UID]graph.Object{},
		real: map[types.UID]types.UID{}, notation: map[types.UID]types.UID{},
	}
}

// Create creates the object, and its namespace if that is new, and returns it as it
// was stored. A reference by a uid of which the space has no object gets one that
// belongs to nobody.
func (s *Space) Create(ctx context.Context, o graph.Object) (graph.Object, error) {
	if err := s.ensureNamespace(ctx, o); err != nil {
		return graph.Object{}, err
	}
	created, err := s.send(ctx, o)
	if err != nil {
		return graph.Object{}, err
	}
	s.note(o, created)
	return s.object(o.UID, created), nil
}

// CreateAll creates objects that do not refer to each other, several at a time.
func (s *Space) CreateAll(ctx context.Context, objects []graph.Object) error {
	for _, o := range objects {
		if err := s.ensureNamespace(ctx, o); err != nil {
			return err
		}
	}
	created := make([]*unstructured.Unstructured, len(objects))
	err := Each(objects, func(i int, o graph.Object) (err error) {
		created[i], err = s.send(ctx, o)
		return err
	})
	if err != nil {
		return err
	}
	for i, o := range objects {
		s.note(o, created[i])
	}
	return nil
}

// send sends the request that creates an object.
func (s *Space) send(ctx context.Context, o graph.Object) (*unstructured.Unstructured, error) {
	k, ok := s.cluster.kind(o)
	if !ok {
		return nil, fmt.Errorf("creating a %s of %s: no such type is known", o.Kind, o.APIVersion)
	}
	object := &unstructured.Unstructured{Object: k.Body()}
	object.SetAPIVersion(o.APIVersion)
	object.SetKind(o.Kind)
	object.SetName(s.prefix + o.Name)
	if k.Namespaced {
		object.SetNamespace(s.prefix + o.Namespace)
	}
	object.SetFinalizers(o.Finalizers)
	object.SetOwnerReferences(s.realOwners(o.Owners))
	if o.Kind == "Event" {
		object.Object["regarding"] = map[string]any{"kind": "ConfigMap", "namespace": s.prefix + o.Namespace, "name": "none"}
	}
	created, err := s.client(o).Create(ctx, object, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("creating %s: %w", o.UID, err)
	}
	return created, nil
}

// note remembers an object that was created.
func (s *Space) note(o graph.Object, created *unstructured.Unstructured) {
	s.objects[o.UID] = o
	s.order = append(s.order, o.UID)
	s.real[o.UID], s.notation[created.GetUID()] = created.GetUID(), o.UID
}

func (s *Space) ensureNamespace(ctx context.Context, o graph.Object) error {
	if o.Kind == "Namespace" {
		s.namespaces[o.Name] = true
		return nil
	}
	if o.Namespace == "" || s.namespaces[o.Namespace] {
		return nil
	}
	s.namespaces[o.Namespace] = true
	ns := &unstructured.Unstructured{}
	ns.SetAPIVersion("v1")
	ns.SetKind("Namespace")
	ns.SetName(s.prefix + o.Namespace)
	if _, err := s.cluster.client.Resource(namespaces).Create(ctx, ns, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating the namespace %s: %w", ns.GetName(), err)
	}
	return nil
}

// client returns the client for one object.
func (s *Space) client(o graph.Object) dynamic.ResourceInterface {
	k, _ := s.cluster.kind(o)
	if k.Namespaced {
		return s.cluster.client.Resource(k.Resource).Namespace(s.prefix + o.Namespace)
	}
	return s.cluster.client.Resource(k.Resource)
}

// Get reads an object.
func (s *Space) Get(ctx context.Context, uid types.UID) (graph.Object, error) {
	o := s.objects[uid]
	got, err := s.client(o).Get(ctx, s.prefix+o.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && got.GetUID() != s.real[uid] {
		return graph.Object{}, fmt.Errorf("reading %s: %w", uid, ErrGone)
	}
	if err != nil {
		return graph.Object{}, fmt.Errorf("reading %s: %w", uid, err)
	}
	return s.object(uid, got), nil
}

// SetOwners replaces the references of an object, and returns it as it was stored.
func (s *Space) SetOwners(ctx context.Context, uid types.UID, owners []metav1.OwnerReference) (graph.Object, error) {
	return s.patch(ctx, uid, map[string]any{"ownerReferences": s.realOwners(owners)})
}

// SetFinalizers replaces the finalizers of an object. If that is what held it, the
// object is gone afterwards.
func (s *Space) SetFinalizers(ctx context.Context, uid types.UID, finalizers []string) error {
	_, err := s.patch(ctx, uid, map[string]any{"finalizers": finalizers})
	return err
}

func (s *Space) patch(ctx context.Context, uid types.UID, metadata map[string]any) (graph.Object, error) {
	o := s.objects[uid]
	metadata["uid"] = s.real[uid] // a precondition
	body, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return graph.Object{}, err
	}
	patched, err := s.client(o).Patch(ctx, s.prefix+o.Name, types.MergePatchType, body, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return graph.Object{}, fmt.Errorf("changing %s: %w (%w)", uid, ErrGone, err)
	}
	if err != nil {
		return graph.Object{}, fmt.Errorf("changing %s: %w", uid, err)
	}
	return s.object(uid, patched), nil
}

// Delete sends a DELETE with the policy; the empty one is a DELETE without options.
func (s *Space) Delete(ctx context.Context, uid types.UID, policy metav1.DeletionPropagation) error {
	o := s.objects[uid]
	options := metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(s.real[uid]))}
	if policy != "" {
		options.PropagationPolicy = &policy
	}
	err := s.client(o).Delete(ctx, s.prefix+o.Name, options)
	switch {
	case err == nil:
		return nil
	case apierrors.IsNotFound(err):
		return fmt.Errorf("deleting %s: %w", uid, ErrGone)
	case apierrors.IsConflict(err) && o.Kind == "Namespace":
		return nil // its contents are still being deleted, which is an answer, not a refusal
	default:
		return fmt.Errorf("deleting %s: %w", uid, err)
	}
}

// Remove removes whatever of the space is among all.
func (s *Space) Remove(ctx context.Context, all Objects) error {
	for _, o := range s.Objects(all) {
		if len(o.Finalizers) > 0 {
			if err := s.SetFinalizers(ctx, o.UID, nil); err != nil && !errors.Is(err, ErrGone) {
				return err
			}
		}
		if err := s.Delete(ctx, o.UID, metav1.DeletePropagationBackground); err != nil && !errors.Is(err, ErrGone) {
			return err
		}
	}
	return nil
}

// RealName returns what an object or a namespace of that name is really called.
func (s *Space) RealName(name string) string { return s.prefix + name }

// RealUID returns the real uid of an object.
func (s *Space) RealUID(uid types.UID) types.UID { return s.real[uid] }

// Objects returns those objects of the space that are among all, in the order of their
// creation.
func (s *Space) Objects(all Objects) []graph.Object {
	var list []graph.Object
	for _, uid := range s.order {
		if found, ok := all[s.real[uid]]; ok {
			list = append(list, s.object(uid, found))
		}
	}
	return list
}

// State returns the state of an object among all.
func (s *Space) State(uid types.UID, all Objects) rules.State {
	found, ok := all[s.real[uid]]
	if !ok {
		return rules.State{}
	}
	return StateOf(s.object(uid, found))
}

// StateOf returns the state of an object that exists.
func StateOf(o graph.Object) rules.State {
	return rules.State{Exists: true, Deleting: o.Deleting, Finalizers: o.Finalizers, Owners: o.Owners}
}

// object translates a real object.
func (s *Space) object(uid types.UID, stored *unstructured.Unstructured) graph.Object {
	o := s.objects[uid]
	o.Deleting = stored.GetDeletionTimestamp() != nil
	o.Finalizers = stored.GetFinalizers()
	o.Owners = nil
	for _, ref := range stored.GetOwnerReferences() {
		ref.Name = strings.TrimPrefix(ref.Name, s.prefix)
		if known, ok := s.notation[ref.UID]; ok {
			ref.UID = known
		} else {
			ref.UID = types.UID(strings.TrimPrefix(string(ref.UID), s.prefix))
		}
		o.Owners = append(o.Owners, ref)
	}
	return o
}

func (s *Space) realOwners(owners []metav1.OwnerReference) []metav1.OwnerReference {
	list := slices.Clone(owners)
	for i := range list {
		list[i].Name = s.prefix + list[i].Name
		if known, ok := s.real[list[i].UID]; ok {
			list[i].UID = known
		} else {
			list[i].UID = types.UID(s.prefix) + list[i].UID
		}
	}
	return list
}

// Knows reports whether the space has created an object of that uid.
func (s *Space) Knows(uid types.UID) bool {
	_, ok := s.real[uid]
	return ok
}
