package docblocks

import (
	"go/ast"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

// Comments returns the code blocks in the doc comments of a Go file: of the package, of exported functions and methods, and of all
// declarations of types, constants and variables. A block whose lines all begin with shell commands has the language console, and
// each line is a command; other blocks have the language go.
func Comments(file string, text []byte) ([]Block, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	groups := []*ast.CommentGroup{f.Doc}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() {
				groups = append(groups, d.Doc)
			}
		case *ast.GenDecl:
			groups = append(groups, d.Doc)
			for _, s := range d.Specs {
				if s, ok := s.(*ast.TypeSpec); ok {
					groups = append(groups, s.Doc)
				}
			}
		}
	}
	var blocks []Block
	for _, g := range groups {
		if g == nil {
			continue
		}
		for _, c := range new(comment.Parser).Parse(g.Text()).Content {
			if code, ok := c.(*comment.Code); ok {
				blocks = append(blocks, Block{File: file, Line: fset.Position(g.Pos()).Line, Lang: "go", Text: code.Text})
				if b := &blocks[len(blocks)-1]; shell(code.Text) {
					b.Lang, b.Text = "console", "$ "+strings.ReplaceAll(strings.TrimSuffix(code.Text, "\n"), "\n", "\n$ ")+"\n"
				}
			}
		}
	}
	return blocks, nil
}

// shell reports whether every line begins with a command that documents use.
func shell(text string) bool {
	for line := range strings.Lines(text) {
		word, rest, _ := strings.Cut(line, " ")
		if !slices.Contains([]string{"burn", "make", "npm", "pip"}, word) && !(word == "go" && !strings.HasPrefix(rest, "func")) {
			return false
		}
	}
	return true
}
