package version

import "testing"

func TestGet(t *testing.T) {
	if Get() == "" {
		t.Error("a program always has something to say for its version")
	}
}
