package inventory

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"

	"labhub.io/teamspace/ownership/graph"
)

// encode writes a list as an API server does in protobuf.
func encode(t testing.TB, list *metav1.PartialObjectMetadataList) []byte {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	list.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("PartialObjectMetadataList"))
	var b bytes.Buffer
	if err := protobuf.NewSerializer(scheme, scheme).Encode(list, &b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// readAll reads a page and keeps what it is handed.
func readAll(in io.Reader) (objects []graph.Object, next string, err error) {
	next, err = newPageReader("acme.example/v1", "Widget").read(in, func(o graph.Object) {
		o.Owners, o.Finalizers = slices.Clone(o.Owners), slices.Clone(o.Finalizers)
		objects = append(objects, o)
	})
	return objects, next, err
}

// wanted is the same by the decoder of the API machinery.
func wanted(list *metav1.PartialObjectMetadataList) []graph.Object {
	var objects []graph.Object
	for _, item := range list.Items {
		objects = append(objects, graph.Object{
			APIVersion: "acme.example/v1", Kind: "Widget", Namespace: item.Namespace, Name: item.Name, UID: item.UID,
			Deleting: item.DeletionTimestamp != nil, Finalizers: item.Finalizers, Owners: item.OwnerReferences,
		})
	}
	return objects
}

// sampleList has objects of every shape, with all that a page has and nobody asks for.
func sampleList(random *rand.Rand) *metav1.PartialObjectMetadataList {
	text := func() string { return strings.Repeat("x", random.IntN(40)+1) }
	some := func() int { return random.IntN(4) }
	list := &metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{ResourceVersion: "7", Continue: text()}}
	for range random.IntN(20) {
		o := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Name: text(), Namespace: text(), UID: types.UID(text()), Generation: random.Int64(), ResourceVersion: text(),
			CreationTimestamp: metav1.Unix(random.Int64N(1<<31), 0), Labels: map[string]string{text(): text()},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: text(), FieldsV1: metav1.NewFieldsV1(`{"f:` + text() + `":{}}`)}},
		}}
		if some() == 0 {
			o.DeletionTimestamp, o.DeletionGracePeriodSeconds = new(metav1.NewTime(time.Unix(7, 0))), new(int64(30))
		}
		for range some() {
			o.Finalizers = append(o.Finalizers, text())
		}
		for range some() {
			ref := metav1.OwnerReference{APIVersion: text(), Kind: text(), Name: text(), UID: types.UID(text())}
			if some() > 0 {
				ref.Controller, ref.BlockOwnerDeletion = new(some() > 1), new(some() > 1)
			}
			o.OwnerReferences = append(o.OwnerReferences, ref)
		}
		list.Items = append(list.Items, o)
	}
	return list
}

// TestPage reads what the API machinery writes, in both encodings, as the API machinery
// reads it, whatever pieces it arrives in.
func TestPage(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		list := sampleList(random)
		asJSON, err := json.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		for encoding, page := range map[string][]byte{"protobuf": encode(t, list), "json": asJSON} {
			objects, next, err := readAll(iotest.OneByteReader(bytes.NewReader(page)))
			if err != nil || next != list.Continue {
				t.Fatalf("%s: next page %q, error %v", encoding, next, err)
			}
			if diff := cmp.Diff(wanted(list), objects, equalEmpty); diff != "" {
				t.Fatalf("%s: %s", encoding, diff)
			}
		}
	}
}

var equalEmpty = cmp.FilterPath(
	func(p cmp.Path) bool { return p.Last().Type().Kind().String() == "slice" },
	cmp.Transformer("slice", func(v any) string { b, _ := json.Marshal(v); return strings.ReplaceAll(string(b), "null", "[]") }),
)

// TestPage_Cut: an answer that ends in the middle is an error, never a short list.
func TestPage_Cut(t *testing.T) {
	list := &metav1.PartialObjectMetadataList{Items: []metav1.PartialObjectMetadata{
		{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "a"}}, {ObjectMeta: metav1.ObjectMeta{Name: "b", UID: "b"}},
	}}
	asJSON, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	for encoding, page := range map[string][]byte{"protobuf": encode(t, list), "json": asJSON} {
		for length := range page {
			objects, _, err := readAll(bytes.NewReader(page[:length]))
			switch {
			case err == nil && len(objects) < 2:
				t.Errorf("%s: %d of %d bytes pass for a list of %d", encoding, length, len(page), len(objects))
			case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
				t.Errorf("%s: %d of %d bytes: %v", encoding, length, len(page), err)
			}
		}
	}
}

// FuzzPage: no answer makes the reader panic or take memory without end, and it finds no
// fewer objects than the API machinery does.
func FuzzPage(f *testing.F) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 5 {
		f.Add(encode(f, sampleList(random)))
	}
	f.Add([]byte("k8s\x00\x12\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x12\xff\xff\xff\x7f"))
	f.Add([]byte("{}"))
	f.Fuzz(func(t *testing.T, page []byte) {
		objects, _, err := readAll(bytes.NewReader(page))
		var envelope runtime.Unknown
		var list metav1.PartialObjectMetadataList
		body, isProtobuf := bytes.CutPrefix(page, []byte(protobufMagic))
		if err != nil || !isProtobuf || envelope.Unmarshal(body) != nil || list.Unmarshal(envelope.Raw) != nil {
			return
		}
		if len(objects) < len(list.Items) {
			t.Errorf("%d objects of %d", len(objects), len(list.Items))
		}
	})
}
