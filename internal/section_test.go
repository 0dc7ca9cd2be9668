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

// displays may read the section of a row: they print it.
var displays = map[string]bool{"tools/opsdoc/write.go": true, "tools/status/suite.go": true}

// A section of the op table is a heading. What code decides by is in a row's traits.
func TestNobodyDecidesBySection(t *testing.T) {
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	read := map[string]bool{}
	err = filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && (name == "testdata" || file != root && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_"))) {
			return fs.SkipDir
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		if readsSection(f, strings.HasPrefix(rel, "core/op/")) {
			read[rel] = true
		}
		return nil
	})
	require.NoError(t, err)
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

// readsSection reports whether a file that can name a row has a selector Section.
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

// The check finds what it is for.
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
