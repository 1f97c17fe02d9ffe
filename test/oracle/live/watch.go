package live

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
)

// Watch follows all objects of a cluster.
type Watch struct {
	mu      sync.Mutex
	objects Objects
	changed time.Time
	last    types.UID // what changed then
	waited  map[types.UID]bool
}

// Watch begins to follow all objects of the types that are known now, until the
// context ends, and returns once it knows them all.
func (c *Cluster) Watch(ctx context.Context) (*Watch, error) {
	w := &Watch{objects: Objects{}, changed: time.Now(), waited: map[types.UID]bool{}}
	factory := dynamicinformer.NewDynamicSharedInformerFactory(c.client, 0)
	var synced []cache.InformerSynced
	for _, resource := range c.resources() {
		registration, err := w.follow(factory, resource)
		if err != nil {
			return nil, err
		}
		synced = append(synced, registration.HasSynced)
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return nil, fmt.Errorf("following the objects: %w", ctx.Err())
	}
	return w, nil
}

func (w *Watch) follow(factory dynamicinformer.DynamicSharedInformerFactory, resource schema.GroupVersionResource) (cache.ResourceEventHandlerRegistration, error) {
	registration, err := factory.ForResource(resource).Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { w.see(o, false) },
		UpdateFunc: func(_, o any) { w.see(o, false) },
		DeleteFunc: func(o any) { w.see(o, true) },
	})
	if err != nil {
		return nil, fmt.Errorf("following %s: %w", resource.Resource, err)
	}
	return registration, nil
}

func (w *Watch) see(o any, gone bool) {
	if last, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = last.Obj
	}
	object, ok := o.(*unstructured.Unstructured)
	if !ok {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.changed, w.last = time.Now(), object.GetUID()
	if gone {
		delete(w.objects, object.GetUID())
		return
	}
	w.objects[object.GetUID()] = object
	if waits(object) {
		w.waited[object.GetUID()] = true
	}
}

// waits reports whether an object waits for its dependents.
func waits(o *unstructured.Unstructured) bool {
	return o.GetDeletionTimestamp() != nil && slices.Contains(o.GetFinalizers(), metav1.FinalizerDeleteDependents)
}

// Objects returns all objects as they are known now. They must not be changed.
func (w *Watch) Objects() Objects {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.objects)
}

// Quiet returns how long nothing has changed.
func (w *Watch) Quiet() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Since(w.changed)
}

// Last names what has changed last.
func (w *Watch) Last() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if o, ok := w.objects[w.last]; ok {
		return fmt.Sprintf("%s %s/%s", o.GetKind(), o.GetNamespace(), o.GetName())
	}
	return string(w.last)
}

// Forget forgets who has waited for dependents, as the collector does when it starts
// anew, and remembers those who wait now.
func (w *Watch) Forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waited = map[types.UID]bool{}
	for uid, o := range w.objects {
		if waits(o) {
			w.waited[uid] = true
		}
	}
}

// Waited reports whether the object of that real uid has been seen waiting for its
// dependents since the last Forget.
func (w *Watch) Waited(uid types.UID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.waited[uid]
}
