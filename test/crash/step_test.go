package crash

import (
	"net/http"
	"strings"

	"labhub.io/teamspace/api/v1alpha1"
	"labhub.io/teamspace/test/proxy"
)

// step is one write of the manager about one TeamSpace.
type step struct {
	name  string
	match func(r *proxy.Request, teamSpace string) bool
}

// write matches by method, the end of the path, and words of the body. NAME in both is
// the TeamSpace's.
func write(method, path string, words ...string) func(*proxy.Request, string) bool {
	return func(r *proxy.Request, teamSpace string) bool {
		named := func(text string) string { return strings.ReplaceAll(text, "NAME", teamSpace) }
		if r.Method != method || !strings.HasSuffix(r.URL.Path, named(path)) {
			return false
		}
		for _, word := range words {
			if !r.Says(named(word)) {
				return false
			}
		}
		return true
	}
}

// The writes of a pass, in the order of controller.go.
var (
	finalizerAdded  = step{"the finalizer is added", write(http.MethodPatch, "/teamspaces/NAME", `"add"`)}
	namespaceMade   = step{"the namespace is made", write(http.MethodPost, "/namespaces", "team-NAME")}
	namespaceMended = step{"the namespace gets its owner", write(http.MethodPatch, "/namespaces/team-NAME", "ownerReferences", `"controller":true`)}
	staleDropped    = step{"the stale reference is dropped", write(http.MethodPatch, "/namespaces/team-NAME", `"ownerReferences":null`)}
	limitsApplied   = step{"the LimitRange is applied", write(http.MethodPatch, "/team-NAME/limitranges/"+v1alpha1.LimitRangeName)}
	quotaApplied    = step{"the quota is applied", write(http.MethodPatch, "/team-NAME/resourcequotas/"+v1alpha1.QuotaName)}
	quotaUpdated    = step{"the quota is updated", write(http.MethodPut, "/team-NAME/resourcequotas/"+v1alpha1.QuotaName)}
	quotaDeleted    = step{"the quota is deleted", write(http.MethodDelete, "/team-NAME/resourcequotas/"+v1alpha1.QuotaName)}
	statusReady     = step{"the status says Ready", write(http.MethodPatch, "/teamspaces/NAME/status", `"reason":"`+v1alpha1.ReasonServing)}
	statusNotReady  = step{"the status says what is missing", write(http.MethodPatch, "/teamspaces/NAME/status", `"Reconciling"`)}
	statusStalled   = step{"the status says Stalled", write(http.MethodPatch, "/teamspaces/NAME/status", `"Stalled"`)}
	statusLeaving   = step{"the status says Terminating", write(http.MethodPatch, "/teamspaces/NAME/status", `"reason":"`+v1alpha1.ReasonTerminating)}
	recordWritten   = step{"the record is written", write(http.MethodPost, "/configmaps", `NAME`)}
	// The same again, by a pass that follows one in which the status met a conflict.
	recordAgain = step{"the record is written again", func(r *proxy.Request, teamSpace string) bool {
		return r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/configmaps/") && r.Says(teamSpace)
	}}
	statusArchived = step{"the status says Archived", write(http.MethodPatch, "/teamspaces/NAME/status", `"reason":"`+v1alpha1.ReasonArchiveWritten)}
	namespaceFreed = step{"the namespace is released", write(http.MethodPatch, "/namespaces/team-NAME", v1alpha1.AnnotationAdopt)}
	// ofOthers are the writes about all other TeamSpaces, where a scenario takes them along.
	ofOthers = step{"another TeamSpace is let go", func(r *proxy.Request, teamSpace string) bool {
		return !strings.Contains(r.URL.Path, teamSpace) && !r.Says(teamSpace)
	}}
	finalizerRemoved = step{"the finalizer is removed", write(http.MethodPatch, "/teamspaces/NAME", `"remove"`)}
)
