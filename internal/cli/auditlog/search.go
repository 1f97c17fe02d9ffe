package auditlog

import (
	"bytes"
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// deepest is how many owners up a deletion is followed.
	deepest = 5

	// recentLooks is how many of the collector's looks are kept until it deletes something,
	// and lookback how old they may be to be taken for the reason: it deletes right after it
	// has looked.
	recentLooks = 512
	lookback    = 2 * time.Second

	namespaceController = "system:serviceaccount:kube-system:namespace-controller"
)

// Deletions returns how the subject was deleted, each time that it was, the oldest first.
func (l *Log) Deletions(ctx context.Context, s Subject) ([]Deletion, error) {
	found, err := l.pass(ctx, s)
	for i := range found {
		if err = l.follow(ctx, &found[i], s, deepest); err != nil {
			break
		}
	}
	return found, err
}

// Mentions reports whether the log tells of the subject as of something that was there.
func (l *Log) Mentions(ctx context.Context, s Subject) (bool, error) {
	p := pass{subject: s, written: map[types.UID]Request{}, counted: map[string]bool{}}
	err := l.each(ctx, p.matches, p.see)
	return p.exists, err
}

// pass reads the log once.
func (l *Log) pass(ctx context.Context, s Subject) ([]Deletion, error) {
	p := pass{subject: s, written: map[types.UID]Request{}, counted: map[string]bool{}}
	err := l.each(ctx, p.matches, p.see)
	return p.deletions, err
}

// follow finds out what led to a deletion by a controller of Kubernetes: the end of the
// namespace, or what became of the owners.
func (l *Log) follow(ctx context.Context, d *Deletion, s Subject, depth int) error {
	if depth == 0 {
		return nil
	}
	if d.User == namespaceController && s.Namespace != "" {
		namespace := Subject{Resource: "namespaces", Kind: "Namespace", Name: s.Namespace}
		var err error
		d.Namespace, err = l.lastBefore(ctx, namespace, d.Time, depth-1)
		return err
	}
	if !d.Collector {
		return nil
	}
	for i := range d.References {
		ref := &d.References[i]
		owner := ownerOf(s, ref.OwnerReference)
		if ref.Look != nil {
			owner.Resource = ref.Look.Resource
		}
		var err error
		if ref.Deleted, err = l.lastBefore(ctx, owner, d.Time, depth-1); err != nil {
			return err
		}
		if ref.Deleted != nil && ref.Look != nil && ref.Look.Time.Before(ref.Deleted.Time) {
			ref.Look = nil // what it found then is not what it went by
		}
	}
	return nil
}

// ownerOf is whatever a reference of the subject names.
func ownerOf(s Subject, ref metav1.OwnerReference) Subject {
	return Subject{Group: groupOf(ref.APIVersion), Kind: ref.Kind, Namespace: s.Namespace, Name: ref.Name, unscoped: true}
}

// lastBefore returns the last deletion of a subject up to a time, nil if there is none.
func (l *Log) lastBefore(ctx context.Context, s Subject, at time.Time, depth int) (*Deletion, error) {
	all, err := l.pass(ctx, s)
	if err != nil {
		return nil, err
	}
	for i := range slices.Backward(all) {
		if !all[i].Time.After(at) {
			return &all[i], l.follow(ctx, &all[i], s, depth)
		}
	}
	return nil, nil
}

func groupOf(apiVersion string) string {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return apiVersion
	}
	return gv.Group
}

// pass is one reading of the log for one subject.
type pass struct {
	subject Subject

	exists  bool // the log says that the subject was there
	known   bool
	owners  []metav1.OwnerReference
	written map[types.UID]Request
	looks   []Look // of the collector, the oldest first

	deleting  bool
	deletions []Deletion
	counted   map[string]bool // the requests among them: files of a log may overlap
}

// matches is quick, and lets through all lines that may be of use: most lines of a log are
// not even decoded.
func (p *pass) matches(line []byte) bool {
	return bytes.Contains(line, []byte(`"`+p.subject.Name+`"`)) ||
		bytes.Contains(line, []byte(`"deletecollection"`)) ||
		bytes.Contains(line, []byte("garbage-collector")) && bytes.Contains(line, []byte(`"verb":"get"`))
}

func (p *pass) see(e *event) {
	switch {
	case e.Verb == "get" && e.byCollector() && e.Stage == "ResponseComplete" && !p.subject.is(e.Object):
		p.seeLook(e)
	case e.Verb == "deletecollection" && e.succeeded() && p.inCollection(e):
		p.seeCollection(e)
	case !p.subject.is(e.Object) || !e.succeeded():
	case e.Verb == "delete" && e.Object.Subresource == "":
		p.seeDeletion(e)
	case e.writes() || e.Verb == "get":
		p.deleting = p.deleting && (e.Verb != "create" || e.Object.Subresource != "")
		p.exists = true
		p.seeState(e)
	}
}

