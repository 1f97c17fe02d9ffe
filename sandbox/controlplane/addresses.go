package controlplane

import (
	"encoding/json"
	"fmt"
	"os"

	"labhub.io/teamspace/sandbox/port"
)

// addresses are where the components listen. They stay the same over a restart
// of a component, and over one of the sandbox unless somebody took them.
type addresses struct {
	Etcd              string `json:"etcd"`
	EtcdPeer          string `json:"etcdPeer"`
	APIServer         string `json:"kubeAPIServer"`
	ControllerManager string `json:"kubeControllerManager"`
}

// chooseAddresses takes those of the file where they are free, others where
// not, and writes the file. A wanted port of the API server has to be free.
func chooseAddresses(file, host string, wanted int) (addresses, error) {
	var a addresses
	if data, err := os.ReadFile(file); err == nil {
		// A file that cannot be read is like none: any free address will do.
		_ = json.Unmarshal(data, &a)
	}
	picker := port.NewPicker()
	if wanted != 0 {
		address, err := apiServerAddress(host, wanted)
		if err != nil {
			return a, fmt.Errorf("choosing the address of %s: %w", APIServer, err)
		}
		a.APIServer = address
	}
	for _, address := range []*string{&a.APIServer, &a.Etcd, &a.EtcdPeer, &a.ControllerManager} {
		at := port.Loopback
		if address == &a.APIServer {
			at = host
		}
		free, err := picker.PreferAt(at, *address)
		if err != nil {
			return a, err
		}
		*address = free
	}
	data, err := json.MarshalIndent(a, "", "  ")
	if err != nil {
		return a, fmt.Errorf("encoding the addresses: %w", err)
	}
	if err := os.WriteFile(file, data, 0o644); err != nil {
		return a, fmt.Errorf("writing the addresses: %w", err)
	}
	return a, nil
}
