package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance"
)

func TestConformanceRelease(t *testing.T) {
	report := filepath.Join(t.TempDir(), "report.tar.gz")
	r := call(t, "conformance", "run", "cpu", "--profile", "quant", "--report", report)
	require.Equal(t, 0, r.code, r.err)
	verify := func(args ...string) result {
		return call(t, append([]string{"conformance", "verify", report, "--allow-unsigned"}, args...)...)
	}
	releases, err := conformance.Releases()
	require.NoError(t, err)
	r = verify("--release", "newest")
	if releases[0].Suite == conformance.Current().Hash {
		require.Equal(t, 0, r.code, r.out+r.err)
		require.Regexp(t, `release [-0-9]{10}, profile quant: ([0-9]+) of [0-9]+ cases that must pass, 0 waived`, r.out)
	} else { // the suite has changed since
		require.Equal(t, 1, r.code)
		require.Contains(t, r.err, "report is of another suite")
	}
	waivers := filepath.Join(t.TempDir(), "waivers.json")
	require.NoError(t, os.WriteFile(waivers, []byte(`[{"case": "x"}]`), 0o600))
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--release", "1999-01-01"}, "want newest or one of " + releases[0].Date},
		{[]string{"--waivers", waivers}, "want --release"}, {[]string{"--release", "newest", "--waivers", waivers}, "want case, owner and reason"},
		{[]string{"--release", "newest", "--waivers", waivers + "x"}, "no such file"},
	} {
		r = verify(c.args...)
		require.Equal(t, 2, r.code, c.args)
		require.Contains(t, r.err, c.want)
	}
}

// The scoreboard names invalid and incomplete submissions and leaves them out.
func TestConformanceScoreboard(t *testing.T) {
	dir := t.TempDir()
	r := call(t, "conformance", "scoreboard", dir)
	require.Equal(t, 1, r.code)
	require.Contains(t, r.err, "no submission was found")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "npu"), 0o755))
	out := filepath.Join(dir, "page.md")
	r = call(t, "conformance", "scoreboard", dir, "--out", out)
	require.Equal(t, 1, r.code)
	require.Contains(t, r.err, "refused: npu: ")
	require.Contains(t, r.err, conformance.SubmissionFile)

	require.NoError(t, os.WriteFile(filepath.Join(dir, "npu", conformance.SubmissionFile), []byte("{}"), 0o644))
	r = call(t, "conformance", "scoreboard", dir, "--out", out)
	require.Equal(t, 1, r.code)
	require.Equal(t, "waiting: npu: no report.tar.gz yet\nburn: no submission was found\n", r.err)
	page, err := os.ReadFile(out)
	require.NoError(t, err)
	require.Contains(t, string(page), "# Scoreboard")
	require.Equal(t, 2, call(t, "conformance", "scoreboard", filepath.Join(dir, "nowhere")).code)
}
