// Package wiretest runs the conformance suite through the plugin protocol: inside the test process, and with the test binary as a
// plugin process.
package wiretest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/cpu"
	"github.com/goburn/burn/sdk/client"
	"github.com/goburn/burn/sdk/serve"
)

// asPlugin names the environment variable that turns the test binary into a plugin: "good" is the cpu backend, and "crash" and "hang"
// are modes of faulty.
const asPlugin = "BURN_WIRETEST_PLUGIN"

// fullRun names the environment variable with which TestDoorsAgree compares a quarter of the suite, with every kind of test of every op.
const fullRun = "BURN_CONFORMANCE_FULL"

func TestMain(m *testing.M) {
	switch mode := os.Getenv(asPlugin); mode {
	case "":
		os.Exit(m.Run())
	case "good":
		serve.Main("cpu", cpu.New)
	default:
		serve.Main("cpu", func(c core.Config) (core.Backend, error) {
			b, err := cpu.New(c)
			return faulty{b, mode}, err
		})
	}
}

// faulty is the cpu backend that crashes or hangs at the first node of tan on seven elements.
type faulty struct {
	core.Backend
	mode string
}

func (f faulty) Open(ctx context.Context, device int) (core.Device, error) {
	d, err := f.Backend.Open(ctx, device)
	return faultyDevice{d, f.mode}, err
}

type faultyDevice struct {
	core.Device
	mode string
}

// Extend offers no extensions, because they accept only streams of the inner device.
func (f faultyDevice) Extend(any) bool { return false }

func (f faultyDevice) OpenStream(ctx context.Context) (core.Stream, error) {
	s, err := f.Device.OpenStream(ctx)
	return faultyStream{s, f.mode}, err
}

type faultyStream struct {
	core.Stream
	mode string
}

func (f faultyStream) Submit(nodes []op.Node, free []op.TensorID) error {
	for i := range nodes {
		if s := nodes[i].Outputs[0].Shape; nodes[i].Op == op.Tan && len(s) == 1 && s[0] == 7 {
			if f.mode == "crash" {
				os.Exit(7)
			}
			select {}
		}
	}
	return f.Stream.Submit(nodes, free)
}

// door is a way to open the cpu backend. kill ends the process of the backend; it is nil if the backend runs in this process.
type door struct {
	name string
	open func() (core.Backend, error)
	kill func(core.Backend) error
}

// doors returns all ways to open the cpu backend.
func doors(t *testing.T) []door {
	t.Helper()
	config := core.Config{Threads: 1}
	return []door{
		{name: "in process", open: func() (core.Backend, error) { return cpu.New(config) }},
		{name: "over the protocol", open: attached(t, config)},
		{name: "process", open: started(t, config, "good"), kill: kill},
	}
}

// attached returns a function that opens the backend through a server in this process. Each backend has its own server, which ends with
// the test.
func attached(t *testing.T, config core.Config) func() (core.Backend, error) {
	return func() (core.Backend, error) {
		at, _, err := serve.Attachable(t.Context(), serve.Options{Name: "cpu", Open: cpu.New, Logger: hclog.NewNullLogger()})
		if err != nil {
			return nil, err
		}
		return client.Attach(t.Context(), at, client.Options{Name: "cpu", Config: config})
	}
}

// started returns a function that starts this binary as a plugin.
func started(t *testing.T, config core.Config, mode string) func() (core.Backend, error) {
	self, err := os.Executable()
	require.NoError(t, err)
	return func() (core.Backend, error) {
		return client.Start(context.Background(), self, client.Options{Name: "cpu", Config: config, Env: []string{asPlugin + "=" + mode}})
	}
}

func kill(b core.Backend) error {
	c, ok := b.(*client.Backend)
	if !ok {
		return errors.New("the backend is not a plugin")
	}
	pid, err := strconv.Atoi(c.PID())
	if err != nil {
		return err
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Kill()
}

// sample is the pattern of the cases on which the doors are compared: the whole contract, and a few shapes and types of each op.
const sample = `^((blame|cancel|claims|close|collective|concurrent|document|donation|errors|events|extensions|host|lifecycle|limits|op|ownership|peer|process|profiling|program|refused|stream|tickets)/|` +
	`[a-z0-9_]+/(f32|i64|bool|f16)/(matrix|same|plain|columns|2d|last|rank0|empty|broadcast-row)/(plain|special|program|dropped|leak)$)`

// The suite returns the same report through all doors, except for the cases process/, which need a process, and host/view, which needs
// the same process.
func TestDoorsAgree(t *testing.T) {
	t.Parallel()
	o := conformance.Options{Run: sample, Timeout: 2 * time.Minute}
	if os.Getenv(fullRun) != "" {
		o.Run, o.Sample = "", 4
	} else if testing.Short() {
		t.Skip("-short is set: the doors are compared without it, or with BURN_CONFORMANCE_FULL")
	}
	ofProcess := regexp.MustCompile("^process/")
	through := doors(t)
	reports, errs := make([]*conformance.Report, len(through)), make([]error, len(through))
	var all sync.WaitGroup // cases of the contract wait more than they compute
	for i, d := range through {
		o := o
		o.Kill = d.kill
		all.Go(func() { reports[i], errs[i] = conformance.Check(t.Context(), d.open, o) })
	}
	all.Wait()
	var want []string
	for i, d := range through {
		r := reports[i]
		require.NoError(t, errs[i])
		var got []string
		for _, x := range r.Results {
			switch {
			case x.Status == conformance.Failed:
				t.Errorf("%s: %s: %s", d.name, x.ID, x.Reason)
			case ofProcess.MatchString(x.ID):
				require.Equal(t, d.kill != nil, x.Status == conformance.Passed, x.ID)
				continue
			case x.ID == "host/view": // the elements are in the other process
				require.Equal(t, d.name == "in process", x.Status == conformance.Passed)
				continue
			}
			got = append(got, fmt.Sprintf("%s %s %s", x.ID, x.Status, x.Reason))
		}
		require.Greater(t, r.Passed, 500)
		if want == nil {
			want = got
		}
		require.Equal(t, strings.Join(want, "\n"), strings.Join(got, "\n"), d.name)
		t.Logf("%s: %d passed, %d failed, %d skipped in %v", d.name, r.Passed, r.Failed, r.Skipped, r.Duration.Round(time.Millisecond))
	}
}

// A plugin that crashes or hangs in a case fails only that case, and is started again for the next case.
func TestFaultsOfAProcess(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ mode, want string }{{"crash", "backend lost"}, {"hang", "hang"}} {
		t.Run(c.mode, func(t *testing.T) {
			t.Parallel()
			o := conformance.Options{Run: "^tan/f32/[^/]+/plain$", Timeout: 2 * time.Second, Shrink: -1}
			check := func() *conformance.Report {
				r, err := conformance.Check(t.Context(), started(t, core.Config{Threads: 1}, c.mode), o)
				require.NoError(t, err)
				return r
			}
			r := check()
			for ; r.Failed > 1 && o.Timeout < time.Minute; r = check() { // on a busy machine other cases exceed the time limit
				o.Timeout *= 4
			}
			require.Equal(t, [3]int{5, 1, 0}, [3]int{r.Passed, r.Failed, r.Skipped})
			for _, x := range r.Results {
				if x.Status == conformance.Failed {
					require.Equal(t, "tan/f32/odd/plain", x.ID)
					require.Contains(t, x.Reason, c.want)
				}
			}
		})
	}
}
