// Package bench measures the plugin on a real API server, against what the same data costs
// at least, and prints a table. All of it is measured in one run, since machines differ
// more than programs do.
package bench

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// Measure is what one run of a program took.
type Measure struct {
	Wall time.Duration
	// Peak is the most memory that the process had, in bytes.
	Peak int64
}

// Median is the middle of each figure by itself.
func Median(runs []Measure) Measure {
	walls, peaks := make([]time.Duration, len(runs)), make([]int64, len(runs))
	for i, run := range runs {
		walls[i], peaks[i] = run.Wall, run.Peak
	}
	slices.Sort(walls)
	slices.Sort(peaks)
	return Measure{Wall: walls[len(runs)/2], Peak: peaks[len(runs)/2]}
}

// Row is one program at one number of objects.
type Row struct {
	Program string
	Objects int
	Measure
	// Floor is what the same objects cost at least; zero where nothing was measured.
	Floor Measure
}

const mebi = 1 << 20

// Print prints rows as a table.
func Print(out io.Writer, rows []Row) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "objects\tprogram\twall\tof the floor\tpeak memory\t")
	for _, row := range rows {
		ratio := "-"
		if row.Floor.Wall > 0 {
			ratio = fmt.Sprintf("%.2f", float64(row.Wall)/float64(row.Floor.Wall))
		}
		fmt.Fprintf(w, "%d\t%s\t%.2f s\t%s\t%.0f MiB\t\n", row.Objects, row.Program, row.Wall.Seconds(), ratio, float64(row.Peak)/mebi)
	}
	return w.Flush()
}

// PrintGrowth prints what each further object costs, from one row to the next.
func PrintGrowth(out io.Writer, rows []Row) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "objects\twall\tpeak memory\tmore time\tmore memory\t")
	for i, row := range rows {
		fmt.Fprintf(w, "%d\t%.2f s\t%.0f MiB\t", row.Objects, row.Wall.Seconds(), float64(row.Peak)/mebi)
		if i > 0 {
			before := rows[i-1]
			more := float64(row.Objects - before.Objects)
			fmt.Fprintf(w, "%.1f us/object\t%.0f B/object\t\n", float64((row.Wall-before.Wall).Microseconds())/more, float64(row.Peak-before.Peak)/more)
			continue
		}
		fmt.Fprint(w, "\t\t\n")
	}
	return w.Flush()
}
