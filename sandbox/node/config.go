package node

import (
	"encoding/json"
	"fmt"

	"labhub.io/teamspace/sandbox/pki"
)

// containerdConfig keeps images and containers in root, and reads the pods' network from the
// folder network. What it says that is not a path, the recipe of a node on this kind of
// machine needs: a runtime that may not raise its own importance must not try to.
func containerdConfig(root, network, plugins string) []byte {
	return fmt.Appendf(nil, `version = 3
root = %q
state = "/run/containerd"
disabled_plugins = ["io.containerd.internal.v1.opt", "io.containerd.nri.v1.nri"]

[grpc]
address = %q

[plugins.'io.containerd.cri.v1.images'.pinned_images]
sandbox = %q

[plugins.'io.containerd.cri.v1.runtime']
restrict_oom_score_adj = true

[plugins.'io.containerd.cri.v1.runtime'.cni]
bin_dirs = [%q]
conf_dir = %q

[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"

[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
SystemdCgroup = false
`, root, socket, pauseImage, plugins, network)
}

// document is a file of configuration.
type document = map[string]any

// networkConfig is the list of CNI: a bridge with an address for each pod. A pod may reach
// itself by the Service that it is behind (hairpinMode), as a webhook does that tries itself.
func networkConfig() ([]byte, error) {
	return encode(document{
		"cniVersion": "1.0.0",
		"name":       "sandbox",
		"plugins": []document{
			{
				"type": "bridge", "bridge": "pods0", "isGateway": true, "ipMasq": false, "hairpinMode": true,
				"ipam": document{
					"type": "host-local", "dataDir": "/var/lib/cni/networks",
					"ranges": [][]document{{{"subnet": podRange}}},
					"routes": []document{{"dst": "0.0.0.0/0"}},
				},
			},
			{"type": "portmap", "capabilities": document{"portMappings": true}},
		},
	})
}

// kubeletConfig is that of a kubelet that shares the machine with others: it takes what there
// is and reserves nothing.
func kubeletConfig(clientCA string, server *pki.Pair, volumePlugins string) ([]byte, error) {
	return encode(document{
		"apiVersion":                  "kubelet.config.k8s.io/v1beta1",
		"kind":                        "KubeletConfiguration",
		"address":                     address,
		"authentication":              document{"anonymous": document{"enabled": false}, "webhook": document{"enabled": true}, "x509": document{"clientCAFile": clientCA}},
		"authorization":               document{"mode": "Webhook"},
		"tlsCertFile":                 server.CertFile,
		"tlsPrivateKeyFile":           server.KeyFile,
		"containerRuntimeEndpoint":    "unix://" + socket,
		"cgroupDriver":                "cgroupfs",
		"cgroupRoot":                  "/" + cgroup,
		"failCgroupV1":                false,
		"failSwapOn":                  false,
		"enforceNodeAllocatable":      []string{},
		"resolvConf":                  "",
		"volumePluginDir":             volumePlugins,
		"imageGCHighThresholdPercent": 100,
		// A disk that others have filled is no reason to run nothing here.
		"evictionHard": document{"memory.available": "50Mi", "nodefs.available": "0%", "nodefs.inodesFree": "0%", "imagefs.available": "0%", "imagefs.inodesFree": "0%"},
	})
}

// proxyConfig leaves the limits of connections alone, which are the whole machine's.
func proxyConfig(kubeconfig string) ([]byte, error) {
	return encode(document{
		"apiVersion":       "kubeproxy.config.k8s.io/v1alpha1",
		"kind":             "KubeProxyConfiguration",
		"clientConnection": document{"kubeconfig": kubeconfig},
		"mode":             "nftables",
		"clusterCIDR":      podRange,
		"hostnameOverride": Name,
		"conntrack":        document{"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
	})
}

func encode(d document) ([]byte, error) {
	data, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encoding a configuration of the node: %w", err)
	}
	return append(data, '\n'), nil
}
