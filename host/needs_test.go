package host

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/sdk/client"
)

// A plugin that is named by its path uses only the needs of the manifest beside it. The environment variables among the needs are passed
// on, whether the plugin is confined or not.
func TestDevelopmentNeeds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "burn-backend-npu")
	require.NoError(t, os.WriteFile(path, nil, 0o755))
	require.Nil(t, development("npu", path).Manifest)
	text := "name = \"other\"\nsha256 = \"00\"\n[needs]\nenv = [\"ACME_*\"]\ndevices = [\"/dev/npu*\"]\n"
	require.NoError(t, os.WriteFile(path+".toml", []byte(text), 0o644))
	p := development("npu", path)
	require.Nil(t, p.check())
	for _, containment := range []string{ContainOn, ContainOff} {
		var c client.Options
		require.Nil(t, p.contained(&c, &Options{Containment: containment}))
		require.True(t, c.Sees("ACME_LEVEL"))
		require.False(t, c.Sees("AWS_SECRET"))
		require.Equal(t, containment == ContainOn, c.Contain != nil)
	}
	require.Equal(t, []string{"/dev/npu*"}, p.Manifest.Needs.Devices)

	require.NoError(t, os.WriteFile(path+".toml", []byte("[needs]\nenv = [\"*\"]\n"), 0o644))
	p = development("npu", path)
	var c client.Options
	require.ErrorContains(t, p.contained(&c, &Options{}), "needs.env")
}
