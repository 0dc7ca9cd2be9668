package docblocks

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"strings"
)

// Source returns the Go files that a block is compiled as, and the paths that they import. A block that is a whole file remains one file,
// with its setup in a second file. Otherwise imports, functions, methods and types are written to the top level of a file of package
// snippet, and all other lines to a function; setup is written to the top level of a second file. packages maps the names of packages that
// a block may use without importing them to their paths.
//
// A block that is not a whole file may use ctx, a context, and err, an error, without declaring them.
func (b Block) Source(packages map[string]string) (files []string, imports []string, err error) {
	if name, whole := wholeFile(b.Text); whole {
		files = []string{b.Text}
		if b.Setup != "" {
			files = append(files, "package "+name+"\n"+b.Setup)
		}
	} else {
		top, body := split(b.Text)
		setupTop, setupBody := split(b.Setup)
		files = []string{
			"package snippet\n" + top + "\nfunc _() error {\n" + body + "\nreturn nil\n}\n",
			"package snippet\n" + setupTop + "\n" + setupBody + "\n", // statements that are declarations: var, const
			"package snippet\nimport \"context\"\nvar ctx context.Context\nvar err error\n",
		}
	}
	for i, text := range files {
		text, paths, err := withImports(text, packages)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w\n%s", b.Where(), err, text)
		}
		files[i] = text
		imports = append(imports, paths...)
	}
	return files, imports, nil
}

// Whole reports whether the block is a complete program.
func (b Block) Whole() bool {
	name, whole := wholeFile(b.Text)
	return whole && name == "main"
}

func wholeFile(text string) (name string, ok bool) {
	f, err := parser.ParseFile(token.NewFileSet(), "", text, parser.PackageClauseOnly)
	if err != nil {
		return "", false
	}
	return f.Name.Name, true
}

// split separates the lines of a block: declarations that are legal only at the top level of a file, and the rest. A declaration
// ends where its brackets are closed.
func split(text string) (top, body string) {
	declaration, depth := false, 0
	for line := range strings.Lines(text) {
		if depth == 0 {
			declaration = false
			for _, word := range []string{"import ", "func ", "type "} {
				declaration = declaration || strings.HasPrefix(line, word)
			}
		}
		depth += depthOf(line)
		if declaration {
			top += line
		} else {
			body += line
		}
	}
	return top, body
}

// depthOf returns the number of brackets that a line opens minus those that it closes, outside strings and comments.
func depthOf(line string) int {
	n, quote := 0, byte(0)
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote != 0:
			if c == '\\' && quote != '`' {
				i++
			} else if c == quote {
				quote = 0
			}
		case c == '"' || c == '`' || c == '\'':
			quote = c
		case c == '/' && strings.HasPrefix(line[i:], "//"):
			return n
		case strings.IndexByte("([{", c) >= 0:
			n++
		case strings.IndexByte(")]}", c) >= 0:
			n--
		}
	}
	return n
}

// withImports adds the missing imports to a file, and returns the file and all its imports.
func withImports(text string, packages map[string]string) (string, []string, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", text, parser.SkipObjectResolution)
	if err != nil {
		return text, nil, err
	}
	declared := map[string]bool{}
	var paths []string
	for _, s := range f.Imports {
		path := strings.Trim(s.Path.Value, `"`)
		paths = append(paths, path)
		name := path[strings.LastIndexByte(path, '/')+1:]
		if s.Name != nil {
			name = s.Name.Name
		}
		declared[name] = true
	}
	used := map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				for _, x := range n.Lhs {
					if id, ok := x.(*ast.Ident); ok {
						declared[id.Name] = true
					}
				}
			}
		case *ast.ValueSpec:
			for _, id := range n.Names {
				declared[id.Name] = true
			}
		case *ast.Field:
			for _, id := range n.Names {
				declared[id.Name] = true
			}
		case *ast.SelectorExpr:
			if id, ok := n.X.(*ast.Ident); ok {
				used[id.Name] = true
			}
		}
		return true
	})
	clause, rest, _ := strings.Cut(text[f.Name.Pos()-1:], "\n")
	var b bytes.Buffer
	b.WriteString(text[:f.Name.Pos()-1] + clause + "\n")
	for name := range used {
		if path, ok := packages[name]; ok && !declared[name] {
			paths = append(paths, path)
			fmt.Fprintf(&b, "import %q\n", path)
		}
	}
	b.WriteString(rest)
	out, err := format.Source(b.Bytes())
	if err != nil {
		return b.String(), nil, err
	}
	return string(out), paths, nil
}
