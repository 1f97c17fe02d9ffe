package explain

import (
	"fmt"

	"labhub.io/teamspace/ownership/rules"
)

// consequence says what the collector would do to the object.
func (j judge) consequence() string {
	when := j.when()
	switch j.decision.Action {
	case rules.Delete:
		return j.deletion(when)
	case rules.Prune:
		return fmt.Sprintf("the garbage collector would drop the reference %s and keep this %s for its other owner", when, j.s.Kind)
	case rules.NeverCollected:
		return fmt.Sprintf("the garbage collector would never delete this %s, whatever becomes of its owners", j.s.Kind)
	case rules.Retry:
		return fmt.Sprintf("the garbage collector would never delete this %s as long as %s cannot be judged", j.s.Kind, j.unresolved())
	case rules.Unmanaged:
		return fmt.Sprintf("the garbage collector does not observe this type and would never delete this %s", j.s.Kind)
	default:
		return fmt.Sprintf("the garbage collector would keep this %s", j.s.Kind)
	}
}

// when says when the collector would act: at once, or when it starts anew (R17).
func (j judge) when() string {
	if j.s.Latent {
		return "at the latest at the next restart of kube-controller-manager"
	}
	return "within seconds"
}

// unresolved names the reference that keeps the collector from deciding (R06): the first
// one in the list.
func (j judge) unresolved() string {
	for i, ref := range j.s.References {
		if ref.Class == rules.Unresolvable || ref.Class == rules.Unknown {
			return fmt.Sprintf("ownerReferences[%d]", i)
		}
	}
	return "a reference"
}

// deletion says that the collector would delete the object.
func (j judge) deletion(when string) string {
	return fmt.Sprintf("the garbage collector would delete this %s%s %s", j.s.Kind, j.stake(", and with it", ""), when)
}

// stake says what is lost with an object that holds more than itself.
func (j judge) stake(link, end string) string {
	stakes := map[string]string{
		"PersistentVolumeClaim":    " the data of its volume",
		"PersistentVolume":         " the data that it holds",
		"CustomResourceDefinition": " every object of its kind",
		"Namespace":                " everything in it",
	}
	if stake, ok := stakes[j.s.Kind]; ok {
		return link + stake + end
	}
	return ""
}

// place says where the collector looks for the owner.
func (j judge) place(ref Reference) string {
	if !ref.Mapping.Type.Namespaced || j.s.Namespace == "" {
		return ""
	}
	return fmt.Sprintf(" in namespace %s", quote(j.s.Namespace))
}

func properKind(ref Reference) string {
	if ref.Mapping.Type.Kind != "" && !ref.Mapping.NoResource {
		return ref.Mapping.Type.Kind
	}
	return line(ref.Kind)
}

func blocking(ref Reference) bool { return ref.BlockOwnerDeletion != nil && *ref.BlockOwnerDeletion }
