package cli

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/host"
	"github.com/goburn/burn/host/restore"
	"github.com/goburn/burn/model/onnx"
	"github.com/goburn/burn/sdk/client"
	"github.com/goburn/burn/tensor"
)

// buildPlugin builds the cpu plugin and returns the folder that contains it.
func buildPlugin(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	built(t, "../../plugins/cpu/cmd/burn-backend-cpu", filepath.Join(dir, "burn-backend-cpu"))
	return dir
}

// inferer opens a session of the example model. The returned function infers a pseudorandom image and returns the bytes of the outputs.
func inferer(t *testing.T, d *core.Place) func(image int) []byte {
	t.Helper()
	ctx := context.Background()
	dev, err := tensor.On(ctx, d)
	require.NoError(t, err)
	t.Cleanup(func() { _ = dev.Close() })
	m, err := onnx.Load("../../examples/digits/digits.onnx", onnx.Options{})
	require.NoError(t, err)
	s, err := m.Open(dev)
	require.NoError(t, err)
	in := m.Inputs()[0]
	return func(image int) []byte {
		dims := []int{1, 1, 28, 28}
		r := rand.New(rand.NewPCG(uint64(image), 0))
		pixels := make([]float32, 28*28)
		for i := range pixels {
			pixels[i] = r.Float32()
		}
		x, err := dev.FromBytes(ctx, dtype.F32, dims, dtype.Bytes(pixels))
		require.NoError(t, err)
		defer x.Release()
		outs, err := s.Run(ctx, map[string]onnx.Value{in.Name: onnx.TensorValue(x)})
		require.NoError(t, err)
		var all []byte
		for _, o := range m.Outputs() {
			b, err := outs[o.Name].Tensor().Bytes(ctx)
			require.NoError(t, err)
			all = append(all, b...)
			outs[o.Name].Release()
		}
		return all
	}
}

// TestSessionOutlivesKills infers on process:cpu while the plugin is killed repeatedly. Every result is bitwise equal to that of the
// built-in backend, and no killed process is left.
func TestSessionOutlivesKills(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a plugin")
	}
	dir := buildPlugin(t)
	ctx := context.Background()
	one := core.Config{Threads: 1}
	b, err := host.Open(ctx, "builtin:cpu", host.Options{Config: one})
	require.NoError(t, err)
	defer b.Close()
	const images = 16
	want := make([][]byte, images)
	truth := inferer(t, b)
	for i := range want {
		want[i] = truth(i)
	}
	p, err := host.Open(ctx, "process:cpu", host.Options{Config: one, Dirs: []string{dir}, Restore: true, Attempts: 50, Backoff: time.Millisecond})
	require.NoError(t, err)
	defer p.Close()
	r := p.Backend.(*restore.Backend)
	infer := inferer(t, p)
	stop, ended := make(chan struct{}), make(chan []int)
	var answered atomic.Bool // set by the first result after a kill: a plugin that is lost again during its restoration is given up
	go func() {
		rnd := rand.New(rand.NewPCG(7, 7))
		var pids []int
		for {
			select {
			case <-stop:
				ended <- pids
				return
			case <-time.After(time.Duration(rnd.IntN(120)) * time.Millisecond):
			}
			if !answered.Swap(false) {
				continue
			}
			if pid, err := strconv.Atoi(r.Inner().(*client.Backend).PID()); err == nil && syscall.Kill(pid, syscall.SIGKILL) == nil {
				pids = append(pids, pid)
			}
		}
	}()
	runs := 0
	for ; r.Restarts() < 8; runs++ {
		require.Equal(t, want[runs%images], infer(runs%images), "run %d after %d restarts", runs, r.Restarts())
		answered.Store(true)
	}
	close(stop)
	killed := <-ended
	require.Equal(t, want[0], infer(0))
	t.Logf("%d runs, %d restarts", runs, r.Restarts())
	for _, pid := range killed {
		require.Eventually(t, func() bool { return syscall.Kill(pid, 0) == syscall.ESRCH }, 2*time.Minute, time.Millisecond)
	}
}

// child returns the pid of the plugin process that the process of has started, or 0. The other child of that process is the guard, a shell.
func child(of int) int {
	var stats []string
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", of))
	for _, path := range lists {
		pids, _ := os.ReadFile(path)
		for _, pid := range strings.Fields(string(pids)) {
			stats = append(stats, "/proc/"+pid+"/stat")
		}
	}
	if lists == nil { // the kernel does not list children
		stats, _ = filepath.Glob("/proc/[0-9]*/stat")
	}
	for _, path := range stats {
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err != nil || pid < of {
			continue // it is older than its possible parent
		}
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		name, rest, ok := strings.Cut(string(text), ") ")
		if !strings.Contains(name, "(burn-backend") {
			continue
		}
		if f := strings.Fields(rest); ok && len(f) > 1 && f[1] == strconv.Itoa(of) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			return pid
		}
	}
	return 0
}

