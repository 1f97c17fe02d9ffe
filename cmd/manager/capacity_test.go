package main

import "testing"

func TestCapacity(t *testing.T) {
	const all = 2
	for name, tc := range map[string]struct {
		quota string
		want  int
	}{
		"a tenth of a core":     {"10000 100000\n", 10},
		"less than that":        {"1000 100000\n", 10},
		"half a core":           {"50000 100000\n", 50},
		"another period":        {"10000 20000\n", 50},
		"all that there is":     {"max 100000\n", 200},
		"nothing that it knows": {"", 200},
		"no period":             {"10000 0\n", 200},
		"more than is of use":   {"800000 100000\n", 200},
	} {
		t.Run(name, func(t *testing.T) {
			if got := capacity(quota(tc.quota, all)); got != tc.want {
				t.Errorf("it judges %d requests at the same time, want %d", got, tc.want)
			}
		})
	}
}
