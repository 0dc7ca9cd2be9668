package attack

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDocument checks that the tests that docs/SECURITY.md names as proofs exist.
func TestDocument(t *testing.T) {
	text, err := os.ReadFile("../../docs/SECURITY.md")
	require.NoError(t, err)
	named := 0
	for _, m := range regexp.MustCompile("`([a-z/]+): (Test[A-Za-z, \n]+)`").FindAllStringSubmatch(string(text), -1) {
		files, err := filepath.Glob(filepath.Join("../..", m[1], "*_test.go"))
		require.NoError(t, err)
		var all strings.Builder
		for _, f := range files {
			b, err := os.ReadFile(f)
			require.NoError(t, err)
			all.Write(b)
		}
		for _, name := range strings.FieldsFunc(m[2], func(r rune) bool { return r == ',' || r == ' ' || r == '\n' }) {
			require.Contains(t, all.String(), "\nfunc "+name+"(t *testing.T)", "package %s", m[1])
			named++
		}
	}
	require.Greater(t, named, 40)
}
