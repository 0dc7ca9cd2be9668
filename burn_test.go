package burn_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/decorators/autodiff"
	"github.com/goburn/burn/host"
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/optim"
	"github.com/goburn/burn/plugins/cpu"
	"github.com/goburn/burn/sdk/serve"
	"github.com/goburn/burn/tensor"
)

// asPlugin names the environment variable that makes this test binary serve as the cpu plugin.
const asPlugin = "BURN_TEST_CPU_PLUGIN"

func TestMain(m *testing.M) {
	if os.Getenv(asPlugin) != "" && filepath.Base(os.Args[0]) != filepath.Base(self()) {
		serve.Main("cpu", cpu.New)
	}
	os.Exit(m.Run())
}

func self() string {
	path, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return path
}

// plugins returns an option with which the host searches for plugins only in a folder that contains the cpu plugin.
func plugins(t *testing.T) burn.Option {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("needs symbolic links")
	}
	dir := t.TempDir()
	require.NoError(t, os.Symlink(self(), filepath.Join(dir, "burn-backend-cpu")))
	t.Setenv(host.EnvPath, "")
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	t.Chdir(t.TempDir())
	t.Setenv(asPlugin, "1")
	return burn.WithHost(host.Options{Dirs: []string{dir}})
}

// line is the model y = w·x.
type line struct{ W *nn.Param }

// step runs one step of plain gradient descent and returns the new weight.
//
// The loss is the mean of (w·x-y)² over x = 1, 2 and y = 2, 4. At w = 0.5 its derivative is the mean of 2x(w·x-y), that is
// (2·1·(-1.5) + 2·2·(-3)) / 2 = -7.5, and a step at rate 0.1 gives 0.5 + 0.75 = 1.25.
func step(t *testing.T, dev *tensor.Device) float32 {
	t.Helper()
	m := &line{nn.NewParam(tensor.From(dev, []float32{0.5}, 1))}
	opt := optim.NewSGD(optim.SGDConfig{})
	x, y := tensor.From(dev, []float32{1, 2}, 2), tensor.From(dev, []float32{2, 4}, 2)
	grads, err := m.W.Value().Mul(x).Sub(y).Square().Mean().Backward()
	require.NoError(t, err)
	require.NoError(t, opt.Step(0.1, nn.Trained(m), grads))
	w, err := tensor.Data[float32](context.Background(), m.W.Value())
	require.NoError(t, err)
	return w[0]
}

// children returns the process ids of the children of this process that have not been waited for. It skips shells, because the
// guard of plugins is a shell.
func children(t *testing.T) []int {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	require.NoError(t, err)
	var pids []int
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // the process has ended
		}
		if strings.Contains(string(text), "(sh)") {
			continue
		}
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err == nil && len(fields) > 1 && fields[1] == strconv.Itoa(os.Getpid()) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// noMore waits until there are at most n goroutines, for ten seconds at most: some end shortly after Close returns.
func noMore(t *testing.T, n int) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > n; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, want %d\n%s", runtime.NumGoroutine(), n, stacks[:runtime.Stack(stacks, true)])
		}
	}
}

// One call opens a device for training, and one Close ends everything: goroutines, the process of a plugin, device memory.
func TestOneOpenOneClose(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		spec      string
		processes int
	}{{"builtin:cpu", 0}, {"process:cpu", 1}} {
		t.Run(c.spec, func(t *testing.T) {
			where := plugins(t)
			first, err := burn.Open(ctx, c.spec, where) // the first plugin of a program starts a goroutine that serves all plugins
			require.NoError(t, err)
			require.NoError(t, first.Close())
			goroutines := runtime.NumGoroutine()
			dev, err := burn.Open(ctx, c.spec, where, burn.WithGradients())
			require.NoError(t, err)
			require.True(t, dev.Autodiff())
			require.Equal(t, float32(1.25), step(t, dev))
			if runtime.GOOS == "linux" {
				require.Len(t, children(t), c.processes)
			}
			below := dev.Core()
			memory, ok := core.Extension[core.MemoryStats](below)
			require.True(t, ok)
			require.Positive(t, memory.Memory().InUse)

			require.NoError(t, dev.Close())
			require.NoError(t, dev.Close(), "a second Close does nothing")
			_, err = below.OpenStream(ctx)
			require.ErrorIs(t, err, core.ErrClosed)
			if c.processes == 0 {
				require.Zero(t, memory.Memory().InUse)
			}
			if runtime.GOOS == "linux" {
				require.Eventually(t, func() bool { return len(children(t)) == 0 }, 10*time.Second, 5*time.Millisecond, "the plugin has ended")
			}
			noMore(t, goroutines)
		})
	}
}

