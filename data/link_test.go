package data_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Importing data or the readers of plain files links no third-party modules into a program. data/image links golang.org/x/image, but
// neither SQLite nor Parquet.
func TestLinked(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("the go command is not in PATH: this test builds a program with it")
	}
	const burn = "github.com/goburn/burn/"
	for pkg, want := range map[string][]string{
		"data": nil, "data/csv": nil, "data/jsonl": nil, "data/text": nil, "data/source": nil,
		"data/image": {"golang.org/x/image"},
	} {
		out, err := exec.Command("go", "list", "-deps", "-f", "{{if .Module}}{{.Module.Path}}{{end}}", burn+pkg).CombinedOutput()
		require.NoError(t, err, "%s", out)
		seen := map[string]bool{}
		for _, m := range strings.Fields(string(out)) {
			seen[m] = true
		}
		require.True(t, seen[strings.TrimSuffix(burn, "/")])
		if want == nil {
			require.Len(t, seen, 1, "%s links %v", pkg, seen)
		}
		for _, m := range want {
			require.True(t, seen[m], "%s no longer needs %s", pkg, m)
		}
		for _, heavy := range []string{"modernc.org/sqlite", "github.com/parquet-go/parquet-go"} {
			require.Equal(t, want != nil && want[0] == heavy, seen[heavy], "%s and %s", pkg, heavy)
		}
	}
}
