package engine_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/sdk/engine"
)

func engineOf(d *driver) core.Backend { return engine.New[*buffer](d) }

// TestOwned checks that a call owns the operands that nothing else will use, and no others.
func TestOwned(t *testing.T) {
	d := new(driver)
	var owned uint64
	d.execute = func(c *engine.Call[*buffer]) {
		if c.Node.Op == op.Add {
			owned = c.Owned
		}
	}
	r := open(t, d)
	ask := func(drop uint64, in ...op.Desc) uint64 {
		r.do(op.Add, drop, in...)
		require.NoError(t, core.Sync(t.Context(), r.stream))
		return owned
	}
	two := func() (op.Desc, op.Desc) { return r.put(1, 2), r.put(3, 4) }

	a, b := two()
	require.Equal(t, uint64(0), ask(0, a, b), "nothing is dropped")
	require.Equal(t, uint64(2), ask(2, a, b), "the second is dropped")
	require.Equal(t, uint64(1), ask(1, a, r.put(5, 6)), "the first is dropped")

	a, _ = two()
	require.Equal(t, uint64(0), ask(1, a, a), "one tensor as both operands")
	a, b = two()
	open := r.stream.Read(a.ID, make([]byte, 8))
	require.Equal(t, uint64(2), ask(3, a, b), "a ticket holds the first")
	require.NoError(t, open.Wait(t.Context()))

	a, b = two()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, r.stream.Read(a.ID, make([]byte, 8)).Wait(gone), core.ErrCanceled)
	require.Equal(t, uint64(3), ask(3, a, b), "the ticket was given up")

	a, b = two()
	dst := make([]byte, 8)
	open = r.stream.Read(b.ID, dst)
	sum := r.do(op.Add, 3, a, b)
	r.holds(sum, 4, 6)
	require.NoError(t, open.Wait(t.Context()))
	require.Equal(t, bytesOf(3, 4), dst, "a ticket reads the value of its place")
	r.closed()
}

// TestOwnedByRuns checks that a run owns its donated inputs, unless a ticket holds them, and never a constant.
func TestOwnedByRuns(t *testing.T) {
	d := new(driver)
	r := open(t, d)
	programs, id := r.double()
	run := func(donate bool, in op.Desc) [2]op.Desc {
		outs := r.dev.NewIDs(2)
		second := op.NewTensorID(outs.Generation(), outs.Sequence()+1)
		require.NoError(t, programs.Run(r.stream, core.Run{Program: id, Inputs: []op.TensorID{in.ID}, Donated: []bool{donate}, Outputs: []op.TensorID{outs, second}}))
		return [2]op.Desc{vector(outs, 2), vector(second, 2)}
	}
	x := r.put(1, 2)
	for range 3 { // the constant stays what it is
		o := run(false, x)
		r.holds(o[0], 98, 196)
		r.holds(o[1], 1, 2)
	}
	dst := make([]byte, 8)
	open := r.stream.Read(x.ID, dst)
	o := run(true, x)
	again := run(true, o[1])
	r.holds(again[0], 98, 196)
	r.holds(o[0], 98, 196)
	require.NoError(t, open.Wait(t.Context()))
	require.Equal(t, bytesOf(1, 2), dst)
	_, err := values(r.stream, x)
	require.ErrorIs(t, err, core.ErrUnknownTensor)
	_, err = values(r.stream, o[1])
	require.ErrorIs(t, err, core.ErrUnknownTensor)
	require.NoError(t, programs.Undefine(id))
	require.ErrorIs(t, programs.Undefine(id), core.ErrNotFound)
	r.closed()
}

