package manager

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/test/world"
)

func TestPermissions(t *testing.T) {
	w := lab.World(t)
	for name, tc := range map[string]struct {
		ask  string
		want string
	}{
		// Without these, a "no" below would only say that it may do nothing at all.
		"it reads TeamSpaces":                {ask: "list teamspaces", want: "yes"},
		"it makes namespaces":                {ask: "create namespaces", want: "yes"},
		"it reads the quota of a team":       {ask: "list resourcequotas/team-quota -n team-x", want: "yes"},
		"it makes the quota of a team again": {ask: "delete resourcequotas/team-quota -n team-x", want: "yes"},
		"it writes its archive":              {ask: "create configmaps -n teamspace-archive", want: "yes"},
		"it says where its archive is":       {ask: "create configmaps/teamspace-archive -n teamspace-system", want: "yes"},

		"and writes no other ConfigMap there":      {ask: "create configmaps -n teamspace-system", want: "no"},
		"it does not read Secrets":                 {ask: "get secrets", want: "no"},
		"nor list them":                            {ask: "list secrets -A", want: "no"},
		"nor those of its own namespace":           {ask: "get secrets -n teamspace-system", want: "no"},
		"it does not delete namespaces":            {ask: "delete namespaces", want: "no"},
		"nor one of a team":                        {ask: "delete namespaces/team-x", want: "no"},
		"it does not finalize namespaces":          {ask: "update namespaces/team-x --subresource=finalize", want: "no"},
		"it does not read other quotas":            {ask: "get resourcequotas/other -n team-x", want: "no"},
		"nor list all of them":                     {ask: "list resourcequotas -A", want: "no"},
		"it does not delete other quotas":          {ask: "delete resourcequotas/other -n team-x", want: "no"},
		"it does not read other LimitRanges":       {ask: "get limitranges/other -n team-x", want: "no"},
		"it does not create TeamSpaces":            {ask: "create teamspaces", want: "no"},
		"it does not delete TeamSpaces":            {ask: "delete teamspaces", want: "no"},
		"it does not read pods":                    {ask: "list pods -A", want: "no"},
		"it does not delete its archive":           {ask: "delete configmaps -n teamspace-archive", want: "no"},
		"it does not read ConfigMaps elsewhere":    {ask: "get configmaps -n kube-system", want: "no"},
		"it does not change its own type":          {ask: "update customresourcedefinitions/teamspaces.platform.labhub.io", want: "no"},
		"it does not give permissions":             {ask: "create clusterrolebindings", want: "no"},
		"it does not act as somebody else":         {ask: "impersonate users", want: "no"},
		"it does not make tokens":                  {ask: "create serviceaccounts/default --subresource=token -n kube-system", want: "no"},
		"it does not take the leases of others":    {ask: "update leases/other -n teamspace-system", want: "no"},
		"it does not write leases in other places": {ask: "create leases -n kube-system", want: "no"},
		"it does not hand namespaces over":         {ask: "adopt teamspaces", want: "no"},
	} {
		t.Run(name, func(t *testing.T) { t.Parallel(); wantPermission(t, w, world.ManagerUser, tc.ask, tc.want) })
	}
}

// wantPermission compares what a user may do with what it has to.
func wantPermission(t *testing.T, w *world.World, user, ask, want string) {
	t.Helper()
	answer := w.Kubectl(t, append([]string{"auth", "can-i", "--as=" + user}, strings.Fields(ask)...)...)
	lines := strings.Split(strings.TrimSpace(answer.Out), "\n") // warnings come before the answer
	if got, _, _ := strings.Cut(lines[len(lines)-1], " "); got != want {
		t.Errorf("can-i %s: %q, want %s", ask, answer.Out, want)
	}
}

