package controlplane

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFlags_With(t *testing.T) {
	base := flags{{"a", "1"}, {"b", "2"}}
	for name, tc := range map[string]struct{ more, want []string }{
		"nothing":                         {want: []string{"--a=1", "--b=2"}},
		"another":                         {more: []string{"c=3"}, want: []string{"--a=1", "--b=2", "--c=3"}},
		"replaced":                        {more: []string{"a=3"}, want: []string{"--b=2", "--a=3"}},
		"repeated":                        {more: []string{"a=3", "a=4"}, want: []string{"--b=2", "--a=3", "--a=4"}},
		"with dashes":                     {more: []string{"--a=3"}, want: []string{"--b=2", "--a=3"}},
		"a switch":                        {more: []string{"c"}, want: []string{"--a=1", "--b=2", "--c=true"}},
		"a value with an equals sign":     {more: []string{"c=x=y"}, want: []string{"--a=1", "--b=2", "--c=x=y"}},
		"a value of none is not a switch": {more: []string{"c="}, want: []string{"--a=1", "--b=2", "--c="}},
	} {
		if diff := cmp.Diff(tc.want, base.with(tc.more).args()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestControllerManagerIdentity: who has to do the work of all controllers has to be
// allowed to.
func TestControllerManagerIdentity(t *testing.T) {
	for flag, groups := range map[string]int{
		"": 0, "--use-service-account-credentials": 0, "use-service-account-credentials=false": 1,
	} {
		id := controllerManagerIdentity(flags{}.with([]string{flag}))
		if id.Name != "system:kube-controller-manager" || len(id.Groups) != groups {
			t.Errorf("%q: %+v", flag, id)
		}
	}
}
