package checkpoint

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

const (
	version      = 1
	manifestFile = "manifest.json"
	stateFile    = "state.json"
	tensorsExt   = ".safetensors"
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

// counted is a sum of what goes through it.
type counted struct {
	io.Writer
	n int64
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.n += int64(n)
	return n, err
}

// put writes a file, waits until it is on the disk, and describes it.
func put(path string, write func(io.Writer) error) (d file, err error) {
	f, err := os.Create(path)
	if err != nil {
		return d, err
	}
	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
	}()
	hash := sha256.New()
	c := &counted{Writer: io.MultiWriter(f, hash)}
	w := bufio.NewWriterSize(c, 1<<20)
	if err := write(w); err != nil {
		return d, err
	}
	if err := w.Flush(); err != nil {
		return d, err
	}
	return file{c.n, hex.EncodeToString(hash.Sum(nil))}, f.Sync()
}

func writeFolder(dir string, s *Snapshot) error {
	m := manifest{version, s.Step, map[string]file{}}
	add := func(name string, write func(io.Writer) error) (err error) {
		m.Files[name], err = put(filepath.Join(dir, name), write)
		return err
	}
	for _, g := range slices.Sorted(maps.Keys(s.Groups)) {
		if err := add(g+tensorsExt, func(w io.Writer) error { return encode(w, s.Groups[g]) }); err != nil {
			return err
		}
	}
	if err := add(stateFile, func(w io.Writer) error { _, err := w.Write(s.State); return err }); err != nil {
		return err
	}
	b, err := json.MarshalIndent(m, "", "\t")
	if err != nil {
		return err
	}
	if _, err := put(filepath.Join(dir, manifestFile), func(w io.Writer) error { _, err := w.Write(b); return err }); err != nil {
		return err
	}
	return syncDir(dir)
}

func readFolder(dir string) (*Snapshot, error) {
	bad := func(err error) (*Snapshot, error) { return nil, fmt.Errorf("checkpoint: %s is damaged: %w", dir, err) }
	b, err := os.ReadFile(filepath.Join(dir, manifestFile))
	if err != nil {
		return bad(err)
	}
	var m manifest
	if err := json.Unmarshal(b, &m); err != nil {
		return bad(fmt.Errorf("%s: %w", manifestFile, err))
	}
	if m.Version != version {
		return nil, fmt.Errorf("checkpoint: %s has format version %d, this program reads %d", dir, m.Version, version)
	}
	s := &Snapshot{Step: m.Step, Groups: map[string][]Tensor{}}
	for name, want := range m.Files {
		if name != filepath.Base(name) {
			return bad(fmt.Errorf("a file named %q", name))
		}
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return bad(err)
		}
		if sum := sha256.Sum256(content); int64(len(content)) != want.Size || hex.EncodeToString(sum[:]) != want.SHA256 {
			return bad(fmt.Errorf("%s has %d bytes that are not the %d that were written", name, len(content), want.Size))
		}
		if group, ok := strings.CutSuffix(name, tensorsExt); ok {
			if s.Groups[group], err = decode(content); err != nil {
				return bad(err)
			}
		} else if name == stateFile {
			s.State = content
		}
	}
	if s.State == nil {
		return bad(fmt.Errorf("no %s", stateFile))
	}
	return s, nil
}

// replace writes a small file so that a reader sees the old content or the new one.
func replace(path string, content []byte) error {
	tmp := path + ".tmp"
	if _, err := put(tmp, func(w io.Writer) error { _, err := io.Copy(w, bytes.NewReader(content)); return err }); err != nil {
		return err
	}
	if err := os.Rename(tmp, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// syncDir makes renames in dir last. Windows has no such call and needs none.
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
