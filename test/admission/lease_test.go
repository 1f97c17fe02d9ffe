package admission

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"labhub.io/teamspace/test/replica"
	"labhub.io/teamspace/test/world"
)

// credentialID is where the API server notes with which token a request came.
const credentialID = "authentication.kubernetes.io/credential-id"

// TestLease: the API server stands still for so long that the controller which leads
// gives up. The webhooks go on answering meanwhile, and afterwards exactly one controller
// writes.
func TestLease(t *testing.T) {
	const standstill = 15 * time.Second
	w := begin(t)
	webhook := alone(t, w)
	first := controller(t, w, "one")
	world.Eventually(t, world.Patience, "the first controller leads", func() error { return leads(t, first) })
	second := controller(t, w, "two")
	second.AwaitReady(t)
	w.Serve(t, world.TeamSpace("before", 2, "1"))

	server := w.PID(t, string(world.APIServer))
	signal := func(s syscall.Signal) {
		if err := syscall.Kill(server, s); err != nil {
			t.Error(err)
		}
	}
	signal(syscall.SIGSTOP)
	t.Cleanup(func() { signal(syscall.SIGCONT) })
	answers := 0
	world.Never(t, standstill, "the webhooks answer", func() error {
		_, err := ask(webhook, anyReview)
		answers++
		return errors.Join(err, webhook.Alive())
	})
	began := time.Now()
	signal(syscall.SIGCONT)
	t.Logf("%d answers while the API server stood still", answers)
	w.AwaitServing(t)
	webhook.AwaitReady(t)

	// The first one gives up and ends, and in a cluster its pod would be started again.
	first.AwaitEnd(t)
	world.Eventually(t, 2*world.Patience, "the second controller leads", func() error { return leads(t, second) })
	const several = 5
	for i := range several {
		w.Serve(t, world.TeamSpace(fmt.Sprintf("after-%d", i), 2, "1"))
	}
	// An event says that somebody leads no more, and changes nothing.
	written := map[string][]world.AuditEvent{}
	for _, e := range w.AuditEvents(t, func(e world.AuditEvent) bool {
		return e.User.Name == world.ManagerUser && e.Writes() && e.Object.Resource != "leases" && e.Object.Resource != "events" && e.Time.After(began)
	}) {
		token := strings.Join(e.User.Extra[credentialID], " ")
		written[token] = append(written[token], e)
	}
	for token, all := range written {
		t.Logf("%d writes with token %s, the first one: %s", len(all), token, all[0])
	}
	if len(written) != 1 {
		t.Errorf("%d controllers have written", len(written))
	}
}

// controller starts a controller with a token of its own.
func controller(t *testing.T, w *world.World, name string) *replica.Replica {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: world.ReleaseNamespace, Name: "teamspace-controller"}}
	token := &authenticationv1.TokenRequest{}
	if err := w.Client.SubResource("token").Create(t.Context(), account, token); err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.LoadFromFile(filepath.Join(w.Dir, account.Name+".kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	for _, user := range config.AuthInfos {
		user.Token = token.Status.Token
	}
	path := filepath.Join(t.TempDir(), name+".kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return replica.Start(t, w, replica.Options{Controllers: true, Kubeconfig: path, Flags: []string{"--archive=file://" + w.ArchiveDir}})
}

// leads returns an error unless a controller holds the lease.
func leads(t *testing.T, r *replica.Replica) error {
	t.Helper()
	page, err := r.MetricsPage()
	if err != nil {
		return err
	}
	if leads, _ := replica.Sum(t, page, "leader_election_master_status"); leads != 1 {
		return errors.New("it does not lead")
	}
	return nil
}
