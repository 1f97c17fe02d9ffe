package process

import (
	"testing"
	"time"
)

func TestBackoff_Pause(t *testing.T) {
	b := Backoff{First: time.Second, Longest: 10 * time.Second}
	for ends, want := range map[int]time.Duration{
		1: time.Second, 2: 2 * time.Second, 4: 8 * time.Second, 5: 10 * time.Second, 1000: 10 * time.Second,
	} {
		if got := b.pause(ends); got != want {
			t.Errorf("pause after end %d = %s, want %s", ends, got, want)
		}
	}
}
