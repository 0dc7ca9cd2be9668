package attack

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/host"
	"github.com/goburn/burn/host/restore"
	"github.com/goburn/burn/sdk/client"
	"github.com/goburn/burn/tensor"
)

// plugins returns a folder with this test binary as the plugin cpu.
func plugins(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	self, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.Symlink(self, filepath.Join(dir, "burn-backend-cpu")))
	t.Setenv(envPlugin, "1")
	return dir
}

// restored opens the plugin cpu, whose state is restored after the death of its process.
func restored(t *testing.T) (*tensor.Device, *restore.Backend) {
	t.Helper()
	p, err := host.Open(ctx, "process:cpu", host.Options{Config: core.Config{Threads: 1}, Dirs: []string{plugins(t)}, Restore: true,
		Attempts: 50, Backoff: time.Millisecond})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return on(t, p), p.Backend.(*restore.Backend)
}

func on(t *testing.T, p *core.Place) *tensor.Device {
	t.Helper()
	d, err := tensor.On(ctx, p)
	require.NoError(t, err)
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// kill sends SIGKILL to the process of a plugin.
func kill(b *restore.Backend) {
	c, ok := b.Inner().(*client.Backend)
	if !ok {
		return
	}
	if pid, err := strconv.Atoi(c.PID()); err == nil {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// training is gradient descent on the weights of a linear model.
type training struct {
	x, y, w *tensor.Tensor
}

func newTraining(d *tensor.Device) *training {
	r := rand.New(rand.NewPCG(1, 2))
	numbers := func(n int) []float32 {
		v := make([]float32, n)
		for i := range v {
			v[i] = r.Float32() - 0.5
		}
		return v
	}
	return &training{tensor.From(d, numbers(64*32), 64, 32), tensor.From(d, numbers(64*8), 64, 8), tensor.From(d, numbers(32*8), 32, 8)}
}

func (tr *training) step(d *tensor.Device) {
	w := tr.w
	tr.w = tensor.Scope(d, func(*tensor.Device) []*tensor.Tensor {
		gradient := tr.x.T().MatMul(tr.x.MatMul(w).Tanh().Sub(tr.y))
		return []*tensor.Tensor{w.Sub(gradient.MulScalar(0.01))}
	})[0]
	w.Release()
}

// TestKillsInTraining kills the process at random moments between the first and the last step. The weights equal those of an
// undisturbed run on the built-in backend, to the bit.
func TestKillsInTraining(t *testing.T) {
	p, err := host.Open(ctx, "builtin:cpu", host.Options{Config: core.Config{Threads: 1}})
	require.NoError(t, err)
	defer p.Close()
	calm := on(t, p)
	d, b := restored(t)
	killInTraining(t, calm, d, b, size(6, 150), 20*time.Millisecond)
}

// killInTraining trains on two devices and kills the process of d, whose backend is b, until it was restarted kills times. Each kill comes
// at a random moment within span, which shrinks while kills come after the end of a round. The weights must be equal.
func killInTraining(t *testing.T, calm, d *tensor.Device, b *restore.Backend, kills int, span time.Duration) {
	t.Helper()
	const steps = 40 // steps per round, after which the weights are read
	want, got := newTraining(calm), newTraining(d)
	rounds := 0
	for ; b.Restarts() < int64(kills); rounds++ {
		r := rand.New(rand.NewPCG(uint64(rounds), 3))
		timer := time.AfterFunc(time.Duration(r.Int64N(int64(span))), func() { kill(b) })
		for range steps {
			want.step(calm)
			got.step(d)
		}
		x, err := want.w.Bytes(ctx)
		require.NoError(t, err)
		y, err := got.w.Bytes(ctx)
		require.NoError(t, err, "round %d", rounds)
		require.Equal(t, x, y, "round %d, after %d restarts", rounds, b.Restarts())
		if timer.Stop() {
			span = max(span*9/10, time.Millisecond)
		}
		// The next round begins with weights from the host, as after a checkpoint: the results of a plugin can be recomputed only
		// as far back as its journal reaches.
		got.w.Release()
		got.w, err = d.FromBytes(ctx, dtype.F32, []int{32, 8}, y)
		require.NoError(t, err)
		require.Less(t, rounds, 100*kills, "too few kills met a running plugin")
	}
	t.Logf("%d kills in %d rounds of %d steps", b.Restarts(), rounds, steps)
}

// TestKillsInWrites kills the process during large writes. Each write arrives complete.
func TestKillsInWrites(t *testing.T) {
	kills := size(4, 60)
	const n = 24 << 20
	d, b := restored(t)
	data, back := make([]byte, n), make([]byte, n)
	for i := range data {
		data[i] = byte(i * 7 >> 3)
	}
	writes, span := 0, 15*time.Millisecond // span shrinks while kills come after the end of a write
	for ; b.Restarts() < int64(kills); writes++ {
		data[writes] ^= 0xff
		r := rand.New(rand.NewPCG(uint64(writes), 4))
		timer := time.AfterFunc(time.Duration(r.Int64N(int64(span))), func() { kill(b) })
		x, err := d.FromBytes(ctx, dtype.U8, []int{n}, data)
		require.NoError(t, err, "write %d", writes)
		require.NoError(t, x.ReadInto(ctx, back))
		require.True(t, string(data) == string(back), "write %d, after %d restarts", writes, b.Restarts())
		x.Release()
		if timer.Stop() {
			span = max(span*9/10, time.Millisecond)
		}
		require.Less(t, writes, 100*kills, "too few kills met a running plugin")
	}
	t.Logf("%d kills in %d writes of %d MiB", b.Restarts(), writes, n>>20)
}
