package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/host/store"
)

// packed packs a script as the signed plugin npu and returns the paths of the archive and of the key.
func packed(t *testing.T, dir, version string) (archive, key string) {
	t.Helper()
	key = filepath.Join(dir, "maker.key")
	if _, err := os.Stat(key); err != nil {
		r := call(t, "plugin", "keygen", key)
		require.Equal(t, 0, r.code, r.err)
	}
	exe := filepath.Join(dir, store.Executable("npu", "process", store.Native()))
	require.NoError(t, os.WriteFile(exe, []byte("#!/bin/sh\nexit 3\n"), 0o755))
	archive = filepath.Join(dir, "npu-"+version+".tar.gz")
	r := call(t, "plugin", "pack", exe, "--namespace", "example.org/acme", "--version", version, "--key", key, "--out", archive)
	require.Equal(t, 0, r.code, r.err)
	return archive, key
}

func TestPluginCommands(t *testing.T) {
	dir := t.TempDir()
	archive, key := packed(t, dir, "1.0.0")
	trust := []string{"--trust-file", filepath.Join(dir, "trust.toml")}
	where := append([]string{"--dir", filepath.Join(dir, "store")}, trust...)
	plugin := func(code int, args ...string) result {
		t.Helper()
		r := call(t, append([]string{"plugin"}, args...)...)
		require.Equal(t, code, r.code, r.out+r.err)
		return r
	}
	with := func(args ...string) []string { return append(args, where...) }

	require.Contains(t, plugin(0, append([]string{"trust"}, trust...)...).out, "no key is trusted")
	r := plugin(1, with("install", archive)...)
	require.Regexp(t, `(?m)^remedy: .*burn plugin trust FILE\.pub --namespace example\.org/acme`, r.err)
	require.Equal(t, 2, call(t, append([]string{"plugin", "trust", key + ".pub"}, trust...)...).code, "trust requires a namespace")
	plugin(0, append([]string{"trust", key + ".pub", "--namespace", "example.org/acme", "--owner", "ACME", "--expires", "2999-01-01"}, trust...)...)
	require.Regexp(t, `trusted +example.org/acme +2999-01-01 +ACME`, plugin(0, append([]string{"trust"}, trust...)...).out)

	r = plugin(0, with("install", archive)...)
	require.Contains(t, r.out, "installed example.org/acme/npu 1.0.0")
	require.Empty(t, r.err)
	require.Contains(t, plugin(0, with("list")...).out, "ACME (")
	require.Contains(t, plugin(0, with("info", "npu")...).out, "burn-backend-npu.toml")
	require.Contains(t, plugin(0, append([]string{"info", archive}, trust...)...).out, "ACME (")
	require.Contains(t, plugin(0, with("verify")...).out, "1 plugin in")
	require.Contains(t, plugin(2, with("install", "cuda")...).err, "no mirror is configured")
	require.Contains(t, plugin(2, with("install", "x.tar.gz")...).err, "no such file")

	// Without signature: refused, or installed with a warning.
	unsigned, _ := packed(t, dir, "1.1.0")
	require.NoError(t, os.Remove(unsigned+".sig"))
	require.Contains(t, plugin(1, with("upgrade", unsigned)...).err, "--allow-unsigned")
	require.Contains(t, plugin(0, with("upgrade", unsigned, "--allow-unsigned")...).err, "!! UNSIGNED PLUGIN: example.org/acme/npu 1.1.0")
	require.Contains(t, plugin(0, with("list")...).out, "nobody")

	id := plugin(0, append([]string{"trust"}, trust...)...).out
	id = strings.Fields(strings.Split(id, "\n")[1])[0]
	require.Contains(t, plugin(1, with("upgrade", archive)...).err, "--allow-downgrade")
	plugin(0, with("upgrade", archive, "--allow-downgrade")...)
	plugin(0, append([]string{"trust", "--revoke", id, "--reason", "stolen"}, trust...)...)
	r = plugin(1, with("verify", "--json")...)
	var report store.Report
	require.NoError(t, json.Unmarshal([]byte(r.out), &report))
	require.Contains(t, report.Problems[0].What, "revoked: stolen")
	require.Contains(t, plugin(0, with("remove", "acme/npu")...).out, "burn.lock: the entry of example.org/acme/npu 1.0.0 is removed, since no version is installed any more\n")
	require.Contains(t, plugin(1, with("remove", "npu")...).err, "is not installed")
}

func TestDevelopmentBanner(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the plugin is a shell script")
	}
	path := filepath.Join(t.TempDir(), "mine")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\necho no card >&2\nexit 3\n"), 0o755))
	env := map[string]string{"BURN_DEV_PLUGINS": "mine=" + path}
	for _, args := range [][]string{{"version"}, {"devices"}, {"plugin", "list"}} {
		r := callWith(t, t.Context(), env, args...)
		require.Contains(t, r.err, "DEVELOPMENT OVERRIDE", args)
		require.Contains(t, r.err, "mine = "+path)
	}
	r := callWith(t, t.Context(), env, "devices")
	require.Contains(t, r.out, "development override")
	require.Contains(t, r.out, "no card")
	require.Empty(t, call(t, "version").err)
}

func TestDoctor(t *testing.T) {
	r := call(t, "doctor")
	require.Equal(t, 0, r.code, r.out+r.err)
	for _, want := range []string{"builtin:cpu:0", "plugins are searched in", "from default", "trust.toml", "nothing is wrong"} {
		if strings.Contains(r.out, "findings") && want == "nothing is wrong" {
			continue // this machine has an accelerator
		}
		require.Contains(t, r.out, want)
	}

	file := filepath.Join(t.TempDir(), "c.toml")
	require.NoError(t, os.WriteFile(file, []byte("threads = 2\ndevice = \"npu\"\nmirror = \"/no/such\"\n"), 0o600))
	r = callWith(t, t.Context(), map[string]string{"BURN_CONFIG": file, "BURN_LOG": "error"}, "doctor", "--json", "--log", "off")
	require.Equal(t, 1, r.code, r.out)
	var d diagnosis
	require.NoError(t, json.Unmarshal([]byte(r.out), &d))
	origins := map[string]string{}
	for _, v := range d.Config.Values {
		origins[v.Key] = v.Value + " " + v.Origin
	}
	require.Equal(t, map[string]string{"device": "npu " + file, "threads": "2 " + file, "plugin_path": " default", "log": "off flag --log",
		"mirror": "/no/such " + file, "mirror_stale": "false default", "fusion": "true default", "dev_plugins": " default", "options": " default", "plugin_memory": "0 default", "plugin_threads": "0 default",
		"plugin_files": "0 default", "plugin_containment": "on default", "start_timeout": "30s default", "open_timeout": "1m0s default", "define_timeout": "5m0s default", "heartbeat": "10s default", "restart_attempts": "5 default", "restart_backoff": "20ms default"}, origins)
	var errs []string
	for _, f := range d.Findings {
		if f.Severity == "error" {
			require.NotEmpty(t, f.Remedy)
			errs = append(errs, f.What)
		}
	}
	require.Len(t, errs, 2, "%v", errs)
	require.Contains(t, errs[0], "the device in force, npu, does not exist")
	require.Contains(t, errs[1], "/no/such")
}
