package stuck

import (
	"strings"
	"testing"

	"labhub.io/teamspace/test/oracle/live"
)

// TestSpellings: an object is named in every way that kubectl takes, which is asked too.
func TestSpellings(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	ns := namespace(t, w, "spellings")
	create(t, w, "own.labhub.io/v1", "Site", ns, "s")
	create(t, w, "apps/v1", "Deployment", ns, "d",
		field(int64(0), "spec", "replicas"), field(map[string]any{"app": "d"}, "spec", "selector", "matchLabels"),
		field(map[string]any{
			"metadata": map[string]any{"labels": map[string]any{"app": "d"}},
			"spec":     map[string]any{"containers": []any{map[string]any{"name": "x", "image": "x"}}},
		}, "spec", "template"))
	for words, want := range map[string]string{
		"site/s":                   "Site spellings/s",
		"site s":                   "Site spellings/s",
		"sites s":                  "Site spellings/s",
		"Site s":                   "Site spellings/s",
		"sites.own.labhub.io/s":    "Site spellings/s",
		"sites.v1.own.labhub.io s": "Site spellings/s",
		"Site.v1.own.labhub.io/s":  "Site spellings/s",
		"site.own.labhub.io s":     "Site spellings/s",
		"deploy/d":                 "Deployment spellings/d",
		"deployments.apps/d":       "Deployment spellings/d",
		"deployment.v1.apps d":     "Deployment spellings/d",
		"ns/spellings":             "Namespace spellings",
		"namespace spellings":      "Namespace spellings",
		"clusterrole/view":         "ClusterRole view",
		"clusterroles.rbac.authorization.k8s.io view": "ClusterRole view",
	} {
		t.Run(words, func(t *testing.T) {
			t.Parallel()
			args := append(strings.Fields(words), "-n", ns)
			w.MustKubectl(t, append([]string{"get"}, args...)...)
			if out := w.MustPlugin(t, 0, append([]string{"explain"}, args...)...); !strings.HasPrefix(out, want+" is not being deleted") {
				t.Errorf("it is called\n%s", out)
			}
		})
	}
	for _, wrong := range [][]string{{"site"}, {}, {"nosuch/s"}, {"site/s", "site/t"}, {"site", "s", "t"}, {"site/s/t"}, {"site/missing"}} {
		if report := w.Plugin(t, append([]string{"explain", "-n", ns}, wrong...)...); report.Code != 2 || report.Out != "" || !strings.HasPrefix(report.Err, "error: ") {
			t.Errorf("explain %v: %+v", wrong, report)
		}
	}
}

// TestServerAway: there is one line, and that says it.
func TestServerAway(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	for _, words := range []string{"explain site/s", "tree site/s", "preview delete site/s", "stuck sites"} {
		report := w.Plugin(t, append(strings.Fields(words), "--server=https://127.0.0.1:1")...)
		if report.Code != 2 || !strings.HasPrefix(report.Err, "error: ") || strings.Count(report.Err, "\n") != 1 {
			t.Errorf("%s: %+v", words, report)
		}
	}
}

// TestCompletion: types and names are offered as the shell's scripts ask for them.
func TestCompletion(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	ns := namespace(t, w, "completion")
	create(t, w, "own.labhub.io/v1", "Site", ns, "alpha")
	for words, want := range map[string]string{
		"stuck sit":                    "sites.own.labhub.io\n",
		"explain sites.own":            "sites.own.labhub.io/\n",
		"explain sites.own.labhub.io/": "sites.own.labhub.io/alpha\n",
		"explain site al":              "alpha\n",
		"preview delete site al":       "alpha\n",
		"tree --output d":              "text\njson\nyaml\ndot\n",
		"preview delete --cascade o":   "background\nforeground\norphan\n",
		"arch":                         "archive\t",
		"audit --namespace comple":     "completion\n",
		"audit --context san":          "sandbox\n",
		"audit some":                   ":4\n",
		"restore never-there":          ":4\n",
	} {
		report := w.Plugin(t, append([]string{"__complete", "-n", ns}, strings.Fields(words)...)...)
		if !strings.HasPrefix(report.Out, want) {
			t.Errorf("completing %q: %q, want %q", words, report.Out, want)
		}
	}
}

// TestGoneType: what went with its type is explained by the deletion of that.
func TestGoneType(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	ns := namespace(t, w, "gone-type")
	define(t, w, live.Definition{Group: "gonetype.example", Kind: "Crank", Namespaced: true, Versions: []live.Version{{Name: "v1"}}})
	crank := create(t, w, "gonetype.example/v1", "Crank", ns, "l")
	w.MustKubectl(t, "delete", "crd", "cranks.gonetype.example")
	w.AwaitGone(t, crank)
	log := copyLog(t, w)
	for _, words := range []string{"cranks.gonetype.example/l", "crank/l", "cranks l", "Crank.gonetype.example l", "cranks.v1.gonetype.example/l"} {
		out := w.MustPlugin(t, 0, append([]string{"explain", "-n", ns, "--audit-log=" + log}, strings.Fields(words)...)...)
		if err := lacks(out, []string{"gone-type/l does not exist", "its type, CustomResourceDefinition cranks.gonetype.example, was deleted at ", "by sandbox-admin"}); err != nil {
			t.Errorf("%s: %v", words, err)
		}
	}
	if report := w.Plugin(t, "explain", "crank/never", "-n", ns, "--audit-log="+log); report.Code != 2 || !strings.Contains(report.Out, "if cranks gone-type/never was there then") && !strings.Contains(report.Out, "if Crank gone-type/never was there then") {
		t.Errorf("what never was: %+v", report)
	}
	if report := w.Plugin(t, "explain", "nosuch/l", "-n", ns, "--audit-log="+log); report.Code != 2 || !strings.Contains(report.Err, `does not tell of a type "nosuch"`) {
		t.Errorf("a type that never was: %+v", report)
	}
	away := w.Plugin(t, "explain", "crank/l", "-n", ns, "--audit-log="+log, "--server=https://127.0.0.1:1")
	if err := lacks(away.Out, []string{"of which the cluster cannot be asked whether it exists", "its type, CustomResourceDefinition cranks.gonetype.example, was deleted at "}); err != nil || away.Code != 2 {
		t.Errorf("with the server away: %+v, %v", away, err)
	}
}
