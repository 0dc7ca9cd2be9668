package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/host/store"
	"github.com/goburn/burn/internal/long"
)

// user is the machine of a user with only the burn command.
type user struct {
	t    *testing.T
	burn string
	dir  string
	env  []string
}

func newUser(t *testing.T) *user {
	dir := t.TempDir()
	u := &user{t: t, burn: filepath.Join(dir, "bin", "burn"), dir: dir}
	if runtime.GOOS == "windows" {
		u.burn += ".exe"
	}
	out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", u.burn, "../../cmd/burn").CombinedOutput()
	require.NoError(t, err, string(out))
	u.env = os.Environ()
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "AppData", "LocalAppData"} {
		u.env = append(u.env, name+"="+filepath.Join(dir, "home"))
	}
	for _, name := range []string{"BURN_PLUGIN_PATH", "BURN_MIRROR", "BURN_DEV_PLUGINS", "BURN_CONFIG", "BURN_DEVICE", "BURN_REATTACH"} {
		u.env = append(u.env, name+"=")
	}
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "work"), 0o755))
	return u
}

// run runs a command and requires its exit code.
func (u *user) run(code int, args ...string) (stdout, stderr string) {
	u.t.Helper()
	cmd := exec.Command(u.burn, args...)
	cmd.Dir, cmd.Env = filepath.Join(u.dir, "work"), u.env
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(u.t, err)
	}
	require.Equal(u.t, code, cmd.ProcessState.ExitCode(), "burn %v\n%s%s", args, out.String(), errOut.String())
	return out.String(), errOut.String()
}

// TestEndToEnd follows docs/PLUGINS.md: a maker builds and signs a plugin; a user trusts the key, installs, runs and checks it,
// detects a changed file, upgrades, and removes it.
func TestEndToEnd(t *testing.T) {
	long.Need(t, "builds burn and a plugin")
	built, key := firstDist(t)
	mirror := t.TempDir() // it gets another version
	require.NoError(t, os.CopyFS(mirror, os.DirFS(built)))
	archive := filepath.Join(mirror, "github.com", "goburn", "cpu", "0.1.0", store.Native()+".tar.gz")
	digits, err := filepath.Abs("../../examples/digits")
	require.NoError(t, err)
	model := []string{"run", filepath.Join(digits, "digits.onnx"), filepath.Join(digits, "digit_7.png"), "--top", "1", "--device", "process:cpu", "--json"}
	u := newUser(t)

	// Nothing is installed: the errors name the remedy.
	_, e := u.run(2, model...)
	require.Contains(t, e, "burn plugin install cpu")
	_, e = u.run(2, "plugin", "install", "cpu")
	require.Contains(t, e, "remedy: name one with --mirror")
	_, e = u.run(1, "plugin", "install", archive)
	require.Contains(t, e, "remedy: if you trust the maker")
	require.Contains(t, e, "burn plugin trust FILE.pub --namespace github.com/goburn")

	u.run(0, "plugin", "trust", key+".pub", "--namespace", "github.com/goburn", "--owner", "the burn project")
	out, _ := u.run(0, "plugin", "install", archive)
	require.Contains(t, out, "installed github.com/goburn/cpu 0.1.0 "+store.Native())
	require.Contains(t, out, "the burn project")
	out, _ = u.run(0, "plugin", "list", "--json")
	var list struct {
		Store   string
		Plugins []store.Installed
	}
	require.NoError(t, json.Unmarshal([]byte(out), &list))
	require.Len(t, list.Plugins, 1)
	require.True(t, list.Plugins[0].Active)

	// It runs from the store.
	out, _ = u.run(0, "devices")
	require.Contains(t, out, "process:cpu:0")
	out, _ = u.run(0, model...)
	var result struct {
		Outputs []struct{ Top []struct{ Index int } }
	}
	require.NoError(t, json.Unmarshal([]byte(out), &result))
	require.Equal(t, 7, result.Outputs[0].Top[0].Index)
	u.run(0, "plugin", "verify")
	u.run(0, "doctor")

	// A byte is changed: neither verify nor a run accepts the file, and an installation repairs it.
	exe := filepath.Join(list.Plugins[0].Dir, store.Executable("cpu", "process", store.Native()))
	content, err := os.ReadFile(exe)
	require.NoError(t, err)
	content[len(content)/2] ^= 1
	require.NoError(t, os.Chmod(exe, 0o755))
	require.NoError(t, os.WriteFile(exe, content, 0o755))
	out, _ = u.run(1, "plugin", "verify")
	require.Contains(t, out, exe)
	require.Contains(t, out, "burn plugin install --force cpu")
	_, e = u.run(1, model...)
	require.Contains(t, e, "sha256 mismatch")
	out, _ = u.run(1, "doctor")
	require.Contains(t, out, "sha256 mismatch")
	u.run(1, "plugin", "install", archive)
	u.run(0, "plugin", "install", archive, "--force")
	u.run(0, "plugin", "verify")
	u.run(0, model...)

	u.upgrades(mirror, key)
	out, _ = u.run(0, "plugin", "remove", "cpu")
	require.Contains(t, out, "removed github.com/goburn/cpu 0.2.0")
	u.run(2, model...)
	out, _ = u.run(0, "plugin", "list")
	require.Contains(t, out, "no plugin is installed")
}

