// Package image makes container images of static binaries, with no registry and no
// daemon: an archive of one layer, as `docker save` writes it, which containerd and
// docker import. The same files make the same bytes, on every machine.
package image

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"runtime"
	"strings"
	"time"
)

// File is a file of an image.
type File struct {
	// Path is absolute. The folders above it are made.
	Path string
	// Executable tells programs from data.
	Executable bool
	Data       []byte
}

// Image is what an archive is made of.
type Image struct {
	// Name is the reference by which pods ask for it, with a tag.
	Name  string
	Files []File
	// Entrypoint is the program that a container runs, with the first arguments.
	Entrypoint []string
	// User is a number, so that a kubelet can see that it is not root's.
	User string
}

// config is what a runtime reads of an image.
type config struct {
	Created      time.Time `json:"created"`
	Architecture string    `json:"architecture"`
	OS           string    `json:"os"`
	Config       process   `json:"config"`
	RootFS       rootFS    `json:"rootfs"`
}

type process struct {
	User       string   `json:"User,omitempty"`
	Entrypoint []string `json:"Entrypoint"`
	WorkingDir string   `json:"WorkingDir"`
}

type rootFS struct {
	Type  string   `json:"type"`
	Layer []string `json:"diff_ids"`
}

// entry is the only one of the archive's manifest.
type entry struct {
	Config   string   `json:"Config"`
	RepoTags []string `json:"RepoTags"`
	Layers   []string `json:"Layers"`
}

// Write writes the archive.
func (i Image) Write(w io.Writer) error {
	layer, err := layerOf(i.Files)
	if err != nil {
		return fmt.Errorf("packing the files of the image %q: %w", i.Name, err)
	}
	layerDigest := digest(layer)
	configuration, err := json.Marshal(config{
		Created: epoch, Architecture: runtime.GOARCH, OS: "linux",
		Config: process{User: i.User, Entrypoint: i.Entrypoint, WorkingDir: "/"},
		RootFS: rootFS{Type: "layers", Layer: []string{"sha256:" + layerDigest}},
	})
	if err != nil {
		return fmt.Errorf("encoding the configuration of the image %q: %w", i.Name, err)
	}
	configFile, layerFile := digest(configuration)+".json", layerDigest+".tar"
	manifest, err := json.Marshal([]entry{{Config: configFile, RepoTags: []string{i.Name}, Layers: []string{layerFile}}})
	if err != nil {
		return fmt.Errorf("encoding the manifest of the image %q: %w", i.Name, err)
	}
	archive := tar.NewWriter(w)
	for _, file := range []File{{Path: configFile, Data: configuration}, {Path: layerFile, Data: layer}, {Path: "manifest.json", Data: manifest}} {
		if err := add(archive, file); err != nil {
			return fmt.Errorf("writing the archive of the image %q: %w", i.Name, err)
		}
	}
	if err := archive.Close(); err != nil {
		return fmt.Errorf("writing the archive of the image %q: %w", i.Name, err)
	}
	return nil
}

// epoch is the time of everything in an image: a real one would make it another image.
var epoch = time.Unix(0, 0).UTC()

// layerOf packs the files, with the folders above them.
func layerOf(files []File) ([]byte, error) {
	var layer bytes.Buffer
	archive := tar.NewWriter(&layer)
	made := map[string]bool{}
	for _, file := range files {
		for _, folder := range foldersAbove(file.Path) {
			if made[folder] {
				continue
			}
			made[folder] = true
			header := &tar.Header{Typeflag: tar.TypeDir, Name: folder + "/", Mode: 0o755, ModTime: epoch}
			if err := archive.WriteHeader(header); err != nil {
				return nil, err
			}
		}
		if err := add(archive, file); err != nil {
			return nil, err
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	return layer.Bytes(), nil
}

// foldersAbove are the folders of a file, the outermost first, without a leading slash.
func foldersAbove(file string) []string {
	var folders []string
	name := strings.TrimPrefix(path.Dir(file), "/")
	for at := 0; name != "" && at >= 0; {
		next := strings.IndexByte(name[at:], '/')
		if next < 0 {
			return append(folders, name)
		}
		folders = append(folders, name[:at+next])
		at += next + 1
	}
	return folders
}

// add adds a file that belongs to root and that everybody may read.
func add(archive *tar.Writer, file File) error {
	mode := int64(0o644)
	if file.Executable {
		mode = 0o755
	}
	header := &tar.Header{
		Typeflag: tar.TypeReg, Name: strings.TrimPrefix(file.Path, "/"),
		Mode: mode, Size: int64(len(file.Data)), ModTime: epoch,
	}
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	_, err := archive.Write(file.Data)
	return err
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
