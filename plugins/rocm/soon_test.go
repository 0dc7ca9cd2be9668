//go:build linux

package rocm

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/plugins/rocm/internal/amd"
	"github.com/goburn/burn/sdk/client"
	"github.com/goburn/burn/sdk/gpu/child"
	"github.com/goburn/burn/sdk/gpu/vendor"
)

// spent returns the processor time of the processes that f starts and waits for, and of their children: the least of ten calls, which has
// the fewest page faults. The time of other processes is not included.
func spent(t *testing.T, f func()) time.Duration {
	children := func() time.Duration {
		var u syscall.Rusage
		require.NoError(t, syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u))
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	least := time.Hour
	for range 10 {
		before := children()
		f()
		least = min(least, children()-before)
	}
	return least
}

// TestSoon checks that the plugin uses less than 100 ms of processor time to report which libraries are missing and what to install, with the
// search of all folders on a machine that has none of the libraries.
func TestSoon(t *testing.T) {
	file := plugin(t)
	for _, name := range []string{"ROCM_PATH", "HIP_PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "HOME", "PATH"} {
		t.Setenv(name, "")
	}
	root := t.TempDir()
	var found vendor.Report
	search := spent(t, func() {
		var err error
		found, err = child.Probe(file, child.Question{Root: root})
		require.NoError(t, err)
	})
	for _, k := range []vendor.Library{amd.Runtime, amd.Compiler} {
		require.ErrorContains(t, found.Row(k.Key).Err, "no "+strings.Join(k.Sonames, " or "))
	}
	whole := spent(t, func() {
		_, err := client.Start(t.Context(), file, client.Options{Env: []string{"BURN_ROCM_HIDE=hip,hiprtc"}})
		require.ErrorIs(t, err, core.ErrNotFound)
		require.ErrorContains(t, err, amd.Runtime.Install)
		require.ErrorContains(t, err, amd.Compiler.Install)
	})
	t.Logf("%v for the search, %v for the plugin with a child that does not search", search, whole)
	require.Less(t, search+whole, 100*time.Millisecond)
}
