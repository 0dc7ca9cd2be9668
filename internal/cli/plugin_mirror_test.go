package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/host/store"
)

// A mirror that no longer shows a version that it showed before is refused.
func TestMirrorThatGoesBack(t *testing.T) {
	burn := athome(t)
	dir := t.TempDir()
	key, mirror := filepath.Join(dir, "acme.key"), filepath.Join(dir, "mirror")
	exe := filepath.Join(dir, store.Executable("npu", "process", store.Native()))
	require.NoError(t, os.WriteFile(exe, []byte("#!/bin/sh\nexit 3\n"), 0o755))
	burn(0, "plugin", "keygen", key)
	pack := func(version string, more ...string) {
		t.Helper()
		r := burn(0, append([]string{"plugin", "pack", exe, "--namespace", "example.org/acme", "--version", version, "--mirror", mirror, "--key", key}, more...)...)
		require.Contains(t, r.out, "index of "+mirror+": counter ")
	}
	pack("1.0.0")
	old := filepath.Join(dir, "old")
	require.NoError(t, os.CopyFS(old, os.DirFS(mirror)))
	pack("1.1.0", "--expires", "2999-01-31")
	burn(0, "plugin", "trust", key+".pub", "--namespace", "example.org/acme")
	require.Contains(t, burn(0, "plugin", "install", "npu", "--mirror", mirror).out, "installed example.org/acme/npu 1.1.0")

	// The mirror is reset to its earlier state.
	require.NoError(t, os.RemoveAll(mirror))
	require.NoError(t, os.Rename(old, mirror))
	for _, args := range [][]string{{"upgrade"}, {"upgrade", "--allow-downgrade"}, {"list", "--available"}, {"install", "npu"}, {"upgrade", mirror}} {
		r := burn(1, append(append([]string{"plugin"}, args...), "--mirror", mirror)...)
		require.Contains(t, r.err, "older than what the mirror showed before")
		require.Contains(t, r.err, "--allow-stale")
	}
	r := burn(1, "doctor", "--mirror", mirror)
	require.Contains(t, r.out, "older than what the mirror showed before")

	// An old index that is explicitly accepted, or one without a signature, still does not lead to an older version.
	unsigned := filepath.Join(dir, "unsigned")
	require.NoError(t, os.CopyFS(unsigned, os.DirFS(mirror)))
	require.NoError(t, os.Remove(filepath.Join(unsigned, "index.toml.sig")))
	for _, args := range [][]string{{"--mirror", mirror, "--allow-stale"}, {"--mirror", unsigned}} {
		r := burn(1, append([]string{"plugin", "upgrade"}, args...)...)
		require.Contains(t, r.err, "version 1.1.0 is in")
		require.Contains(t, r.err, "--allow-downgrade")
	}
	require.Contains(t, burn(0, "plugin", "list").out, "1.1.0")

	// A folder with the name of the plugin in the working folder is not used instead of the plugin.
	t.Chdir(t.TempDir())
	require.NoError(t, os.CopyFS("npu", os.DirFS(unsigned)))
	require.Contains(t, burn(2, "plugin", "install", "npu").err, "no mirror is configured")
	require.Contains(t, burn(1, "plugin", "upgrade", "./npu").err, "--allow-downgrade")
	r = burn(0, "plugin", "upgrade", "--mirror", mirror, "--allow-stale", "--allow-downgrade")
	require.Contains(t, r.out, "installed example.org/acme/npu 1.0.0")

	require.Contains(t, burn(2, "plugin", "index", mirror).err, "--key")
	require.Contains(t, burn(0, "plugin", "index", mirror, "--key", key, "--expires", "2999-12-31").out, "until 2999-12-31")
	require.Contains(t, burn(0, "plugin", "index", unsigned).out, "not signed")
	burn(2, "plugin", "index", mirror, "--key", key, "--expires", "tomorrow")
}
