package stuck

import (
	"cmp"
	"slices"
	"strings"

	"labhub.io/teamspace/internal/cli/document"
	"labhub.io/teamspace/inventory"
)

// Report is what is stuck, and what holds it. The lists are sorted, and nothing in it
// depends on the time, so that two reports can be compared.
type Report struct {
	Stuck      []Item                 `json:"stuck"`
	Blockers   []Blocker              `json:"blockers"`
	Incomplete []inventory.Incomplete `json:"incomplete"`
	Summary    Summary                `json:"summary"`
}

// Item is an object that is being deleted and is still there.
type Item struct {
	Object document.Object `json:"object"`

	// Finalizers are those of the metadata in stored order, and of a Namespace those of its
	// spec after them.
	Finalizers []string `json:"finalizers"`
}

// Blocker is a reference with blockOwnerDeletion to an item in foreground deletion.
type Blocker struct {
	Object     document.Object `json:"object"`
	Owner      document.Object `json:"owner"`
	Reference  Reference       `json:"reference"`
	Finalizers []string        `json:"finalizers"`
}

// Reference says which reference of the blocker it is.
type Reference struct {
	Index int `json:"index"`
}

// Summary counts the lists.
type Summary struct {
	Stuck      int `json:"stuck"`
	Blockers   int `json:"blockers"`
	Incomplete int `json:"incomplete"`
}

// newReport sorts and counts what was found.
func newReport(items []Item, blockers []Blocker, incomplete []inventory.Incomplete) *Report {
	r := &Report{Stuck: items, Blockers: blockers, Incomplete: incomplete}
	slices.SortFunc(r.Stuck, func(a, b Item) int { return document.Compare(a.Object, b.Object) })
	slices.SortFunc(r.Blockers, func(a, b Blocker) int {
		return cmp.Or(document.Compare(a.Object, b.Object), cmp.Compare(a.Reference.Index, b.Reference.Index))
	})
	slices.SortFunc(r.Incomplete, inventory.Incomplete.Compare)
	r.Incomplete = slices.Compact(r.Incomplete)
	// In a document an empty list is a list.
	r.Stuck, r.Blockers, r.Incomplete = list(r.Stuck), list(r.Blockers), list(r.Incomplete)
	r.Summary = Summary{Stuck: len(r.Stuck), Blockers: len(r.Blockers), Incomplete: len(r.Incomplete)}
	return r
}

func list[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}

// lines are the report for people and for diff, sorted bytewise. Names are told with their
// namespace if the report speaks of more than one.
func (r *Report) lines(namespaced bool) []string {
	name := func(o document.Object) string {
		if namespaced && o.Namespace != "" {
			return o.Kind + "/" + o.Namespace + "/" + o.Name
		}
		return o.Kind + "/" + o.Name
	}
	var lines []string
	for _, s := range r.Stuck {
		lines = append(lines, "STUCK "+name(s.Object)+" finalizers="+strings.Join(s.Finalizers, ","))
	}
	for _, b := range r.Blockers {
		lines = append(lines, "BLOCKER "+name(b.Object)+" owner="+name(b.Owner)+" finalizers="+strings.Join(b.Finalizers, ","))
	}
	if len(lines) == 0 && len(r.Incomplete) == 0 {
		lines = append(lines, "NONE")
	}
	slices.Sort(lines)
	return lines
}
