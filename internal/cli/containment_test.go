package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/host"
	"github.com/goburn/burn/sdk/client/contain"
)

// plugin install and plugin info print the permissions that a plugin requests.
func TestNeedsAreTold(t *testing.T) {
	dir := t.TempDir()
	manifest := "name = \"npu\"\n[needs]\nnetwork = true\ndevices = [\"/dev/npu*\"]\nwrite = [\"~/.cache/npu\"]\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "burn-backend-npu.toml"), []byte(manifest), 0o644))
	archive, _ := packed(t, dir, "1.0.0")
	where := []string{"--dir", filepath.Join(dir, "store"), "--trust-file", filepath.Join(dir, "trust.toml")}
	require.NoError(t, os.Remove(archive+".sig"))
	r := call(t, append([]string{"plugin", "install", archive, "--allow-unsigned"}, where...)...)
	require.Equal(t, 0, r.code, r.err)
	for _, want := range []string{"ASKS FOR MORE THAN COMPUTING: example.org/acme/npu 1.0.0", "  network", "  devices /dev/npu*", "  to read and write ~/.cache/npu"} {
		require.Contains(t, r.err, want)
	}
	for _, what := range []string{"npu", archive} {
		r = call(t, append([]string{"plugin", "info", what}, where...)...)
		require.Equal(t, 0, r.code, r.err)
		require.Regexp(t, `(?m)^needs +network.*; devices /dev/npu\*; to read and write ~/\.cache/npu$`, r.out)
	}
}

func TestVerboseDevices(t *testing.T) {
	r := call(t, "devices", "--verbose")
	require.Equal(t, 0, r.code, r.err)
	require.Contains(t, r.out, "\nbuiltin:cpu  part of this program, with its rights\n")
	require.NotContains(t, call(t, "devices").out, "with its rights")

	var out bytes.Buffer
	a := &app{out: &out}
	all := []host.Status{{Name: "npu", Transport: host.Process, State: host.Ready, Containment: contain.Report{
		{Name: contain.Files, InForce: true, Detail: "its own"}, {Name: contain.Network, Detail: "no filter"}}}, {Name: "lost", State: host.Failed}}
	require.NoError(t, a.printContainment(all, true))
	require.Regexp(t, `(?s)\nprocess:npu\n  files +in force +its own\n  network +not in force +no filter\n$`, out.String())
}
