package bench

import (
	"strings"
	"testing"
	"time"
)

func TestMedian(t *testing.T) {
	got := Median([]Measure{{3 * time.Second, 10}, {time.Second, 30}, {2 * time.Second, 20}})
	if want := (Measure{2 * time.Second, 20}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestPrint(t *testing.T) {
	var out strings.Builder
	floor := Measure{Wall: 2 * time.Second, Peak: 100 * mebi}
	rows := []Row{
		{Program: "floor", Objects: 1000, Measure: floor, Floor: floor},
		{Program: "audit", Objects: 1000, Measure: Measure{3 * time.Second, 50 * mebi}, Floor: floor},
		{Program: "audit", Objects: 3000, Measure: Measure{5 * time.Second, 52 * mebi}},
	}
	if err := Print(&out, rows); err != nil {
		t.Fatal(err)
	}
	if err := PrintGrowth(&out, rows[1:]); err != nil {
		t.Fatal(err)
	}
	want := `  objects  program    wall  of the floor  peak memory
     1000    floor  2.00 s          1.00      100 MiB
     1000    audit  3.00 s          1.50       50 MiB
     3000    audit  5.00 s             -       52 MiB
  objects    wall  peak memory         more time    more memory
     1000  3.00 s       50 MiB                                 
     3000  5.00 s       52 MiB  1000.0 us/object  1049 B/object
`
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}
