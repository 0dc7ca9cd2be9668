package webgpu_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu"
	"github.com/goburn/burn/sdk/gpu/ir"
	"github.com/goburn/burn/sdk/gpu/webgpu"
)

func open(t *testing.T, f *fake, o webgpu.Options) gpu.Device {
	t.Helper()
	d, err := webgpu.New(context.Background(), f, o)
	require.NoError(t, err)
	dev, err := d.Open(context.Background(), 0)
	require.NoError(t, err)
	return dev
}

func queueOf(t *testing.T, d gpu.Device) gpu.Queue {
	q, err := d.OpenQueue()
	require.NoError(t, err)
	return q
}

// TestBytes compares uploads, copies, fills and downloads at arbitrary offsets with the same operations on host memory, and checks that
// they request nothing that WebGPU refuses.
func TestBytes(t *testing.T) {
	for _, binding := range []int64{1 << 24, 1 << 20} {
		t.Run(fmt.Sprint("bindings of ", binding), func(t *testing.T) { testBytes(t, binding) })
	}
}

func testBytes(t *testing.T, binding int64) {
	f := newFake()
	f.facts.Limits.StorageBinding = binding
	d := open(t, f, webgpu.Options{})
	q := queueOf(t, d)
	r := rand.New(rand.NewPCG(1, 2))
	const n = 2_600_001
	var ms [2]gpu.Memory
	var want [2][]byte
	for i := range ms {
		var err error
		ms[i], err = d.Alloc(n)
		require.NoError(t, err)
		want[i] = make([]byte, n)
		require.NoError(t, q.Fill(gpu.Ref{Memory: ms[i]}, n, 0, 1))
	}
	for step := range 400 {
		i, k := r.IntN(2), r.IntN(2)
		bytes := r.IntN(3000)
		if step%20 == 0 {
			bytes = r.IntN(n / 2)
		}
		to, from := r.IntN(n-bytes), r.IntN(n-bytes)
		dst, src := gpu.Ref{Memory: ms[i], Offset: int64(to)}, gpu.Ref{Memory: ms[k], Offset: int64(from)}
		switch r.IntN(4) {
		case 0:
			data := make([]byte, bytes)
			for j := range data {
				data[j] = byte(r.Uint32())
			}
			require.NoError(t, q.Upload(dst, data))
			copy(want[i][to:], data)
		case 1:
			if i == k && to < from+bytes && from < to+bytes {
				continue
			}
			require.NoError(t, q.Copy(dst, src, int64(bytes)))
			copy(want[i][to:][:bytes], want[k][from:])
		case 2:
			width := 1 << r.IntN(3)
			pattern := r.Uint32()
			dst.Offset, bytes = dst.Offset/int64(width)*int64(width), bytes/width*width
			require.NoError(t, q.Fill(dst, int64(bytes), pattern, width))
			for j := range bytes {
				want[i][int(dst.Offset)+j] = byte(pattern >> (8 * (j % width)))
			}
		case 3:
			got := make([]byte, bytes)
			require.NoError(t, q.Download(got, src))
			require.NoError(t, q.Synchronize())
			require.Equal(t, want[k][from:][:bytes], got)
		}
	}
	require.Empty(t, f.faults)
	for i := range ms {
		d.Free(ms[i])
	}
	q.Close()
	d.Close()
	require.Zero(t, f.buffers, "buffers that were not freed")
}

func add(t *testing.T) *ir.Kernel {
	b := ir.New("add", 64)
	x, y := b.Buffer("x", dtype.F32, ir.Read), b.Buffer("y", dtype.F32, ir.Write)
	b.Store(y, b.Thread(), b.Load(x, b.Thread()))
	return b.Kernel()
}

// TestRefused checks that the driver refuses grids, offsets and allocations for which an implementation would end the process.
func TestRefused(t *testing.T) {
	f := newFake()
	d := open(t, f, webgpu.Options{})
	q := queueOf(t, d)
	fs, err := d.Load(nil, []*ir.Kernel{nil, add(t)})
	require.NoError(t, err)
	require.Nil(t, fs[0])
	m, err := d.Alloc(1 << 20)
	require.NoError(t, err)
	launch := func(grid int, x, y int64) error {
		return q.Launch(&gpu.Launch{Function: fs[1], Grid: [3]int{grid, 1, 1}, Args: []gpu.Arg{{Ref: gpu.Ref{Memory: m, Offset: x}}, {Ref: gpu.Ref{Memory: m, Offset: y}}}})
	}
	require.NoError(t, launch(1, 0, 512))
	require.NoError(t, launch(65535, 0, 512))
	require.NoError(t, launch(0, 0, 512))
	require.ErrorIs(t, launch(65536, 0, 512), core.ErrUnsupported)
	require.ErrorIs(t, launch(1, 4, 512), core.ErrKernel)
	require.ErrorIs(t, launch(1, 0, 1<<20), core.ErrKernel)
	require.ErrorIs(t, q.Launch(&gpu.Launch{Function: fs[1], Grid: [3]int{1, 1, 1}}), core.ErrKernel)
	require.ErrorIs(t, q.Copy(gpu.Ref{Memory: m, Offset: 1 << 19}, gpu.Ref{Memory: m}, 1<<20), core.ErrKernel)
	require.ErrorIs(t, q.Download(make([]byte, 8), gpu.Ref{Memory: m, Offset: 1<<20 - 4}), core.ErrKernel)
	_, err = d.Alloc(2 << 30)
	require.ErrorIs(t, err, core.ErrOutOfMemory)
	require.NoError(t, q.Synchronize())
	d.Free(m)
	require.ErrorIs(t, launch(1, 0, 512), core.ErrClosed)
	require.Empty(t, f.faults)
}

