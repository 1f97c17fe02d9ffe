package check

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"
)

// checkKubeconfig returns an error if the environment names kubeconfigs and none of them is
// there: whoever names one does not mean to ask no cluster.
func checkKubeconfig() error {
	named := slices.DeleteFunc(filepath.SplitList(os.Getenv(clientcmd.RecommendedConfigPathEnvVar)), func(path string) bool { return path == "" })
	for _, path := range named {
		if _, err := os.Stat(path); err == nil {
			return nil
		}
	}
	if len(named) == 0 {
		return nil
	}
	return fmt.Errorf("%s names %s, which is not there: correct it, or ask no cluster with --offline",
		clientcmd.RecommendedConfigPathEnvVar, strings.Join(named, " and "))
}

// notAsked notes that whether an owner exists was not looked at for want of a cluster.
func (j *judge) notAsked(ref metav1.OwnerReference) {
	kind := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	plural, _ := meta.UnsafeGuessKindToResource(kind)
	j.unseen[plural.GroupResource().String()]++
}

// noteUnseen makes a gap for each type of owners that no cluster was asked for.
func (j *judge) noteUnseen() {
	for resource, count := range j.unseen {
		j.gap(resource, fmt.Errorf("no cluster was asked whether these owners exist (references: %d)", count))
	}
}
