package node

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMissing(t *testing.T) {
	for name, tc := range map[string]struct {
		absent string
		want   []string
	}{
		"all there":          {},
		"no runtime":         {absent: "runc", want: []string{"runc"}},
		"one of the plugins": {absent: "portmap", want: []string{"containernetworking-plugins"}},
		"two":                {absent: "ip conntrack", want: []string{"conntrack", "iproute2"}},
	} {
		gone := strings.Fields(tc.absent)
		got := missing(requirements, func(program string, _ []string) bool {
			return !slices.Contains(gone, program)
		})
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: packages (-want +got):\n%s", name, diff)
		}
	}
}

func TestMissingPackagesError_SaysWhatToDo(t *testing.T) {
	err := error(&MissingPackagesError{Packages: []string{"runc", "conntrack"}, Err: errNoInstaller})
	if !errors.Is(err, errNoInstaller) || !strings.Contains(err.Error(), "install the Debian packages runc conntrack") {
		t.Errorf("error: %v", err)
	}
}
