//go:build linux

package metal

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/sdk/client"
)

// TestSoon checks that the plugin uses less than 100 ms of processor time, in the best of ten starts, to report that the machine has no
// Metal.
func TestSoon(t *testing.T) {
	file := filepath.Join(t.TempDir(), "burn-backend-metal")
	cmd := exec.Command("go", "build", "-o", file, "./cmd/burn-backend-metal")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	children := func() time.Duration {
		var u syscall.Rusage
		require.NoError(t, syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u))
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	least := time.Hour
	for range 10 {
		before := children()
		_, err := client.Start(t.Context(), file, client.Options{})
		require.ErrorIs(t, err, core.ErrNotFound)
		require.ErrorContains(t, err, "macOS")
		least = min(least, children()-before)
	}
	t.Logf("%v", least)
	require.Less(t, least, 100*time.Millisecond)
}