// TestPermissions_Webhook: the webhooks look at every owner, and write next to nothing.
func TestPermissions_Webhook(t *testing.T) {
	w := lab.World(t)
	for name, tc := range map[string]struct {
		ask  string
		want string
	}{
		"it reads every owner":         {ask: "get secrets/x -n team-x", want: "yes"},
		"it reads owners of any type":  {ask: "get widgets.acme.example/x -n team-x", want: "yes"},
		"it asks who may read":         {ask: "create subjectaccessreviews.authorization.k8s.io", want: "yes"},
		"it keeps its authority":       {ask: "patch validatingwebhookconfigurations/teamspace-webhook", want: "yes"},
		"it keeps its certificate":     {ask: "patch secrets/teamspace-webhook-certificate -n teamspace-system", want: "yes"},
		"it makes it again":            {ask: "create secrets/teamspace-webhook-certificate -n teamspace-system", want: "yes"},
		"it makes no other secret":     {ask: "create secrets -n teamspace-system", want: "no"},
		"it lists no objects":          {ask: "list secrets -A", want: "no"},
		"nor those of a team":          {ask: "list configmaps -n team-x", want: "no"},
		"nor watches them":             {ask: "watch secrets -n team-x", want: "no"},
		"nor one elsewhere":            {ask: "create secrets/teamspace-webhook-certificate -n team-x", want: "no"},
		"it writes no other secret":    {ask: "patch secrets/x -n teamspace-system", want: "no"},
		"it changes no other webhooks": {ask: "patch validatingwebhookconfigurations/other", want: "no"},
		"it makes none":                {ask: "create mutatingwebhookconfigurations", want: "no"},
		"it writes no TeamSpace":       {ask: "patch teamspaces", want: "no"},
		"nor a namespace":              {ask: "patch namespaces", want: "no"},
		"it deletes nothing":           {ask: "delete configmaps -n team-x", want: "no"},
		"it holds no lease":            {ask: "update leases/teamspace-controller -n teamspace-system", want: "no"},
		"it acts as nobody else":       {ask: "impersonate users", want: "no"},
	} {
		t.Run(name, func(t *testing.T) { t.Parallel(); wantPermission(t, w, world.WebhookUser, tc.ask, tc.want) })
	}
}

// TestPermissions_AsAsked makes the requests themselves.
func TestPermissions_AsAsked(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	ts := w.Serve(t, world.TeamSpace("permitted", 2, "1"))
	w.Create(t,
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team-permitted", Name: "secret"}},
		&corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "team-permitted", Name: "other"}},
	)
	c := w.As(t, world.ManagerUser, "system:serviceaccounts", "system:serviceaccounts:"+world.ReleaseNamespace, "system:authenticated")
	read := func(object client.Object, name string) error {
		return c.Get(t.Context(), client.ObjectKey{Namespace: "team-permitted", Name: name}, object)
	}
	quotas := &corev1.ResourceQuotaList{}
	if err := c.List(t.Context(), quotas, client.InNamespace("team-permitted"), client.MatchingFields{"metadata.name": "team-quota"}); err != nil || len(quotas.Items) != 1 {
		t.Errorf("reading the quota of a team: %v, %d quotas", err, len(quotas.Items))
	}
	for what, err := range map[string]error{
		"reading a Secret":           read(&corev1.Secret{}, "secret"),
		"reading another quota":      read(&corev1.ResourceQuota{}, "other"),
		"listing quotas":             c.List(t.Context(), &corev1.ResourceQuotaList{}),
		"deleting a namespace":       c.Delete(t.Context(), world.TeamNamespace("permitted")),
		"deleting a TeamSpace":       c.Delete(t.Context(), ts),
		"changing a TeamSpace whole": c.Update(t.Context(), ts),
	} {
		if !apierrors.IsForbidden(err) {
			t.Errorf("%s: %v, want that it is forbidden", what, err)
		}
	}
}

// TestManager_IsItsServiceAccount: the manager of the tests is nobody else, above all
// not an administrator.
func TestManager_IsItsServiceAccount(t *testing.T) {
	t.Parallel()
	w := lab.World(t)
	w.Serve(t, world.TeamSpace("whose", 2, "1"))
	for _, event := range w.AuditEvents(t, func(e world.AuditEvent) bool {
		return e.Writes() && (e.Object.Resource == "teamspaces" && e.Object.Subresource == "status" ||
			e.Object.Resource == "resourcequotas" && e.Object.Name == "team-quota" && e.Object.Subresource == "")
	}) {
		if event.User.Name != world.ManagerUser {
			t.Errorf("%s was sent by %s", event, event.User.Name)
		}
	}
	// Impersonated requests, such as those of the tests above, are the administrator's here.
	refused := w.AuditEvents(t, func(e world.AuditEvent) bool { return e.User.Name == world.ManagerUser && e.Response.Code == 403 })
	if len(refused) > 0 {
		t.Errorf("the manager asks for what it may not have: %v", refused)
	}
}
