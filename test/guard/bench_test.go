package guard

import (
	"testing"
	"time"

	"labhub.io/teamspace/test/world"
)

// BenchmarkRoutine compares writes without a changed reference while the guard answers,
// hangs and is dead. The ratio is that of the time to the time while it answers, in the
// same run: 1.0 says that nobody waits for it.
func BenchmarkRoutine(b *testing.B) {
	w := lab.World(b)
	answering := map[string]time.Duration{}
	all := routines(b, w)
	for _, way := range []struct {
		name  string
		begin func(b *testing.B)
	}{
		{"answers", func(*testing.B) {}},
		{"hangs", func(b *testing.B) { b.Helper(); hang(b, w) }},
		{"dead", func(b *testing.B) { b.Helper(); w.Stop(b, world.Manager) }},
	} {
		b.Run(way.name, func(b *testing.B) {
			way.begin(b)
			for _, r := range all {
				b.Run(r.name, func(b *testing.B) {
					for number := 0; b.Loop(); number++ {
						if err := r.write(b.Context(), number%250); err != nil {
							b.Fatal(err)
						}
					}
					took := b.Elapsed() / time.Duration(b.N)
					if _, known := answering[r.name]; !known {
						answering[r.name] = took
					}
					b.ReportMetric(float64(took)/float64(answering[r.name]), "ratio")
				})
			}
		})
	}
}
