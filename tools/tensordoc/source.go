package main

import (
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// function is an exported function, or a method of an exported type: "Concat", "Tensor.Abs".
type function struct {
	name      string
	file      string // without its extension
	line      int
	signature string // parameters and results
	synopsis  string
}

// exported returns the exported functions and methods of package tensor, in the order of files and lines.
func exported(dir string) ([]function, error) {
	fset := token.NewFileSet()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: no Go files: %w", dir, fs.ErrNotExist)
	}
	p, err := doc.NewFromFiles(fset, files, "github.com/goburn/burn/tensor")
	if err != nil {
		return nil, err
	}
	var out []function
	add := func(prefix string, fs []*doc.Func) {
		for _, f := range fs {
			pos := fset.Position(f.Decl.Pos())
			out = append(out, function{prefix + f.Name, strings.TrimSuffix(filepath.Base(pos.Filename), ".go"), pos.Line,
				signature(fset, f.Decl), p.Synopsis(f.Doc)})
		}
	}
	add("", p.Funcs)
	for _, t := range p.Types {
		add("", t.Funcs)
		add(t.Name+".", t.Methods)
	}
	slices.SortFunc(out, func(a, b function) int {
		if c := strings.Compare(a.file, b.file); c != 0 {
			return c
		}
		return a.line - b.line
	})
	return out, nil
}

var blanks = regexp.MustCompile(`\s+`)

func signature(fset *token.FileSet, d *ast.FuncDecl) string {
	var b strings.Builder
	if err := printer.Fprint(&b, fset, d.Type); err != nil {
		return err.Error()
	}
	text := blanks.ReplaceAllString(strings.TrimPrefix(b.String(), "func"), " ")
	return strings.TrimSpace(text)
}
