package dev

import (
	"fmt"
	"os"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// program is what a process in the place of a Deployment's pods is run with.
type program struct {
	account string
	args    []string
	env     map[string]string
}

// programOf reads it from the Deployment. Its replicas become one process: a
// process on this machine is as available as the machine.
func programOf(deployment *appsv1.Deployment, namespace string) (program, error) {
	pod := deployment.Spec.Template.Spec
	if len(pod.Containers) != 1 {
		return program{}, fmt.Errorf("the Deployment %q has %d containers, but one process has to take its place", deployment.Name, len(pod.Containers))
	}
	container := pod.Containers[0]
	p := program{account: pod.ServiceAccountName, env: map[string]string{}}
	if p.account == "" {
		p.account = "default"
	}
	if len(container.EnvFrom) > 0 {
		return program{}, fmt.Errorf("the Deployment %q uses envFrom, which a process in its place does not get", deployment.Name)
	}
	facts := podFacts(deployment, namespace, p.account)
	for _, variable := range container.Env {
		value, known, err := valueOf(variable, facts)
		if err != nil {
			return program{}, fmt.Errorf("the Deployment %q: the variable %s: %w", deployment.Name, variable.Name, err)
		}
		if known {
			p.env[variable.Name] = expand(value, p.env)
		}
	}
	// The first word of a command is the binary in the image.
	var words []string
	if len(container.Command) > 1 {
		words = container.Command[1:]
	}
	for _, word := range append(words, container.Args...) {
		p.args = append(p.args, expand(word, p.env))
	}
	return p, nil
}

// podFacts are the fields of the pod that variables can refer to.
func podFacts(deployment *appsv1.Deployment, namespace, account string) map[string]string {
	return map[string]string{
		"metadata.name":           deployment.Name + "-process",
		"metadata.namespace":      namespace,
		"spec.serviceAccountName": account,
		"spec.nodeName":           "",
		"status.podIP":            "127.0.0.1",
		"status.hostIP":           "127.0.0.1",
	}
}

// valueOf is the value of a variable. One that tells the limits of a container
// is not known: a process has none.
func valueOf(variable corev1.EnvVar, facts map[string]string) (value string, known bool, err error) {
	source := variable.ValueFrom
	switch {
	case source == nil:
		return variable.Value, true, nil
	case source.ResourceFieldRef != nil:
		return "", false, nil
	case source.FieldRef != nil:
		value, known := facts[source.FieldRef.FieldPath]
		if !known {
			return "", false, fmt.Errorf("a process has no %s", source.FieldRef.FieldPath)
		}
		return value, true, nil
	}
	return "", false, fmt.Errorf("a process can take it neither from a Secret nor from a ConfigMap")
}

// expand replaces $(NAME) as a kubelet does: what is not known stays as it is,
// and $$ stands for a dollar sign.
func expand(text string, env map[string]string) string {
	var out strings.Builder
	for {
		before, after, found := strings.Cut(text, "$")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		text = after
		if rest, ok := strings.CutPrefix(after, "$"); ok {
			out.WriteByte('$')
			text = rest
			continue
		}
		if inner, ok := strings.CutPrefix(after, "("); ok {
			if name, rest, closed := strings.Cut(inner, ")"); closed {
				if value, known := env[name]; known {
					out.WriteString(value)
					text = rest
					continue
				}
			}
		}
		out.WriteByte('$')
	}
}

// inherited are the variables of this process that a program gets as well: what
// the system needs, and what people set to look into a Go program. Above all not
// KUBECONFIG, which would make it an administrator.
var inherited = []string{"PATH", "HOME", "TMPDIR", "GODEBUG", "GOTRACEBACK", "GORACE", "GOCOVERDIR"}

// environment is the whole environment of the process.
func (p program) environment() []string {
	var all []string
	for _, name := range inherited {
		if value, ok := os.LookupEnv(name); ok {
			all = append(all, name+"="+value)
		}
	}
	for name, value := range p.env {
		all = append(all, name+"="+value)
	}
	return all
}

// electsLeader reports whether the program says that it works only while it holds a
// Lease.
func (p program) electsLeader() bool {
	value, given := p.flag("leader-elect")
	return given && (value == "" || value == "true")
}

// flag returns the value of a flag, and whether it is given. Of one that is given twice
// the last one counts.
func (p program) flag(wanted string) (value string, given bool) {
	for _, arg := range p.args {
		if name, text, _ := strings.Cut(strings.TrimLeft(arg, "-"), "="); name == wanted && strings.HasPrefix(arg, "-") {
			value, given = text, true
		}
	}
	return value, given
}
