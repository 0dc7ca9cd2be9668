package contain

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFoldersToWriteAreMade checks that a folder to write to is created if its path ends with a slash.
func TestFoldersToWriteAreMade(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	n := &Needs{Write: []string{"~/cache/kernels/", "~/absent"}}
	require.NoError(t, n.Check())
	r := For(Program{Path: filepath.Join(home, "plugin"), Dir: home}, n)
	require.Contains(t, r.Write, filepath.Join(home, "cache", "kernels"))
	require.DirExists(t, filepath.Join(home, "cache", "kernels"))
	require.NoDirExists(t, filepath.Join(home, "absent"))
}
