package internal_test

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// mostDecoratorLines bounds the lines of code of a decorator, without tests.
const mostDecoratorLines = 2000

// codeLines returns the number of lines of a Go file that have a part of a token on them: blank lines and lines of comments do not
// count, and a raw string counts as often as it has lines.
func codeLines(text []byte) int {
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

func TestCodeLines(t *testing.T) {
	require.Equal(t, 5, codeLines([]byte("// doc\npackage p // trailing\n\n/* a\nb */\nvar x = `1\n2\n3`; var y = 1\n\nvar z int")))
}

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
			lines += codeLines(text)
			return err
		})
		require.NoError(t, err)
		found++
		t.Logf("decorators/%s: %d lines of code", d.Name(), lines)
		if lines > mostDecoratorLines {
			t.Errorf("decorators/%s: got %d lines of code without tests, want at most %d", d.Name(), lines, mostDecoratorLines)
		}
	}
	require.GreaterOrEqual(t, found, 4)
}
