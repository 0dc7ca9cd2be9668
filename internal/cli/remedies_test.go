package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/host/store"
	"github.com/goburn/burn/internal/config"
	"github.com/goburn/burn/sdk/client"
)

// texts returns the string literals in the sources of folders, by position; concatenated literals are joined.
func texts(t *testing.T, folders ...string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, folder := range folders {
		require.NoError(t, filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			files := token.NewFileSet()
			f, err := parser.ParseFile(files, path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(f, func(n ast.Node) bool {
				e, ok := n.(ast.Expr)
				if !ok {
					return true
				}
				text, is := literal(e)
				if is && text != "" {
					all[files.Position(e.Pos()).String()] = text
				}
				return !is
			})
			return nil
		}))
	}
	return all
}

// literal returns the text of a string literal, or of a concatenation in which NAME replaces other operands.
func literal(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			s, err := strconv.Unquote(e.Value)
			return s, err == nil
		}
	case *ast.BinaryExpr:
		a, isA := literal(e.X)
		b, isB := literal(e.Y)
		if e.Op != token.ADD || !isA && !isB {
			return "", false
		}
		if !isA {
			a = "NAME"
		}
		if !isB {
			b = "NAME"
		}
		return a + b, true
	}
	return "", false
}

var (
	commandText = regexp.MustCompile("(?:`|see:? |run )burn ([^`;:,()\n]*)")
	settingText = regexp.MustCompile(`([a-z_]+) (?:in|of) (?:the|your) configuration`)
	flagText    = regexp.MustCompile(`^--([a-z-]+)`)
)

// TestRemedies checks that the remedies in messages work: their commands, flags and settings exist.
func TestRemedies(t *testing.T) {
	a := &app{env: func(string) string { return "" }}
	root := a.root()
	commands, settings := 0, 0
	for at, text := range texts(t, "../../host", "../../sdk/client", "../../sdk/wire", "../../sdk/serve", "../config", ".") {
		for _, m := range commandText.FindAllStringSubmatch(text, -1) {
			commands++
			cmd := root
			for _, word := range strings.Fields(m[1]) {
				if f := flagText.FindStringSubmatch(word); f != nil {
					require.NotNil(t, flagOf(cmd, f[1]), "%s: %q: %s has no flag --%s", at, m[0], cmd.CommandPath(), f[1])
					continue
				}
				if i := slices.IndexFunc(cmd.Commands(), func(c *cobra.Command) bool { return c.Name() == word }); i >= 0 {
					cmd = cmd.Commands()[i]
					continue
				}
				require.False(t, cmd.HasSubCommands() && regexp.MustCompile(`^[a-z]+$`).MatchString(word), "%s: %q: %s has no command %s", at, m[0], cmd.CommandPath(), word)
			}
			require.NotEqual(t, root, cmd, "%s: %q names no command", at, m[0])
		}
		for _, m := range settingText.FindAllStringSubmatch(text, -1) {
			if slices.Contains([]string{"is", "folder", "file"}, m[1]) {
				continue // prose
			}
			settings++
			require.Contains(t, config.Keys, m[1], "%s: %q", at, m[0])
		}
	}
	require.Greater(t, commands, 30)
	require.Greater(t, settings, 5)
}

func flagOf(cmd *cobra.Command, name string) any {
	if f := cmd.Flags().Lookup(name); f != nil {
		return f
	}
	if f := cmd.InheritedFlags().Lookup(name); f != nil {
		return f
	}
	return nil
}