func TestCheckRun(t *testing.T) {
	p := &program.Program{Name: "p", Inputs: []op.Desc{vector(1, 2), vector(2, 2)}, Outputs: []op.TensorID{1}}
	ids := func(l ...op.TensorID) []op.TensorID { return l }
	for _, c := range []struct {
		name string
		r    core.Run
		ok   bool
	}{
		{"plain", core.Run{Inputs: ids(5, 5), Outputs: ids(9)}, true},
		{"donated", core.Run{Inputs: ids(5, 6), Outputs: ids(9), Donated: []bool{true, true}}, true},
		{"twice and not donated", core.Run{Inputs: ids(5, 5), Outputs: ids(9), Donated: []bool{false, false}}, true},
		{"first of two donated", core.Run{Inputs: ids(5, 5), Outputs: ids(9), Donated: []bool{true, false}}, false},
		{"second of two donated", core.Run{Inputs: ids(5, 5), Outputs: ids(9), Donated: []bool{false, true}}, false},
		{"short mask", core.Run{Inputs: ids(5, 6), Outputs: ids(9), Donated: []bool{true}}, false},
		{"few inputs", core.Run{Inputs: ids(5), Outputs: ids(9)}, false},
		{"many outputs", core.Run{Inputs: ids(5, 6), Outputs: ids(9, 10)}, false},
	} {
		if err := engine.CheckRun(p, c.r); c.ok {
			require.NoError(t, err, c.name)
		} else {
			require.ErrorIs(t, err, core.ErrAttr, c.name)
		}
	}
}

// TestWriteAfterOutOfMemory checks that a Write without room waits for the frees in the queue, and tries again.
func TestWriteAfterOutOfMemory(t *testing.T) {
	r := open(t, &driver{limit: 64})
	a, b := r.put(make([]float32, 8)...), r.put(make([]float32, 8)...)
	_, err := r.write(r.stream, make([]float32, 8)...)
	require.ErrorIs(t, err, core.ErrOutOfMemory)
	slow := r.do(op.Exp, 1, a) // in place
	require.NoError(t, r.stream.Submit(nil, []op.TensorID{slow.ID, b.ID}))
	c := r.put(make([]float32, 12)...)
	_, err = values(r.stream, c)
	require.NoError(t, err)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, r.stream.Write(ended, vector(r.dev.NewIDs(1), 8), make([]byte, 32)), core.ErrCanceled)

	out := r.do(op.Neg, 0, c) // no room for the result
	_, err = values(r.stream, out)
	require.ErrorIs(t, err, core.ErrOutOfMemory)
	require.ErrorIs(t, core.Sync(t.Context(), r.stream), core.ErrOutOfMemory)
	r.holds(r.do(op.Neg, 1, c), make([]float32, 12)...)
	r.closed()
}

// TestPanics checks that a panic of the driver fails only the call in which it happens.
func TestPanics(t *testing.T) {
	r := open(t, new(driver))
	x := r.put(1)
	bad := r.do(op.Tan, 1, x)
	next := r.do(op.Neg, 0, bad)
	var ne *core.NodeError
	_, err := values(r.stream, next)
	require.ErrorIs(t, err, core.ErrKernel)
	require.ErrorAs(t, err, &ne)
	require.Equal(t, "tan", ne.Op)
	require.ErrorIs(t, core.Sync(t.Context(), r.stream), core.ErrKernel)
	require.NoError(t, core.Sync(t.Context(), r.stream))

	y := r.put(2)
	r.d.panics.Store(true)
	_, err = values(r.stream, y)
	require.ErrorIs(t, err, core.ErrKernel)
	_, err = r.write(r.stream, 1)
	require.ErrorIs(t, err, core.ErrKernel)
	r.d.panics.Store(false)
	r.holds(y, 2)
	r.holds(r.do(op.Neg, 1, y), -2)
	r.closed()
}

