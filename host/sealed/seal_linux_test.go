package sealed

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// The copy in memory cannot be changed, not even through a new descriptor.
func TestSealed(t *testing.T) {
	path, sum := program(t)
	f, err := Open(path, sum, Execute)
	require.NoError(t, err)
	defer f.Close()
	w, err := os.OpenFile(f.Path(), os.O_RDWR, 0)
	if err == nil {
		_, err = w.WriteAt([]byte("x"), 0)
		require.ErrorContains(t, err, "not permitted")
		require.Error(t, w.Truncate(0))
		require.NoError(t, w.Close()) // Linux does not execute a file that is open for writing
	}
	got, err := answer(t, f.Path())
	require.NoError(t, err)
	require.Equal(t, "right", got)
}
