package cli

import (
	"encoding/json"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"labhub.io/teamspace/sandbox/chart"
)

// newRender returns the command that prints what the chart makes.
func newRender() *cobra.Command {
	release := chart.Release{Name: "teamspace"}
	var path string
	cmd := &cobra.Command{
		Use:   "render",
		Short: "Print what the chart makes, the Deployments left out",
		Long: `Renders the chart as helm would and prints the objects as one list in JSON, in
the order in which they have to be applied. The Deployments are left out: a
sandbox runs processes in their place.`,
		Example: `  sandbox render --set guard.failurePolicy=Fail | kubectl apply --server-side -f -`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			manifests, err := chart.Render(path, release)
			if err != nil {
				return err
			}
			list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "v1", "kind": "List"}}
			for _, object := range append(manifests.CRDs, manifests.Objects...) {
				list.Items = append(list.Items, *object)
			}
			encoder := json.NewEncoder(cmd.OutOrStdout())
			encoder.SetIndent("", "  ")
			return encoder.Encode(list.UnstructuredContent())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&path, "chart", "charts/teamspace", "the chart's folder")
	flags.StringVarP(&release.Namespace, "namespace", "n", "teamspace-system", "the namespace of the release")
	flags.StringVar(&release.KubeVersion, "kube-version", "v1.37.2", "the version of the cluster")
	flags.StringArrayVarP(&release.ValueFiles, "values", "f", nil, "a file with values for the chart; repeatable")
	flags.StringArrayVar(&release.Set, "set", nil, "a value for the chart as key=value; repeatable")
	return cmd
}
