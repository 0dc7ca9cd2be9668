package vendor

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCompareNumbers(t *testing.T) {
	for _, c := range []struct {
		a, b string
		sign int
	}{{"cuda-12.9", "cuda-12.10", -1}, {"cuda-13.0", "cuda-12.10", 1}, {"cuda", "cuda-12", -1}, {"a07", "a7", 0}, {"python3.9", "python3.12", -1}} {
		got := compareNumbers(c.a, c.b)
		require.Equal(t, c.sign, min(max(got, -1), 1), "%s, %s", c.a, c.b)
		require.Equal(t, -c.sign, min(max(compareNumbers(c.b, c.a), -1), 1))
	}
}

func TestDataFolder(t *testing.T) {
	env := map[string]string{"XDG_DATA_HOME": "/x", "HOME": "/h"}
	get := func(name string) string { return env[name] }
	require.Equal(t, filepath.FromSlash("/x/burn/lib"), dataFolder(get))
	env["XDG_DATA_HOME"] = "relative"
	require.Equal(t, filepath.FromSlash("/h/.local/share/burn/lib"), dataFolder(get))
	env["HOME"] = ""
	require.Empty(t, dataFolder(get))
}
