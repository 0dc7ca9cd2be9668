//go:build unix

package store

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// The lock file of a store must be a regular file: a link to another file and a named pipe are errors, and no file is created through a
// link.
func TestPlantedLock(t *testing.T) {
	other := filepath.Join(t.TempDir(), "other")
	require.NoError(t, os.WriteFile(other, nil, 0o600))
	for name, plant := range map[string]func(path string) error{
		"link":       func(path string) error { return os.Symlink(other, path) },
		"made":       func(path string) error { return os.Symlink(other+"2", path) },
		"named pipe": func(path string) error { return syscall.Mkfifo(path, 0o600) },
	} {
		s := &Store{Dir: t.TempDir()}
		require.NoError(t, plant(filepath.Join(s.Dir, lockName)))
		err := soon(t, func() error { _, err := s.acquire(context.Background()); return err })
		require.ErrorIs(t, err, ErrFormat, name)
		require.ErrorContains(t, err, "want a regular file", name)
	}
	require.NoFileExists(t, other+"2")
}

// A named pipe in place of a file is an error, and reading does not block.
func TestNamedPipes(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{LockName, IndexName, "trust.toml", "a.tar.gz", "b.tar.gz" + SignatureExt} {
		require.NoError(t, syscall.Mkfifo(filepath.Join(dir, name), 0o600))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "b.tar.gz"), nil, 0o600))
	at := func(name string) string { return filepath.Join(dir, name) }
	var f Fetcher
	for what, read := range map[string]func() error{
		"lock":      func() error { _, err := ReadLock(at(LockName)); return err },
		"trust":     func() error { _, err := ReadTrust(at("trust.toml")); return err },
		"index":     func() error { _, err := f.Mirror(context.Background(), dir); return err },
		"archive":   func() error { _, err := f.File(at("a.tar.gz")); return err },
		"inspected": func() error { _, err := Inspect(at("a.tar.gz"), Limits{}); return err },
		"signature": func() error { _, err := f.File(at("b.tar.gz")); return err },
		"key":       func() error { _, err := ReadPublicKey(at(LockName)); return err },
	} {
		err := soon(t, read)
		require.ErrorContains(t, err, "want a regular file, got a named pipe", what)
		require.ErrorIs(t, err, ErrFormat, what)
	}
}
