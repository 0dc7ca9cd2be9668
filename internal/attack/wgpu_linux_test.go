package attack

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/host"
	"github.com/goburn/burn/host/restore"
)

// envWGPU names a folder with the plugin wgpu, its manifest and its library.
const envWGPU = "BURN_WGPU_PLUGINS"

// TestKillsOnWGPU kills the process of the plugin wgpu during a training. The weights are bitwise equal to those of an undisturbed process
// on the same device.
func TestKillsOnWGPU(t *testing.T) {
	dir := os.Getenv(envWGPU)
	if dir == "" {
		t.Skip("BURN_WGPU_PLUGINS is not set: it names a folder with the plugin wgpu and its library; make wgpu sets it")
	}
	open := func(o host.Options) host.Options {
		o.Dirs, o.Attempts, o.Backoff = []string{dir}, 50, time.Millisecond
		return o
	}
	calm, err := host.Open(ctx, "process:wgpu", open(host.Options{}))
	require.NoError(t, err)
	defer calm.Close()
	p, err := host.Open(ctx, "process:wgpu", open(host.Options{Restore: true}))
	require.NoError(t, err)
	defer p.Close()
	killInTraining(t, on(t, calm), on(t, p), p.Backend.(*restore.Backend), size(4, 40), 200*time.Millisecond)
}
