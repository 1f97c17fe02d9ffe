package image

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var example = Image{
	Name: "example.org/program:1", User: "65532:65532", Entrypoint: []string{"/program"},
	Files: []File{
		{Path: "/program", Executable: true, Data: []byte("binary")},
		{Path: "/etc/ssl/certs/roots.crt", Data: []byte("roots")},
	},
}

func TestImage_Write(t *testing.T) {
	all := unpack(t, written(t, example))
	var manifest []entry
	decode(t, all["manifest.json"], &manifest)
	if len(manifest) != 1 || len(manifest[0].Layers) != 1 {
		t.Fatalf("manifest = %+v, want one image of one layer", manifest)
	}
	if diff := cmp.Diff([]string{"example.org/program:1"}, manifest[0].RepoTags); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	layer := all[manifest[0].Layers[0]]
	var configuration config
	decode(t, all[manifest[0].Config], &configuration)
	if diff := cmp.Diff(process{User: "65532:65532", Entrypoint: []string{"/program"}, WorkingDir: "/"}, configuration.Config); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"sha256:" + digest(layer)}, configuration.RootFS.Layer); diff != "" {
		t.Errorf("layers (-want +got):\n%s", diff)
	}
	want := map[string][]byte{
		"program": []byte("binary"), "etc/": {}, "etc/ssl/": {}, "etc/ssl/certs/": {}, "etc/ssl/certs/roots.crt": []byte("roots"),
	}
	if diff := cmp.Diff(want, unpack(t, layer)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestImage_WriteIsReproducible(t *testing.T) {
	if !bytes.Equal(written(t, example), written(t, example)) {
		t.Error("the same files make another archive")
	}
}

func TestImage_WriteTellsProgramsFromData(t *testing.T) {
	layer, err := layerOf(example.Files)
	if err != nil {
		t.Fatal(err)
	}
	modes := map[string]int64{}
	for r := tar.NewReader(bytes.NewReader(layer)); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Uid != 0 || !header.ModTime.Equal(epoch) {
			t.Errorf("%s belongs to %d and is of %s", header.Name, header.Uid, header.ModTime)
		}
		modes[header.Name] = header.Mode
	}
	if modes["program"] != 0o755 || modes["etc/ssl/certs/roots.crt"] != 0o644 {
		t.Errorf("modes: %v", modes)
	}
}

func TestFoldersAbove(t *testing.T) {
	for file, want := range map[string][]string{
		"/a": nil, "/a/b": {"a"}, "/a/b/c": {"a", "a/b"}, "/usr/lib/x/y": {"usr", "usr/lib", "usr/lib/x"},
	} {
		if diff := cmp.Diff(want, foldersAbove(file)); diff != "" {
			t.Errorf("folders above %s (-want +got):\n%s", file, diff)
		}
	}
}

func written(t *testing.T, i Image) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := i.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// unpack returns what is in an archive, by name.
func unpack(t *testing.T, archive []byte) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		all[header.Name] = data
	}
}

func decode(t *testing.T, data []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}
