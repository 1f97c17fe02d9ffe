package archive

import (
	"errors"
	"fmt"
	"net/url"

	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ErrUnavailable wraps what keeps an archive from being used just now. The store
// that comes with it can be used as soon as the obstacle is gone.
var ErrUnavailable = errors.New("the archive cannot be used yet")

// Open returns the store of an archive URL:
//
//	configmap://NAMESPACE   ConfigMaps in a namespace
//	file:///DIRECTORY       files in a directory, which is made if it can be
//
// The client is used for ConfigMaps and must not cache. Any error but ErrUnavailable
// means that the URL is wrong.
func Open(archiveURL string, live client.Client) (Store, error) {
	parsed, err := url.Parse(archiveURL)
	if err != nil {
		return nil, fmt.Errorf("parsing the archive URL: %w", err)
	}
	if parsed.RawQuery != "" || parsed.Fragment != "" || parsed.User != nil {
		return nil, fmt.Errorf("archive URL %q: only a scheme and a place are allowed, as in configmap://teamspace-archive or file:///var/lib/teamspace", archiveURL)
	}
	switch parsed.Scheme {
	case "configmap":
		if parsed.Path != "" || len(validation.IsDNS1123Label(parsed.Host)) > 0 {
			return nil, fmt.Errorf("archive URL %q: want configmap://NAMESPACE", archiveURL)
		}
		return NewConfigMapStore(live, parsed.Host), nil
	case "file":
		if parsed.Host != "" || parsed.Path == "" || parsed.Path == "/" {
			return nil, fmt.Errorf("archive URL %q: want an absolute directory with three slashes, as in file:///var/lib/teamspace", archiveURL)
		}
		store, err := NewDirectoryStore(parsed.Path)
		if err != nil {
			return store, fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		return store, nil
	default:
		return nil, fmt.Errorf("archive URL %q: unknown scheme %q, want configmap://NAMESPACE or file:///DIRECTORY", archiveURL, parsed.Scheme)
	}
}
