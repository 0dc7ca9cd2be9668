// Package golines counts lines of Go code: those of the program and those of its tests. The tests of the repository hold folders to limits
// with it, and tools/lines prints the numbers. It only counts; limits are set by its callers.
package golines

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Code returns the number of lines of a Go file that have a part of a token on them: blank lines and lines of comments do not
// count, and a raw string counts as often as it has lines.
func Code(text []byte) int {
	var s scanner.Scanner
	files := token.NewFileSet()
	f := files.AddFile("", files.Base(), len(text))
	s.Init(f, text, nil, 0)
	count, last := 0, 0
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			return count
		}
		if tok == token.SEMICOLON && lit == "\n" {
			continue // an end of a line, which the scanner adds
		}
		first := f.Line(pos)
		end := first + strings.Count(lit, "\n")
		count += end - max(first-1, last)
		last = end
	}
}

// Generated reports whether a Go file has the line that marks generated code, before its package clause.
func Generated(text []byte) bool {
	for line := range bytes.Lines(text) {
		line = bytes.TrimRight(line, "\r\n")
		if bytes.HasPrefix(line, []byte("package ")) {
			return false
		}
		if bytes.HasPrefix(line, []byte("// Code generated ")) && bytes.HasSuffix(line, []byte(" DO NOT EDIT.")) {
			return true
		}
	}
	return false
}

// Package contains the counts of one folder. Only Generated includes generated files.
type Package struct {
	Dir       string // relative to the root, with slashes
	Code      int    // lines of code outside of tests
	Test      int    // lines of code in _test.go files
	Generated int    // all lines of generated files
}

// Counts are the numbers of a tree.
type Counts struct {
	Packages  []Package // sorted by Dir
	Files     []int     // all lines of each file that is neither a test nor generated, sorted
	Functions []int     // lines of each function in these files, from its declaration to its end, sorted
}

// Tree counts the Go files below root. It skips folders named testdata and those that begin with a dot or an underscore.
func Tree(root string) (*Counts, error) {
	var c Counts
	by := map[string]*Package{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if path != root && (name == "testdata" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		rel, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		dir := filepath.ToSlash(rel)
		if by[dir] == nil {
			by[dir] = &Package{Dir: dir}
		}
		return c.file(by[dir], path)
	})
	if err != nil {
		return nil, err
	}
	for _, p := range by {
		c.Packages = append(c.Packages, *p)
	}
	slices.SortFunc(c.Packages, func(a, b Package) int { return strings.Compare(a.Dir, b.Dir) })
	slices.Sort(c.Files)
	slices.Sort(c.Functions)
	return &c, nil
}

func (c *Counts) file(p *Package, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	lines := bytes.Count(text, []byte("\n"))
	switch {
	case Generated(text):
		p.Generated += lines
		return nil
	case strings.HasSuffix(path, "_test.go"):
		p.Test += Code(text)
		return nil
	}
	p.Code += Code(text)
	c.Files = append(c.Files, lines)
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, path, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, d := range f.Decls {
		if d, ok := d.(*ast.FuncDecl); ok {
			c.Functions = append(c.Functions, set.Position(d.End()).Line-set.Position(d.Pos()).Line+1)
		}
	}
	return nil
}

// Sum returns the counts of all packages together.
func (c *Counts) Sum() Package {
	var sum Package
	for _, p := range c.Packages {
		sum.Code, sum.Test, sum.Generated = sum.Code+p.Code, sum.Test+p.Test, sum.Generated+p.Generated
	}
	return sum
}
