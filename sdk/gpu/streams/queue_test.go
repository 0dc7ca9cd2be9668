package streams

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/sdk/gpu"
	"github.com/goburn/burn/sdk/gpu/ir"
	"github.com/goburn/burn/sdk/gpu/vendor"
)

func at(address Ptr, offset int64) gpu.Ref {
	return gpu.Ref{Memory: NewMemory(address, 1<<20), Offset: offset}
}

// TestQueueCommands checks that each command makes one call of the driver, with addresses and counts of elements.
func TestQueueCommands(t *testing.T) {
	d, g, q, f := opened(t)
	dst := make([]byte, 4)
	for _, c := range []struct {
		run  func() error
		want string
	}{
		{func() error {
			return q.Launch(&gpu.Launch{Function: f, Grid: [3]int{5, 2, 1}, Args: []gpu.Arg{{Ref: at(0x4000, 16)}, {Bits: 9}}})
		}, "launch 3 {5 2 1} {64 1 1} 0 [16400 9]"},
		{func() error { return q.Copy(at(0x4000, 8), at(0x5000, 0), 12) }, "copy 0x4008 0x5000 12 on 3"},
		{func() error { return q.Fill(at(0x4000, 1), 7, 0x1234ab, 1) }, "set8 0x4001 0xab 7"},
		{func() error { return q.Fill(at(0x4000, 2), 8, 0x1234ab, 2) }, "set16 0x4002 0x34ab 4"},
		{func() error { return q.Fill(at(0x4000, 4), 8, 0x1234ab, 4) }, "set32 0x4004 0x1234ab 2"},
		{func() error { return q.Upload(at(0x4000, 4), []byte("data")) }, "upload 0x4004 data"},
		{func() error { return q.Upload(at(0x4000, 4), nil) }, ""},
		{func() error { return q.Download(dst, at(0x4000, 4)) }, "download 0x4004 4"},
		{func() error { return q.Download(nil, at(0x4000, 4)) }, ""},
		{func() error { return q.Copy(gpu.Ref{}, at(0x5000, 0), 0) }, "copy 0x0 0x5000 0 on 3"},
		{func() error { m, err := g.Alloc(0); g.Free(m); return err }, "alloc 1"}, // drivers refuse 0 bytes
	} {
		require.NoError(t, c.run())
		if log := d.taken(); c.want == "" {
			require.Empty(t, log)
		} else {
			require.Equal(t, c.want, log[0])
		}
	}
	require.Equal(t, "down", string(dst))
	require.ErrorContains(t, q.Launch(&gpu.Launch{Function: f, Grid: [3]int{1, 1, 1}, Args: make([]gpu.Arg, 1)}), "kernel scale: 1 arguments, want 2 of 0 members")
	require.Empty(t, d.taken(), "nothing is started with too few arguments")
}

// TestQueueFaults: the error of a fault names what came before it, and other errors do not.
func TestQueueFaults(t *testing.T) {
	d, _, q, f := opened(t)
	launch := func() error {
		return q.Launch(&gpu.Launch{Function: f, Grid: [3]int{1, 1, 1}, Args: []gpu.Arg{{Ref: at(0x4000, 0)}, {}}})
	}
	require.NoError(t, launch())
	for name, run := range map[string]func() error{
		"launch": launch, "copy": func() error { return q.Copy(at(1, 0), at(2, 0), 4) }, "set32": func() error { return q.Fill(at(1, 0), 4, 0, 4) },
		"upload": func() error { return q.Upload(at(1, 0), []byte{1}) }, "download": func() error { return q.Download(make([]byte, 1), at(1, 0)) },
		"record": func() error { _, err := q.Record(false); return err }, "current": func() error { return q.Copy(at(1, 0), at(2, 0), 4) },
	} {
		d.errs[name] = vendor.ErrFault
		err := run()
		require.ErrorIs(t, err, core.ErrBackendLost, name)
		require.ErrorContains(t, err, "a fault in kernel scale or what was started before it", name)
		d.errs[name] = vendor.ErrOutOfMemory
		err = run()
		require.ErrorIs(t, err, core.ErrOutOfMemory, name)
		require.NotContains(t, err.Error(), "scale or what")
		delete(d.errs, name)
	}
	require.NoError(t, q.Fill(at(1, 0), 4, 0, 4))
	d.errs["launch"] = vendor.ErrFault
	require.ErrorContains(t, launch(), "a fault in a fill or what was started before it")
}

