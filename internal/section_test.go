package internal_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// displays lists the files that may read the section of a row, because they print it.
var displays = map[string]bool{"tools/opsdoc/write.go": true, "tools/status/suite.go": true}

// The section of a row in the op table is only a heading. Code must decide by the traits of the row.
func TestNobodyDecidesBySection(t *testing.T) {
	read := map[string]bool{}
	parsed(t, ".go", func(rel string, _ *token.FileSet, f *ast.File) {
		if readsSection(f, strings.HasPrefix(rel, "core/op/")) {
			read[rel] = true
		}
	})
	for file := range read {
		table := strings.HasPrefix(file, "core/op/table_")
		if !table && !displays[file] {
			t.Errorf("%s reads the section of an op: give the rows a trait", file)
		}
	}
	for file := range displays {
		require.True(t, read[file], "%s does not read a section", file)
	}
}

// parsed parses the files of the repository whose names end in suffix, and calls f for each.
func parsed(t *testing.T, suffix string, f func(rel string, set *token.FileSet, file *ast.File)) {
	t.Helper()
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && (name == "testdata" || path != root && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_"))) {
			return fs.SkipDir
		}
		if !strings.HasSuffix(name, suffix) {
			return nil
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		f(filepath.ToSlash(rel), set, file)
		return err
	}))
}

// readsSection reports whether a file that can access rows of the table has a selector Section.
func readsSection(f *ast.File, table bool) bool {
	rows := table
	for _, s := range f.Imports {
		rows = rows || s.Path.Value == `"`+module+`/core/op"`
	}
	found := false
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "Section" {
			found = true
		}
		return rows && !found
	})
	return rows && found
}

// readsSection finds the selector Section in files that import op, and only there.
func TestReadsSection(t *testing.T) {
	for text, want := range map[string]bool{
		`package p; import "github.com/goburn/burn/core/op"; var x = op.Lookup(op.Add).Section == "binary"`: true,
		`package p; import "github.com/goburn/burn/core/op"; var x = op.Lookup(op.Add).Name`:                false,
		`package p; import "io"; var x = io.Section`:                                                        false,
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "x.go", text, 0)
		require.NoError(t, err)
		require.Equal(t, want, readsSection(f, false), text)
	}
}
