package node

import (
	"encoding/json"
	"net/netip"
	"strings"
	"testing"

	"labhub.io/teamspace/sandbox/pki"
)

func decoded(t *testing.T, data []byte, err error) document {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	d := document{}
	if err := json.Unmarshal(data, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestContainerdConfig(t *testing.T) {
	text := string(containerdConfig(`/a "quoted" folder`, "/network", "/usr/lib/cni"))
	for _, want := range []string{
		`root = "/a \"quoted\" folder"`, `conf_dir = "/network"`, `bin_dirs = ["/usr/lib/cni"]`,
		`sandbox = "localhost/pause:1"`, "restrict_oom_score_adj = true", "SystemdCgroup = false",
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("there is no line %s in\n%s", want, text)
		}
	}
}

func TestKubeletConfig(t *testing.T) {
	data, err := kubeletConfig("/ca.crt", &pki.Pair{CertFile: "/k.crt", KeyFile: "/k.key"}, "/plugins")
	d := decoded(t, data, err)
	for name, want := range map[string]any{
		"kind": "KubeletConfiguration", "cgroupRoot": "/teamspace-sandbox", "cgroupDriver": "cgroupfs",
		"failCgroupV1": false, "tlsCertFile": "/k.crt", "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
	} {
		if d[name] != want {
			t.Errorf("%s = %v, want %v", name, d[name], want)
		}
	}
}

func TestProxyConfig(t *testing.T) {
	data, err := proxyConfig("/kubeconfig")
	if d := decoded(t, data, err); d["mode"] != "nftables" || d["clusterCIDR"] != podRange {
		t.Errorf("configuration: %v", d)
	}
}

func TestNetworkConfig(t *testing.T) {
	data, err := networkConfig()
	if !strings.Contains(string(data), `"subnet": "`+podRange+`"`) {
		t.Errorf("the pods' network is not %s:\n%s, %v", podRange, data, err)
	}
}

// TestRanges: the networks of a node are apart from each other and all in that of the machine.
func TestRanges(t *testing.T) {
	all := []string{hostAddress + linkPrefix, podRange, serviceRange}
	for i, one := range all {
		a := netip.MustParsePrefix(one)
		if !netip.MustParsePrefix(machineRange).Overlaps(a) {
			t.Errorf("%s is not in %s", one, machineRange)
		}
		for _, other := range all[i+1:] {
			if a.Overlaps(netip.MustParsePrefix(other)) {
				t.Errorf("%s and %s overlap", one, other)
			}
		}
	}
	if first := netip.MustParsePrefix(serviceRange).Addr().Next().String(); first != serviceAddress {
		t.Errorf("the first address of Services is %s, want %s", first, serviceAddress)
	}
}
