package explain

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"labhub.io/teamspace/internal/cli/access"
	"labhub.io/teamspace/internal/cli/auditlog"
	"labhub.io/teamspace/internal/cli/document"
)

// Deletion is a deletion in the audit log, with what there is to say of it.
type Deletion struct {
	auditlog.Deletion

	// Sentences say who did it and why, the deletion itself first.
	Sentences []string `json:"sentences"`
}

func sentences(object string, d *auditlog.Deletion) []string {
	list := []string{deleted(object, "was deleted", d)}
	switch {
	case d.Namespace != nil:
		list = append(list, "its namespace was being deleted")
		return append(list, sentences("the namespace", d.Namespace)...)
	case !d.Collector:
		return list
	case !d.Known:
		return append(list, looked(d)...)
	case len(d.References) == 0:
		return append(list, "the log shows no owner reference of it: it was taken for the dependent of an owner by what stands before the beginning of the log")
	}
	for i := range d.References {
		list = append(list, reason(i, &d.References[i])...)
	}
	return list
}

// deleted says who deleted an object. Of a deletion of many it is said that the object was
// among them only if the log tells so.
func deleted(object, done string, d *auditlog.Deletion) string {
	who := d.User
	if d.Collector {
		who = "the garbage collector (" + d.User + ")"
	}
	how, others := "", "all others of its type there"
	if d.Selective {
		others = "those of its type there that a selector chose"
	}
	if d.Policy != "" {
		how = fmt.Sprintf(" with propagationPolicy %s", d.Policy)
	}
	switch {
	case d.Presumed && d.Selective:
		return fmt.Sprintf("if %s was there then and was chosen, it went at %s with %s: %s deleted them%s", object, at(d.Time), others, who, how)
	case d.Presumed:
		return fmt.Sprintf("if %s was there then, it went at %s with %s: %s deleted them%s", object, at(d.Time), others, who, how)
	case d.Verb == "deletecollection":
		how += ", with " + others + " at once"
	}
	return fmt.Sprintf("%s %s at %s by %s%s", object, done, at(d.Time), who, how)
}

// reason says what the collector made of one reference.
func reason(index int, ref *auditlog.Reference) []string {
	owner := fmt.Sprintf("%s %q (%s)", ref.Kind, ref.Name, ref.APIVersion)
	text := fmt.Sprintf("because of metadata.ownerReferences[%d], which named %s with uid %s", index, owner, ref.UID)
	if ref.Written != nil {
		text += fmt.Sprintf("; written at %s by %s", at(ref.Written.Time), ref.Written.User)
	}
	list := []string{text}
	if ref.Look != nil {
		list = append(list, verdict(string(ref.UID), ref.Look))
	}
	if ref.Deleted != nil {
		list = append(list, sentences("the owner "+owner, ref.Deleted)...)
	}
	if ref.Look == nil && ref.Deleted == nil {
		list = append(list, "the log holds neither a deletion of that owner nor a look of the garbage collector for it right before")
	}
	return list
}

// verdict says what a look for the owner brought.
func verdict(uid string, look *auditlog.Look) string {
	where := "cluster-wide"
	if look.Namespace != "" {
		where = "in namespace " + look.Namespace
	}
	text := fmt.Sprintf("at %s the garbage collector looked for that owner %s", at(look.Time), where)
	switch {
	case look.Code == 404:
		return text + " and found none of that name"
	case look.Code == 200 && look.UID != "" && look.UID != uid:
		return fmt.Sprintf("%s and found another one, with uid %s", text, look.UID)
	case look.Code == 200 && look.UID == "":
		return text + " and found one of that name; unless it was waiting for its dependents, it had another uid"
	case look.Code == 200 && look.Waiting:
		return text + " and found it waiting for its dependents to go (foreground deletion)"
	case look.Code == 200 && look.Deleting:
		return text + " and found it being deleted"
	case look.Code == 200:
		return text + " and found it, not being deleted yet"
	default:
		return fmt.Sprintf("%s and was answered %d", text, look.Code)
	}
}

// looked tells what is known without the references.
func looked(d *auditlog.Deletion) []string {
	list := []string{"the log does not hold its references (an audit policy of the level Metadata leaves bodies out)"}
	var names []string
	for i := range d.Looks {
		look := &d.Looks[i]
		name := strings.TrimSuffix(look.Resource+"."+look.Group, ".") + " " + strings.TrimPrefix(look.Namespace+"/"+look.Name, "/")
		names = append(names, fmt.Sprintf("%s (answered %d)", name, look.Code))
	}
	if len(names) > 0 {
		list = append(list, "in the two seconds before, the garbage collector looked for "+someOf(names))
	}
	return list
}