// TestAdoptReleasesOnce checks that adopted memory is released once, however its tensor ends.
func TestAdoptReleasesOnce(t *testing.T) {
	for _, adopts := range []bool{true, false} { // in place, and by a copy on the queue
		for name, end := range map[string]func(r *rig, d op.Desc){
			"freed":    func(r *rig, d op.Desc) { require.NoError(t, r.stream.Submit(nil, []op.TensorID{d.ID})) },
			"dropped":  func(r *rig, d op.Desc) { r.holds(r.do(op.Neg, 1, d), -1, -2) },
			"read":     func(r *rig, d op.Desc) { r.holds(d, 1, 2) },
			"asked":    func(r *rig, d op.Desc) { r.stream.Read(d.ID, make([]byte, 8)) },
			"stream":   func(r *rig, d op.Desc) { require.NoError(t, r.stream.Close()) },
			"poisoned": func(r *rig, d op.Desc) { r.do(op.Log, 1, d) },
			"panicked": func(r *rig, d op.Desc) { r.do(op.Tan, 1, d) },
			"nothing":  func(*rig, op.Desc) {},
		} {
			r := open(t, &driver{adopts: adopts, views: adopts})
			h, ok := core.Extension[core.HostMemory](r.dev)
			require.True(t, ok)
			busy := r.do(op.Exp, 0, r.put(1, 1)) // the queue has work when the memory comes
			d := vector(r.dev.NewIDs(1), 2)
			var released atomic.Int32
			data := bytesOf(1, 2)
			require.NoError(t, h.Adopt(r.stream, d, data, func() { released.Add(1) }))
			end(r, d)
			require.Equal(t, bytesOf(1, 2), data, "the memory is written to: %s", name)
			_ = busy
			r.closed()
			require.Equal(t, int32(1), released.Load(), "%s, adopts %v", name, adopts)
		}
	}
}

// TestAdoptRefused checks that memory is not released if Adopt returns an error.
func TestAdoptRefused(t *testing.T) {
	r := open(t, &driver{adopts: true, views: true})
	h, _ := core.Extension[core.HostMemory](r.dev)
	var released atomic.Int32
	release := func() { released.Add(1) }
	require.ErrorIs(t, h.Adopt(r.stream, vector(r.dev.NewIDs(1), 2), make([]byte, 7), release), core.ErrShape)
	require.NoError(t, r.stream.Close())
	require.ErrorIs(t, h.Adopt(r.stream, vector(r.dev.NewIDs(1), 2), make([]byte, 8), release), core.ErrClosed)
	require.ErrorIs(t, h.Adopt(r.stream, vector(r.dev.NewIDs(1), 1), make([]byte, 4), release), core.ErrClosed)
	r.closed()
	require.Zero(t, released.Load())
}

// TestView checks that View lends the elements and returns the error of its function, and that memory that a device refuses to adopt is copied.
func TestView(t *testing.T) {
	r := open(t, &driver{adopts: true, views: true})
	h, _ := core.Extension[core.HostMemory](r.dev)
	d := r.do(op.Neg, 0, r.put(1, 2))
	require.NoError(t, h.View(t.Context(), r.stream, d.ID, func(data []byte) error {
		require.Equal(t, bytesOf(-1, -2), data)
		return nil
	}))
	require.ErrorIs(t, h.View(t.Context(), r.stream, d.ID, func([]byte) error { return context.DeadlineExceeded }), context.DeadlineExceeded)
	short := vector(r.dev.NewIDs(1), 1)
	require.NoError(t, h.Adopt(r.stream, short, bytesOf(7), func() {})) // by a copy
	r.holds(short, 7)
	r.closed()
}

// TestEventBeforeFailure checks that an event does not report the failure of a later command.
func TestEventBeforeFailure(t *testing.T) {
	r := open(t, new(driver))
	x := r.put(1)
	require.NoError(t, core.Sync(t.Context(), r.stream))
	before := r.stream.Signal()
	bad := r.do(op.Log, 0, x)
	_, err := values(r.stream, bad)
	require.ErrorIs(t, err, core.ErrIndex)
	require.NoError(t, before.Wait(t.Context()))
	require.ErrorIs(t, core.Sync(t.Context(), r.stream), core.ErrIndex)
	r.closed()
}
