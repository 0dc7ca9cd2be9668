package gpu

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// TestAFaultEndsTheDevice checks that after a fault its results are lost, later calls fail, and Lost is called once.
func TestAFaultEndsTheDevice(t *testing.T) {
	var lost atomic.Int64
	r := newRig(t, Options{Lost: func(device int, err error) {
		if device == 0 && errors.Is(err, core.ErrBackendLost) {
			lost.Add(1)
		}
	}}, nil)
	d := op.DescOf(dtype.F32, 2)
	x := r.floats([]int{2}, 1, 2)
	r.read(x, 2)
	fault := errors.New("illegal address")
	r.fake.fault.Store(&fault)
	y := r.run(op.Neg, ids(x), []op.Desc{d}, 0)[0]
	v := make([]float32, 2)
	require.ErrorIs(t, r.stream.Read(y, dtype.Bytes(v)).Wait(context.Background()), core.ErrBackendLost)
	z := r.run(op.Abs, ids(x), []op.Desc{d}, 0)[0]
	require.ErrorIs(t, r.stream.Read(z, dtype.Bytes(v)).Wait(context.Background()), core.ErrBackendLost)
	require.EqualValues(t, 1, lost.Load())
}

// TestPlainNamesTheNode checks that the error of a fault in a program names the program, and the node too with the option Plain.
func TestPlainNamesTheNode(t *testing.T) {
	for _, plain := range []bool{true, false} {
		r := newRig(t, Options{Plain: plain}, nil).apart()
		m := newMaker(t, "faulty")
		x := m.input(2)
		for range 4 {
			x = m.node(op.Neg, ids(m.node(op.Abs, ids(x))))
		}
		m.p.Outputs = ids(m.node(op.Sin, ids(x)))
		p := r.define(m.p)
		require.Zero(t, r.read(r.call(p, 1, nil, r.floats([]int{2}, 0, 0))[0], 2)[0])
		r.fake.planted = "sin"
		out := r.call(p, 1, nil, r.floats([]int{2}, 0, 0))
		v := make([]float32, 2)
		err := r.stream.Read(out[0], dtype.Bytes(v)).Wait(context.Background())
		require.ErrorIs(t, err, core.ErrBackendLost)
		var n *core.NodeError
		require.ErrorAs(t, err, &n)
		require.Equal(t, "faulty", n.Program)
		if plain {
			require.Equal(t, "sin", n.Op)
		}
	}
}

// TestAnIndexOutOfRangeFailsItsNodeAlone checks that an index out of range fails only its node and dependents, or only its run of a program.
func TestAnIndexOutOfRangeFailsItsNodeAlone(t *testing.T) {
	r := newRig(t, Options{}, func(d *fakeDevice) { d.jitter = true })
	ctx := context.Background()
	x := r.floats([]int{3}, 1, 2, 3)
	index := func(v ...int32) op.TensorID {
		id := r.dev.NewIDs(1)
		require.NoError(t, r.stream.Write(ctx, op.Desc{ID: id, DType: dtype.I32, Shape: []int{len(v)}}, dtype.Bytes(v)))
		return id
	}
	descs := []op.Desc{op.DescOf(dtype.F32, 3), op.DescOf(dtype.I32, 2)}
	good := r.run(op.Gather, ids(x, index(2, 0)), descs, 0, op.Int("axis", 0))[0]
	bad := r.run(op.Gather, ids(x, index(0, 3)), descs, 0, op.Int("axis", 0))[0]
	after := r.run(op.Neg, ids(bad), []op.Desc{op.DescOf(dtype.F32, 2)}, 0)[0]
	last := r.run(op.Neg, ids(good), []op.Desc{op.DescOf(dtype.F32, 2)}, 0)[0]
	require.Equal(t, []float32{-3, -1}, r.read(last, 2))
	v := make([]float32, 2)
	err := r.stream.Read(after, dtype.Bytes(v)).Wait(ctx)
	require.ErrorIs(t, err, core.ErrIndex)
	var n *core.NodeError
	require.ErrorAs(t, err, &n)
	require.Equal(t, "gather", n.Op)

	m := newMaker(t, "rows")
	a := m.input(3)
	i := m.define(op.DescOf(dtype.I32, 2))
	m.p.Inputs = append(m.p.Inputs, i)
	m.p.Outputs = ids(m.node(op.Neg, ids(m.node(op.Gather, ids(a, i.ID), op.Int("axis", 0)))))
	p := r.define(m.p)
	for k := range 20 {
		at := int32(k % 5)
		out := r.call(p, 1, nil, x, index(0, at))
		err := r.stream.Read(out[0], dtype.Bytes(v)).Wait(ctx)
		if at > 2 {
			require.ErrorIs(t, err, core.ErrIndex)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, []float32{-1, -float32(at + 1)}, v)
	}
}
