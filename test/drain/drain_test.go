package drain

import (
	"strings"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/api/v1alpha1"
	"labhub.io/teamspace/test/world"
)

// begin installs the chart, runs a controller and makes teams; all is gone after the test.
func begin(t *testing.T, prefix string, count int, values ...string) (w *world.World, stopController func(), teams []team) {
	t.Helper()
	w = lab.World(t)
	install(t, w, values...)
	controller := runController(t, w)
	return w, func() { stop(t, controller) }, populate(t, w, prefix, count)
}

// TestFail: with TeamSpaces nothing is changed; without, all goes.
func TestFail(t *testing.T) {
	w, stopController, teams := begin(t, "fail", 7)
	before := w.MustKubectl(t, "get", "-o", "name", "validatingadmissionpolicies,validatingwebhookconfigurations")
	d := run(t, drainCommand(t.Context(), t, w.KubeconfigAs(t, drainUser), "--policy=Fail"))
	if d.code != 1 || !strings.Contains(d.out, "fail-00, fail-01, fail-02, fail-03, fail-04 and 2 more") {
		t.Errorf("drain: exit code %d\n%s", d.code, d.out)
	}
	if after := w.MustKubectl(t, "get", "-o", "name", "validatingadmissionpolicies,validatingwebhookconfigurations"); after != before {
		t.Errorf("it refused, and changed what is there to\n%s", after)
	}
	wantAdopted(t, w, teams)
	for _, tm := range teams {
		w.Delete(t, world.TeamSpace(tm.name, 0, ""))
	}
	wantCollected(t, w, teams)
	stopController()
	mustDrain(t, w, "Fail")
	wantNothingOfOurs(t, w)
}

// TestElsewhere: told the name of another release than there is, it refuses before it changes
// anything, and says how it would have been told right.
func TestElsewhere(t *testing.T) {
	w := lab.World(t)
	install(t, w)
	before := w.MustKubectl(t, "get", "-o", "name", "validatingadmissionpolicies,validatingwebhookconfigurations,mutatingwebhookconfigurations")
	for _, wrong := range []string{"--release-namespace=teamspace-systm", "--webhook-service=teamspce-webhook"} {
		d := run(t, drainCommand(t.Context(), t, w.Kubeconfig(), "--policy=Orphan", wrong))
		want := "--release-namespace=teamspace-system --webhook-service=teamspace-webhook --deployment=teamspace-controller"
		if d.code != 1 || !strings.Contains(d.out, want) || !strings.Contains(d.out, "nothing was changed") {
			t.Errorf("drain %s: exit code %d\n%s", wrong, d.code, d.out)
		}
	}
	if after := w.MustKubectl(t, "get", "-o", "name", "validatingadmissionpolicies,validatingwebhookconfigurations,mutatingwebhookconfigurations"); after != before {
		t.Errorf("it refused, and changed what is there to\n%s", after)
	}
	mustDrain(t, w, "Orphan")
	cleanUp(t, w)
}

// TestOrphan begins while the controller still runs, which would put everything back: it
// has to wait for its end. What somebody deleted before goes, what somebody else holds
// stays held by him.
func TestOrphan(t *testing.T) {
	w, stopController, teams := begin(t, "orphan", many)
	held, deleted, teams := teams[0], teams[1], teams[2:]
	w.Patch(t, world.TeamSpace(held.name, 0, ""), `{"metadata":{"finalizers":["acme.example/hold","platform.labhub.io/cleanup"]}}`)
	foreign := world.TeamSpace(held.name, 0, "")

	cmd := drainCommand(t.Context(), t, w.KubeconfigAs(t, drainUser), "--policy=Orphan")
	ended := make(chan drained, 1)
	var said strings.Builder
	cmd.Stderr = &said
	go func() {
		out, _ := cmd.Output()
		ended <- drained{string(out), cmd.ProcessState.ExitCode()}
	}()
	world.Never(t, lookAgain, "it waits for the controller", func() error {
		select {
		case d := <-ended:
			t.Fatalf("it did not wait: exit code %d\n%s%s", d.code, d.out, said.String())
		default:
		}
		return nil
	})
	stopController()
	w.Delete(t, world.TeamSpace(deleted.name, 0, ""))
	d := <-ended
	if d.code != 0 || !strings.Contains(said.String(), "waiting for the controller to stop: Lease") {
		t.Fatalf("drain: exit code %d\n%s%s", d.code, d.out, said.String())
	}

	wantNothingOfOurs(t, w)
	wantReleased(t, w, teams)
	wantArchived(t, w, []team{deleted})
	wantCollected(t, w, []team{deleted})
	if w.Get(t, foreign); len(foreign.Finalizers) != 1 || foreign.Finalizers[0] != "acme.example/hold" {
		t.Errorf("finalizers of others: %q", foreign.Finalizers)
	}
	mustDrain(t, w, "Orphan") // once more: there is nothing to do, and nothing changes
	wantReleased(t, w, teams)

	install(t, w)
	stopAgain := runController(t, w)
	wantAdopted(t, w, append(teams, held))
	stop(t, stopAgain)
	mustDrainByHand(t, w, "Orphan")
	wantReleased(t, w, teams)
	cleanUp(t, w)
}

