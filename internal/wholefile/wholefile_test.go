package wholefile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReplace(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	require.NoError(t, Replace(path, text("one")))
	require.NoError(t, Replace(path, text("two")))
	broken := errors.New("broken")
	require.ErrorIs(t, Replace(path, func(w io.Writer) error {
		_, _ = io.WriteString(w, "half of thr")
		return broken
	}), broken)
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "two", string(b))
	require.ErrorIs(t, Replace(dir, text("x")), ErrIrregular)
	require.ErrorIs(t, Replace(filepath.Join(dir, "none", "x"), text("x")), os.ErrNotExist)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1, "no temporary file is left")
}

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
}

func TestReplaceFollowsLinks(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "a", "b"), 0o777))
	file := filepath.Join(dir, "a", "file")
	for link, to := range map[string]string{"direct": file, "second": "direct", filepath.Join("a", "b", "up"): filepath.Join("..", "file"), "through": filepath.Join("folder", "file"), "folder": "a"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Skip("no symbolic links here: ", err)
		}
	}
	for _, link := range []string{"direct", "second", filepath.Join("a", "b", "up"), "through", filepath.Join("folder", "file"), filepath.Join("folder", "b", "up")} {
		for _, what := range []string{"created", "replaced"} {
			require.NoError(t, Replace(filepath.Join(dir, link), text(what+" by "+link)))
			b, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, what+" by "+link, string(b))
		}
		info, err := os.Lstat(file)
		require.NoError(t, err)
		require.True(t, info.Mode().IsRegular())
		require.NoError(t, os.Remove(file))
	}
	for _, name := range []string{"direct", "second", "through", "folder"} {
		info, err := os.Lstat(filepath.Join(dir, name))
		require.NoError(t, err)
		require.NotZero(t, info.Mode()&os.ModeSymlink, name)
	}
	cycle := filepath.Join(dir, "cycle")
	require.NoError(t, os.Symlink("cycle", cycle))
	require.ErrorContains(t, Replace(cycle, text("x")), "more than 40 symbolic links")
	require.ErrorIs(t, Replace(filepath.Join(dir, "folder"), text("x")), ErrIrregular)
}

func TestReplaceKeepsPermissions(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no permission bits")
	}
	path := filepath.Join(t.TempDir(), "x")
	require.NoError(t, Replace(path, text("one")))
	for _, mode := range []os.FileMode{0o666, 0o777, 0o600, 0o440} {
		require.NoError(t, os.Chmod(path, mode))
		require.NoError(t, Replace(path, text("two")))
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, mode, info.Mode())
	}
}
