package integration

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// What this program does instead of running tests, in the network of a pod.
const (
	serveAt = "INTEGRATION_SERVE"
	dialTo  = "INTEGRATION_DIAL"
	// dialTime is how long an answer may take. A policy that is enforced is answered by a
	// refusal, or by nothing.
	dialTime = 2 * time.Second
)

// The exit codes of a process that dials.
const (
	reached    = 0
	notReached = 4
)

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(serveAt) != "":
		serve(os.Getenv(serveAt))
		os.Exit(1)
	case os.Getenv(dialTo) != "":
		os.Exit(dial(os.Getenv(dialTo)))
	}
	os.Exit(m.Run())
}

// serve takes connections at an address, until it is killed or something is wrong.
func serve(address string) {
	listener, err := net.Listen("tcp", address)
	for err == nil {
		var connection net.Conn
		if connection, err = listener.Accept(); err == nil {
			_ = connection.Close()
		}
	}
	fmt.Fprintln(os.Stderr, err)
}

// dial returns whether somebody answers at an address.
func dial(address string) int {
	connection, err := net.DialTimeout("tcp", address, dialTime)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return notReached
	}
	_ = connection.Close()
	return reached
}

// inNetworkOf is this program in the network of a pod, to do what the variable says.
func (s *sandbox) inNetworkOf(pod, variable, value string) *exec.Cmd {
	s.t.Helper()
	self, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	process, err := s.processOf(pod)
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.CommandContext(s.t.Context(), "nsenter", "--net=/proc/"+process+"/ns/net", self)
	cmd.Env = append(os.Environ(), variable+"="+value)
	return cmd
}

// reaches returns an error unless the pod reaches the address, or does not, as wanted.
func (s *sandbox) reaches(pod, address string, want bool) error {
	s.t.Helper()
	out, err := s.inNetworkOf(pod, dialTo, address).CombinedOutput()
	if code := exitCode(err); code != reached && code != notReached {
		s.t.Fatalf("dialing %s from pod %s: %v\n%s", address, pod, err, out)
	}
	if got := exitCode(err) == reached; got != want {
		return fmt.Errorf("pod %s reaches %s: %t, want %t: %s", pod, address, got, want, out)
	}
	return nil
}

// listen has somebody take connections in the network of a pod until the test ends.
func (s *sandbox) listen(t *testing.T, pod, address string) {
	t.Helper()
	server := s.inNetworkOf(pod, serveAt, address)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait() // it was killed
	})
}

// denyIngress and denyEgress let nothing in but to one port, and nothing out.
const (
	denyIngress = `{"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy","metadata":{"name":"ingress"},"spec":{
"podSelector":{"matchLabels":{"name":"first"}},"policyTypes":["Ingress"],"ingress":[{"ports":[{"port":8001}]}]}}`
	denyEgress = `{"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy","metadata":{"name":"egress"},"spec":{
"podSelector":{"matchLabels":{"name":"second"}},"policyTypes":["Egress"]}}`
)

// testPolicies: what a policy denies is not reached, and is reached before it and after it.
func testPolicies(t *testing.T, s *sandbox) {
	address := s.mustKubectl("get", "pod", "first", "-o", "jsonpath={.status.podIP}")
	admitted, denied := net.JoinHostPort(address, "8001"), net.JoinHostPort(address, "8002")
	server := s.mustKubectl("get", "endpointslices", "kubernetes", "-o", "jsonpath={.endpoints[0].addresses[0]}:{.ports[0].port}")
	service := s.mustKubectl("get", "service", "kubernetes", "-o", "jsonpath={.spec.clusterIP}:{.spec.ports[0].port}")
	s.listen(t, "first", ":8001")
	s.listen(t, "first", ":8002")
	all := func(admits, lets bool) error {
		return errors.Join(s.reaches("second", admitted, lets), s.reaches("second", denied, admits && lets),
			s.reaches("second", server, lets), s.reaches("second", service, lets), s.reaches("first", server, true))
	}
	await := func(what string, admits, lets bool) {
		t.Helper()
		eventually(t, worldDeadline, what, func() error { return all(admits, lets) })
	}
	await("without policies all is reached", true, true)
	s.applyText(t, denyIngress)
	await("one port only is let in to", false, true)
	s.applyText(t, denyEgress)
	await("nothing is let out", false, false)
	s.mustKubectl("delete", "networkpolicy", "egress")
	await("all is let out again", false, true)
	s.mustKubectl("delete", "networkpolicy", "ingress")
	await("without policies all is reached again", true, true)
}

// applyText applies a manifest.
func (s *sandbox) applyText(t *testing.T, text string) {
	t.Helper()
	s.mustKubectl("apply", "-f", writeFile(t, filepath.Join(t.TempDir(), "manifest"), text))
}
