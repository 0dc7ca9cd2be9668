//go:build linux

package metal

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/plugins/metal/internal/calls"
	"github.com/goburn/burn/plugins/metal/internal/processor"
	"github.com/goburn/burn/sdk/gpu"
)

// openDevice returns the driver's device on Metal on the processor.
func openDevice(t *testing.T, o processor.Options, patience time.Duration) gpu.Device {
	t.Helper()
	d, err := newDriver(onProcessor(t, o), patience)
	require.NoError(t, err)
	x, err := d.Open(context.Background(), 0)
	require.NoError(t, err)
	return x
}

// TestMoves checks that uploads, copies and fills at any offset change their bytes and no others, in the order of the queue.
func TestMoves(t *testing.T) {
	d := openDevice(t, processor.Options{}, time.Minute)
	q, err := d.OpenQueue()
	require.NoError(t, err)
	const n = 1000
	a, err := d.Alloc(n)
	require.NoError(t, err)
	b, err := d.Alloc(n)
	require.NoError(t, err)
	want, other := make([]byte, n), make([]byte, n)
	for i := range want {
		want[i], other[i] = byte(i*7), byte(i*13+1)
	}
	require.NoError(t, q.Upload(gpu.Ref{Memory: a}, want))
	require.NoError(t, q.Upload(gpu.Ref{Memory: b}, other))
	step := uint32(12345)
	random := func(below int) int {
		step = step*1664525 + 1013904223
		return int(step>>8) % below
	}
	pinned, err := d.HostAlloc(256)
	require.NoError(t, err)
	for k := range 300 {
		bytes := random(200)
		to, from := random(n-bytes), random(n-bytes)
		if k%5 == 0 {
			to, from, bytes = to&^15, from&^15, bytes&^15
		}
		switch k % 4 {
		case 0, 1:
			require.NoError(t, q.Copy(gpu.Ref{Memory: a, Offset: int64(to)}, gpu.Ref{Memory: b, Offset: int64(from)}, int64(bytes)))
			copy(want[to:][:bytes], other[from:])
		case 2:
			width := 1 << random(3)
			to, bytes = to/width*width, bytes/width*width
			require.NoError(t, q.Fill(gpu.Ref{Memory: a, Offset: int64(to)}, int64(bytes), 0x89abcdef, width))
			for i := range bytes {
				want[to+i] = byte(uint32(0x89abcdef) >> (8 * (i % width)))
			}
		case 3:
			src := make([]byte, bytes)
			if k%8 == 3 {
				src = pinned[:bytes]
				require.NoError(t, q.Synchronize())
			}
			for i := range src {
				src[i] = byte(k + i)
			}
			require.NoError(t, q.Upload(gpu.Ref{Memory: a, Offset: int64(to)}, src))
			copy(want[to:], src)
		}
		if k%50 == 0 {
			got := make([]byte, n)
			require.NoError(t, q.Download(got, gpu.Ref{Memory: a}))
			require.NoError(t, q.Synchronize())
			require.Equal(t, want, got, "step %d", k)
		}
	}
	half := pinned[:n/4]
	require.NoError(t, q.Fill(gpu.Ref{Memory: b}, 4, 0, 4)) // so that there is work
	require.NoError(t, q.Download(half, gpu.Ref{Memory: a, Offset: 3}))
	require.NoError(t, q.Synchronize())
	require.Equal(t, want[3:][:n/4], half)
	require.ErrorIs(t, q.Copy(gpu.Ref{Memory: a, Offset: n}, gpu.Ref{Memory: b}, 1), core.ErrKernel)
	d.HostFree(pinned)
	q.Close()
	d.Free(a)
	d.Free(b)
	free, total := d.MemoryInfo()
	require.Less(t, total-free, int64(2<<20), "only staging buffers are left")
	d.Close()
}

// TestEvents checks that a queue that awaits an event of another queue continues after it, and that timed events measure time.
func TestEvents(t *testing.T) {
	d := openDevice(t, processor.Options{}, time.Minute)
	var queues [2]gpu.Queue
	for i := range queues {
		q, err := d.OpenQueue()
		require.NoError(t, err)
		queues[i] = q
	}
	m, err := d.Alloc(1 << 20)
	require.NoError(t, err)
	first, err := queues[0].Record(true)
	require.NoError(t, err)
	for k := range 40 {
		a, b := queues[k%2], queues[1-k%2]
		require.NoError(t, a.Fill(gpu.Ref{Memory: m}, 1<<20, uint32(k), 4))
		e, err := a.Record(false)
		require.NoError(t, err)
		require.NoError(t, b.Await(e))
	}
	got := make([]uint32, 1<<18)
	require.NoError(t, queues[0].Download(dtype.Bytes(got), gpu.Ref{Memory: m}))
	last, err := queues[0].Record(true)
	require.NoError(t, err)
	require.NoError(t, last.Wait())
	for _, v := range got {
		require.EqualValues(t, 39, v)
	}
	done, err := last.Done()
	require.True(t, done)
	require.NoError(t, err)
	took, err := last.Since(first)
	require.NoError(t, err)
	require.Positive(t, took)
	plain, err := queues[0].Record(false)
	require.NoError(t, err)
	_, err = plain.Since(first)
	require.ErrorIs(t, err, core.ErrAttr)
}

