package bench

import (
	"context"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

const (
	floorPage     = 5000
	floorParallel = 4
)

// Floor is the least that a program does which looks at everything: it lists the metadata
// of all types, four at once in pages of 5,000, has each decoded from protobuf, keeps
// nothing, and returns how many there were.
func Floor(ctx context.Context, config *rest.Config) (int, error) {
	asks, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return 0, err
	}
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return 0, err
	}
	lists, err := asks.ServerPreferredResourcesWithContext(ctx)
	if err != nil {
		return 0, err
	}
	resources, err := discovery.GroupVersionResources(discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list"}}, lists))
	if err != nil {
		return 0, err
	}
	todo := make(chan schema.GroupVersionResource, len(resources))
	for resource := range resources {
		todo <- resource
	}
	close(todo)
	var mu sync.Mutex
	var workers sync.WaitGroup
	var all int
	var failed error
	for range floorParallel {
		workers.Go(func() {
			for resource := range todo {
				n, err := count(ctx, client, resource)
				mu.Lock()
				all += n
				if err != nil {
					failed = fmt.Errorf("listing %s: %w", resource.Resource, err)
				}
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	return all, failed
}

func count(ctx context.Context, client metadata.Interface, resource schema.GroupVersionResource) (int, error) {
	options := metav1.ListOptions{Limit: floorPage}
	n := 0
	for {
		list, err := client.Resource(resource).List(ctx, options)
		if err != nil {
			return n, err
		}
		n += len(list.Items)
		if options.Continue = list.Continue; options.Continue == "" {
			return n, nil
		}
	}
}
