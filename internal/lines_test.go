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

// maxDecoratorLines bounds the lines of code of a decorator, without tests.
const maxDecoratorLines = 2000

// TestDecoratorsAreSmall holds each decorator, with the packages in its folder, to so many lines of code that one reads it in a sitting.
// What is not a decorator's job is a package below it: in core/program, or in decorators/internal.
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
