package inventory

import (
	"context"
	"errors"
	"io"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"labhub.io/teamspace/ownership/graph"
)

// pageSize is large, since each page costs the API server a look at all of the list, and
// costs us nothing: a page is never held as a whole.
const pageSize = 5000

// acceptMetadata asks for metadata alone, in protobuf if the server has it; a server that
// has neither sends whole objects.
const acceptMetadata = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1," +
	"application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"

// attempts is how often a page is asked for whose answer does not arrive, and how often a
// list is begun anew whose pages expire faster than they are read.
const attempts = 3

var pause = wait.Backoff{Duration: 100 * time.Millisecond, Factor: 3, Steps: attempts}

// lister lists the objects of one resource.
type lister struct {
	client rest.Interface
	add    func(graph.Object)
}

// list reads all pages. An object may be handed out twice: where a page had to be asked
// for again, and where the list had to begin anew.
func (l lister) list(ctx context.Context, what listing, namespace string) error {
	pages := newPageReader(what.apiVersion, what.kind)
	return EachPage(func(token string) (string, error) {
		return l.page(ctx, pages, what.resource, namespace, token)
	})
}

// EachPage reads a list page by page: read gets the token of a page, which is empty for the
// first, and returns that of the next. A token that has expired is no end: the answer may
// hold one that goes on with the objects as they are now, or else the list begins anew,
// with the empty token. What moved meanwhile is of no harm: every finding is looked at live.
func EachPage(read func(token string) (next string, err error)) error {
	token, expired := "", 0
	for {
		next, err := read(token)
		switch {
		case token != "" && apierrors.IsResourceExpired(err) && expired < attempts:
			expired++
			token = freshToken(err)
			continue
		case err != nil:
			return err
		case next == "":
			return nil
		}
		token = next
	}
}

// freshToken is the token to go on with after one that has expired; without one the list
// begins anew.
func freshToken(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Continue
	}
	return ""
}

// page reads one page, again if the answer is cut off or the server is too busy.
func (l lister) page(ctx context.Context, pages *pageReader, resource schema.GroupVersionResource, namespace, token string) (next string, err error) {
	_ = wait.ExponentialBackoffWithContext(ctx, pause, func(ctx context.Context) (bool, error) {
		next, err = l.get(ctx, pages, resource, namespace, token)
		return err == nil || !passes(err), nil
	}) // whether time or attempts ran out, the last error says more
	return next, err
}

// passes reports whether the same request may well succeed a moment later.
func passes(err error) bool {
	return errors.Is(err, io.ErrUnexpectedEOF) || utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err) ||
		apierrors.IsTooManyRequests(err) || apierrors.IsServerTimeout(err)
}

func (l lister) get(ctx context.Context, pages *pageReader, resource schema.GroupVersionResource, namespace, token string) (string, error) {
	request := l.client.Get().AbsPath(path(resource, namespace)...).SetHeader("Accept", acceptMetadata).
		Param("limit", strconv.Itoa(pageSize))
	if token != "" {
		request = request.Param("continue", token)
	}
	body, err := request.Stream(ctx)
	if err != nil {
		return "", err
	}
	defer body.Close()
	return pages.read(body, l.add)
}

func path(resource schema.GroupVersionResource, namespace string) []string {
	segments := []string{"apis", resource.Group, resource.Version}
	if resource.Group == "" {
		segments = []string{"api", resource.Version}
	}
	if namespace != "" {
		segments = append(segments, "namespaces", namespace)
	}
	return append(segments, resource.Resource)
}
