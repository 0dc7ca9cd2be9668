package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance"
)

// scripted packs and signs a plugin that consists of a launcher, the program engine that it runs and a file settings with the text mistake.
// If mistake is not empty, the plugin does not watch its standard input.
func scripted(t *testing.T, dir, engine string, mistake string) (archive, key string) {
	t.Helper()
	key = filepath.Join(dir, "maker.key")
	if _, err := os.Stat(key); err != nil {
		require.Equal(t, 0, call(t, "plugin", "keygen", key).code)
	}
	launcher := filepath.Join(dir, "burn-backend-npu")
	require.NoError(t, os.WriteFile(launcher, []byte(`#!/bin/sh
[ ! -s "$BURN_PLUGIN_DIR/settings" ] || unset BURN_HOST_PIPE
exec "$BURN_PLUGIN_DIR/engine" "$@"
`), 0o755))
	config := filepath.Join(dir, "settings")
	require.NoError(t, os.WriteFile(config, []byte(mistake), 0o644))
	archive = filepath.Join(dir, "npu"+mistake+".tar.gz")
	r := call(t, "plugin", "pack", launcher, "--namespace", "example.org/acme", "--version", "1.0.0", "--key", key, "--out", archive, "--file", engine+"=engine",
		"--file", config+"=settings")
	require.Equal(t, 0, r.code, r.err)
	return archive, key
}

// A signed report of a plugin archive is a certificate that others can verify: the signature, the hashes of all files of the plugin, and a
// sample of cases that verify runs again.
func TestCertificate(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a plugin")
	}
	dir := t.TempDir()
	engine := filepath.Join(buildPlugin(t), "burn-backend-cpu")
	archive, key := scripted(t, dir, engine, "")
	report := filepath.Join(dir, "report.tar.gz")
	r := call(t, "conformance", "run", archive, "--profile", "quant", "--challenge", "asked by the buyer", "--seeds", "2", "--report", report, "--key", key)
	require.Equal(t, 0, r.code, r.err)
	require.Regexp(t, `\n[0-9]+ passed, 0 failed, [0-9]+ skipped\n$`, r.out)

	r = call(t, "conformance", "verify", report, "--key", key+".pub", "--plugin", archive, "--rerun", "40", "--nonce", "checker")
	require.Equal(t, 0, r.code, r.out+r.err)
	require.Contains(t, r.out, `seeds  2 of the challenge "asked by the buyer"`)
	require.Contains(t, r.out, "files  4, tree sha256:")
	require.Contains(t, r.out, "rerun of 40 cases, nonce checker: 0 results differ")
	require.Regexp(t, `signed with key [0-9a-f]{16}\nthe package is unchanged and complete\n$`, r.out)

	m, err := conformance.Verify(report)
	require.NoError(t, err)
	require.Equal(t, "example.org/acme/npu", m.Plugin.Package)
	var files []string
	for _, f := range m.Plugin.Files {
		files = append(files, f.Path)
	}
	require.Equal(t, []string{"burn-backend-npu", "burn-backend-npu.toml", "engine", "settings"}, files, "the certificate must list all files, not only the launcher")

	// A plugin with the same launcher and one different file is another plugin.
	other, _ := scripted(t, dir, engine, "x")
	r = call(t, "conformance", "verify", report, "--key", key+".pub", "--plugin", other)
	require.Equal(t, 1, r.code)
	require.Regexp(t, `has sha256:[0-9a-f]{64}, the report is of sha256:[0-9a-f]{64}`, r.err)

	// The suite also tests the protocol of the plugin in an archive, as a part of the profile core.
	r = call(t, "conformance", "run", archive, "--profile", "core", "--run", "^protocol/(services|errors)$")
	require.Equal(t, 0, r.code, r.err)
	require.Contains(t, r.out, "\n2 passed, 0 failed, 0 skipped\n")
	r = call(t, "conformance", "run", other, "--profile", "core", "--run", "^protocol/end$")
	require.Equal(t, 1, r.code)
	require.Contains(t, r.out, "\n0 passed, 1 failed, 0 skipped\n")
	require.Contains(t, r.err, "end/stdin: the end of standard input: the process still runs")

	// Keys: the keys of the trust file for the namespace are accepted, others are not, and a key is required.
	trust := filepath.Join(dir, "trust.toml")
	r = call(t, "conformance", "verify", report, "--trust-file", trust)
	require.Equal(t, 1, r.code)
	require.Contains(t, r.err, "burn plugin trust FILE.pub --namespace example.org/acme")
	require.Equal(t, 0, call(t, "plugin", "trust", key+".pub", "--namespace", "example.org/acme", "--owner", "ACME", "--trust-file", trust).code)
	r = call(t, "conformance", "verify", report, "--trust-file", trust)
	require.Equal(t, 0, r.code, r.err)
	require.Contains(t, r.out, " of ACME\n")
	foreign := filepath.Join(dir, "foreign")
	require.Equal(t, 0, call(t, "plugin", "keygen", foreign).code)
	r = call(t, "conformance", "verify", report, "--key", foreign+".pub")
	require.Equal(t, 1, r.code)
	require.Contains(t, r.err, "signature of the report package is wrong")

	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"run", archive, "--key", key, "--report", report}, "want --challenge and --report"},
		{[]string{"run", engine, "--run", "^add/f32/same/plain$", "--challenge", "x", "--key", key, "--report", report}, "burn plugin pack"},
		{[]string{"run", "cpu", "--run", "^add/f32/same/plain$", "--challenge", "x", "--seed", "2"}, "use only one of them"},
		{[]string{"run", "cpu", "--run", "^add/f32/same/plain$", "--challenge", "x", "--seeds", "99"}, "99 seeds"},
		{[]string{"verify", report, "--rerun", "3"}, "want --plugin"}, {[]string{"verify", report, "--timeout", "0s"}, "positive --timeout"},
	} {
		r = call(t, append([]string{"conformance"}, c.args...)...)
		require.NotEqual(t, 0, r.code, c.args)
		require.Contains(t, r.err, c.want)
	}
}

// A device that is built into this program can be tested and verified too, unsigned.
func TestRerunOfBuiltin(t *testing.T) {
	report := filepath.Join(t.TempDir(), "report")
	r := call(t, "conformance", "run", "cpu", "--profile", "quant", "--challenge", "new", "--seeds", "1", "--report", report)
	require.Equal(t, 0, r.code, r.err)
	r = call(t, "conformance", "verify", report)
	require.Equal(t, 1, r.code)
	require.Contains(t, r.err, "not signed")
	require.Contains(t, r.err, "--allow-unsigned")
	r = call(t, "conformance", "verify", report, "--allow-unsigned", "--plugin", "cpu", "--rerun", "30")
	require.Equal(t, 0, r.code, r.out+r.err)
	require.Regexp(t, regexp.MustCompile(`rerun of 30 cases, nonce [0-9a-f]{32}: 0 results differ`), r.out)
	require.Contains(t, r.out, "not signed: whoever had it may have written it")
}
