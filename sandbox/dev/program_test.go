package dev

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// field is a variable that refers to a field of the pod.
func field(name, path string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}}
}

// deployment has one container, changed as told.
func deployment(change func(*corev1.PodSpec, *corev1.Container)) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "teamspace"}}
	pod := &d.Spec.Template.Spec
	pod.ServiceAccountName = "teamspace-controller"
	pod.Containers = make([]corev1.Container, 1)
	change(pod, &pod.Containers[0])
	return d
}

func TestProgramOf(t *testing.T) {
	got, err := programOf(deployment(func(_ *corev1.PodSpec, c *corev1.Container) {
		c.Command = []string{"/manager", "run"}
		c.Args = []string{"--leader-elect", "--id=$(POD_NAMESPACE)/$(POD_NAME)"}
		c.Env = []corev1.EnvVar{
			field("POD_NAMESPACE", "metadata.namespace"),
			field("POD_NAME", "metadata.name"),
			field("ACCOUNT", "spec.serviceAccountName"),
			{Name: "PLAIN", Value: "in $(POD_NAMESPACE)"},
			{Name: "GOMEMLIMIT", ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.memory"}}},
		}
	}), "teamspace-system")
	if err != nil {
		t.Fatal(err)
	}
	want := program{
		account: "teamspace-controller",
		args:    []string{"run", "--leader-elect", "--id=teamspace-system/teamspace-process"},
		env: map[string]string{
			"POD_NAMESPACE": "teamspace-system",
			"POD_NAME":      "teamspace-process",
			"ACCOUNT":       "teamspace-controller",
			"PLAIN":         "in teamspace-system",
		},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(program{})); diff != "" {
		t.Errorf("program (-want +got):\n%s", diff)
	}
}

func TestProgramOf_Errors(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*corev1.PodSpec, *corev1.Container)
		want   string
	}{
		"two containers": {
			change: func(p *corev1.PodSpec, c *corev1.Container) { p.Containers = append(p.Containers, *c) },
			want:   "2 containers",
		},
		"envFrom": {
			change: func(_ *corev1.PodSpec, c *corev1.Container) { c.EnvFrom = make([]corev1.EnvFromSource, 1) },
			want:   "envFrom",
		},
		"a field that a process has not": {
			change: func(_ *corev1.PodSpec, c *corev1.Container) { c.Env = []corev1.EnvVar{field("UID", "metadata.uid")} },
			want:   "metadata.uid",
		},
		"a secret": {
			change: func(_ *corev1.PodSpec, c *corev1.Container) {
				c.Env = []corev1.EnvVar{{Name: "PASSWORD", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{}}}}
			},
			want: "PASSWORD",
		},
	} {
		_, err := programOf(deployment(tc.change), "teamspace-system")
		if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), `"teamspace"`) {
			t.Errorf("%s: programOf() = %v, want an error with the Deployment and %q", name, err, tc.want)
		}
	}
}

func TestExpand(t *testing.T) {
	env := map[string]string{"A": "1", "EMPTY": ""}
	for text, want := range map[string]string{
		"":            "",
		"plain":       "plain",
		"$(A)":        "1",
		"x$(A)y$(A)z": "x1y1z",
		"$(EMPTY)":    "",
		"$(B)":        "$(B)",
		"$$(A)":       "$(A)",
		"$A":          "$A",
		"$(A":         "$(A",
		"$":           "$",
		"$$":          "$",
	} {
		if got := expand(text, env); got != want {
			t.Errorf("expand(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestProgram_ElectsLeader(t *testing.T) {
	for args, want := range map[string]bool{
		"":                                    false,
		"--leader-elect":                      true,
		"-leader-elect=true":                  true,
		"--leader-elect=false":                false,
		"--leader-elect --leader-elect=false": false,
		"--leader-elect=false --leader-elect": true,
		"--leader-elect-id=x":                 false,
		"leader-elect":                        false,
	} {
		if got := (program{args: strings.Fields(args)}).electsLeader(); got != want {
			t.Errorf("electsLeader of %q = %t, want %t", args, got, want)
		}
	}
}

func TestProgram_EnvironmentHasNoAdministrator(t *testing.T) {
	t.Setenv("KUBECONFIG", "/admin")
	t.Setenv("GOTRACEBACK", "all")
	got := program{env: map[string]string{"POD_NAMESPACE": "x"}}.environment()
	for _, want := range []string{"POD_NAMESPACE=x", "GOTRACEBACK=all"} {
		if !slices.Contains(got, want) {
			t.Errorf("the environment lacks %s: %v", want, got)
		}
	}
	if slices.ContainsFunc(got, func(v string) bool { return strings.HasPrefix(v, "KUBECONFIG=") }) {
		t.Error("the environment has the administrator's KUBECONFIG")
	}
}

func TestMakeArchive(t *testing.T) {
	dir := t.TempDir() + "/made/on the way"
	for _, archive := range []string{"", "mem://", "file://" + dir, "configmaps://namespace"} {
		if err := makeArchive(archive); err != nil {
			t.Errorf("makeArchive(%q) = %v", archive, err)
		}
	}
	for _, archive := range []string{"file://relative/dir", "file:", "%"} {
		if err := makeArchive(archive); err == nil {
			t.Errorf("makeArchive(%q) succeeded", archive)
		}
	}
}
