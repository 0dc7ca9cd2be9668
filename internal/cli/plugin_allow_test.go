package cli

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/host"
	"github.com/goburn/burn/host/store"
)

// athome creates a home directory for the test and returns a function that runs commands in it and requires the exit code. The files of the
// directory persist between commands.
func athome(t *testing.T) (burn func(code int, args ...string) result) {
	t.Helper()
	home := t.TempDir()
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "AppData", "LocalAppData"} {
		t.Setenv(name, home)
	}
	t.Setenv("BURN_PLUGIN_PATH", "")
	t.Setenv("BURN_REATTACH", "")
	return func(code int, args ...string) result {
		t.Helper()
		var out, errOut bytes.Buffer
		got := run(t.Context(), unconfined, args, strings.NewReader(""), &out, &errOut)
		require.Equal(t, code, got, "burn %v\n%s%s", args, out.String(), errOut.String())
		return result{got, out.String(), errOut.String()}
	}
}

// unconfined is an environment without containment, so that the plugin scripts of a test can write files that the test reads.
func unconfined(name string) string {
	if name == "BURN_PLUGIN_CONTAINMENT" {
		return "off"
	}
	return ""
}

// No command executes files in ./burn_plugins before the user has allowed it, and each prints how to allow it.
func TestWorkingFolder(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the plugin is a shell script")
	}
	model, err := filepath.Abs(digits + "digits.onnx")
	require.NoError(t, err)
	image, err := filepath.Abs(digits + "digit_7.png")
	require.NoError(t, err)
	burn := athome(t)
	t.Chdir(t.TempDir())
	executed := filepath.Join(t.TempDir(), "executed")
	require.NoError(t, os.Mkdir("burn_plugins", 0o755))
	plugin := filepath.Join("burn_plugins", "burn-backend-mine")
	require.NoError(t, os.WriteFile(plugin, []byte("#!/bin/sh\ntouch "+executed+"\nexit 3\n"), 0o755))
	dir, err := filepath.Abs("burn_plugins")
	require.NoError(t, err)
	remedy := "burn plugin allow " + dir

	require.Contains(t, burn(0, "devices").out, remedy)
	require.Contains(t, burn(0, "doctor").out, remedy)
	require.Contains(t, burn(1, "run", model, image, "--device", "mine").err, remedy)
	require.Contains(t, burn(1, "conformance", "run", "mine").err, remedy)
	require.NoFileExists(t, executed)

	require.Contains(t, burn(0, "plugin", "allow").out, "mine")
	require.Equal(t, dir+"\n", burn(0, "plugin", "allow", "--list").out)
	burn(0, "devices")
	require.FileExists(t, executed)
	require.NoError(t, os.Remove(executed))
	require.NoError(t, os.WriteFile(plugin, []byte("#!/bin/sh\ntouch "+executed+"\nexit 4\n"), 0o755))
	require.Contains(t, burn(0, "devices").out, "other content than when you allowed it")
	require.NoFileExists(t, executed)
	burn(0, "plugin", "allow", "burn_plugins")
	burn(0, "plugin", "allow", "--forget", "burn_plugins")
	burn(2, "plugin", "allow", "--forget", "burn_plugins")
	burn(0, "devices")
	require.NoFileExists(t, executed)
	burn(0, "devices", "--plugin-path", "burn_plugins")
	require.FileExists(t, executed)
	require.Contains(t, burn(2, "plugin", "allow", "none").err, "none")
	require.Contains(t, burn(2, "plugin", "allow", t.TempDir()).err, "there is no plugin in it")
}

func TestAsk(t *testing.T) {
	var out bytes.Buffer
	a := &app{err: &out}
	folder := host.LocalFolder{Path: "/home/me/project/burn_plugins", Plugins: []string{"mine", "\x1b[2Jother"}, Foreign: errors.New("/home/me/project has mode 0777")}
	for answer, want := range map[string]bool{"y\n": true, "Yes\n": true, "\n": false, "": false, "n\n": false, "yo\n": false} {
		out.Reset()
		ask := a.ask(strings.NewReader(answer))
		require.Equal(t, want, ask(folder), "%q", answer)
		for _, text := range []string{folder.Path, "mine", "0777", "[y/N]"} {
			require.Contains(t, out.String(), text)
		}
		require.NotContains(t, out.String(), "\x1b")
		out.Reset()
		require.False(t, ask(folder))
		require.Empty(t, out.String(), "a second question was asked")
	}
}

func TestAcceptTrust(t *testing.T) {
	archive, key := packed(t, t.TempDir(), "1.0.0")
	burn := athome(t) // the home of another user than the maker of the archive
	burn(0, "plugin", "trust", key+".pub", "--namespace", "example.org/acme")
	file, err := store.TrustFile()
	require.NoError(t, err)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, append(text, "# more\n"...), 0o600))
	for _, args := range [][]string{{"install", archive}, {"verify"}, {"trust", "--revoke", "0"}} {
		r := burn(2, append([]string{"plugin"}, args...)...)
		require.Contains(t, r.err, "changed by something other than burn")
		require.Contains(t, r.err, "remedy: see which keys it has now with `burn plugin trust`; if they are right, run `burn plugin trust --accept`")
	}
	r := burn(1, "plugin", "trust")
	require.Contains(t, r.out, "example.org/acme")
	require.Contains(t, r.err, "--accept")
	burn(0, "plugin", "trust", "--accept")
	burn(0, "plugin", "install", archive)
}

// Removing a plugin keeps the version that another project's lock names.
func TestRemoveForOneProject(t *testing.T) {
	dir := t.TempDir()
	archive, key := packed(t, dir, "1.0.0")
	newer, _ := packed(t, dir, "1.1.0")
	burn := athome(t)
	burn(0, "plugin", "trust", key+".pub", "--namespace", "example.org/acme")
	x, y := filepath.Join(dir, "x.lock"), filepath.Join(dir, "y.lock")
	burn(0, "plugin", "install", archive, "--lock-file", x)
	r := burn(0, "plugin", "install", newer, "--lock-file", y)
	require.Regexp(t, `kept +1\.0\.0, which .*x\.lock holds`, r.out)
	r = burn(1, "plugin", "remove", "npu", "--lock-file", y)
	require.Contains(t, r.err, "x.lock holds version 1.0.0")
	require.Contains(t, r.err, "remedy: ")
	burn(0, "plugin", "remove", "npu@1.1.0", "--lock-file", y)
	require.Contains(t, burn(0, "plugin", "list", "--lock-file", x).out, "1.0.0")
	burn(0, "plugin", "remove", "npu", "--lock-file", y, "--force")
}