// A failed Open leaves no process and no goroutine behind.
func TestOpenFails(t *testing.T) {
	ctx, where := context.Background(), plugins(t)
	goroutines := runtime.NumGoroutine()
	_, err := burn.Open(ctx, "process:cpu:7", where)
	require.ErrorIs(t, err, core.ErrNotFound)
	_, err = burn.Open(ctx, "abacus", where, burn.WithGradients())
	require.ErrorIs(t, err, core.ErrNotFound)
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	_, err = burn.Open(canceled, "process:cpu", where)
	require.Error(t, err)
	broken := burn.WithDecorator(func(p *core.Place) *core.Place {
		return p.With(func(b core.Backend) core.Backend { return unopened{b} })
	})
	_, err = burn.Open(ctx, "process:cpu", where, broken)
	require.ErrorIs(t, err, core.ErrUnsupported)
	if runtime.GOOS == "linux" {
		require.Eventually(t, func() bool { return len(children(t)) == 0 }, 10*time.Second, 5*time.Millisecond, "plugins have ended")
	}
	noMore(t, goroutines)
}

// unopened is a backend that opens no device.
type unopened struct{ core.Backend }

func (unopened) Open(context.Context, int) (core.Device, error) { return nil, core.ErrUnsupported }

// Without WithGradients nothing is recorded, and the error of Backward names the option.
func TestWithoutGradients(t *testing.T) {
	dev, err := burn.Open(context.Background(), "cpu")
	require.NoError(t, err)
	defer dev.Close()
	require.False(t, dev.Autodiff())
	_, err = tensor.From(dev, []float32{1}, 1).Sum().Backward()
	require.ErrorIs(t, err, core.ErrUnsupported)
	require.ErrorContains(t, err, "burn.Open(ctx, name, burn.WithGradients())")
}

// The first derivative of x³ is 3x² and the second is 6x: both are 12 at x = 2.
func TestSecondDerivatives(t *testing.T) {
	ctx := context.Background()
	dev, err := burn.Open(ctx, "cpu", burn.WithGradients(), burn.WithGradients(autodiff.WithCheckpointing(autodiff.Balanced)))
	require.NoError(t, err)
	defer dev.Close()
	x := tensor.From(dev, []float32{2}, 1).RequireGrad()
	first, err := tensor.Backward([]*tensor.Tensor{x.Mul(x).Mul(x).Sum()}, nil, x)
	require.NoError(t, err)
	values, err := tensor.Data[float32](ctx, first.Of(x))
	require.NoError(t, err)
	require.Equal(t, []float32{12}, values)
	second, err := first.Of(x).Sum().Backward()
	require.NoError(t, err)
	values, err = tensor.Data[float32](ctx, second.Of(x))
	require.NoError(t, err)
	require.Equal(t, []float32{12}, values)
}

// Gradients opens a recording device beside a device that is open. Closing the recording device leaves the other one open.
func TestGradients(t *testing.T) {
	ctx := context.Background()
	dev, err := burn.Open(ctx, "cpu")
	require.NoError(t, err)
	kept := tensor.From(dev, []float32{3}, 1)
	trained, err := burn.Gradients(ctx, dev)
	require.NoError(t, err)
	require.Equal(t, float32(1.25), step(t, trained))
	moved, err := kept.To(ctx, trained)
	require.NoError(t, err)
	x := moved.RequireGrad()
	grads, err := x.Square().Sum().Backward()
	require.NoError(t, err)
	values, err := tensor.Data[float32](ctx, grads.Of(x))
	require.NoError(t, err)
	require.Equal(t, []float32{6}, values, "the derivative of x² at 3")

	require.NoError(t, trained.Close())
	values, err = tensor.Data[float32](ctx, kept.Square())
	require.NoError(t, err)
	require.Equal(t, []float32{9}, values)
	require.NoError(t, dev.Close())
	_, err = burn.Gradients(ctx, dev)
	require.ErrorIs(t, err, core.ErrClosed)
	_, err = burn.Gradients(ctx, nil)
	require.ErrorContains(t, err, "nil device")
}
