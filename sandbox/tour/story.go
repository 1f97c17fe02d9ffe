package tour

import (
	"fmt"
	"strings"
	"time"
)

// Settings are what the story needs to know of the world that it plays in.
type Settings struct {
	// Dir is the sandbox's directory, Archive the folder of the archive.
	Dir, Archive string
	// AuditLog is the API server's, about deleted namespaces.
	AuditLog string
	// Example is the file with the TeamSpace alpha: five pods, one cpu.
	Example string
	// Lab is the folder of the ownership lab.
	Lab string
}

// soon is how long a controller may take before the tour gives up. What it took
// is shown.
const soon = 60 * time.Second

// Story is what `make demo` shows.
func Story(s Settings) []Step {
	return []Step{
		apply(s),
		anatomy(),
		deletedQuota(),
		editedQuota(),
		refusals(),
		ownerReferences(s),
		policies(),
		managerAway(s),
		deletion(s),
	}
}

func apply(s Settings) Step {
	return Step{
		Title: "A team applies one small object",
		Why:   "That is all it has to know. Ready means that the quota is in force, not only written.",
		Commands: []Command{
			{Line: "cat " + quote(s.Example)},
			{Line: "kubectl apply -f " + quote(s.Example), Want: []string{"teamspace.platform.labhub.io/alpha created"}},
			{Line: "kubectl wait --for=condition=Ready teamspace/alpha --timeout=60s", Want: []string{"condition met"}},
			{Line: "kubectl get teamspaces", Want: []string{"alpha", "team-alpha", "True"}},
		},
	}
}

func anatomy() Step {
	return Step{
		Title: "The team has a namespace with a quota and a default request",
		Why: "The namespace is owned by the TeamSpace, with its live uid: when the one goes, the\n" +
			"garbage collector takes the other. The LimitRange makes plain pods fit into the quota.",
		Commands: []Command{
			{Line: "kubectl get teamspace alpha -o 'jsonpath={.metadata.uid}'", Save: "owner"},
			{Line: "kubectl get namespace team-alpha -o 'jsonpath={.metadata.ownerReferences}'", Want: []string{`"uid":"${owner}"`, `"kind":"TeamSpace"`, `"controller":true`}},
			{Line: "kubectl get resourcequota,limitrange -n team-alpha", Want: []string{"resourcequota/team-quota", "pods: 0/5", "limitrange/team-defaults"}},
			{Line: "kubectl get limitrange team-defaults -n team-alpha -o 'jsonpath={.spec.limits[0].defaultRequest}'", Want: []string{`"cpu":"200m"`}},
		},
	}
}

func deletedQuota() Step {
	const uid = "kubectl get resourcequota team-quota -n team-alpha -o 'jsonpath={.metadata.uid}'"
	return Step{
		Title: "Somebody deletes the quota",
		Why:   "It is back at once, as a new object: another uid.",
		Commands: []Command{
			{Line: uid, Save: "quota"},
			{Line: "kubectl delete resourcequota team-quota -n team-alpha", Want: []string{"deleted"}},
			{Line: uid, Differs: "${quota}", Until: soon},
		},
	}
}

func editedQuota() Step {
	return Step{
		Title: "Somebody gives the team more pods than declared",
		Why:   "An edit of the quota is undone. More pods have to be declared in the TeamSpace.",
		Commands: []Command{
			{Line: `kubectl patch resourcequota team-quota -n team-alpha --type=merge -p '{"spec": {"hard": {"pods": "99"}}}'`, Want: []string{"patched"}},
			{Line: "kubectl get resourcequota team-quota -n team-alpha -o 'jsonpath={.spec.hard}'", Want: []string{`"pods":"5"`}, Until: soon},
			{Line: "kubectl events --for=teamspace/alpha", Want: []string{"DriftRepaired"}, Until: soon},
		},
	}
}

func refusals() Step {
	return Step{
		Title: "Mistakes are refused when they are made",
		Why:   "By the API server itself, from the rules of the type: no webhook has to run for that.",
		Commands: []Command{
			refused("beta", `{"pods": 51}`, "spec.pods", "less than or equal to 50"),
			refused("beta.gamma", `{"pods": 5}`, "metadata.name", "no dots"),
			refused("beta", `{"pods": 5, "cpu": "abc"}`, "spec.cpu", "quantity"),
		},
	}
}

// refused applies a TeamSpace that must not be accepted.
func refused(name, spec string, want ...string) Command {
	return Command{
		Line:  "kubectl apply -f -",
		Input: fmt.Sprintf("apiVersion: platform.labhub.io/v1alpha1\nkind: TeamSpace\nmetadata: {name: %s}\nspec: %s\n", name, spec),
		Fails: true,
		Want:  append([]string{"invalid"}, want...),
	}
}

func managerAway(s Settings) Step {
	const generations = "kubectl get teamspace alpha -o 'jsonpath={.metadata.generation} {.status.observedGeneration}'"
	return Step{
		Title: "A change is made while the manager is away",
		Why: "The status says of which generation it speaks, so nobody takes the old for the new.\n" +
			"After its start the manager catches up with what it has not seen.",
		Commands: []Command{
			{Line: "sandbox stop --dir " + quote(s.Dir) + " manager", Want: []string{"manager is stopped"}},
			{Line: `kubectl patch teamspace alpha --type=merge -p '{"spec": {"pods": 7}}'`, Want: []string{"patched"}},
			{Line: generations, Want: []string{"2 1"}},
			{Line: "sandbox start --dir " + quote(s.Dir) + " manager", Want: []string{"manager serves"}},
			{Line: generations, Want: []string{"2 2"}, Until: soon},
			{Line: "kubectl wait --for=condition=Ready teamspace/alpha --timeout=60s", Want: []string{"condition met"}},
			{Line: "kubectl get resourcequota team-quota -n team-alpha -o 'jsonpath={.status.hard}'", Want: []string{`"pods":"7"`}},
		},
	}
}

func deletion(s Settings) Step {
	const who = `'"requestURI":"/api/v1/namespaces/team-alpha","verb":"delete","user":{"username":"[^"]*"'`
	return Step{
		Title: "The team's space is deleted",
		Why: "What it was is archived first; only then does the TeamSpace go. The namespace is not\n" +
			"deleted by the manager: the real garbage collector finds that its owner is gone. The\n" +
			"audit log of the API server knows who asked: first the administrator, in vain, then who\n" +
			"could.",
		Commands: []Command{
			{Line: "kubectl delete teamspace alpha --timeout=60s", Want: []string{"deleted"}},
			{Line: "cat " + quote(s.Archive+"/alpha.json"), Want: []string{`"name"`, `"alpha"`, `"uid"`, `"${owner}"`, `"pods"`, "7"}},
			{Line: "kubectl wait --for=delete namespace/team-alpha --timeout=60s"},
			{Line: "kubectl get namespace team-alpha", Fails: true, Want: []string{"NotFound"}},
			{Line: "grep -o " + who + " " + quote(s.AuditLog), Want: []string{"system:serviceaccount:kube-system:generic-garbage-collector"}, Until: soon},
		},
	}
}

// quote quotes a path if a line would otherwise take it apart.
func quote(path string) string {
	if strings.ContainsAny(path, " ") {
		return "'" + path + "'"
	}
	return path
}
