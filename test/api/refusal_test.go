package api

import (
	"fmt"
	"strings"
	"testing"

	"labhub.io/teamspace/test/world"
)

// manifest is a TeamSpace as a person writes it.
func manifest(name, spec string) string {
	return fmt.Sprintf(`{"apiVersion": "platform.labhub.io/v1alpha1", "kind": "TeamSpace", "metadata": {"name": %q}, "spec": %s}`, name, spec)
}

func TestTeamSpace_RefusedWithWhatIsAllowed(t *testing.T) {
	w := lab.World(t)
	for name, tc := range map[string]struct {
		name, spec string
		want       []string // in what kubectl prints
	}{
		"pods 0 is too few":                {name: "refused", spec: `{"pods": 0}`, want: []string{"spec.pods", "greater than or equal to 1"}},
		"pods 51 is too many":              {name: "refused", spec: `{"pods": 51}`, want: []string{"spec.pods", "less than or equal to 50"}},
		"pods as a string":                 {name: "refused", spec: `{"pods": "4"}`, want: []string{"spec.pods", "must be of type integer"}},
		"pods is a fraction":               {name: "refused", spec: `{"pods": 1.5}`, want: []string{"spec.pods", "must be of type integer"}},
		"pods is missing":                  {name: "refused", spec: `{}`, want: []string{"spec.pods", "Required value"}},
		"the spec is missing":              {name: "refused", spec: `null`, want: []string{"spec", "Required value"}},
		"cpu abc is no quantity":           {name: "refused", spec: `{"pods": 2, "cpu": "abc"}`, want: []string{"spec.cpu", `a Kubernetes quantity such as "1", "500m" or "0.5"`}},
		"cpu has a monstrous exponent":     {name: "refused", spec: `{"pods": 2, "cpu": "1e999999999"}`, want: []string{"spec.cpu", `a Kubernetes quantity such as "1", "500m" or "0.5"`}},
		"cpu is monstrously small":         {name: "refused", spec: `{"pods": 2, "cpu": "1E-999999999"}`, want: []string{"spec.cpu", `a Kubernetes quantity such as "1", "500m" or "0.5"`}},
		"cpu is empty":                     {name: "refused", spec: `{"pods": 2, "cpu": ""}`, want: []string{"spec.cpu", `a Kubernetes quantity such as "1", "500m" or "0.5"`}},
		"cpu as a number":                  {name: "refused", spec: `{"pods": 2, "cpu": 1}`, want: []string{"spec.cpu", "must be of type string"}},
		"cpu -1 is negative":               {name: "refused", spec: `{"pods": 2, "cpu": "-1"}`, want: []string{"spec.cpu", "at least 1m", "for each pod"}},
		"cpu 0 is nothing":                 {name: "refused", spec: `{"pods": 2, "cpu": "0"}`, want: []string{"spec.cpu", "at least 1m", "for each pod"}},
		"cpu 1m is too little for 2 pods":  {name: "refused", spec: `{"pods": 2, "cpu": "1m"}`, want: []string{"spec.cpu", "at least 1m", "for each pod"}},
		"cpu 49m is too little for 50":     {name: "refused", spec: `{"pods": 50, "cpu": "49m"}`, want: []string{"spec.cpu", "at least 1m", "for each pod"}},
		"a hair too little cpu for 2 pods": {name: "refused", spec: `{"pods": 2, "cpu": "1999999n"}`, want: []string{"spec.cpu", "at least 1m", "for each pod"}},
		"a name with a dot":                {name: "a.b", spec: `{"pods": 2}`, want: []string{"metadata.name", "no dots"}},
		"a name of 59 characters":          {name: strings.Repeat("a", 59), spec: `{"pods": 2}`, want: []string{"metadata.name", "at most 58 characters"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer := w.KubectlWith(t, manifest(tc.name, tc.spec), "apply", "-f", "-")
			if answer.Code != 1 {
				t.Errorf("exit code %d, want 1", answer.Code)
			}
			for _, want := range tc.want {
				if !strings.Contains(answer.Out, want) {
					t.Errorf("the answer does not say %q:\n%s", want, answer.Out)
				}
			}
			if got := w.Kubectl(t, "get", "teamspace", tc.name, "--ignore-not-found", "-o", "name"); got.Out != "" {
				t.Errorf("it is there: %s", got.Out)
			}
		})
	}
}

func TestTeamSpace_RefusedAsAChange(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	w.Create(t, world.TeamSpace("changed", 2, "2m"))
	for _, tc := range []struct{ patch, want string }{
		{patch: `{"spec": {"pods": 3}}`, want: "for each pod"},
		{patch: `{"spec": {"cpu": "1m"}}`, want: "for each pod"},
		{patch: `{"spec": {"pods": 0}}`, want: "greater than or equal to 1"},
		{patch: `{"spec": {"cpu": "much"}}`, want: "a Kubernetes quantity"},
		{patch: `{"spec": {"pods": null}}`, want: "Required value"},
	} {
		answer := w.Kubectl(t, "patch", "teamspace", "changed", "--type=merge", "--patch", tc.patch)
		if answer.Code != 1 || !strings.Contains(answer.Out, tc.want) {
			t.Errorf("%s: exit code %d, want 1 and %q:\n%s", tc.patch, answer.Code, tc.want, answer.Out)
		}
	}
}

func TestTeamSpace_AcceptedAtTheBounds(t *testing.T) {
	w := lab.World(t)
	for name, tc := range map[string]struct{ name, spec string }{
		"one pod with 1m":          {name: "bounds-1", spec: `{"pods": 1, "cpu": "1m"}`},
		"50 pods with 50m":         {name: "bounds-2", spec: `{"pods": 50, "cpu": "50m"}`},
		"a name of 58 characters":  {name: strings.Repeat("b", 58), spec: `{"pods": 1}`},
		"a quantity in micro-cpus": {name: "bounds-3", spec: `{"pods": 7, "cpu": "7000u"}`},
		"a quantity in kilo-cpus":  {name: "bounds-4", spec: `{"pods": 1, "cpu": "1k"}`},
		"3 pods with 0.003":        {name: "bounds-5", spec: `{"pods": 3, "cpu": "0.003"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if answer := w.KubectlWith(t, manifest(tc.name, tc.spec), "apply", "-f", "-"); answer.Code != 0 {
				t.Errorf("exit code %d, want 0:\n%s", answer.Code, answer.Out)
			}
		})
	}
}
