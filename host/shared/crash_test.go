package shared_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/host"
	"github.com/goburn/burn/host/shared"
	"github.com/goburn/burn/sdk/client"
)

const envCarry = "BURN_TEST_CARRY" // makes this binary serve the shared object that its last argument names

func TestMain(m *testing.M) {
	if os.Getenv(envCarry) != "" {
		_ = os.Unsetenv(envCarry)
		if err := shared.Serve(os.Args[len(os.Args)-1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// A shared object that crashes when it is opened does not crash the host: Devices lists it as failed, and Open as a process returns an
// error.
func TestCrashStaysOutside(t *testing.T) {
	path := object(t, "bad.c", "-DCRASH")
	self, err := os.Executable()
	require.NoError(t, err)
	t.Setenv(envCarry, "1")
	o := host.Options{Dirs: []string{filepath.Dir(path)}, Carrier: []string{self}}
	bad := func() host.Status {
		all := host.Devices(context.Background(), o)
		i := slices.IndexFunc(all, func(s host.Status) bool { return s.Name == "bad" })
		require.GreaterOrEqual(t, i, 0, "%v", all)
		return all[i]
	}
	s := bad()
	require.Equal(t, host.Failed, s.State)
	require.Equal(t, host.Shared, s.Transport)
	require.ErrorIs(t, s.Failure, core.ErrBackendLost)
	_, err = host.Open(context.Background(), "process:bad", o)
	var start *client.StartError
	require.ErrorAs(t, err, &start)
	o.Carrier = nil
	_, err = host.Open(context.Background(), "process:bad", o)
	require.ErrorIs(t, err, core.ErrUnsupported)
	require.Equal(t, host.Found, bad().State, "without a carrier nothing is opened")
}

// The loader is linked only by programs that import host/shared, not by programs with host, tensor or the cpu backend alone.
func TestOthersDoNotLinkTheLoader(t *testing.T) {
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("the go command is not in PATH: this test builds a program with it")
	}
	deps := func(packages ...string) string {
		out, err := exec.Command(goTool, append([]string{"list", "-deps"}, packages...)...).Output()
		require.NoError(t, err)
		return string(out)
	}
	const module, purego = "github.com/goburn/burn", "github.com/ebitengine/purego"
	require.NotContains(t, deps(module+"/tensor", module+"/plugins/cpu"), purego)
	require.NotContains(t, deps(module+"/host"), purego)
	require.Contains(t, deps(module+"/host/shared"), purego)
}
