package kerneltest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// kernels lists packages that have no assembly, but choose between kernels by level. The test finds the packages with assembly itself.
var kernels = []string{"conv", "gemm", "gemm/panel", "vecmath"}

// levels lists functions that run the tests of a package at every level of instruction sets.
var levels = []string{"AtEveryLevel", "TestEveryLevel", "TestAtEveryLevel"}

// TestEveryKernelIsTestedAtEveryLevel reports exported functions and methods of the packages of kernels that no test of the
// package names, and packages whose tests run at one level only.
func TestEveryKernelIsTestedAtEveryLevel(t *testing.T) {
	packages := slices.Clone(kernels)
	require.NoError(t, fs.WalkDir(os.DirFS(".."), ".", func(path string, d fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".s") && !slices.Contains(packages, filepath.Dir(path)) {
			packages = append(packages, filepath.Dir(path))
		}
		return err
	}))
	require.GreaterOrEqual(t, len(packages), 9, "gemm/micro, gemm/half, gemm/quantized, vector, window, winograd and depthwise have assembly")
	total := 0
	for _, p := range packages {
		exported, named := names(t, filepath.Join("..", p))
		require.NotEmpty(t, exported, p)
		total += len(exported)
		for _, name := range exported {
			if !named[name] {
				t.Errorf("no test of %s names %s", p, name)
			}
		}
		if !slices.ContainsFunc(levels, func(l string) bool { return named[l] }) {
			t.Errorf("the tests of %s run at one level only: add a test that calls kerneltest.AtEveryLevel", p)
		}
	}
	t.Logf("%d functions in %d packages", total, len(packages))
}

// names returns the exported functions and methods of a package, without generated ones, and all names that its tests use;
// benchmarks are left out.
func names(t *testing.T, dir string) (exported []string, named map[string]bool) {
	named = map[string]bool{}
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
		require.NoError(t, err)
		test := strings.HasSuffix(file, "_test.go")
		for _, d := range f.Decls {
			f1, ok := d.(*ast.FuncDecl)
			switch {
			case !test && ok && f1.Name.IsExported() && !ast.IsGenerated(f):
				exported = append(exported, f1.Name.Name)
			case test && !(ok && strings.HasPrefix(f1.Name.Name, "Benchmark")):
				ast.Inspect(d, func(n ast.Node) bool {
					if id, ok := n.(*ast.Ident); ok {
						named[id.Name] = true
					}
					return true
				})
			}
		}
	}
	return exported, named
}