// inCollection reports whether a deletion of many may have been one of the subject.
func (p *pass) inCollection(e *event) bool {
	return e.Object.Group == p.subject.Group && p.subject.names(e.Object.Resource) &&
		(e.Object.Namespace == "" || e.Object.Namespace == p.subject.Namespace)
}

// seeCollection notes a deletion of many, unless its answer says that the subject was not
// among them. It says of nothing else that it was there.
func (p *pass) seeCollection(e *event) {
	listed, known := e.lists(p.subject.Namespace, p.subject.Name)
	selective := e.selective()
	presumed := !listed && (selective || !p.exists)
	if known && !listed || presumed && p.presumed(e) || !p.seeDeletion(e) {
		return
	}
	d := &p.deletions[len(p.deletions)-1]
	d.Presumed, d.Selective = presumed, selective
	p.deleting = !presumed
}

// presumed reports whether the last deletion was another attempt of the same user.
func (p *pass) presumed(e *event) bool {
	last := len(p.deletions) - 1
	return last >= 0 && p.deletions[last].Presumed && p.deletions[last].User == e.user()
}

func (p *pass) seeLook(e *event) {
	look := Look{
		Time: e.Time, Group: e.Object.Group, Resource: e.Object.Resource, Namespace: e.Object.Namespace, Name: e.Object.Name, Code: e.Status.Code,
	}
	if found, ok := e.after(); ok {
		look.UID, look.Deleting = found.Metadata.UID, found.Metadata.Deleted != nil
		look.Waiting = look.Deleting && slices.Contains(found.Metadata.Finalizers, metav1.FinalizerDeleteDependents)
	}
	if len(p.looks) == recentLooks {
		p.looks = slices.Delete(p.looks, 0, recentLooks/2)
	}
	p.looks = append(p.looks, look)
}

// seeState notes the references that the subject has after a request.
func (p *pass) seeState(e *event) {
	owners, ok := e.patched()
	if state, whole := e.after(); whole {
		owners, ok = state.Metadata.Owners, true
	}
	if !ok {
		return
	}
	p.known, p.owners = true, owners
	for _, ref := range owners {
		if _, seen := p.written[ref.UID]; !seen && e.writes() {
			p.written[ref.UID] = requestOf(e)
		}
	}
}

// seeDeletion notes a deletion. A second DELETE of what is being deleted is none: the first
// one counts, unless the subject was made again in between. It returns false for what is no
// further deletion.
func (p *pass) seeDeletion(e *event) bool {
	if p.deleting {
		return false
	}
	p.deleting = true
	if e.ID != "" && p.counted[e.ID] {
		return false
	}
	p.counted[e.ID] = true
	p.exists = p.exists || e.Verb == "delete"
	d := Deletion{
		Request: requestOf(e), Verb: e.Verb, Collector: e.byCollector(), Known: p.known,
	}
	if policy := e.options().PropagationPolicy; policy != nil {
		d.Policy = *policy
	}
	for _, ref := range p.owners {
		r := Reference{OwnerReference: ref}
		if by, ok := p.written[ref.UID]; ok {
			r.Written = &by
		}
		r.Look = p.lookFor(&r, e.Time)
		d.References = append(d.References, r)
	}
	if d.Collector && !p.known {
		d.Looks = p.looksBefore(e.Time)
	}
	p.deletions = append(p.deletions, d)
	return true
}

// lookFor is the look of the collector for the owner of a reference by which it decided on
// a deletion: the last one, if it was right before. That an owner is absent the collector
// remembers, so that such a look counts for as long as the reference was there.
func (p *pass) lookFor(ref *Reference, deleted time.Time) *Look {
	owner := ownerOf(p.subject, ref.OwnerReference)
	for _, look := range slices.Backward(p.looks) {
		if !owner.is(look.object()) {
			continue
		}
		remembered := look.absent(ref.UID) && ref.Written != nil && !look.Time.Before(ref.Written.Time)
		if remembered || deleted.Sub(look.Time) <= lookback {
			return &look
		}
		return nil
	}
	return nil
}

func (p *pass) looksBefore(at time.Time) []Look {
	var before []Look
	for _, look := range p.looks {
		if at.Sub(look.Time) <= lookback {
			before = append(before, look)
		}
	}
	return before
}
