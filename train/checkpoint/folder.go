package checkpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

const (
	version      = 1
	manifestFile = "manifest.json"
)

type manifest struct {
	Version int             `json:"version"`
	Step    int             `json:"step"`
	Files   map[string]file `json:"files"`
}

type file struct {
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// put writes a file, syncs it to disk, and returns its description.
func put(path string, content []byte) (d file, err error) {
	f, err := os.Create(path)
	if err != nil {
		return d, err
	}
	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
	}()
	if _, err := f.Write(content); err != nil {
		return d, err
	}
	return describe(content), f.Sync()
}

func describe(content []byte) file {
	sum := sha256.Sum256(content)
	return file{int64(len(content)), hex.EncodeToString(sum[:])}
}

func writeFolder(dir string, s *Snapshot) error {
	m := manifest{version, s.Step, map[string]file{}}
	add := func(name string, content []byte) (err error) {
		m.Files[name], err = put(filepath.Join(dir, name), content)
		return err
	}
	for name, content := range s.Files {
		if name != filepath.Base(name) || name == manifestFile {
			return fmt.Errorf("a file named %q, want a name without folders", name)
		}
		if err := add(name, content); err != nil {
			return err
		}
	}
	b, err := json.MarshalIndent(m, "", "\t")
	if err != nil {
		return err
	}
	if _, err := put(filepath.Join(dir, manifestFile), b); err != nil {
		return err
	}
	return syncDir(dir)
}

// longestName is the greatest length of a file name on common file systems.
const longestName = 255

func readFolder(dir string) (*Snapshot, error) {
	bad := func(err error) (*Snapshot, error) { return nil, fmt.Errorf("checkpoint: %s is damaged: %w", dir, err) }
	b, err := os.ReadFile(filepath.Join(dir, manifestFile))
	if err != nil {
		return bad(err)
	}
	var m manifest
	if err := json.Unmarshal(b, &m); err != nil {
		return bad(fmt.Errorf("%s: %.500s", manifestFile, err))
	}
	if m.Version != version {
		return nil, fmt.Errorf("checkpoint: %s has format version %d, this program reads %d", dir, m.Version, version)
	}
	s := &Snapshot{Step: m.Step, Files: make(map[string][]byte, len(m.Files))}
	for name, want := range m.Files {
		if name != filepath.Base(name) || len(name) > longestName {
			return bad(fmt.Errorf("a file named %.300q", name))
		}
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return bad(err)
		}
		if describe(content) != want {
			return bad(fmt.Errorf("%s has %d bytes and another checksum than the %d bytes that were written", name, len(content), want.Size))
		}
		s.Files[name] = content
	}
	return s, nil
}

// replace writes a small file atomically.
func replace(path string, content []byte) error {
	tmp := path + ".tmp"
	if _, err := put(tmp, content); err != nil {
		return err
	}
	if err := os.Rename(tmp, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// syncDir syncs dir, so that renames in it are durable. Windows has no such call and needs none.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
