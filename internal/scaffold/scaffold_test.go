package scaffold_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/internal/scaffold"
)

var update = flag.Bool("update", false, "copy what the templates share with sdk/c and examples")

// The copies of the C headers and of the Python protocol in the templates equal the originals.
func TestCopiesAreEqual(t *testing.T) {
	for pattern, to := range map[string]string{
		"../../sdk/c/*.h": "templates/c", "../../examples/backends/numpy/burnplugin/*.py": "templates/python/burnplugin",
		"../../examples/backends/numpy/requirements.txt": "templates/python",
	} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, files, pattern)
		for _, f := range files {
			want, err := os.ReadFile(f)
			require.NoError(t, err)
			copied := filepath.Join(to, filepath.Base(f))
			if *update {
				require.NoError(t, os.WriteFile(copied, want, 0o644))
			}
			got, err := os.ReadFile(copied)
			require.NoError(t, err)
			require.Equal(t, string(want), string(got), "run go test ./internal/scaffold -update")
		}
	}
}

func TestWrite(t *testing.T) {
	for _, l := range scaffold.Languages() {
		dir := filepath.Join(t.TempDir(), "new")
		files, err := scaffold.Plugin{Name: "my-npu", Language: l, Source: scaffold.Source{Version: "v0.3.0"}}.Write(dir)
		require.NoError(t, err)
		require.Contains(t, files, "README.md")
		require.Contains(t, files, "burn-backend-my-npu.toml")
		for _, f := range files {
			text, err := os.ReadFile(filepath.Join(dir, f))
			require.NoError(t, err)
			require.NotContains(t, string(text), "{{.", f)
			require.NotContains(t, string(text), "TODO", f)
		}
		_, err = scaffold.Plugin{Name: "my-npu", Language: l, Source: scaffold.Source{Version: "v0.3.0"}}.Write(dir)
		require.ErrorIs(t, err, scaffold.ErrExists)
	}
	for _, p := range []scaffold.Plugin{{Name: "", Language: "go"}, {Name: "../x", Language: "go"}, {Name: "A", Language: "go"},
		{Name: "1a", Language: "c"}, {Name: "a b", Language: "c"}, {Name: "a", Language: "rust"}} {
		dir := filepath.Join(t.TempDir(), "new")
		_, err := p.Write(dir)
		require.Error(t, err, "%+v", p)
		require.NoDirExists(t, dir)
	}
}
