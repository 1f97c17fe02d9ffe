package explain

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"labhub.io/teamspace/inventory"
	"labhub.io/teamspace/ownership/graph"
	"labhub.io/teamspace/ownership/rules"
)

// facts are everything that an explanation rests on. Nothing is read after they were
// gathered.
type facts struct {
	graph      *graph.Graph
	present    *rules.Prediction // without events: things as they are
	incomplete []inventory.Incomplete
	resource   func(graph.ID) schema.GroupVersionResource
	now        time.Time

	// details are what live reads brought of the objects that the explanation tells of.
	details map[graph.ID]detail

	webhooks    []webhook
	unavailable []apiService
	conversions []conversion
	workloads   []workload
	leases      []lease
	nodes       []node
	claims      []claimUse
	namespaces  map[string]map[string]string // labels by name

	// twice says that what looks like a fault of the collector was still so some seconds
	// later (C54).
	twice bool
}

// detail is what only the whole object tells.
type detail struct {
	gone     bool // it went after the survey
	deleted  time.Time
	grace    time.Duration
	labels   map[string]string
	managers map[string][]string // field managers by finalizer

	conditions []condition
	node       string // of a Pod
	claim      string // of a PersistentVolume: what it is bound to
}

// condition is a condition of any type.
type condition struct{ kind, status, reason, message string }

// is returns the condition of a type that is true.
func (d detail) is(kind string) (condition, bool) {
	i := slices.IndexFunc(d.conditions, func(c condition) bool { return c.kind == kind && c.status == "True" })
	if i < 0 {
		return condition{}, false
	}
	return d.conditions[i], true
}

// backend is the Service that the API server would call.
type backend struct {
	service string // namespace/name, "" for a URL
	fault   string // what is wrong with it; "" for nothing
}

// webhook is an admission webhook that fails closed and cannot be called.
type webhook struct {
	kind, configuration, name string
	backend                   backend
	rules                     []webhookRule
	conditional               bool // has matchConditions, which only the API server can judge
	selects                   func(labels map[string]string) bool
	selectsNamespace          func(labels map[string]string) bool
}

// webhookRule is one rule of a webhook; "*" is anything.
type webhookRule struct{ operations, groups, resources []string }

// apiService is an aggregated API that does not answer.
type apiService struct{ name, service, reason, message string }

// conversion is a type whose conversion webhook cannot be called.
type conversion struct {
	definition string
	kind       schema.GroupKind
	backend    backend
}

// workload is what runs controllers.
type workload struct {
	kind, namespace, name string
	ready, wanted         int32
	words                 []string // names, labels and images to be known by
}

// lease is how controllers agree on who works.
type lease struct {
	namespace, name, holder string
	renewed                 time.Time
	duration                time.Duration
}

// node is a machine.
type node struct {
	name  string
	ready bool
}

// claimUse is a Pod that has a PersistentVolumeClaim.
type claimUse struct{ namespace, claim, pod string }
