//go:build unix

package owner_test

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/host/internal/owner"
)

func TestCheck(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(path, nil, 0o644))
	require.NoError(t, os.Chmod(dir, 0o755))
	require.NoError(t, owner.Check(path))

	for _, c := range []struct {
		path string
		mode os.FileMode
	}{{path, 0o646}, {dir, 0o757}} {
		was, err := os.Stat(c.path)
		require.NoError(t, err)
		require.NoError(t, os.Chmod(c.path, c.mode))
		err = owner.Check(path)
		require.ErrorIs(t, err, owner.ErrForeign)
		require.ErrorContains(t, err, c.path)
		require.NoError(t, os.Chmod(c.path, was.Mode()))
	}
	require.ErrorIs(t, owner.Check(filepath.Join(dir, "none")), os.ErrNotExist)

	// A link is as safe as its target.
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(path, link))
	require.NoError(t, owner.Check(link))
	require.NoError(t, os.Chmod(path, 0o646))
	require.ErrorIs(t, owner.Check(link), owner.ErrForeign)
	require.NoError(t, os.Chmod(path, 0o644))

	if os.Geteuid() != 0 {
		t.Skip("only the administrator can give files away")
	}
	require.NoError(t, os.Chown(path, 12345, 12345))
	require.ErrorIs(t, owner.Check(path), owner.ErrForeign)
	t.Setenv("SUDO_UID", strconv.Itoa(12345))
	require.NoError(t, owner.Check(path))
	require.NoError(t, os.Chmod(path, 0o664)) // writable by the private group of that user
	require.NoError(t, owner.Check(path))
	require.NoError(t, os.Chown(path, 12345, 100))
	require.ErrorIs(t, owner.Check(path), owner.ErrForeign)
}
