package sealed

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/host/internal/flock"
)

// laid writes files into a new folder and returns the folder and the list of items. The file "program" is executable.
func laid(t *testing.T, files map[string]string) (dir string, items []Item) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o755))
		sum := sha256.Sum256([]byte(text))
		items = append(items, Item{Path: name, SHA256: hex.EncodeToString(sum[:]), Size: int64(len(text)), Executable: name == "program"})
	}
	return dir, items
}

func TestTree(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	t.Setenv("TMP", temporary)
	dir, items := laid(t, map[string]string{"program": "#!/bin/sh\ncat \"$(dirname \"$0\")/lib/data\"\n", "lib/data": "right", "empty": ""})
	require.NoError(t, os.WriteFile(filepath.Join(dir, "planted"), []byte("evil"), 0o644))
	f, err := Tree(dir, "program", items)
	require.NoError(t, err)
	require.NoError(t, os.RemoveAll(dir))
	var names []string
	require.NoError(t, filepath.WalkDir(f.Dir(), func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(f.Dir(), p)
		names = append(names, filepath.ToSlash(rel))
		return err
	}))
	require.Equal(t, []string{"empty", "lib/data", "program"}, names)
	if runtime.GOOS != "windows" {
		out, err := exec.Command(f.Path()).Output()
		require.NoError(t, err)
		require.Equal(t, "right", string(out))
		info, err := os.Stat(f.Dir())
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	}
	require.NoError(t, f.Close())
	left, err := os.ReadDir(temporary)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestTreeRefused(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	t.Setenv("TMP", temporary)
	files := map[string]string{"program": "one", "lib/data": "two"}
	for name, c := range map[string]struct {
		change func(dir string, items []Item) []Item
		is     error
	}{
		"other text": {func(dir string, items []Item) []Item { write(t, dir, "lib/data", "six"); return items }, ErrMismatch},
		"longer":     {func(dir string, items []Item) []Item { write(t, dir, "lib/data", "two and more"); return items }, ErrMismatch},
		"program":    {func(dir string, items []Item) []Item { write(t, dir, "program", "six"); return items }, ErrMismatch},
		"gone":       {func(dir string, items []Item) []Item { _ = os.Remove(filepath.Join(dir, "lib", "data")); return items }, os.ErrNotExist},
		"outside":    {func(dir string, items []Item) []Item { return append(items, Item{Path: "../x", Size: -1}) }, nil},
		"no program": {func(dir string, items []Item) []Item { return nil }, nil},
		"longer, without a hash": {func(dir string, items []Item) []Item {
			write(t, dir, "lib/data", "two and more")
			return unhashed(items)
		}, nil},
		"shorter, without a hash": {func(dir string, items []Item) []Item { write(t, dir, "lib/data", "tw"); return unhashed(items) }, nil},
		"twice there":             {func(dir string, items []Item) []Item { return append(items, items[0]) }, os.ErrExist},
	} {
		dir, items := laid(t, files)
		_, err := Tree(dir, "program", c.change(dir, items))
		require.Error(t, err, name)
		if c.is != nil {
			require.ErrorIs(t, err, c.is, name)
		}
		left, err := os.ReadDir(temporary)
		require.NoError(t, err)
		require.Empty(t, left, name)
	}
}

func unhashed(items []Item) []Item {
	for i := range items {
		items[i].SHA256 = ""
	}
	return items
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), []byte(text), 0o755))
}

// Tree removes old folders of dead processes, and keeps locked and young folders.
func TestSweep(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	t.Setenv("TMP", temporary)
	old := time.Now().Add(-time.Hour)
	made := func(name string) string {
		t.Helper()
		dir := filepath.Join(temporary, folderPrefix+name)
		require.NoError(t, os.MkdirAll(filepath.Join(dir, contentName), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, contentName, "program"), nil, 0o500))
		require.NoError(t, os.WriteFile(filepath.Join(dir, lockName), nil, 0o600))
		require.NoError(t, os.Chtimes(dir, old, old))
		return dir
	}
	dead, alive, young := made("dead"), made("alive"), made("young")
	require.NoError(t, os.Chtimes(young, time.Now(), time.Now()))
	lock, err := flock.Open(filepath.Join(alive, lockName))
	require.NoError(t, err)
	defer lock.Close()
	ok, err := flock.Try(lock)
	require.NoError(t, err)
	require.True(t, ok)
	dir, items := laid(t, map[string]string{"program": "x"})
	f, err := Tree(dir, "program", items)
	require.NoError(t, err)
	require.NoDirExists(t, dead)
	require.DirExists(t, alive)
	require.DirExists(t, young)
	require.NoError(t, f.Close())
}
