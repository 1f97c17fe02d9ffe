package explain

import (
	"encoding/json"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// finalizersIn are the finalizers among the fields that a manager owns.
func finalizersIn(fields *metav1.FieldsV1) []string {
	var owned struct {
		Metadata struct {
			Finalizers map[string]json.RawMessage `json:"f:finalizers"`
		} `json:"f:metadata"`
	}
	if err := json.Unmarshal(fields.GetRawBytes(), &owned); err != nil {
		return nil // a later layout than this one: nothing is known of the managers
	}
	var finalizers []string
	for key := range owned.Metadata.Finalizers {
		var finalizer string
		value, isValue := strings.CutPrefix(key, "v:")
		if isValue && json.Unmarshal([]byte(value), &finalizer) == nil {
			finalizers = append(finalizers, finalizer)
		}
	}
	return finalizers
}
