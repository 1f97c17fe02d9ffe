package archive

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// PublishedName is the ConfigMap, in the namespace of a release, that says where the
	// archive of that release is.
	PublishedName = "teamspace-archive"

	// LabelPublished marks that ConfigMap, so that it is found whatever the namespace of
	// the release is called.
	LabelPublished = "platform.labhub.io/archive"

	publishedKey = "url"
	publisher    = client.FieldOwner("teamspace-archive")
)

// ErrNotPublished says that no release tells where its archive is.
var ErrNotPublished = errors.New("no ConfigMap with the label " + LabelPublished + " says where the archive is")

// Publish tells whoever may read ConfigMaps of the namespace where the archive is. It writes
// nothing where that is told already.
func Publish(ctx context.Context, live client.Client, namespace, archiveURL string) error {
	told := &corev1.ConfigMap{}
	if err := live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: PublishedName}, told); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading ConfigMap %s/%s, which says where the archive is: %w", namespace, PublishedName, err)
	}
	if told.Labels[LabelPublished] == "true" && told.Data[publishedKey] == archiveURL {
		return nil
	}
	apply := corev1ac.ConfigMap(PublishedName, namespace).
		WithLabels(map[string]string{LabelPublished: "true"}).
		WithData(map[string]string{publishedKey: archiveURL})
	if err := live.Apply(ctx, apply, publisher, client.ForceOwnership); err != nil {
		return fmt.Errorf("applying ConfigMap %s/%s, which says where the archive is: %w", namespace, PublishedName, err)
	}
	return nil
}

// FindPublished returns the URL of the archive that a release of the cluster has, or
// ErrNotPublished. With several different ones it does not choose.
func FindPublished(ctx context.Context, live client.Client) (string, error) {
	var list corev1.ConfigMapList
	if err := live.List(ctx, &list, client.HasLabels{LabelPublished}); err != nil {
		return "", fmt.Errorf("looking for the ConfigMap that says where the archive is: %w", err)
	}
	found := ""
	for i := range list.Items {
		url := list.Items[i].Data[publishedKey]
		if found != "" && url != found {
			return "", fmt.Errorf("several archives are published, %s and %s: name one", found, url)
		}
		found = url
	}
	if found == "" {
		return "", ErrNotPublished
	}
	return found, nil
}
