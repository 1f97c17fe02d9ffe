package preview

import (
	"context"
	"fmt"
	"io"
	"strings"

	"labhub.io/teamspace/internal/cli/access"
	"labhub.io/teamspace/internal/cli/document"
	"labhub.io/teamspace/ownership/explain"
)

// Refusal is a deletion that the API server would not let through.
type Refusal struct {
	Target  document.Object `json:"target"`
	Message string          `json:"message"`
}

// knock asks the API server of each target whether it would let the deletion through. What
// could not be asked is told on the error stream: the prediction is no worse for it.
func (o *options) knock(ctx context.Context, cluster *access.Cluster, targets []access.Target, r request) []Refusal {
	refused := []Refusal{}
	for i, id := range r.targets {
		message, err := cluster.TryDelete(ctx, targets[i], r.graph.UID(id), r.policy)
		switch {
		case err != nil:
			fmt.Fprintf(o.streams.ErrOut, "note: the deletion of %s may be refused: %v\n", explain.Name(r.graph, id), err)
		case message != "":
			refused = append(refused, Refusal{Target: document.ObjectOf(r.graph, id), Message: message})
		}
	}
	return refused
}

// printRefused says at the top what stands in the way of all that follows.
func printRefused(out io.Writer, refused []Refusal) {
	if len(refused) == 0 {
		return
	}
	fmt.Fprintln(out, "Refused:")
	for _, refusal := range refused {
		// What others have written may have several lines.
		fmt.Fprintf(out, "  - %s: %s\n", refusal.Target, strings.Join(strings.Fields(refusal.Message), " "))
	}
	fmt.Fprintln(out, "\nIf it were let through:")
}
