package access

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// longestCompletion is how many names are offered: more is no help to anybody.
const longestCompletion = 500

// completeFlags has the flags offer what is there: the namespaces of the cluster, and what
// the kubeconfig names.
func (f *Flags) completeFlags(command *cobra.Command) {
	for name, complete := range map[string]func(*cobra.Command) ([]string, error){
		"namespace": f.namespaces,
		"context":   func(*cobra.Command) ([]string, error) { c, err := f.kubeconfig(); return keys(c.Contexts), err },
		"cluster":   func(*cobra.Command) ([]string, error) { c, err := f.kubeconfig(); return keys(c.Clusters), err },
		"user":      func(*cobra.Command) ([]string, error) { c, err := f.kubeconfig(); return keys(c.AuthInfos), err },
	} {
		// An error here is a flag that does not exist, and they were all added before.
		_ = command.RegisterFlagCompletionFunc(name, func(command *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
			found, err := complete(command)
			if err != nil {
				return nil, cobra.ShellCompDirectiveError
			}
			return startingWith(found, typed), cobra.ShellCompDirectiveNoFileComp
		})
	}
}

func (f *Flags) namespaces(command *cobra.Command) ([]string, error) {
	cluster, err := f.Cluster()
	if err != nil {
		return nil, err
	}
	return cluster.completeNames(command, "namespaces", "", ""), nil
}

func (f *Flags) kubeconfig() (clientcmdapi.Config, error) {
	return f.config.ToRawKubeConfigLoader().RawConfig()
}

func keys[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }

func startingWith(words []string, typed string) []string {
	return slices.DeleteFunc(words, func(word string) bool { return !strings.HasPrefix(word, typed) })
}

// CompleteTypes offers the types of the cluster for every argument.
func (f *Flags) CompleteTypes(command *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	cluster, err := f.Cluster()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return completeTypes(command, cluster, typed, ""), cobra.ShellCompDirectiveNoFileComp
}

// CompleteTargets offers types, and then the names of objects of that type, for both of
// TYPE NAME and TYPE/NAME.
func (f *Flags) CompleteTargets(command *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	cluster, err := f.Cluster()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	resource, name, named := strings.Cut(typed, "/")
	switch {
	case named:
		return cluster.completeNames(command, resource, resource+"/", name), cobra.ShellCompDirectiveNoFileComp
	case len(args) > 0 && !strings.Contains(args[0], "/"):
		return cluster.completeNames(command, args[0], "", typed), cobra.ShellCompDirectiveNoFileComp
	default:
		return completeTypes(command, cluster, typed, "/"), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

func completeTypes(command *cobra.Command, cluster *Cluster, typed, end string) []string {
	// What could be discovered is offered, whatever else could not.
	_, lists, _ := cluster.Discovery.ServerGroupsAndResourcesWithContext(command.Context())
	var found []string
	for _, list := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list"}}, lists) {
		group, _, grouped := strings.Cut(list.GroupVersion, "/")
		for i := range list.APIResources {
			name := list.APIResources[i].Name
			if grouped {
				name += "." + group
			}
			if strings.HasPrefix(name, typed) {
				found = append(found, name+end)
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func (c *Cluster) completeNames(command *cobra.Command, word, prefix, typed string) []string {
	t, err := c.getType(word)
	if err != nil {
		return nil
	}
	namespace := ""
	if t.Namespaced {
		namespace = c.Namespace
	}
	list, err := c.Metadata.Resource(t.Resource).Namespace(namespace).List(command.Context(), metav1.ListOptions{Limit: longestCompletion})
	if err != nil {
		return nil
	}
	var found []string
	for i := range list.Items {
		if strings.HasPrefix(list.Items[i].Name, typed) {
			found = append(found, prefix+list.Items[i].Name)
		}
	}
	return found
}
