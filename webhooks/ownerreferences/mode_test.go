package ownerreferences

import (
	"context"
	"errors"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestModes(t *testing.T) {
	m := modes{cluster: Warn, namespaces: namespaces(t, map[string]string{
		"strict": "enforce", "mild": "warn", "silent": "audit", "free": "off", "wrong": "whatever", "empty": "",
	})}
	for namespace, want := range map[string]Mode{
		"strict": Enforce, "mild": Warn, "silent": Audit, "free": Off,
		"wrong": Warn, "empty": Warn, "unknown": Warn, "": Warn,
	} {
		if got := m.of(t.Context(), namespace); got != want {
			t.Errorf("namespace %q: %s, want %s", namespace, got, want)
		}
	}
}

type failing struct{ client.Reader }

func (failing) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errors.New("boom")
}

// TestModes_Unreadable: what cannot be read has the mode of the cluster.
func TestModes_Unreadable(t *testing.T) {
	if got := (modes{cluster: Enforce, namespaces: failing{}}).of(t.Context(), "a"); got != Enforce {
		t.Errorf("got %s", got)
	}
}

// TestHandler_ModeOfNamespaces: the label speaks for what is in a namespace, and never
// for the Namespace that carries it.
func TestHandler_ModeOfNamespaces(t *testing.T) {
	handler := New(Options{
		Mode: Enforce, Namespaces: namespaces(t, map[string]string{"a": "off"}), Owners: newCluster(), Access: accessFunc(everything),
	})
	bad := widget("ghost", "uid-0")
	if got := handler.Handle(t.Context(), review("ConfigMap", "a", bad)); !got.Allowed {
		t.Error("denied in a namespace with the mode off")
	}
	if got := handler.Handle(t.Context(), review("Namespace", "a", bad)); got.Allowed {
		t.Error("a Namespace chose its own mode")
	}
	if got := handler.Handle(t.Context(), review("ConfigMap", "b", bad)); got.Allowed {
		t.Error("allowed in a namespace without a label")
	}
}

func TestParseMode(t *testing.T) {
	for _, text := range []string{"", "Enforce", "on", "enforce "} {
		if mode, err := ParseMode(text); err == nil {
			t.Errorf("ParseMode(%q) = %s", text, mode)
		}
	}
}
