package collector

import (
	"flag"
	"testing"
)

// TestMain lets all scenes play at once however few processors there are: they wait.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "32"); err != nil {
		panic(err)
	}
	m.Run()
}
