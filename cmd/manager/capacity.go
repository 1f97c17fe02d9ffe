package main

import (
	"fmt"
	"os"
	"runtime"
)

const (
	// perCore is how many requests one core judges well within the deadline when all of
	// them come at the same time.
	perCore = 100

	// fewest and most are the bounds of that: a few can wait for the API server at the same
	// time on any machine, and with more it is the API server that does not answer.
	fewest, most = 10, 200

	// quotaFile is where Linux tells a container how much of the machine it may use.
	quotaFile = "/sys/fs/cgroup/cpu.max"
)

// capacity is how many requests a process with so many cores had better judge at the same
// time. Above that all of them are late, and their connections with them.
func capacity(cores float64) int { return min(max(int(perCore*cores), fewest), most) }

// cores is how many cores the process may use, a fraction where it has less than one.
func cores() float64 {
	all := float64(runtime.GOMAXPROCS(0))
	text, err := os.ReadFile(quotaFile)
	if err != nil { // there is no such limit
		return all
	}
	return min(all, quota(string(text), all))
}

// quota reads the microseconds of a period in which a process may run. Without a limit it
// is all that there is.
func quota(text string, all float64) float64 {
	var time, period float64
	if n, err := fmt.Sscanf(text, "%g %g", &time, &period); err != nil || n < 2 || period <= 0 {
		return all
	}
	return time / period
}