// upgrades upgrades from 0.1.0 to 0.2.0, over the network, with a lock in the project.
func (u *user) upgrades(mirror, key string) {
	u.t.Helper()
	t := u.t
	u.repack(mirror, key, "0.2.0")
	server := httptest.NewServer(http.FileServer(http.Dir(mirror)))
	defer server.Close()
	at := []string{"--mirror", server.URL}
	out, _ := u.run(0, append([]string{"plugin", "list", "--available"}, at...)...)
	require.Contains(t, out, "0.2.0")
	u.run(0, append([]string{"plugin", "lock"}, at...)...) // from now on ./burn.lock applies
	_, e := u.run(1, append([]string{"plugin", "install", "cpu@0.2.0"}, at...)...)
	require.Contains(t, e, "burn plugin upgrade cpu@0.2.0")
	out, _ = u.run(0, append([]string{"plugin", "install", "cpu"}, at...)...)
	require.Contains(t, out, "is installed already: github.com/goburn/cpu 0.1.0")
	out, _ = u.run(0, append([]string{"plugin", "upgrade"}, at...)...)
	require.Contains(t, out, "installed github.com/goburn/cpu 0.2.0")
	require.Contains(t, out, "0.1.0")
	out, _ = u.run(0, "devices", "--json")
	require.Contains(t, out, filepath.Join("cpu", "0.2.0"))
	u.run(0, "plugin", "verify")
	lock, err := store.ReadLock(filepath.Join(u.dir, "work", store.LockName))
	require.NoError(t, err)
	require.Equal(t, "0.2.0", lock.Plugins[0].Version)

	// The same lock on another machine, with nothing named.
	u.run(0, "plugin", "remove", "cpu")
	require.NoError(t, os.WriteFile(filepath.Join(u.dir, "work", store.LockName), must(t, lock), 0o644))
	out, _ = u.run(0, append([]string{"plugin", "install"}, at...)...)
	require.Contains(t, out, "installed github.com/goburn/cpu 0.2.0")
	require.NoError(t, os.Remove(filepath.Join(u.dir, "work", store.LockName)))
}

func must(t *testing.T, l *store.Lock) []byte {
	t.Helper()
	b, err := l.Encode()
	require.NoError(t, err)
	return b
}

// repack adds another version of the plugin to the mirror, with the same program.
func (u *user) repack(mirror, key, version string) {
	u.t.Helper()
	exe := filepath.Join(u.t.TempDir(), store.Executable("cpu", "process", store.Native()))
	found, err := filepath.Glob(filepath.Join(u.dir, "home", "burn", "plugins", "github.com", "goburn", "cpu", "*", "*", filepath.Base(exe)))
	require.NoError(u.t, err)
	require.Len(u.t, found, 1)
	program, err := os.ReadFile(found[0])
	require.NoError(u.t, err)
	require.NoError(u.t, os.WriteFile(exe, program, 0o755))
	out, _ := u.run(0, "plugin", "pack", exe, "--namespace", "github.com/goburn", "--version", version, "--mirror", mirror, "--key", key)
	require.Contains(u.t, out, "signed with key")
}
