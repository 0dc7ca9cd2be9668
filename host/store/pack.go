package store

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/goburn/burn/host/manifest"
)

// Content describes the content of an archive for Pack.
type Content struct {
	Executable string            // path of the plugin
	Manifest   manifest.Manifest // Pack fills in the hash
	Extra      map[string]string // further files: path in the archive to path on disk
}

// packedTime is the time of every entry, so that two archives of the same files are equal.
var packedTime = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// Pack writes a .tar.gz of a plugin to path, which it replaces, and describes it. It is deterministic.
func Pack(path string, c Content) (*Package, error) {
	m := c.Manifest
	if m.Kind == "" {
		m.Kind = "process"
	}
	exe, err := openRegular(c.Executable)
	if err != nil {
		return nil, err
	}
	sum, _, err := digest(exe)
	exe.Close()
	if err != nil {
		return nil, err
	}
	m.SHA256 = strings.TrimPrefix(sum, "sha256:")
	var text bytes.Buffer
	if err := toml.NewEncoder(&text).Encode(m); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".burn-*")
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name()) // does nothing after the rename
	defer f.Close()
	if err := c.write(f, m, text.Bytes()); err != nil {
		return nil, err
	}
	if err := errors.Join(f.Chmod(0o644), f.Sync(), f.Close()); err != nil {
		return nil, err
	}
	p, err := Inspect(f.Name(), Limits{})
	if err != nil {
		return nil, fmt.Errorf("pack: %w", err)
	}
	return p, os.Rename(f.Name(), path)
}

func (c *Content) write(w io.Writer, m manifest.Manifest, manifest []byte) error {
	gz, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	gz.OS = 255 // unknown, so that archives are equal on every system
	t := tar.NewWriter(gz)
	files := map[string]string{Executable(m.Name, m.Kind, m.OS+"_"+m.Arch): c.Executable, filePrefix + m.Name + manifestExt: ""}
	program := Executable(m.Name, m.Kind, m.OS+"_"+m.Arch)
	var order []string
	for name, from := range c.Extra {
		if _, ok := files[path.Clean(name)]; ok {
			return fmt.Errorf("pack: %s: it is the plugin or its manifest: %w", name, ErrFormat)
		}
		files[path.Clean(name)] = from
	}
	for name := range files {
		order = append(order, name)
	}
	slices.Sort(order)
	for _, name := range order {
		if files[name] == "" {
			if err := writeEntry(t, name, false, int64(len(manifest)), bytes.NewReader(manifest)); err != nil {
				return err
			}
			continue
		}
		if err := writeFrom(t, name, files[name], name == program); err != nil {
			return err
		}
	}
	return errors.Join(t.Close(), gz.Close())
}

func writeFrom(t *tar.Writer, name, from string, program bool) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("pack: %s: %v, want a regular file: %w", from, info.Mode().Type(), ErrFormat)
	}
	return writeEntry(t, name, program || info.Mode()&0o100 != 0, info.Size(), f)
}

func writeEntry(t *tar.Writer, name string, executable bool, size int64, r io.Reader) error {
	mode := int64(0o644)
	if executable {
		mode = 0o755
	}
	if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: size, ModTime: packedTime, Format: tar.FormatPAX}); err != nil {
		return err
	}
	_, err := io.Copy(t, r)
	return err
}