// TestFaultsEndTheDevice checks that after the fault of a command buffer its events and all later calls return the error.
func TestFaultsEndTheDevice(t *testing.T) {
	for name, x := range map[string]struct{ planted, want error }{
		"timeout": {processor.ErrTimeout, core.ErrBackendLost}, "page fault": {processor.ErrPage, core.ErrKernel}, "memory": {core.ErrOutOfMemory, core.ErrOutOfMemory},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := openDevice(t, processor.Options{Fault: func(n int) error {
				if n == 3 { // after the product that is tried when devices are listed
					return x.planted
				}
				return nil
			}}, time.Minute)
			q, err := d.OpenQueue()
			require.NoError(t, err)
			m, err := d.Alloc(64)
			require.NoError(t, err)
			fill := func() error { return q.Fill(gpu.Ref{Memory: m}, 64, 1, 4) }
			require.NoError(t, fill())
			require.NoError(t, q.Synchronize())
			require.NoError(t, fill())
			e, err := q.Record(false)
			require.NoError(t, err)
			for range 2 {
				err = e.Wait()
				require.ErrorIs(t, err, core.ErrBackendLost)
				require.ErrorIs(t, err, x.want)
			}
			require.ErrorIs(t, fill(), core.ErrBackendLost)
			require.ErrorIs(t, q.Synchronize(), core.ErrBackendLost)
			other, err := d.OpenQueue()
			require.NoError(t, err)
			require.ErrorIs(t, other.Synchronize(), core.ErrBackendLost)
			q.Close()
			other.Close()
			d.Close()
		})
	}
}

// TestStuck checks that the driver reports work that never ends after its patience, also if the work keeps a queue from accepting more.
func TestStuck(t *testing.T) {
	t.Parallel()
	d := openDevice(t, processor.Options{Stuck: func(n int) bool { return n >= 3 }}, 300*time.Millisecond)
	q, err := d.OpenQueue()
	require.NoError(t, err)
	m, err := d.Alloc(64)
	require.NoError(t, err)
	require.NoError(t, q.Fill(gpu.Ref{Memory: m}, 64, 1, 4))
	require.NoError(t, q.Synchronize())
	for range 1 << 15 { // more than a queue has in flight
		if err = q.Fill(gpu.Ref{Memory: m}, 64, 1, 4); err != nil {
			break
		}
	}
	require.ErrorIs(t, err, core.ErrBackendLost)
	require.ErrorIs(t, q.Synchronize(), core.ErrBackendLost)
	q.Close()
}

// TestRefusals checks the errors of a too large allocation, of a faulty text, of a system without Metal and of faulty options.
func TestRefusals(t *testing.T) {
	d := openDevice(t, processor.Options{Memory: 64 << 20}, time.Minute)
	_, err := d.Alloc(40 << 20)
	require.ErrorIs(t, err, core.ErrOutOfMemory)
	_, err = d.Compile(context.Background(), "kernel void k0_x(device nothing* p [[buffer(0)]]) {\n}\n")
	require.ErrorIs(t, err, core.ErrKernel)
	_, err = New(quiet)
	require.ErrorIs(t, err, core.ErrNotFound)
	require.ErrorContains(t, err, "macOS")
	for name, text := range map[string]string{"memory_limit": "much", "plain": "perhaps", "patience": "-1s", "cache": "relative", "speed": "1"} {
		_, err := New(core.Config{Options: map[string]string{name: text}})
		require.ErrorIs(t, err, core.ErrAttr, name)
	}
}

// TestOrder checks that Apple's devices, and built-in devices with memory of their own, come first and external devices last.
func TestOrder(t *testing.T) {
	apple, discrete := calls.Facts{Unified: true, Families: []string{"Apple8"}}, calls.Facts{Families: []string{"Mac2"}}
	lesser, plugged := calls.Facts{Unified: true, Families: []string{"Mac2"}}, calls.Facts{External: true}
	require.Equal(t, []int{0, 0, 1, 2}, []int{rank(apple), rank(discrete), rank(lesser), rank(plugged)})
	require.Equal(t, 32, targetOf(apple, 32).Subgroup)
	require.Equal(t, 1, targetOf(discrete, 64).Subgroup)
}
