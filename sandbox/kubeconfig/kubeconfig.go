// Package kubeconfig writes kubeconfig files that hold all they need, so that
// they can be copied elsewhere.
package kubeconfig

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// Config is one user's access to one cluster.
type Config struct {
	// Server is the URL of the API server, CA the certificate (PEM) that it is
	// trusted by.
	Server string
	CA     []byte
	// User is the name of the entry. Either Token is set, or Cert and Key (PEM).
	User      string
	Token     string
	Cert, Key []byte
	// Namespace is that of the context; empty means default.
	Namespace string
}

// cluster is the name of cluster and context in each file.
const cluster = "sandbox"

// Write writes the file for its owner alone. It is never seen half written.
func (c Config) Write(path string) error {
	data, err := c.encode()
	if err != nil {
		return fmt.Errorf("encoding the kubeconfig of %s: %w", c.User, err)
	}
	temporary, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp")
	if err != nil {
		return fmt.Errorf("writing the kubeconfig of %s: %w", c.User, err)
	}
	defer os.Remove(temporary.Name())
	_, err = temporary.Write(data)
	if closeErr := temporary.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("writing the kubeconfig of %s: %w", c.User, err)
	}
	return nil
}

// encode returns the file's text. JSON is YAML, which is what the readers of a
// kubeconfig expect; []byte is base64 in it, as they expect too.
func (c Config) encode() ([]byte, error) {
	type object = map[string]any
	user := object{}
	if c.Token != "" {
		user["token"] = c.Token
	} else {
		user["client-certificate-data"], user["client-key-data"] = c.Cert, c.Key
	}
	context := object{"cluster": cluster, "user": c.User}
	if c.Namespace != "" {
		context["namespace"] = c.Namespace
	}
	return json.MarshalIndent(object{
		"apiVersion":      "v1",
		"kind":            "Config",
		"clusters":        []object{{"name": cluster, "cluster": object{"server": c.Server, "certificate-authority-data": c.CA}}},
		"users":           []object{{"name": c.User, "user": user}},
		"contexts":        []object{{"name": cluster, "context": context}},
		"current-context": cluster,
	}, "", "  ")
}
