package internal_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/internal/golines"
)

// maxDecoratorLines bounds the lines of code of a decorator, excluding tests.
const maxDecoratorLines = 2000

// TestDecoratorsAreSmall checks that each decorator, including the packages in its folder, is short enough to be read in one sitting.
// Code that other parts can share belongs in a package that decorators import, such as core/program or decorators/internal.
func TestDecoratorsAreSmall(t *testing.T) {
	list, err := os.ReadDir("../decorators")
	require.NoError(t, err)
	found := 0
	for _, d := range list {
		if !d.IsDir() || d.Name() == "internal" {
			continue
		}
		lines := 0
		err := filepath.WalkDir(filepath.Join("../decorators", d.Name()), func(file string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
				return err
			}
			text, err := os.ReadFile(file)
			lines += golines.Code(text)
			return err
		})
		require.NoError(t, err)
		found++
		t.Logf("decorators/%s: %d lines of code", d.Name(), lines)
		if lines > maxDecoratorLines {
			t.Errorf("decorators/%s: got %d lines of code without tests, want at most %d", d.Name(), lines, maxDecoratorLines)
		}
	}
	require.GreaterOrEqual(t, found, 4)
}
