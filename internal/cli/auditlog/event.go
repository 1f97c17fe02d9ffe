package auditlog

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// event is a line of an audit log, as far as it is of use here.
type event struct {
	ID    string    `json:"auditID"`
	Stage string    `json:"stage"`
	Verb  string    `json:"verb"`
	Time  time.Time `json:"stageTimestamp"`
	Agent string    `json:"userAgent"`
	URI   string    `json:"requestURI"`
	User  struct {
		Name string `json:"username"`
	} `json:"user"`
	Impersonated struct {
		Name string `json:"username"`
	} `json:"impersonatedUser"`
	Object object `json:"objectRef"`
	Status struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	Request  json.RawMessage `json:"requestObject"`
	Response json.RawMessage `json:"responseObject"`
}

// object is what a request was about.
type object struct {
	Group       string `json:"apiGroup"`
	APIVersion  string `json:"apiVersion"`
	Resource    string `json:"resource"`
	Subresource string `json:"subresource"`
	Namespace   string `json:"namespace"`
	Name        string `json:"name"`
}

// user is whoever acted, also in another's name.
func (e *event) user() string {
	if e.Impersonated.Name != "" {
		return e.Impersonated.Name + ", impersonated by " + e.User.Name
	}
	return e.User.Name
}

// succeeded reports whether the request was answered, and did what it should.
func (e *event) succeeded() bool {
	return e.Stage == "ResponseComplete" && e.Status.Code >= 200 && e.Status.Code < 300
}

// collectors are the users that the garbage collector may be: with a service account of its
// own, or without.
var collectors = []string{"system:serviceaccount:kube-system:generic-garbage-collector", "system:kube-controller-manager"}

// byCollector reports whether the garbage collector sent the request.
func (e *event) byCollector() bool {
	switch e.User.Name {
	case collectors[0]:
		return true
	case collectors[1]:
		// All controllers share this user, but the collector names itself.
		return strings.Contains(e.Agent, "generic-garbage-collector")
	default:
		return false
	}
}

// writes reports whether the request may have changed the object.
func (e *event) writes() bool {
	return slices.Contains([]string{"create", "update", "patch"}, e.Verb) && e.Object.Subresource != "scale"
}

// body is the metadata of an object in a request or an answer.
type body struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Name       string                  `json:"name"`
		UID        string                  `json:"uid"`
		Owners     []metav1.OwnerReference `json:"ownerReferences"`
		Deleted    *metav1.Time            `json:"deletionTimestamp"`
		Finalizers []string                `json:"finalizers"`
	} `json:"metadata"`
	// Items are in the answer to a deletion of many.
	Items []struct {
		Metadata struct {
			Namespace string `json:"namespace"`
			Name      string `json:"name"`
		} `json:"metadata"`
	} `json:"items"`
}

// after is what the object was like after the request, if the log has that. The answer says
// it; of a request only those with the whole object do.
func (e *event) after() (body, bool) {
	for _, raw := range []json.RawMessage{e.Response, e.Request} {
		var b body
		if len(raw) == 0 || json.Unmarshal(raw, &b) != nil {
			continue
		}
		if b.Kind == "Status" || b.Kind == "DeleteOptions" || b.Metadata.Name == "" && e.Verb != "create" {
			continue
		}
		return b, true
	}
	return body{}, false
}

// complete adds the name that the API server has made up for a new object.
func (e *event) complete() {
	if e.Verb != "create" || e.Object.Name != "" || e.Object.Subresource != "" {
		return
	}
	if made, ok := e.after(); ok {
		e.Object.Name = made.Metadata.Name
	}
}

// selective reports whether a deletion of many was one of those that a selector chose.
func (e *event) selective() bool {
	return strings.Contains(e.URI, "labelSelector=") || strings.Contains(e.URI, "fieldSelector=")
}

// lists reports whether the answer to a deletion of many tells of an object of that name;
// known is false if the log does not hold the answer.
func (e *event) lists(namespace, name string) (listed, known bool) {
	var b body
	if len(e.Response) == 0 || json.Unmarshal(e.Response, &b) != nil || !strings.HasSuffix(b.Kind, "List") {
		return false, false
	}
	for i := range b.Items {
		if b.Items[i].Metadata.Name == name && b.Items[i].Metadata.Namespace == namespace {
			return true, true
		}
	}
	return false, true
}

// patched are the owner references in a patch that sets them, where the log holds no more
// than the request.
func (e *event) patched() ([]metav1.OwnerReference, bool) {
	var b body
	if e.Verb != "patch" || json.Unmarshal(e.Request, &b) != nil || b.Metadata.Owners == nil {
		return nil, false
	}
	return b.Metadata.Owners, true
}

// options are those of a DELETE.
func (e *event) options() metav1.DeleteOptions {
	var options metav1.DeleteOptions
	if json.Unmarshal(e.Request, &options) != nil || options.Kind != "DeleteOptions" {
		return metav1.DeleteOptions{}
	}
	return options
}
