// Command oracle compares the rules of package ownership with the real garbage
// collector on random graphs.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"labhub.io/teamspace/test/oracle"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx)
	stop()
	os.Exit(code)
}

// run returns 0 if everything agrees, 1 if not, and 2 if it could not tell.
func run(ctx context.Context) int {
	first := flag.Int("first", 0, "the number of the first graph, to see a part of a run again")
	graphs := flag.Int("graphs", 30, "how many graphs")
	seedText := flag.String("seed", "", "the seed that they are drawn with (default: a random one)")
	shrink := flag.Duration("shrink", 10*time.Minute, "how long to make disagreements smaller")
	flag.Parse()
	seed := uint64(rand.Uint32())
	if *seedText != "" {
		var err error
		if seed, err = strconv.ParseUint(*seedText, 10, 64); err != nil {
			fmt.Fprintf(os.Stderr, "the seed has to be a number: %v\n", err)
			return 2
		}
	}
	fmt.Fprintf(os.Stderr, "%d graphs of seed %d\n", *graphs, seed)
	reports, err := oracle.Run(ctx, oracle.Options{
		Draws: []oracle.Draw{{Seed: seed, First: *first, Graphs: *graphs}}, Progress: os.Stderr, ShrinkFor: *shrink,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	report := reports[0]
	for _, d := range report.Disagreements {
		fmt.Println(d)
	}
	fmt.Println(report)
	if report.Agreed < report.Graphs {
		return 1
	}
	return 0
}
