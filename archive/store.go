package archive

import (
	"context"
	"errors"
	"fmt"
)

// ErrNotFound is returned for a record that a store does not hold.
var ErrNotFound = errors.New("no such archive record")

// Store keeps records. Every method may be called by several goroutines at once.
type Store interface {
	// Put stores a record under its uid, at once or not at all, and replaces one of
	// the same uid. An error leaves earlier records as they were.
	Put(ctx context.Context, record Record) error

	// Get returns the record of a uid, or ErrNotFound.
	Get(ctx context.Context, uid string) (Record, error)

	// List returns all records, the newest first.
	List(ctx context.Context) ([]Record, error)
}

// Save puts a record into a store and reads it back, and returns the record that
// the store then holds. Saving the same TeamSpace again keeps the time of the first
// record, so that a repeated pass changes nothing; it still puts, because the first
// attempt may have been cut short half way.
func Save(ctx context.Context, store Store, record Record) (Record, error) {
	// An error here says nothing: a record that cannot be read is written anew, and
	// a store that cannot be used fails in Put.
	if held, err := store.Get(ctx, record.UID); err == nil {
		record.ArchivedAt = held.ArchivedAt
	}
	if err := store.Put(ctx, record); err != nil {
		return Record{}, err
	}
	held, err := store.Get(ctx, record.UID)
	if err != nil {
		return Record{}, fmt.Errorf("reading back the archive record of TeamSpace %q: %w", record.Name, err)
	}
	if !held.SameContent(record) {
		return Record{}, fmt.Errorf("reading back the archive record of TeamSpace %q: it differs from what was written", record.Name)
	}
	return held, nil
}

// byNewest orders records: the newest first, then by uid so that the order is total.
func byNewest(a, b Record) int {
	if order := b.ArchivedAt.Compare(a.ArchivedAt); order != 0 {
		return order
	}
	if a.UID < b.UID {
		return -1
	}
	return 1
}