// TestStartRemedies checks the messages for plugins that do not start.
func TestStartRemedies(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "burn-backend-x")
	remedy := func(c client.Cause, path string) string {
		return (&client.StartError{Plugin: "x", Path: path, Cause: c}).Remedy()
	}
	require.Contains(t, remedy(client.CauseNotExecutable, file), "is not there")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	if core.Platform() != "windows/amd64" {
		require.Equal(t, "chmod +x "+file, remedy(client.CauseNotExecutable, file))
		require.NoError(t, os.Chmod(file, 0o700))
		require.NotContains(t, remedy(client.CauseNotExecutable, file), "chmod")
	}
	require.Contains(t, remedy(client.CauseNotExecutable, dir), "name the file")
	for _, c := range []client.Cause{client.CauseWrongPlatform, client.CauseMissingLibrary, client.CauseNotPlugin, client.CauseProtocol, client.CauseCrash,
		client.CauseTimeout, client.CauseOpen, client.CauseSystem} {
		require.NotEmpty(t, remedy(c, file))
	}
	require.Contains(t, remedy(client.CauseTimeout, file), "start_timeout in the configuration")
	require.NotContains(t, remedy(client.CauseCrash, ""), "--debug` ", "without a path there is no command to suggest")
	require.Contains(t, remedy(client.CauseWrongPlatform, file), "FILE.tar.gz")
}

// The errors for a public key in place of the private one, and for the reverse, name the mistake. The former does not suggest chmod.
func TestKeyRemedies(t *testing.T) {
	dir := t.TempDir()
	key := filepath.Join(dir, "acme.key")
	require.Equal(t, exitOK, call(t, "plugin", "keygen", key).code)
	require.NoError(t, os.Chmod(key+".pub", 0o644))
	archive := filepath.Join(dir, "x.tar.gz")
	r := call(t, "plugin", "sign", archive, "--key", key+".pub")
	require.NotEqual(t, exitOK, r.code)
	require.Contains(t, r.err, "it holds a public key")
	require.NotContains(t, r.err, "chmod")
	r = call(t, "plugin", "trust", key, "--namespace", "example.org/acme")
	require.NotEqual(t, exitOK, r.code)
	require.Contains(t, r.err, "want the file with .pub")
	_, err := store.ReadPrivateKey(key)
	require.NoError(t, err)
}

// doctor suggests to install a plugin by its name only if the mirror has it. If no mirror is configured, it says so as a condition.
func TestMirrorRemedies(t *testing.T) {
	mirror := t.TempDir()
	require.Equal(t, exitOK, call(t, "plugin", "index", mirror).code)
	env := map[string]string{"BURN_DEVICE": "npu"}
	r := callWith(t, t.Context(), env, "doctor", "--mirror", mirror)
	require.Equal(t, exitFailure, r.code)
	require.Contains(t, r.out, "the mirror "+mirror+" has no plugin npu; run `burn plugin install FILE.tar.gz`")
	require.NotContains(t, r.out, "burn plugin install npu")
	r = callWith(t, t.Context(), env, "doctor")
	require.Contains(t, r.out, "`burn plugin install npu` if the mirror of your configuration or of --mirror has it")
	r = callWith(t, t.Context(), map[string]string{"BURN_DEVICE": "cpu:7"}, "doctor")
	require.Contains(t, r.out, "remedy: name one of builtin:cpu:0\n")
}

// TestBackendOptions checks that backend options can be set by BURN_OPTIONS and the configuration, and that the backend checks its options.
func TestBackendOptions(t *testing.T) {
	args := []string{"run", digits + "digits.onnx", "@zeros"}
	for value, want := range map[string]int{"cpu.threads_per_stream=all": exitOK, "npu.fast=yes": exitOK, "cpu.threads_per_stream=al": exitFailure, "cpu.fast=yes": exitFailure} {
		r := callWith(t, t.Context(), map[string]string{"BURN_OPTIONS": value}, args...)
		require.Equal(t, want, r.code, "%s: %s", value, r.err)
		if want != exitOK {
			require.Contains(t, r.err, "cpu: option ")
		}
	}
	file := filepath.Join(t.TempDir(), "c.toml")
	require.NoError(t, os.WriteFile(file, []byte("[options.cpu]\nthreads_per_stream = \"none\"\n"), 0o600))
	r := call(t, append(args, "--config", file)...)
	require.Contains(t, r.err, `threads_per_stream: got "none", want one or all`)
}
