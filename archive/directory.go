package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"
	"gocloud.dev/gcerrors"
)

const (
	uidPrefix = "by-uid/"
	extension = ".json"
)

// DirectoryStore keeps records as files: by-uid/<uid>.json for every record, and
// <name>.json with the newest of that name, which is written second. Temporary
// files lie beside their target, so that the last step is a rename.
type DirectoryStore struct {
	dir string
}

// NewDirectoryStore returns a store in dir, and makes dir if it can. A directory
// that cannot be made, or that is missing later, is an error of each Put until it
// is there: it may be a volume that is not mounted, and a record in the empty
// folder below the mount point would be lost.
func NewDirectoryStore(dir string) (*DirectoryStore, error) {
	store := &DirectoryStore{dir: dir}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return store, fmt.Errorf("making the archive directory: %w", err)
	}
	return store, nil
}

// Put implements Store.
func (s *DirectoryStore) Put(ctx context.Context, record Record) error {
	data, err := encode(record)
	if err != nil {
		return err
	}
	bucket, err := s.open()
	if err != nil {
		return err
	}
	defer func() { _ = bucket.Close() }()
	for _, key := range []string{uidKey(record.UID), record.Name + extension} {
		if err := s.write(ctx, bucket, key, data); err != nil {
			return fmt.Errorf("writing %s: %w", filepath.Join(s.dir, key), err)
		}
	}
	return nil
}

// Get implements Store.
func (s *DirectoryStore) Get(ctx context.Context, uid string) (Record, error) {
	bucket, err := s.open()
	if err != nil {
		return Record{}, err
	}
	defer func() { _ = bucket.Close() }()
	return s.read(ctx, bucket, uidKey(uid))
}

// List implements Store.
func (s *DirectoryStore) List(ctx context.Context) ([]Record, error) {
	bucket, err := s.open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = bucket.Close() }()
	var records []Record
	files := bucket.List(&blob.ListOptions{Prefix: uidPrefix})
	for {
		file, err := files.Next(ctx)
		if errors.Is(err, io.EOF) {
			slices.SortFunc(records, byNewest)
			return records, nil
		}
		if err != nil {
			return nil, fmt.Errorf("listing the archive in %s: %w", s.dir, err)
		}
		if !strings.HasSuffix(file.Key, extension) {
			continue // a temporary file that a crash left behind
		}
		record, err := s.read(ctx, bucket, file.Key)
		if err != nil {
			return nil, err
		}
		records = append(records, record)
	}
}

// open checks the directory at each use, and does not make it.
func (s *DirectoryStore) open() (*blob.Bucket, error) {
	bucket, err := fileblob.OpenBucket(s.dir, &fileblob.Options{
		DirFileMode: 0o750,
		NoTempDir:   true,
		Metadata:    fileblob.MetadataDontWrite,
	})
	if err != nil {
		return nil, fmt.Errorf("opening the archive directory (is its volume mounted?): %w", err)
	}
	return bucket, nil
}

func (s *DirectoryStore) write(ctx context.Context, bucket *blob.Bucket, key string, data []byte) error {
	if err := bucket.WriteAll(ctx, key, data, nil); err != nil {
		return withoutPath(err)
	}
	// The finalizer goes next, and with it the only other copy: the record has to
	// be on the disk and not only in the memory of this host.
	path := filepath.Join(s.dir, filepath.FromSlash(key))
	if err := syncPath(path); err != nil {
		return err
	}
	if err := syncPath(filepath.Dir(path)); err != nil {
		return err
	}
	held, err := bucket.ReadAll(ctx, key)
	if err == nil && !bytes.Equal(held, data) {
		err = errors.New("it reads back differently")
	}
	return err
}

// withoutPath drops the name of the temporary file, which is another one each time: an
// error that is told in a condition must not change by itself.
func withoutPath(err error) error {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("%s: %w", failed.Op, failed.Err)
	}
	if failed, ok := errors.AsType[*os.LinkError](err); ok {
		return fmt.Errorf("%s: %w", failed.Op, failed.Err)
	}
	return err
}

func syncPath(path string) error {
	file, err := os.Open(path) //nolint:gosec // built from the archive directory and a name or uid that the API server checked
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	return file.Sync()
}

func (s *DirectoryStore) read(ctx context.Context, bucket *blob.Bucket, key string) (Record, error) {
	path := filepath.Join(s.dir, filepath.FromSlash(key))
	data, err := bucket.ReadAll(ctx, key)
	if gcerrors.Code(err) == gcerrors.NotFound {
		return Record{}, fmt.Errorf("reading %s: %w", path, ErrNotFound)
	}
	if err != nil {
		return Record{}, fmt.Errorf("reading %s: %w", path, err)
	}
	record, err := decode(data)
	if err != nil {
		return Record{}, fmt.Errorf("reading %s: %w", path, err)
	}
	return record, nil
}

func uidKey(uid string) string { return uidPrefix + uid + extension }