// TestEvents checks that released events are used again, timed events apart from others, and that timed events measure the milliseconds
// between them.
func TestEvents(t *testing.T) {
	d, g, q, _ := opened(t)
	d.done = true
	first, err := q.Record(false)
	require.NoError(t, err)
	require.NoError(t, first.Wait())
	first.Release()
	again, err := q.Record(false)
	require.NoError(t, err)
	require.Equal(t, []string{"event false", "record 3 on 3", "record 3 on 3"}, d.taken())
	a, err := q.Record(true)
	require.NoError(t, err)
	b, err := q.Record(true)
	require.NoError(t, err)
	require.Equal(t, []string{"event true", "record 4 on 3", "event true", "record 5 on 3"}, d.taken())
	span, err := b.Since(a)
	require.NoError(t, err)
	require.Equal(t, 1500*time.Microsecond, span)
	require.Equal(t, []string{"elapsed 4 5"}, d.taken())
	_, err = b.Since(again)
	require.ErrorIs(t, err, core.ErrAttr)
	require.ErrorContains(t, err, "they do not measure, or are of different devices")
	require.ErrorIs(t, q.Await(nil), core.ErrAttr)
	require.NoError(t, q.Await(a))
	require.Equal(t, []string{"wait 3 for 4"}, d.taken())

	d.done = false // Wait sleeps in the driver after polling
	require.NoError(t, a.Wait())
	require.Equal(t, []string{"synchronize 4"}, d.taken())
	d.errs["done"] = vendor.ErrFault
	require.NoError(t, q.Copy(at(1, 0), at(2, 0), 4))
	c, err := q.Record(false)
	require.NoError(t, err)
	require.NoError(t, q.Fill(at(1, 0), 4, 0, 4))
	err = c.Wait()
	require.ErrorIs(t, err, core.ErrBackendLost)
	require.ErrorContains(t, err, "a fault in a copy or", "the copy is the last work before the event")
	require.ErrorIs(t, b.Wait(), core.ErrBackendLost)
	delete(d.errs, "done")
	require.NoError(t, q.Synchronize())
	d.taken()
	for _, e := range []gpu.Event{again, a} {
		e.Release()
	}
	g.Close()
	require.ElementsMatch(t, []string{"destroy event 3", "destroy event 4", "destroy event 7"}, d.taken())
}

// TestLoad checks that a module is unloaded with the last of its functions, or at once if a function fails to load. A kernel requests the
// shared memory that exceeds the static limit of the dialect.
func TestLoad(t *testing.T) {
	d, g, _, _ := opened(t)
	fs, err := g.Load([]byte("two"), []*ir.Kernel{scale(8), nil, scale(1001)})
	require.NoError(t, err)
	require.Nil(t, fs[1])
	require.Equal(t, []string{"load two", "function 3 k0_scale", "function 3 k2_scale", "attribute 8 1008"}, d.taken())
	fs[0].Unload()
	require.Empty(t, d.taken())
	fs[2].Unload()
	require.Equal(t, []string{"unload 3"}, d.taken())
	d.errs["attribute"] = vendor.ErrUnsupported
	_, err = g.Load([]byte("large"), []*ir.Kernel{scale(1001)})
	require.ErrorIs(t, err, core.ErrUnsupported)
	require.ErrorContains(t, err, "fake: load of kernels: unsupported operation: kernel scale: 1008 bytes of shared memory")
	require.Equal(t, "unload 6", d.taken()[3])

	for range 2 { // a process has one primary context of a device
		ctx, err := Primary(d, 2)
		require.NoError(t, err)
		require.Equal(t, Context(102), ctx)
	}
	require.Equal(t, []string{"retain 2"}, d.taken())
	failing := &driver{errs: map[string]error{"retain": errors.New("no")}}
	_, err = Primary(failing, 2)
	require.Error(t, err)
	require.Same(t, g.Dialect(), Open("x", d, 7, g.Dialect()).Dialect())
}

// TestBatchedArguments checks that a parameter marked Each is an array of the arguments of the members, and that the last argument holds
// the starts of the members and the size of the grid.
func TestBatchedArguments(t *testing.T) {
	d, g, q, _ := opened(t)
	k := *scale(8)
	k.Members = 3
	params := append([]ir.Param(nil), k.Params...)
	params[0].Each = true
	k.Params = params
	fs, err := g.Load(nil, []*ir.Kernel{&k})
	require.NoError(t, err)
	l := &gpu.Launch{Function: fs[0], Grid: [3]int{9, 1, 1}, Starts: []int32{0, 2, 5}, Args: []gpu.Arg{{Ref: at(0x100, 0)}, {Ref: at(0x200, 4)}, {Ref: at(0x300, 0)}, {Bits: 77}}}
	a, err := q.pack(l)
	require.NoError(t, err)
	_, plain := a.Words()
	require.False(t, plain)
	require.Equal(t, 3, a.Len())
	require.Equal(t, [3]uint64{0x100, 0x204, 0x300}, *(*[3]uint64)(a.pointers[0]))
	require.Equal(t, int32(77), *(*int32)(a.pointers[1]))
	require.Equal(t, [4]uint32{0, 2, 5, 9}, *(*[4]uint32)(a.pointers[2]))
	l.Starts = l.Starts[:2]
	_, err = q.pack(l)
	require.ErrorContains(t, err, "4 arguments, want 4 of 3 members")
	d.taken()
	small := NewArrays(3, 0, 9)
	small.SetElement(0, 2, 1, 0x1ff)
	small.SetElement(2, 1, 2, 0x12345)
	require.Equal(t, [3]byte{0, 0, 0xff}, *(*[3]byte)(small.pointers[0]))
	require.Equal(t, [2]uint16{0, 0x2345}, *(*[2]uint16)(small.pointers[2]))
}
