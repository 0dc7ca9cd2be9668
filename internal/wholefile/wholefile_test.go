package wholefile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReplace(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	text := func(s string) func(io.Writer) error {
		return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
	}
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
