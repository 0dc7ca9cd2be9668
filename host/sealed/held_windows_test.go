package sealed

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHeld(t *testing.T) {
	path, sum := program(t)
	f, err := Open(path, sum, Execute)
	require.NoError(t, err)
	require.Error(t, os.WriteFile(path, []byte("x"), 0o755))
	require.Error(t, os.Remove(path))
	require.Error(t, os.Rename(path, path+".old"))
	got, err := answer(t, f.Path())
	require.NoError(t, err)
	require.Equal(t, "right", got)
	require.NoError(t, f.Close())
	require.NoError(t, os.Remove(path))
}