// TestRunOutlivesKill kills the plugin of `burn run` during its work. The result is the same, and the log reports the loss.
func TestRunOutlivesKill(t *testing.T) {
	data := os.Getenv("BURN_TESTDATA")
	if testing.Short() || data == "" {
		t.Skip("builds burn and a plugin, and needs BURN_TESTDATA")
	}
	dir := buildPlugin(t)
	burn := buildBurn(t)
	model := filepath.Join(data, "models", "bodypix_mobilenetv1", "model.onnx")
	// run kills the plugin once it has used kill of processor time, never if kill is 0. It also returns the processor time of the plugin.
	run := func(kill time.Duration) (stdout, stderr string, computed time.Duration) {
		cmd := exec.Command(burn, "run", model, "@zeros", "--device", "process:cpu", "--plugin-path", dir, "--threads", "1", "--json")
		var o, e bytes.Buffer
		cmd.Stdout, cmd.Stderr = &o, &e
		require.NoError(t, cmd.Start())
		require.NoError(t, syscall.Setpriority(syscall.PRIO_PROCESS, cmd.Process.Pid, 15)) // so that this loop has priority on a loaded machine
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		var err error
		var pid int
		for over := false; !over; {
			if pid == 0 {
				pid = child(cmd.Process.Pid)
			} else {
				computed = max(computed, processorTime(pid))
			}
			if kill > 0 && computed >= kill {
				_ = syscall.Kill(pid, syscall.SIGKILL)
				kill = 0
			}
			select {
			case err = <-ended:
				over = true
			case <-time.After(time.Millisecond):
			}
		}
		if err != nil {
			return "", err.Error() + ": " + e.String(), computed
		}
		_, outputs, ok := strings.Cut(o.String(), "\"outputs\"") // the times before it vary
		require.True(t, ok)
		return outputs, e.String(), computed
	}
	want, log, whole := run(0)
	require.NotEmpty(t, want, log)
	require.Positive(t, whole)
	t.Logf("the plugin computes for %v", whole)
	// The plugin is killed after a random share of its processor time. On a loaded machine, the kill may come too late, or before the
	// device is open: then the run is repeated.
	rnd := rand.New(rand.NewPCG(5, 5))
	const tries = 200
	for range tries {
		got, log, _ := run(time.Duration((0.3 + 0.6*rnd.Float64()) * float64(whole)))
		if strings.Contains(log, "burn: open process:cpu") {
			continue // the device was not open yet
		}
		require.Equal(t, want, got, log)
		if strings.Contains(log, "backend lost, it is started again") {
			return
		}
	}
	require.Fail(t, "the plugin was never killed while it was in use", "%d tries, it computes for %v", tries, whole)
}

// processorTime returns the processor time that the threads of a process have used.
func processorTime(pid int) (sum time.Duration) {
	stats, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	for _, path := range stats {
		text, _ := os.ReadFile(path)
		first, _, _ := strings.Cut(string(text), " ")
		ns, _ := strconv.ParseInt(first, 10, 64)
		sum += time.Duration(ns)
	}
	if sum > 0 {
		return sum
	}
	// A kernel without schedstat counts ticks of 10 ms.
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(text), ") ")
	if f := strings.Fields(rest); len(f) > 12 {
		user, _ := strconv.ParseInt(f[11], 10, 64)
		system, _ := strconv.ParseInt(f[12], 10, 64)
		sum = time.Duration(user+system) * 10 * time.Millisecond
	}
	return sum
}

// TestMappedShadow writes a mapped file to a plugin and kills it. The tensor is restored from the file itself, so nothing is
// copied to the memory of this process, and the mapping is released when the device is closed.
func TestMappedShadow(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a plugin")
	}
	const n = 64 << 20
	dir := buildPlugin(t)
	path := filepath.Join(t.TempDir(), "weights")
	content := make([]byte, n)
	for i := 0; i < n; i += 4096 {
		content[i] = byte(i >> 12)
	}
	require.NoError(t, os.WriteFile(path, content, 0o600))
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	mapped, err := syscall.Mmap(int(f.Fd()), 0, n, syscall.PROT_READ, syscall.MAP_SHARED)
	require.NoError(t, err)
	ctx := context.Background()
	p, err := host.Open(ctx, "process:cpu", host.Options{Dirs: []string{dir}, Restore: true})
	require.NoError(t, err)
	defer p.Close()
	dev, err := tensor.On(ctx, p)
	require.NoError(t, err)
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before, released := heap(), new(atomic.Int32)
	x, err := dev.Adopt(ctx, dtype.U8, []int{n}, mapped, func() { released.Add(1) })
	require.NoError(t, err)
	require.Less(t, heap(), before+n/8)
	r := p.Backend.(*restore.Backend)
	pid, err := strconv.Atoi(r.Inner().(*client.Backend).PID())
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	got := make([]byte, n)
	require.NoError(t, x.ReadInto(ctx, got))
	require.True(t, bytes.Equal(content, got))
	require.EqualValues(t, 1, r.Restarts())
	require.Zero(t, released.Load())
	require.NoError(t, dev.Close())
	require.EqualValues(t, 1, released.Load())
	require.NoError(t, syscall.Munmap(mapped))

	copied, err := tensor.On(ctx, p)
	require.NoError(t, err)
	defer copied.Close()
	before = heap()
	y, err := copied.FromBytes(ctx, dtype.U8, []int{n}, content)
	require.NoError(t, err)
	require.Greater(t, heap(), before+n/2, "the heap must grow when data is copied; otherwise this measurement detects nothing")
	runtime.KeepAlive([][]byte{got, content})
	y.Release()
}
