package preview

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"labhub.io/teamspace/api/v1alpha1"
	"labhub.io/teamspace/test/world"
)

var installed = &world.Shared{}

func TestMain(m *testing.M) { installed.Run(m) }

// TestTeamSpaces: what the API server refuses is not said to be deleted, to whom it would not
// tell is told so, and nothing is deleted by asking; a team's namespace is held by what is in
// it, and stays when the definition goes.
func TestTeamSpaces(t *testing.T) {
	w := installed.World(t)
	w.Serve(t, world.TeamSpace("door", 5, "1"))
	w.Create(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name: "fin", Namespace: "team-door", Finalizers: []string{"example.com/hold"},
	}})
	w.MustKubectl(t, "create", "clusterrolebinding", "viewer", "--clusterrole=view", "--user=viewer")
	for name, tc := range map[string]struct {
		args   []string
		code   int
		says   []string
		notes  string // on the standard error
		silent string
	}{
		"refused by the policy": {
			[]string{"ns/team-door"}, 1, []string{"Refused:\n  - Namespace team-door: ", "If it were let through:\nNamespace team-door: "}, "", "",
		},
		"not asked": {
			[]string{"cm/fin", "-n", "team-door", "--as=viewer"}, 2, []string{"ConfigMap team-door/fin: waiting\n"},
			"note: the deletion of ConfigMap team-door/fin may be refused: ", "Refused:",
		},
		"a second finalizer": {
			[]string{"teamspace/door"}, 0, []string{
				"Namespace team-door is deleted once example.com/hold is taken off ConfigMap team-door/fin and " +
					v1alpha1.Finalizer + " off TeamSpace door",
			}, "", "Refused:",
		},
		"the definition": {
			[]string{"crd/" + v1alpha1.CRDName}, 0, []string{"Namespace team-door: kept\n", "Note: The namespaces of the TeamSpaces stay"}, "", "Namespace team-door is deleted",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := w.Plugin(t, append([]string{"preview", "delete"}, tc.args...)...)
			if got.Code != tc.code || !strings.Contains(got.Err, tc.notes) || tc.silent != "" && strings.Contains(got.Out, tc.silent) {
				t.Errorf("%+v", got)
			}
			for _, want := range tc.says {
				if !strings.Contains(got.Out, want) {
					t.Errorf("%q is not in\n%s", want, got.Out)
				}
			}
		})
	}
	if ts := w.AwaitReady(t, "door"); !ts.DeletionTimestamp.IsZero() {
		t.Error("asking has deleted it")
	}
}
