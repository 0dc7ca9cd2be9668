package gpu

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// TestContents checks that rewrites can read small constants, and that each constant is copied from the device once.
func TestContents(t *testing.T) {
	d, _ := openDevice(t, Options{}, nil)
	q := d.queue(t)
	descs := []op.Desc{op.DescOf(dtype.F32, 3), op.DescOf(dtype.F32, maxKnown/4+1), op.DescOf(dtype.F32, 0)}
	var blocks []*block
	for _, x := range descs {
		v := make([]float32, x.Shape.Size())
		for i := range v {
			v[i] = float32(i) + 0.5
		}
		b, err := q.Enqueue(x, dtype.Bytes(v), func() {})
		require.NoError(t, err)
		blocks = append(blocks, b)
	}
	known := q.contents(descs, blocks)
	require.Equal(t, dtype.Bytes([]float32{0.5, 1.5, 2.5}), known(0))
	seq := q.seq
	require.Equal(t, dtype.Bytes([]float32{0.5, 1.5, 2.5}), known(0))
	require.Equal(t, seq, q.seq, "it is not read again")
	require.Nil(t, known(1))
	require.Nil(t, known(2))
	for _, b := range blocks {
		d.pool.release(b)
	}
}

// TestKnownConstants checks that a gelu composed of nodes and of constants of a model is recognised, and computed in one kernel.
func TestKnownConstants(t *testing.T) {
	r := newRig(t, Options{}, nil)
	m := newMaker(t, "gelu")
	x := m.input(8)
	half, root, one := m.constant(), m.constant(), m.constant()
	e := m.node(op.Erf, ids(m.node(op.Div, ids(x, root))))
	m.p.Outputs = ids(m.node(op.Mul, ids(m.node(op.Mul, ids(x, m.node(op.Add, ids(e, one)))), half)))
	consts := ids(r.floats(nil, 0.5), r.floats(nil, 1.4142135), r.floats(nil, 1))
	p := r.define(m.p, consts...)
	got := r.read(r.call(p, 1, nil, r.floats([]int{8}, -2, -1, -0.5, 0, 0.5, 1, 2, 3))[0], 8)
	want := []float32{-0.0455003, -0.1586553, -0.1542688, 0, 0.3457312, 0.8413447, 1.9544997, 2.9959502}
	require.InDeltaSlice(t, want, got, 1e-6)
	require.EqualValues(t, 1, r.fake.launches.Load())
	s, _ := core.Extension[Statistics](r.dev)
	var names []string
	for _, e := range s.(*device).kernels.entries {
		names = append(names, e.kernel.Name)
	}
	require.Equal(t, []string{"elementwise_gelu"}, names)
}
