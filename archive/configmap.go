package archive

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// LabelArchived marks the ConfigMap of a record with the name of its TeamSpace.
	LabelArchived = "platform.labhub.io/archived-teamspace"

	recordKey  = "record.json"
	listLimit  = 500
	namePrefix = "teamspace-"
)

// ConfigMapStore keeps each record in a ConfigMap of one namespace, which is meant
// to hold nothing else and to outlive the release.
type ConfigMapStore struct {
	client    client.Client
	namespace string
}

// NewConfigMapStore returns a store in a namespace. The client must not cache:
// a record is verified by reading it back.
func NewConfigMapStore(live client.Client, namespace string) *ConfigMapStore {
	return &ConfigMapStore{client: live, namespace: namespace}
}

// Namespace is where the records are.
func (s *ConfigMapStore) Namespace() string { return s.namespace }

// Put implements Store.
func (s *ConfigMapStore) Put(ctx context.Context, record Record) error {
	data, err := encode(record)
	if err != nil {
		return err
	}
	wanted := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name:      configMapName(record.UID),
			Namespace: s.namespace,
			Labels:    map[string]string{LabelArchived: record.Name},
		},
		Data: map[string]string{recordKey: string(data)},
	}
	// Create, then update: the first is the rule, and neither needs a read before.
	err = s.client.Create(ctx, wanted.DeepCopy())
	if apierrors.IsAlreadyExists(err) {
		err = s.client.Update(ctx, wanted)
	}
	switch {
	case apierrors.IsForbidden(err), apierrors.IsNotFound(err):
		return fmt.Errorf("writing ConfigMap %s/%s: %w; if namespace %q was deleted, the permissions in it went along: apply the chart again", s.namespace, wanted.Name, err, s.namespace)
	case err != nil:
		return fmt.Errorf("writing ConfigMap %s/%s: %w", s.namespace, wanted.Name, err)
	default:
		return nil
	}
}

// Get implements Store.
func (s *ConfigMapStore) Get(ctx context.Context, uid string) (Record, error) {
	key := types.NamespacedName{Namespace: s.namespace, Name: configMapName(uid)}
	var configMap corev1.ConfigMap
	err := s.client.Get(ctx, key, &configMap)
	if apierrors.IsNotFound(err) {
		return Record{}, fmt.Errorf("reading ConfigMap %s: %w", key, ErrNotFound)
	}
	if err != nil {
		return Record{}, fmt.Errorf("reading ConfigMap %s: %w", key, err)
	}
	return recordIn(&configMap)
}

// List implements Store.
func (s *ConfigMapStore) List(ctx context.Context) ([]Record, error) {
	var records []Record
	page := &corev1.ConfigMapList{}
	for {
		err := s.client.List(ctx, page, client.InNamespace(s.namespace), client.HasLabels{LabelArchived},
			client.Limit(listLimit), client.Continue(page.Continue))
		if err != nil {
			return nil, fmt.Errorf("listing the archive in namespace %q: %w", s.namespace, err)
		}
		for i := range page.Items {
			record, err := recordIn(&page.Items[i])
			if err != nil {
				return nil, err
			}
			records = append(records, record)
		}
		if page.Continue == "" {
			slices.SortFunc(records, byNewest)
			return records, nil
		}
	}
}

func recordIn(configMap *corev1.ConfigMap) (Record, error) {
	record, err := decode([]byte(configMap.Data[recordKey]))
	if err != nil {
		return Record{}, fmt.Errorf("reading ConfigMap %s/%s: %w", configMap.Namespace, configMap.Name, err)
	}
	return record, nil
}

func configMapName(uid string) string { return namePrefix + uid }
