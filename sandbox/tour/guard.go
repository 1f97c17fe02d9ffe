package tour

// Owner references that are wrong in the three ways that cost most, as templates of what
// kubectl is fed. The Site alpha lives in op-own.
const (
	dependentHead = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n"
	staleUID      = "00000000-0000-0000-0000-000000000000"
)

// owned is the end of a manifest: owned by the Site alpha under this uid.
func owned(uid string) string {
	return "  ownerReferences:\n  - {apiVersion: own.labhub.io/v1, kind: Site, name: alpha, uid: " + uid + "}\n"
}

func ownerReferences(s Settings) Step {
	return Step{
		Title: "Wrong owner references are refused when they are written",
		Why: "Kubernetes accepts any. The garbage collector would delete the first two within\n" +
			"milliseconds, and never the third; before Kubernetes 1.20 it deleted that one too,\n" +
			"with all that was in it, at some later restart. Each answer says what would be right.",
		Commands: []Command{
			{Line: "kubectl apply -f " + quote(s.Lab+"/site-type.yaml"), Want: []string{"created"}},
			{Line: "kubectl wait --for=condition=Established crd/sites.own.labhub.io --timeout=60s", Want: []string{"condition met"}},
			{Line: "kubectl apply -f " + quote(s.Lab+"/alpha.yaml"), Want: []string{"site.own.labhub.io/alpha"}, Until: soon},
			{Line: "kubectl get site alpha -n op-own -o 'jsonpath={.metadata.uid}'", Save: "site"},
			denied("ownerreferences", dependentHead+"  name: alpha-bad\n  namespace: op-own\n"+owned(staleUID), `has uid "${site}"`, "would delete this ConfigMap"),
			denied("ownerreferences", dependentHead+"  name: alpha-remote\n  namespace: op-far\n"+owned("${site}"), `does not exist in namespace "op-far"`, "would delete this ConfigMap"),
			denied("ownerreferences", "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: alpha-space\n"+owned("${site}"), "cluster-scoped", "would never delete this Namespace"),
			{Line: "kubectl create -f -", Input: dependentHead + "  name: alpha-good\n  namespace: op-own\n" + owned("${site}"), Want: []string{"alpha-good created"}},
		},
	}
}

// denied creates an object that must not be accepted.
func denied(by, manifest string, want ...string) Command {
	return Command{
		Line: "kubectl create -f -", Input: manifest, Fails: true,
		Want: append([]string{"Forbidden", by + ".platform.labhub.io", "denied"}, want...),
	}
}

func policies() Step {
	return Step{
		Title: "A team's namespace is not for others to take",
		Why: "These are policies in the API server: they hold while no manager runs, and for the\n" +
			"administrator too.",
		Commands: []Command{
			{Line: "kubectl delete namespace team-alpha", Fails: true, Want: []string{"forbidden", "delete the TeamSpace instead"}},
			{Line: "kubectl label namespace team-alpha --overwrite platform.labhub.io/teamspace=beta", Fails: true, Want: []string{"forbidden", "the label platform.labhub.io/teamspace"}},
			{Line: "kubectl label namespace op-own platform.labhub.io/teamspace=alpha", Fails: true, Want: []string{"forbidden", "the label platform.labhub.io/teamspace"}},
			{
				Line: "kubectl create -f -", Fails: true, Want: []string{"forbidden", "this owner is namespaced"},
				Input: "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata:\n  name: outlives-its-server\n" +
					"  ownerReferences:\n  - {apiVersion: apps/v1, kind: Deployment, name: server, uid: " + staleUID + "}\n",
			},
			{Line: `kubectl patch teamspace alpha --type=merge -p '{"metadata": {"finalizers": null}}'`, Want: []string{"has been put back", "patched"}},
		},
	}
}