// TestLost checks that work that does not end makes the device lost after Patience, and that a lost device reports it at once.
func TestLost(t *testing.T) {
	t.Run("patience", func(t *testing.T) {
		f := newFake()
		d := open(t, f, webgpu.Options{Patience: 50 * time.Millisecond})
		q := queueOf(t, d)
		m, err := d.Alloc(64)
		require.NoError(t, err)
		f.mu.Lock()
		f.stuck = true
		f.mu.Unlock()
		require.NoError(t, q.Fill(gpu.Ref{Memory: m}, 64, 1, 4))
		e, err := q.Record(false)
		require.NoError(t, err)
		done, err := e.Done()
		require.NoError(t, err)
		require.False(t, done)
		require.ErrorIs(t, e.Wait(), core.ErrBackendLost)
		require.ErrorIs(t, q.Fill(gpu.Ref{Memory: m}, 64, 1, 4), core.ErrBackendLost)
		require.ErrorIs(t, q.Synchronize(), core.ErrBackendLost)
	})
	t.Run("told", func(t *testing.T) {
		f := newFake()
		d := open(t, f, webgpu.Options{})
		q := queueOf(t, d)
		m, err := d.Alloc(64)
		require.NoError(t, err)
		require.NoError(t, q.Fill(gpu.Ref{Memory: m}, 64, 1, 4))
		f.mu.Lock()
		f.stuck, f.lost = true, fmt.Errorf("gone: %w", core.ErrBackendLost)
		f.mu.Unlock()
		require.ErrorIs(t, q.Synchronize(), core.ErrBackendLost)
		_, err = d.Alloc(64)
		require.ErrorIs(t, err, core.ErrBackendLost)
	})
	t.Run("closed", func(t *testing.T) {
		f := newFake()
		d := open(t, f, webgpu.Options{})
		q := queueOf(t, d)
		m, err := d.Alloc(64)
		require.NoError(t, err)
		d.Close()
		require.ErrorIs(t, q.Fill(gpu.Ref{Memory: m}, 64, 1, 4), core.ErrClosed)
	})
}

// TestCompiler checks that a kernel that the compiler refuses fails alone.
func TestCompiler(t *testing.T) {
	f := newFake()
	d := open(t, f, webgpu.Options{})
	f.refuses = "p1_y"
	_, err := d.Load(nil, []*ir.Kernel{add(t)})
	require.ErrorIs(t, err, core.ErrKernel)
	f.refuses = ""
	_, err = d.Load(nil, []*ir.Kernel{add(t)})
	require.NoError(t, err)
}

// TestAdapters checks that software adapters come last, and that features are probed once: an adapter whose kernels do not work is
// refused, and types that it lacks are left out.
func TestAdapters(t *testing.T) {
	soft, hard := newFake(), newFake()
	soft.facts.Software, soft.facts.Name = true, "processor"
	cache := t.TempDir()
	d, err := webgpu.New(context.Background(), both{soft, hard}, webgpu.Options{Name: "wgpu", Cache: cache})
	require.NoError(t, err)
	info := d.Info()
	require.Equal(t, []string{"fake", "processor"}, []string{info.Devices[0].Name, info.Devices[1].Name})
	require.Equal(t, "software", info.Devices[1].Kind)
	require.Contains(t, info.Devices[1].Detail, "software, not a GPU")
	x, err := d.Open(context.Background(), 0)
	require.NoError(t, err)
	target := x.Target()
	require.False(t, target.Types.Has(dtype.F16), "conversions that the fake does not compute")
	require.Equal(t, 1, target.Subgroup)
	require.EqualValues(t, 1<<24, target.Bytes)
	require.Equal(t, 8, target.Buffers)
	hard.refuses = "probe"
	_, err = d.Open(context.Background(), 0)
	require.NoError(t, err, "what was found is kept")
	soft.refuses = "probe"
	_, err = d.Open(context.Background(), 1)
	require.ErrorIs(t, err, core.ErrUnsupported)
	_, err = d.Open(context.Background(), 2)
	require.ErrorIs(t, err, core.ErrNotFound)
}

type both [2]*fake

func (b both) Adapters(context.Context) ([]webgpu.Adapter, error) {
	return []webgpu.Adapter{b[0], b[1]}, nil
}
