package backends_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each quoted code block in docs/BACKENDS.md occurs in a source file, apart from white space at the ends of lines.
func TestDocumentQuotes(t *testing.T) {
	text, err := os.ReadFile("../../docs/BACKENDS.md")
	require.NoError(t, err)
	var sources []string
	for _, root := range []string{".", "../../sdk/engine", "../../sdk/c", "../../internal/scaffold/templates"} {
		require.NoError(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if slices.Contains([]string{".go", ".c", ".h", ".tmpl"}, filepath.Ext(path)) {
				source, err := os.ReadFile(path)
				sources = append(sources, trimmed(string(source)))
				return err
			}
			return err
		}))
	}
	blocks := regexp.MustCompile("(?s)```(?:go quote|c|python)\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	require.Greater(t, len(blocks), 8)
	for _, b := range blocks {
		quoted := slices.ContainsFunc(sources, func(s string) bool { return strings.Contains(s, trimmed(b[1])) })
		require.True(t, quoted, "no source has\n%s", b[1])
	}
}

// trimmed returns text without white space at both ends of lines.
func trimmed(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimSpace(l)
	}
	return strings.Join(lines, "\n")
}
