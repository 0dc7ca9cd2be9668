package internal_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// public lists the folders whose packages other programs import.
var public = []string{"core", "tensor", "nn", "optim", "train", "data", "model", "decorators", "sdk", "host", "conformance"}

// noExample maps public packages without a tested example to the reason.
var noExample = map[string]string{
	"host/shared":      "needs a compiled shared object: docs/BACKENDS.md and examples/backends/cabi have one",
	"model/onnx/pb":    "generated from the ONNX schema; model/onnx reads and writes it",
	"train/dashboard":  "draws on a terminal; examples/mnist has it",
	"sdk/gpu/child":    "starts the program as children of itself; its tests and plugins/rocm show how",
	"sdk/gpu/commands": "needs hardware, or its thirty calls; its tests have them on the host",
}

// Every public package has an example whose output is checked, or is exempt for a reason.
func TestPublicPackagesHaveExamples(t *testing.T) {
	seen := 0
	exempt := map[string]bool{}
	for _, top := range public {
		require.NoError(t, filepath.WalkDir(filepath.Join("..", top), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.IsDir() {
				return err
			}
			if name := d.Name(); name == "internal" || name == "testdata" {
				return fs.SkipDir
			}
			pkg := filepath.ToSlash(strings.TrimPrefix(path, ".."+string(filepath.Separator)))
			sources, checked := examples(t, path)
			if !sources {
				return nil
			}
			seen++
			reason := noExample[pkg]
			switch {
			case checked && reason != "":
				t.Errorf("%s has an example: it is not exempt", pkg)
			case !checked && reason == "":
				t.Errorf("%s has no Example function with an // Output: comment", pkg)
			case reason != "":
				exempt[pkg] = true
				t.Logf("%s: no example: %s", pkg, reason)
			}
			return nil
		}))
	}
	for pkg := range noExample {
		require.True(t, exempt[pkg], "%s is exempt, but is not a public package without an example", pkg)
	}
	require.Greater(t, seen, 30)
}

// examples reports whether a folder has Go files, and whether its tests have an example with an output.
func examples(t *testing.T, dir string) (sources, checked bool) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var tests []*ast.File
	for _, e := range entries {
		switch name := e.Name(); {
		case e.IsDir() || !strings.HasSuffix(name, ".go"):
		case strings.HasSuffix(name, "_test.go"):
			f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
			require.NoError(t, err)
			tests = append(tests, f)
		default:
			sources = true
		}
	}
	for _, x := range doc.Examples(tests...) {
		checked = checked || x.Output != ""
	}
	return sources, checked
}
