package chart

import (
	"strings"
	"testing"

	"labhub.io/teamspace/test/helm"
)

// TestRefusals: a wrong value is refused before anything is made, by its name and with
// what would be right.
func TestRefusals(t *testing.T) {
	for name, tc := range map[string]struct {
		set  string
		want []string
	}{
		"a name that there is not":                  {"gaurd.mode=warn", []string{"'gaurd' not allowed"}},
		"one in a group":                            {"controller.replica=3", []string{"/controller", "'replica' not allowed"}},
		"one deep down":                             {"metrics.serviceMonitor.enable=true", []string{"/metrics/serviceMonitor", "'enable' not allowed"}},
		"a mode of another tool":                    {"guard.mode=deny", []string{"/guard/mode", "'enforce', 'warn', 'audit', 'off'"}},
		"a failure policy in lower case":            {"guard.failurePolicy=fail", []string{"/guard/failurePolicy", "'Ignore', 'Fail'"}},
		"a provider of certificates of our dreams":  {"certs.provider=vault", []string{"/certs/provider", "'self', 'cert-manager'"}},
		"a duration without a unit":                 {"certs.leafLifetime=\"90\"", []string{"/certs/leafLifetime", "(ms|s|m|h)"}},
		"days, which Go does not know":              {"certs.leafLifetime=90d", []string{"/certs/leafLifetime", "90d", "(ms|s|m|h)"}},
		"a lame duck in minutes":                    {"webhook.lameDuck=1m", []string{"/webhook/lameDuck", "1m", "s$"}},
		"replicas below none":                       {"controller.replicas=-1", []string{"/controller/replicas", "got -1, want 0"}},
		"replicas in words":                         {"webhook.replicas=two", []string{"/webhook/replicas", "got string, want integer"}},
		"nobody to work":                            {"controller.concurrency=0", []string{"/controller/concurrency", "got 0, want 1"}},
		"a port that there is not":                  {"webhook.port=99999", []string{"/webhook/port", "want 65,535"}},
		"a truth in quotes":                         {"policies.enabled=\"yes\"", []string{"/policies/enabled", "got string, want boolean"}},
		"a budget of none, which keeps nodes":       {"webhook.podDisruptionBudget.maxUnavailable=0", []string{"/webhook/podDisruptionBudget/maxUnavailable", "got 0, want 1"}},
		"a namespace with capitals":                 {"archive.namespace=Archive", []string{"/archive/namespace", "[a-z0-9]"}},
		"an archive in the release's own namespace": {"archive.namespace=teamspace-system", []string{"archive.namespace", "outlives the release"}},
		"an image with its tag in the name":         {"image.repository=acme/manager:v1", []string{"/image/repository", "acme/manager:v1"}},
		"half a digest":                             {"image.digest=sha256:abc", []string{"/image/digest", "sha256:[a-f0-9]{64}"}},
		"a pull policy of another case":             {"image.pullPolicy=always", []string{"/image/pullPolicy", "'Always', 'IfNotPresent', 'Never'"}},
		"root":                                      {"runAsUser=0", []string{"/runAsUser", "got 0, want 1"}},
		"an uninstallation that keeps":              {"uninstall.policy=Retain", []string{"/uninstall/policy", "'Fail', 'Orphan', 'Delete'"}},
		"owners without their resources":            {"guard.owners[0].apiGroups={apps}", []string{"/guard/owners/0", "resources"}},
		"verbs, which are not to be chosen":         {"guard.owners[0].apiGroups={apps},guard.owners[0].resources={*},guard.owners[0].verbs={list}", []string{"/guard/owners/0", "'verbs' not allowed"}},
		"an authority that ends too early":          {"certs.authorityLifetime=2160h", []string{"certs.authorityLifetime", "three times", "certs.leafLifetime=2160h"}},
		"a label that the chart sets":               {`commonLabels.app\.kubernetes\.io/name=x`, []string{"commonLabels", "app.kubernetes.io/name", "set by the chart itself"}},
		"alerts on no metrics":                      {"metrics.enabled=false,metrics.prometheusRule.enabled=true", []string{"metrics.prometheusRule.enabled", "metrics.enabled=false"}},
		"a spread that cannot be":                   {"topologySpreadConstraints[0].maxSkew=0", []string{"/topologySpreadConstraints/0", "got 0, want 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := helm.Run(t, "template", "teamspace", helm.Chart(t), "--namespace=teamspace-system", "--set="+tc.set)
			if err == nil {
				t.Fatalf("%s was not refused", tc.set)
			}
			for _, want := range tc.want {
				if !strings.Contains(out, want) {
					t.Errorf("the refusal of %s does not say %q:\n%s", tc.set, want, out)
				}
			}
		})
	}
}
