package archive

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"labhub.io/teamspace/api/v1alpha1"
)

// SchemaVersion is the version of the layout of Record. Readers refuse a later one.
const SchemaVersion = 1

// Record is what stays of a deleted TeamSpace.
type Record struct {
	// Name of the TeamSpace. Names may be used again; uids are not.
	Name string `json:"name"`

	// UID of the TeamSpace. It identifies the record.
	UID string `json:"uid"`

	// Pods is spec.pods.
	Pods int64 `json:"pods"`

	// CPU is spec.cpu, exactly as it was written.
	CPU string `json:"cpu"`

	// ArchivedAt is when the record was made, in whole seconds.
	ArchivedAt time.Time `json:"archivedAt"`

	// SchemaVersion of this document.
	SchemaVersion int `json:"schemaVersion"`

	// Manifest is the TeamSpace without managedFields and status.
	Manifest json.RawMessage `json:"manifest"`

	// Used is what the quota last counted, by resource, as quantities.
	Used map[string]string `json:"used,omitempty"`
}

// NewRecord builds the record of a TeamSpace, made at the given time.
func NewRecord(ts *v1alpha1.TeamSpace, at time.Time) (Record, error) {
	manifest, err := manifestOf(ts)
	if err != nil {
		return Record{}, fmt.Errorf("building the manifest of TeamSpace %q: %w", ts.Name, err)
	}
	record := Record{
		Name:          ts.Name,
		UID:           string(ts.UID),
		Pods:          int64(ts.Spec.Pods),
		CPU:           ts.Spec.CPU,
		ArchivedAt:    at.UTC().Truncate(time.Second),
		SchemaVersion: SchemaVersion,
		Manifest:      manifest,
	}
	if len(ts.Status.Used) > 0 {
		record.Used = make(map[string]string, len(ts.Status.Used))
		for resource, quantity := range ts.Status.Used {
			record.Used[string(resource)] = quantity.String()
		}
	}
	return record, nil
}

func manifestOf(ts *v1alpha1.TeamSpace) (json.RawMessage, error) {
	bare := ts.DeepCopy()
	bare.SetGroupVersionKind(v1alpha1.GroupVersionKind)
	bare.ManagedFields = nil
	bare.Status = v1alpha1.TeamSpaceStatus{}
	return json.Marshal(bare)
}

// SameContent says whether two records tell the same of the same TeamSpace; when
// they were made does not count.
func (r Record) SameContent(other Record) bool {
	r.ArchivedAt, other.ArchivedAt = time.Time{}, time.Time{}
	a, errA := encode(r)
	b, errB := encode(other)
	return errA == nil && errB == nil && slices.Equal(a, b)
}

// encode renders a record for a store: indented, because people read it.
func encode(record Record) ([]byte, error) {
	data, err := json.MarshalIndent(record, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encoding the archive record of TeamSpace %q: %w", record.Name, err)
	}
	return append(data, '\n'), nil
}

// decode reads what encode wrote, and refuses what this version cannot understand.
func decode(data []byte) (Record, error) {
	var record Record
	if err := json.Unmarshal(data, &record); err != nil {
		return Record{}, fmt.Errorf("decoding an archive record: %w", err)
	}
	if record.SchemaVersion < 1 || record.SchemaVersion > SchemaVersion {
		return Record{}, fmt.Errorf("decoding an archive record: schemaVersion %d, this version reads 1 to %d", record.SchemaVersion, SchemaVersion)
	}
	if record.UID == "" || record.Name == "" {
		return Record{}, fmt.Errorf("decoding an archive record: no name or no uid in it")
	}
	return record, nil
}
