package host

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/host/store"
)

// The contents of a script are all files of its folder except other plugins, so a change of any of them changes the tree hash. The contents
// of a program are the program alone.
func TestContents(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), mode))
		return path
	}
	script := write("burn-backend-py", "#!/bin/sh\nexec python3 \"$0.d/main.py\"\n", 0o755)
	write("lib/kernels.py", "pass\n", 0o644)
	write("burn-backend-other", "\x7fELF", 0o755)
	tree := func() string {
		c, err := ContentsOf(script)
		require.NoError(t, err)
		require.Empty(t, c.Archive)
		return store.Tree(c.Files)
	}
	c, err := ContentsOf(script)
	require.NoError(t, err)
	require.Equal(t, []string{"burn-backend-py", "lib/kernels.py"}, []string{c.Files[0].Path, c.Files[1].Path})
	require.Equal(t, fmt.Sprintf("sha256:%x", sha256.Sum256([]byte("pass\n"))), c.Files[1].Digest)
	before := tree()
	require.Equal(t, before, tree())
	write("lib/kernels.py", "cheat\n", 0o644)
	require.NotEqual(t, before, tree(), "the launcher is unchanged, but not the file that it runs")

	c, err = ContentsOf(filepath.Join(dir, "burn-backend-other"))
	require.NoError(t, err)
	require.Len(t, c.Files, 1)
	require.Equal(t, "burn-backend-other", c.Files[0].Path)
	_, err = ContentsOf(filepath.Join(dir, "burn-backend-none"))
	require.ErrorIs(t, err, os.ErrNotExist)
}
