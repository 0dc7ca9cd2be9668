package docblocks_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/internal/docblocks"
)

func TestMarkdown(t *testing.T) {
	text := "# Title\n\n<!-- setup\nvar x int\n-->\n\n```go quote\na\n```\n\ntext\n```console skip=\"needs a GPU\" exit=2\n$ burn run\n```\n```\nplain\n```\n"
	got, err := docblocks.Markdown("a.md", text)
	require.NoError(t, err)
	require.Equal(t, []docblocks.Block{
		{File: "a.md", Line: 8, Lang: "go", Text: "a\n", Setup: "var x int\n", Quote: true},
		{File: "a.md", Line: 13, Lang: "console", Text: "$ burn run\n", Skip: "needs a GPU", Exit: 2},
		{File: "a.md", Line: 16, Text: "plain\n"},
	}, got)
	for text, want := range map[string]string{
		"```go\nx\n":                            "a.md:1: a fence without an end",
		"<!-- setup\nx":                         "a.md:1: a setup without an end",
		"<!-- setup\nx\n-->\n\ntext\n":          "a.md:1: no block follows this setup",
		"```go skp=\"x\"\n```\n":                `a.md:1: attribute "skp", want skip, quote, run, file or exit`,
		"```go skip=\n```\n":                    "a.md:1: skip: want a reason",
		"```console skip=\"no end\nx\n```\n":    "a.md:1: info string",
		"```console exit=two\n$ burn run\n```n": "a.md:1: exit: ",
	} {
		_, err := docblocks.Markdown("a.md", text)
		require.ErrorContains(t, err, want, text)
	}
}

func TestCommands(t *testing.T) {
	b := docblocks.Block{File: "a.md", Line: 10, Text: "$ burn run x \\\n    --top 3\n7 99 %\n\n$ burn devices\n$ cd x\n"}
	got, err := b.Commands()
	require.NoError(t, err)
	require.Equal(t, []docblocks.Command{
		{Line: 10, Text: "burn run x \\\n    --top 3", Output: "7 99 %\n\n"}, {Line: 14, Text: "burn devices"}, {Line: 15, Text: "cd x"},
	}, got)
	_, err = docblocks.Block{File: "a.md", Line: 3, Text: "burn run\n"}.Commands()
	require.ErrorContains(t, err, "a.md:3: want a command")
}

func TestComments(t *testing.T) {
	got, err := docblocks.Comments("a.go", []byte("// Package a is\n//\n//\ta.Do()\n//\n// and\n//\n//\tgo run ./x\n//\tmake y\npackage a\n\n// Do does:\n//\n//\tx := 1\nfunc Do() {}\n\n// other\n//\n//\tnot seen\nfunc other() {}\n"))
	require.NoError(t, err)
	require.Equal(t, []docblocks.Block{
		{File: "a.go", Line: 1, Lang: "go", Text: "a.Do()\n"},
		{File: "a.go", Line: 1, Lang: "console", Text: "$ go run ./x\n$ make y\n"},
		{File: "a.go", Line: 11, Lang: "go", Text: "x := 1\n"},
	}, got)
}

func TestSource(t *testing.T) {
	b := docblocks.Block{Text: "import \"os\"\n\nfunc (m *M) F() string {\n\treturn \"}\" // {\n}\n\nx := tensor.New(m)\nm.F()\n", Setup: "type M struct{}\n\nvar m *M\n"}
	files, imports, err := b.Source(map[string]string{"tensor": "example.org/tensor", "m": "example.org/m"})
	require.NoError(t, err)
	require.Equal(t, []string{"os", "example.org/tensor", "context"}, imports)
	require.Contains(t, files[0], "func (m *M) F() string {\n\treturn \"}\" // {\n}\n\nfunc _() error {\n")
	require.Contains(t, files[0], "\tx := tensor.New(m)\n\tm.F()\n\n\treturn nil\n}")
	require.Equal(t, "package snippet\n\ntype M struct{}\n\nvar m *M\n", files[1])

	b = docblocks.Block{Text: "package main\n\nfunc main() { f() }\n", Setup: "func f() {}\n"}
	require.True(t, b.Whole())
	files, _, err = b.Source(nil)
	require.NoError(t, err)
	require.Equal(t, []string{"package main\n\nfunc main() { f() }\n", "package main\n\nfunc f() {}\n"}, files)

	_, _, err = docblocks.Block{File: "a.md", Line: 7, Text: "x := \n"}.Source(nil)
	require.ErrorContains(t, err, "a.md:7: ")
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		shown, output string
		want          bool
	}{
		{"a\nb\n", "a  \nb\n\n", true},
		{"a\nb\n", "a\nc\n", false},
		{"a\n", "a\nb\n", false},
		{"7  ... %\n", "7  99.2 %\n", true},
		{"7  ... %\n", "8  99.2 %\n", false},
		{"a\n...\nz\n", "a\nb\nc\nz\n", true},
		{"a\n...\nz\n", "a\nz\n", true},
		{"a\n...\n", "b\n", false},
	} {
		require.Equal(t, c.want, docblocks.Matches(c.shown, c.output), "%q %q", c.shown, c.output)
	}
}

func TestReadLinks(t *testing.T) {
	text := "# The `burn` [page](x.md): A-B\n\nsee [a](b.md#c) and `[no](code.md)`\n```\n[no](fence.md)\n# no heading\n```\n<a href=\"d.md\">\n"
	require.Equal(t, []docblocks.Link{{1, "x.md"}, {3, "b.md#c"}, {8, "d.md"}}, docblocks.Links(text))
	require.Equal(t, map[string]bool{"the-burn-page-a-b": true}, docblocks.Anchors(text))
	require.Equal(t, []docblocks.Link{{3, "[no](code.md)"}}, docblocks.Spans(text, "[no]"))
}