// lookAgain is longer than the drain waits between two looks.
const lookAgain = 5 * time.Second

// TestOrphan_ThenTheTypeGoes: a later deletion of the CustomResourceDefinition harms
// nobody, with nobody there to see to it.
func TestOrphan_ThenTheTypeGoes(t *testing.T) {
	w, stopController, teams := begin(t, "later", 5)
	stopController()
	mustDrain(t, w, "Orphan")
	w.Delete(t, definition())
	w.AwaitGone(t, definition())
	for _, tm := range teams {
		wantNamespaceReleased(t, w, tm)
	}
	comeBack(t, w, teams)
	cleanUp(t, w)
}

// TestDelete: all is archived and goes, also what never had our finalizer.
func TestDelete(t *testing.T) {
	w, stopController, teams := begin(t, "delete", many, "uninstall.policy=Delete")
	stopController()
	bare := world.TeamSpace("delete-bare", 1, "1")
	w.Create(t, bare)
	mustDrain(t, w, "Delete")
	wantNothingOfOurs(t, w)
	wantArchived(t, w, append(teams, team{name: bare.Name, uid: bare.UID}))
	wantCollected(t, w, teams)
}

// TestControllerGone: it was killed long ago and holds the lease for ever; somebody has
// deleted a TeamSpace since, which hangs.
func TestControllerGone(t *testing.T) {
	for _, policy := range []string{"Orphan", "Delete"} {
		t.Run(policy, func(t *testing.T) {
			w := lab.World(t)
			install(t, w, "uninstall.policy="+policy)
			controller := runController(t, w)
			teams := populate(t, w, "gone-"+strings.ToLower(policy), many)
			controller.Kill()
			lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: world.ReleaseNamespace, Name: world.LeaseName}}
			if w.Get(t, lease); lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
				t.Fatal("the lease is free: this is not what the test is about")
			}
			w.Delete(t, world.TeamSpace(teams[0].name, 0, ""))
			mustDrain(t, w, policy)
			wantNothingOfOurs(t, w)
			wantArchived(t, w, teams[:1])
			wantCollected(t, w, teams[:1])
			if policy == "Orphan" {
				wantReleased(t, w, teams[1:])
			} else {
				wantArchived(t, w, teams)
				wantCollected(t, w, teams)
			}
			cleanUp(t, w)
		})
	}
}

// TestKilledMidway kills the drain at several points, and lets another one end it.
func TestKilledMidway(t *testing.T) {
	for _, policy := range []string{"Orphan", "Delete"} {
		t.Run(policy, func(t *testing.T) {
			w := lab.World(t)
			install(t, w, "uninstall.policy="+policy)
			controller := runController(t, w)
			teams := populate(t, w, "killed-"+strings.ToLower(policy), many)
			stop(t, controller)
			kubeconfig, midway := w.KubeconfigAs(t, drainUser), 0
			for _, after := range []int{0, 1, many / 3, 2 * many / 3} {
				cmd := drainCommand(t.Context(), t, kubeconfig, "--policy="+policy)
				if killMidway(t, cmd, "the drain has begun", func() bool { return heldBy(t, w) <= many-after }) {
					midway++
				}
			}
			if midway < 2 {
				t.Fatalf("only %d drains were killed before their end: this is not what the test is about", midway)
			}
			mustDrain(t, w, policy)
			wantNothingOfOurs(t, w)
			if policy == "Orphan" {
				wantReleased(t, w, teams)
			} else {
				wantArchived(t, w, teams)
				wantCollected(t, w, teams)
			}
			cleanUp(t, w)
		})
	}
}

// heldBy counts what still has our finalizer.
func heldBy(t *testing.T, w *world.World) int {
	t.Helper()
	var all v1alpha1.TeamSpaceList
	if err := w.Client.List(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	count := 0
	for i := range all.Items {
		if len(all.Items[i].Finalizers) > 0 {
			count++
		}
	}
	return count
}

// TestReleaseNamespaceDeletedFirst: neither Deployment nor lease nor account is there; an
// administrator drains by hand.
func TestReleaseNamespaceDeletedFirst(t *testing.T) {
	w, stopController, teams := begin(t, "nsfirst", many)
	stopController()
	release := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: world.ReleaseNamespace}}
	w.Delete(t, release)
	w.AwaitGone(t, release)
	mustDrainByHand(t, w, "Orphan")
	wantNothingOfOurs(t, w)
	wantReleased(t, w, teams)
	install(t, w)
	stopAgain := runController(t, w)
	wantAdopted(t, w, teams)
	stop(t, stopAgain)
	mustDrain(t, w, "Orphan")
	cleanUp(t, w)
}

