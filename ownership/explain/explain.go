// Package explain turns verdicts into sentences for people: what is wrong with
// a reference, what the garbage collector would do to this very object, and
// what to write instead. The guard's denial, the audit's finding and fix, the
// preview and the explanation of what is stuck all take their words from here.
//
// Every sentence is one line, whatever the input holds. Facts about other
// objects that the request does not contain itself, a live uid or a foreign
// namespace, are named only where the caller says that the reader may know.
package explain

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"labhub.io/teamspace/ownership/graph"
	"labhub.io/teamspace/ownership/rules"
)

// Severity is how much a problem matters to an audit.
type Severity uint8

// The severities. An Error costs an object, or leaves one behind for good; a
// Warning may; an Info is worth knowing.
const (
	Info Severity = iota
	Warning
	Error
)

// String names the severity as reports do.
func (s Severity) String() string { return [...]string{"info", "warning", "error"}[s] }

// MarshalText implements encoding.TextMarshaler.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Target is an object that a reference means or was found to be.
type Target struct {
	APIVersion string
	Kind       string
	Namespace  string
	Name       string
	UID        types.UID
}

// Reference is one owner reference with everything that is known about it.
type Reference struct {
	metav1.OwnerReference
	rules.Classification
	Mapping graph.Mapping
	// Old references were there before and do not change: they count for what
	// becomes of the object, but are not complained of.
	Old bool
	// Found is what the GET by kind and name brought, if anything.
	Found *Target
	// Elsewhere is the object that has the uid, if it is known and is not
	// Found.
	Elsewhere *Target
	// Suggest lists the served types of that kind.
	Suggest []graph.Type
	// Cycle says that following the owner leads back to the object.
	Cycle bool
	// Reveal says that the reader may know Found and Elsewhere.
	Reveal bool
}

// Subject is the object whose references are judged.
type Subject struct {
	Target
	References []Reference
	// Latent says that nothing triggers the collector now: what it would do it
	// does when it restarts (R17).
	Latent bool
	// Deleting says that the object is being deleted already, so that the collector does
	// nothing more to it, whatever its references say (R03).
	Deleting bool
	// Unmonitored says that the collector does not observe objects of this type (R02).
	Unmonitored bool
}

// Problem is one thing wrong with one reference.
type Problem struct {
	// Rule is the row for a report: R05, R06, R08, R11, R13, R15, R16, R18,
	// R19, K5, K7 or F6.
	Rule rules.Rule
	// Class is the K row that classified the reference.
	Class    rules.Rule
	Severity Severity
	// Deny says that live reads or the schema prove the reference wrong, so
	// that an admission guard should refuse it; everything else it may warn of.
	Deny bool
	// Index is the place of the reference, -1 for the whole list; Field the field that
	// is wrong and Value what it holds.
	Index int
	Field string
	Value string
	// Wrong, Consequence and Fix are the three parts of the sentence.
	Wrong       string
	Consequence string
	Fix         string
}

// Path is the path of the field that is wrong.
func (p Problem) Path() string {
	if p.Index < 0 {
		return "metadata.ownerReferences"
	}
	path := fmt.Sprintf("metadata.ownerReferences[%d]", p.Index)
	if p.Field != "" {
		path += "." + p.Field
	}
	return path
}

// Diagnosis says what is wrong and what the collector would do, and leaves out what to
// write instead.
func (p Problem) Diagnosis() string {
	return line(fmt.Sprintf("%s: %s; %s", p.Path(), p.Wrong, p.Consequence))
}

// Message returns the whole sentence.
func (p Problem) Message() string {
	return line(fmt.Sprintf("%s: Invalid value: %s: %s; %s; %s", p.Path(), quote(p.Value), p.Wrong, p.Consequence, p.Fix))
}

// TooMany is the problem of an object that names more owners than can be looked at.
func TooMany(owners, limit int) Problem {
	return Problem{
		Severity: Error, Deny: true, Index: -1, Value: fmt.Sprint(owners),
		Wrong:       fmt.Sprintf("these are more than %d owners", limit),
		Consequence: "so many are not looked at, and any of them may be wrong",
		Fix:         "drop references, or split the object",
	}
}

// Join returns the messages of several problems as one line.
func Join(problems []Problem) string {
	messages := make([]string, len(problems))
	for i, p := range problems {
		messages[i] = p.Message()
	}
	return strings.Join(messages, "; ")
}

// Told is how many problems of one object a person is told of: more are of no use to
// anybody.
const Told = 5

// Cut leaves the first problems that are told, those that deny before all others, and
// says of how many it has left them.
func Cut(problems []Problem) (first []Problem, more int) {
	slices.SortStableFunc(problems, func(a, b Problem) int {
		switch {
		case a.Deny == b.Deny:
			return 0
		case a.Deny:
			return -1
		default:
			return 1
		}
	})
	if len(problems) <= Told {
		return problems, 0
	}
	return problems[:Told], len(problems) - Told
}

// Problems returns what is wrong with the references of an object, in list
// order.
func Problems(s Subject) []Problem {
	j := judge{s: s, decision: decision(s)}
	var problems []Problem
	for i, ref := range s.References {
		if ref.Old {
			continue
		}
		if p, bad := j.problem(i, ref); bad {
			p.Index, p.Class = i, ref.Rule
			if s.Deleting {
				p.Severity, p.Consequence = Info, fmt.Sprintf("this %s is being deleted already", s.Kind)
			}
			p.Wrong, p.Consequence, p.Fix = line(p.Wrong), line(p.Consequence), line(p.Fix)
			problems = append(problems, p)
		}
	}
	return problems
}

// Decision is what the collector decides on the object.
func (s Subject) Decision() rules.Decision { return decision(s) }

func decision(s Subject) rules.Decision {
	subject := rules.Subject{Unmonitored: s.Unmonitored, Deleting: s.Deleting}
	for _, ref := range s.References {
		subject.References = append(subject.References, rules.Judged{UID: ref.UID, Classification: ref.Classification})
	}
	return rules.Decide(subject)
}

// line keeps a sentence on one line: whatever is not printable becomes a blank.
func line(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
}

// longest is how much of a value a sentence quotes.
const longest = 120

func quote(value string) string {
	if runes := []rune(value); len(runes) > longest {
		value = string(runes[:longest]) + "…"
	}
	return `"` + line(value) + `"`
}
