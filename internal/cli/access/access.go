// Package access is how the plugin reaches the cluster: kubectl's own flags for where it
// is and who asks, and the clients that these lead to.
package access

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// Flags are the flags that say which cluster, as whom, and in which namespace.
type Flags struct {
	config *genericclioptions.ConfigFlags
}

// New returns the flags, not given yet.
func New() *Flags {
	// Nothing is remembered from one run to the next: a type that went a minute ago must
	// not be looked for, and one that came must be.
	config := genericclioptions.NewConfigFlags(false).WithWrapConfigFn(unlimited)
	config.CacheDir = nil
	return &Flags{config: config}
}

// unlimited leaves the pace to the API server, which shares its time out fairly by itself;
// the default of the client would turn a survey of some seconds into minutes.
func unlimited(config *rest.Config) *rest.Config {
	config.QPS, config.Burst = -1, -1
	return config
}

// AddTo adds the flags to a command and those below it.
func (f *Flags) AddTo(command *cobra.Command) {
	f.config.AddFlags(command.PersistentFlags())
	f.completeFlags(command)
}

// Cluster is a cluster that can be asked. Nothing is sent before a client is used.
type Cluster struct {
	Config    *rest.Config
	Discovery *discovery.DiscoveryClient
	Metadata  metadata.Interface
	Dynamic   dynamic.Interface

	// Namespace is that of -n, or else of the context of the kubeconfig; Given says that
	// it is that of -n.
	Namespace string
	Given     bool

	getter getter
}

// Cluster returns the cluster that the flags mean.
func (f *Flags) Cluster() (*Cluster, error) {
	config, err := f.config.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	namespace, given, err := f.config.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, fmt.Errorf("reading the namespace of the kubeconfig's context: %w", err)
	}
	if *f.config.Namespace == "" {
		given = false // an override also comes from inside a pod, where nobody typed it
	}
	c := &Cluster{Config: config, Namespace: namespace, Given: given}
	if c.Discovery, err = discovery.NewDiscoveryClientForConfig(config); err != nil {
		return nil, fmt.Errorf("making a client for discovery: %w", err)
	}
	if c.Metadata, err = metadata.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("making a client for metadata: %w", err)
	}
	if c.Dynamic, err = dynamic.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("making a client for objects: %w", err)
	}
	c.getter = getter{RESTClientGetter: f.config, config: config, discovery: memory.NewMemCacheClient(c.Discovery)}
	return c, nil
}

// getter is what cli-runtime takes the types from: as they are served now, read once.
type getter struct {
	genericclioptions.RESTClientGetter

	config    *rest.Config
	discovery discovery.CachedDiscoveryInterface
}

// ToRESTConfig implements genericclioptions.RESTClientGetter.
func (g getter) ToRESTConfig() (*rest.Config, error) { return rest.CopyConfig(g.config), nil }

// ToDiscoveryClient implements genericclioptions.RESTClientGetter.
func (g getter) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) {
	return g.discovery, nil
}

// ToRESTMapper implements genericclioptions.RESTClientGetter.
func (g getter) ToRESTMapper() (meta.RESTMapper, error) {
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(g.discovery)
	return restmapper.NewShortcutExpander(mapper, g.discovery, nil), nil
}