func at(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// subjectOf is what the log calls an object.
func subjectOf(target access.Target) auditlog.Subject {
	return auditlog.Subject{
		Group: target.Resource.Group, Resource: target.Resource.Resource, Kind: target.Kind.Kind,
		Namespace: target.Namespace, Name: target.Name,
	}
}

// search finds the deletions of an object; or else that of its type, which the API server
// takes the objects along with and does not log.
func search(ctx context.Context, log *auditlog.Log, target access.Target, object document.Object) ([]Deletion, error) {
	found, err := log.Deletions(ctx, subjectOf(target))
	if err != nil {
		return nil, err
	}
	if len(found) == 0 && strings.Contains(target.Resource.Group, ".") {
		return searchType(ctx, log, target, object, false)
	}
	var deletions []Deletion
	for i := range found {
		deletions = append(deletions, Deletion{Deletion: found[i], Sentences: sentences(object.String(), &found[i])})
	}
	return deletions, nil
}

// searchMark finds who has marked an object as being deleted that is still there: what was
// deleted before it was made was another one.
func searchMark(ctx context.Context, log *auditlog.Log, target access.Target, object document.Object, created time.Time) ([]Deletion, error) {
	found, err := log.Deletions(ctx, subjectOf(target))
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(d auditlog.Deletion) bool { return d.Time.Before(created) })
	if len(found) == 0 && strings.Contains(target.Resource.Group, ".") {
		return searchTypeMark(ctx, log, target, object, created)
	}
	for i := range found {
		if found[i].Presumed && found[i].Selective {
			continue // it may not have been chosen
		}
		found[i].Presumed = false // it is marked, and so it was there
		d := Deletion{Deletion: found[i], Sentences: sentences(object.String(), &found[i])}
		d.Sentences[0] = deleted(object.String(), "was marked as being deleted", &d.Deletion)
		return []Deletion{d}, nil
	}
	return nil, nil
}

// searchTypeMark finds who has deleted the type of an object that is still there, and so has
// marked the object, too.
func searchTypeMark(ctx context.Context, log *auditlog.Log, target access.Target, object document.Object, created time.Time) ([]Deletion, error) {
	deletions, err := searchType(ctx, log, target, object, true)
	return slices.DeleteFunc(deletions, func(d Deletion) bool { return d.Time.Before(created) }), err
}

// searchType finds the deletions of a type. That the object went with it is said only if it
// is known or the log tells that there was such an object.
func searchType(ctx context.Context, log *auditlog.Log, target access.Target, object document.Object, known bool) ([]Deletion, error) {
	definition := target.Resource.GroupResource().String()
	found, err := log.Deletions(ctx, auditlog.Subject{
		Group: apiextensionsv1.GroupName, Resource: "customresourcedefinitions", Kind: "CustomResourceDefinition", Name: definition,
	})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	mentioned, err := log.Mentions(ctx, subjectOf(target))
	if err != nil {
		return nil, err
	}
	var deletions []Deletion
	for i := range found {
		d := Deletion{Deletion: found[i], Sentences: sentences("its type, CustomResourceDefinition "+definition+",", &found[i])}
		if !known && !mentioned {
			d.Presumed = true
			d.Sentences = append([]string{fmt.Sprintf("if %s was there then, it went with its type", object)}, d.Sentences...)
		}
		deletions = append(deletions, d)
	}
	return deletions, nil
}

// targetOfLog is the target as the log alone tells of it.
func targetOfLog(ctx context.Context, log *auditlog.Log, namespace string, args []string) (access.Target, error) {
	words := strings.Split(strings.Join(args, "/"), "/")
	if len(words) != 2 || words[0] == "" || words[1] == "" {
		return access.Target{}, access.ErrNoTarget
	}
	found, err := log.Type(ctx, words[0], words[1])
	if err != nil {
		return access.Target{}, err
	}
	target := access.Target{
		Type: access.Type{
			Resource: found.Resource, Kind: found.Resource.GroupVersion().WithKind(cmp.Or(found.Kind, found.Resource.Resource)), Namespaced: found.Namespaced,
		},
		Name: words[1],
	}
	if found.Namespaced {
		target.Namespace = namespace
	}
	return target, nil
}
