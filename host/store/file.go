package store

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"github.com/goburn/burn/internal/tomlfile"
)

// read reads a file of a kind. It returns ErrFormat if the file is too long or not regular.
func read(k tomlfile.Kind, path string) ([]byte, error) {
	b, err := tomlfile.Read(path, k.Bytes)
	if errors.Is(err, tomlfile.ErrRefused) {
		err = fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return b, err
}

// decode reads TOML of a kind without unknown keys.
func decode(k tomlfile.Kind, text []byte, to any) error {
	if err := tomlfile.DecodeStrict(k, text, to); err != nil {
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return nil
}

// digest returns sha256:HEX of the content of r, and its size.
func digest(r io.Reader) (string, int64, error) {
	h := sha256.New()
	n, err := io.Copy(h, r)
	return digestOf(h.Sum(nil)), n, err
}

func digestOf(sum []byte) string { return "sha256:" + hex.EncodeToString(sum) }

func digestBytes(b []byte) string {
	s := sha256.Sum256(b)
	return digestOf(s[:])
}

// writeFile replaces a file atomically: after a crash, and for concurrent readers, it has the old or the new content.
func writeFile(path string, content []byte, mode os.FileMode) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".burn-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	if _, err = f.Write(content); err != nil {
		return err
	}
	if err = errors.Join(f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	checkpoint("file written")
	if err = os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// syncDir makes renames in a folder durable. Windows has no such call and does not need it.
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

// checkpoint is called at points at which a test may end the process.
var checkpoint = func(string) {}

// openRegular opens a file to read, without blocking. It returns ErrFormat if the file is not regular.
func openRegular(path string) (*os.File, error) {
	f, err := tomlfile.Open(path)
	if errors.Is(err, tomlfile.ErrRefused) {
		err = fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return f, err
}