// TestTypeDeletedFirst: with no controller the TeamSpaces hang in their deletion, which
// nobody asked for them: the namespaces are spared whatever the policy.
func TestTypeDeletedFirst(t *testing.T) {
	w, stopController, teams := begin(t, "crdfirst", many, "uninstall.policy=Delete")
	stopController()
	w.Delete(t, definition())
	mustDrain(t, w, "Delete")
	w.AwaitGone(t, definition())
	wantNothingOfOurs(t, w)
	wantArchived(t, w, teams)
	for _, tm := range teams {
		wantNamespaceReleased(t, w, tm)
	}
	comeBack(t, w, teams)
	mustDrain(t, w, "Orphan")
	cleanUp(t, w)
}

// TestTypeGone: somebody has taken off the finalizers by hand, so that the type is gone
// with all TeamSpaces, and the namespaces still name them as owners. They must have been
// released before the type comes back, for then the collector finds the owners absent.
func TestTypeGone(t *testing.T) {
	w, stopController, teams := begin(t, "typegone", 5)
	stopController()
	w.Stop(t, world.ControllerManager) // as fast as nobody is by hand
	w.Delete(t, definition())
	for _, tm := range teams {
		w.Patch(t, world.TeamSpace(tm.name, 0, ""), `{"metadata":{"finalizers":null}}`)
	}
	w.AwaitGone(t, definition())
	mustDrain(t, w, "Orphan")
	for _, tm := range teams {
		wantNamespaceReleased(t, w, tm)
	}
	install(t, w)
	w.Start(t, world.ControllerManager)
	for _, tm := range teams {
		w.Create(t, world.TeamSpace(tm.name, 2, "1"))
	}
	stopAgain := runController(t, w)
	wantAdopted(t, w, teams)
	stop(t, stopAgain)
	cleanUp(t, w)
}

func definition() client.Object {
	return &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.CRDName}}
}

// TestOrphan_WebhooksAnswer: the controller hangs, and the webhooks answer to the end. They
// put a finalizer back that a request takes off a living TeamSpace, as long as any API
// server asks them.
func TestOrphan_WebhooksAnswer(t *testing.T) {
	w := world.Start(t, world.Options{ChartArchive: true})
	installHook(t, w)
	teams := populate(t, w, "asked", many)
	controller := w.PID(t, "manager/teamspace-controller")
	if err := syscall.Kill(controller, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(controller, syscall.SIGKILL) })
	ts := world.TeamSpace(teams[0].name, 0, "")
	if w.Patch(t, ts, `{"metadata":{"finalizers":null}}`); len(ts.Finalizers) == 0 {
		t.Fatal("the webhooks do not put the finalizer back: this is not what the test is about")
	}
	mustDrain(t, w, "Orphan")
	wantNothingOfOurs(t, w)
	wantReleased(t, w, teams)
}

// comeBack installs again and makes the TeamSpaces again, which went with their type: they adopt
// the namespaces that they had.
func comeBack(t *testing.T, w *world.World, teams []team) {
	t.Helper()
	install(t, w)
	for _, tm := range teams {
		w.Create(t, world.TeamSpace(tm.name, 2, "1"))
	}
	controller := runController(t, w)
	wantAdopted(t, w, teams)
	stop(t, controller)
}

// TestPermissions: the account of the hook may do what it needs, and no more.
func TestPermissions(t *testing.T) {
	w := lab.World(t)
	install(t, w)
	for ask, want := range map[string]string{
		"patch teamspaces": "yes",
		"patch namespaces": "yes",
		"delete validatingwebhookconfigurations/teamspace-webhook":                                      "yes",
		"patch deployments/teamspace-controller --subresource=scale -n teamspace-system":                "yes",
		"create configmaps -n teamspace-archive":                                                        "yes",
		"delete teamspaces":                                                                             "no", // by policy Delete alone
		"delete namespaces":                                                                             "no",
		"update namespaces/team-x --subresource=finalize":                                               "no",
		"delete validatingwebhookconfigurations/other":                                                  "no",
		"patch deployments/teamspace-controller -n teamspace-system":                                    "no",
		"patch deployments/teamspace-webhook --subresource=scale -n teamspace-system":                   "no",
		"delete pods -n teamspace-system":                                                               "no",
		"update leases/teamspace-controller -n teamspace-system":                                        "no",
		"delete configmaps -n teamspace-archive":                                                        "no",
		"get configmaps -n teamspace-system":                                                            "no",
		"list mutatingwebhookconfigurations":                                                            "yes",
		"get resourcequotas/team-quota -n team-x":                                                       "yes",
		"get resourcequotas/other -n team-x":                                                            "no",
		"get secrets -n teamspace-system":                                                               "no",
		"delete customresourcedefinitions/" + v1alpha1.CRDName:                                          "no",
		"patch customresourcedefinitions/" + v1alpha1.CRDName:                                           "no",
		"delete validatingadmissionpolicies.admissionregistration.k8s.io/namespaces.platform.labhub.io": "yes",
	} {
		answer := w.Kubectl(t, append([]string{"auth", "can-i", "--as=" + drainUser}, strings.Fields(ask)...)...)
		lines := strings.Split(strings.TrimSpace(answer.Out), "\n") // warnings come before the answer
		if got, _, _ := strings.Cut(lines[len(lines)-1], " "); got != want {
			t.Errorf("can-i %s: %q, want %s", ask, answer.Out, want)
		}
	}
}
