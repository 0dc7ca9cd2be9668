package internal

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

// mostDriverLines is the most lines of code of a GPU plugin without its bindings: what is not the hardware's own is in sdk/gpu.
const mostDriverLines = 500

// TestDriversAreSmall counts lines of code, which have a token and are no comment, of all of a plugin except its tests and its bindings. Bindings
// are the named packages: they declare and call functions of a system's libraries. No other package of a plugin is one.
func TestDriversAreSmall(t *testing.T) {
	for plugin, bindings := range map[string][]string{
		"rocm":  {"internal/amd"},
		"metal": {"internal/apple", "internal/calls"},
		"wgpu":  {"internal/native"},
	} {
		root := filepath.Join("..", "plugins", plugin)
		lines := map[string]int{} // by the first two folders
		require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			folder, err := filepath.Rel(root, filepath.Dir(path))
			if err != nil {
				return err
			}
			n, err := codeLines(path)
			lines[filepath.ToSlash(folder)] += n
			return err
		}))
		driver := 0
		for folder, n := range lines {
			if folder != "internal/processor" { // of the metal plugin: it replaces Metal in tests alone
				driver += n
			}
		}
		for _, b := range bindings {
			require.Positive(t, lines[b], "%s: %s", plugin, b)
			driver -= lines[b]
		}
		t.Logf("%s: %d lines of code, and %v", plugin, driver, lines)
		require.Positive(t, driver)
		require.LessOrEqual(t, driver, mostDriverLines, plugin)
	}
}

// codeLines returns the number of lines of a Go file that have a token which is no comment, or a part of one.
func codeLines(path string) (int, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	files := token.NewFileSet()
	f := files.AddFile(path, -1, len(text))
	var s scanner.Scanner
	s.Init(f, text, nil, 0)
	has := map[int]bool{}
	for {
		at, tok, literal := s.Scan()
		if tok == token.EOF {
			return len(has), nil
		}
		if tok == token.SEMICOLON && literal != ";" {
			continue
		}
		for i := range 1 + strings.Count(literal, "\n") {
			has[f.Line(at)+i] = true
		}
	}
}

func TestCodeLines(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.go")
	require.NoError(t, os.WriteFile(file, []byte("// Package x.\npackage x\n\n/* a\nb */\nvar y = `1\n2\n` // c\n\nvar (\n)\n"), 0o600))
	n, err := codeLines(file)
	require.NoError(t, err)
	require.Equal(t, 6, n)
}
