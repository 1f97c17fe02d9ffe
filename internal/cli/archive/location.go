package archive

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/api/v1alpha1"
	store "labhub.io/teamspace/archive"
	"labhub.io/teamspace/internal/cli/access"
)

// Location is which archive a subcommand reads: what the manager publishes, unless
// somebody names another.
type Location struct {
	url string
}

// AddFlag adds --archive to a subcommand.
func (l *Location) AddFlag(command *cobra.Command) {
	command.Flags().StringVar(&l.url, "archive", "", "The archive: configmap://NAMESPACE or file:///DIRECTORY. By default what the manager publishes in its namespace.")
}

// Open opens the archive, and returns the client with which it is read too. It makes
// nothing.
func (l *Location) Open(ctx context.Context, flags *access.Flags) (store.Store, client.Client, error) {
	cluster, err := flags.Cluster()
	if err != nil {
		return nil, nil, err
	}
	live, err := client.New(cluster.Config, client.Options{Scheme: newScheme()})
	if err != nil {
		return nil, nil, fmt.Errorf("making a client for the archive: %w", err)
	}
	place := l.url
	if place == "" {
		if place, err = store.FindPublished(ctx, live); err != nil {
			return nil, nil, fmt.Errorf("%w; name it with --archive", err)
		}
	}
	if err := isHere(place); err != nil {
		return nil, nil, err
	}
	opened, err := store.Open(place, live)
	return opened, live, err
}

// CompleteNames offers the names of the records for the first argument.
func (l *Location) CompleteNames(flags *access.Flags) cobra.CompletionFunc {
	return func(command *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		opened, _, err := l.Open(command.Context(), flags)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		records, err := opened.List(command.Context())
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return namesOf(records, typed), cobra.ShellCompDirectiveNoFileComp
	}
}

// namesOf are the names of records that begin like this, each once.
func namesOf(records []store.Record, typed string) []string {
	var names []string
	for i := range records {
		if strings.HasPrefix(records[i].Name, typed) {
			names = append(names, records[i].Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// isHere keeps a reader from making an empty archive where there is none: the directory of
// a manager is on the manager's machine.
func isHere(place string) error {
	parsed, err := url.Parse(place)
	if err != nil || parsed.Scheme != "file" {
		return nil //nolint:nilerr // opening says what is wrong with it
	}
	if _, err := os.Stat(parsed.Path); err != nil {
		return fmt.Errorf("the archive is a directory that is not on this machine; name a copy of it with --archive: %w", err)
	}
	return nil
}

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			panic(err) // two Go types under one name: the program itself is wrong
		}
	}
	return scheme
}
