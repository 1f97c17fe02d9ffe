package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// stampFile lies beside the binaries.
const stampFile = ".sandbox-build.json"

// stamp remembers what a binary was built from and what it looked like. A
// binary that somebody replaced or touched is asked for again.
type stamp struct {
	Inputs  string    `json:"inputs"`
	Size    int64     `json:"size"`
	ModTime time.Time `json:"modTime"`
}

// stamps are the stamps of the binaries in one directory.
type stamps struct {
	dir    string
	byName map[string]stamp
}

// readStamps reads the stamps in dir. None that can be read means that every
// binary has to be asked for, which is slower but never wrong.
func readStamps(dir string) stamps {
	s := stamps{dir: dir, byName: map[string]stamp{}}
	if data, err := os.ReadFile(filepath.Join(dir, stampFile)); err == nil && json.Unmarshal(data, &s.byName) != nil {
		s.byName = map[string]stamp{}
	}
	return s
}

// current reports whether the binary is there, untouched, and built from inputs.
func (s stamps) current(binary, inputs string) bool {
	info, err := os.Stat(filepath.Join(s.dir, binary))
	if err != nil {
		return false
	}
	known := s.byName[binary]
	return known.Inputs == inputs && known.Size == info.Size() && known.ModTime.Equal(info.ModTime())
}

// record notes that the binary was just built from inputs.
func (s stamps) record(binary, inputs string) error {
	info, err := os.Stat(filepath.Join(s.dir, binary))
	if err != nil {
		return fmt.Errorf("looking at the binary just built: %w", err)
	}
	s.byName[binary] = stamp{Inputs: inputs, Size: info.Size(), ModTime: info.ModTime()}
	data, err := json.MarshalIndent(s.byName, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the build stamps: %w", err)
	}
	if err := os.WriteFile(filepath.Join(s.dir, stampFile), data, 0o644); err != nil {
		return fmt.Errorf("writing the build stamps: %w", err)
	}
	return nil
}

// fingerprint is a digest of everything that decides what a binary from the
// module cache looks like. Without a file of its own go.mod pins it.
func fingerprint(ctx context.Context, ldflags, modfile string) (string, error) {
	modfile = cmp.Or(modfile, "go.mod")
	digest := sha256.New()
	for _, name := range []string{modfile, strings.TrimSuffix(modfile, ".mod") + ".sum"} {
		data, err := os.ReadFile(name)
		if err != nil {
			return "", fmt.Errorf("reading %s of the sandbox module (is this its folder?): %w", name, err)
		}
		digest.Write(data)
	}
	env, err := exec.CommandContext(ctx, "go", "env", "GOVERSION", "GOOS", "GOARCH", "GOFLAGS", "GOEXPERIMENT", "GOAMD64", "GOARM64").Output()
	if err != nil {
		return "", fmt.Errorf("asking the go command for its environment: %w", err)
	}
	digest.Write(env)
	fmt.Fprint(digest, ldflags)
	return hex.EncodeToString(digest.Sum(nil)), nil
}
