package gpu

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program/group"
)

// crossEntropy returns the loss of 16-bit logits and its gradient, composed of nodes. Both need the softmax in 32 bits.
func crossEntropy(t *testing.T) *maker {
	m := newMaker(t, "loss")
	attrs := []op.Attr{op.Ints("axes", 1), op.Flag("keep_dims", true)}
	y := m.node(op.Cast, ids(m.node(op.Linear, ids(m.input(2, 3, 12), m.input(37, 12)), op.Flag("transpose_w", true))), op.Type("dtype", dtype.BF16))
	wide := m.node(op.Cast, ids(m.node(op.Reshape, ids(y), op.Ints("shape", 6, 37))), op.Type("dtype", dtype.F32))
	low := m.node(op.Sub, ids(wide, m.node(op.ReduceMax, ids(wide), attrs...)))
	logs := m.node(op.Sub, ids(low, m.node(op.Log, ids(m.node(op.Sum, ids(m.node(op.Exp, ids(low))), attrs...)))))
	labels := m.node(op.ArgMax, ids(m.input(6, 37)), op.Int("axis", 1), op.Flag("keep_dims", false))
	taken := m.node(op.Gather, ids(logs, labels), op.Int("axis", 1), op.Int("batch", 1))
	loss := m.node(op.Neg, ids(taken))
	dy := m.node(op.Reshape, ids(m.node(op.Mul, ids(taken, taken))), op.Ints("shape", 6, 1)) // after the loss
	classes := m.node(op.Iota, nil, op.Type("dtype", dtype.I64), op.Ints("shape", 1, 37), op.Int("axis", 1))
	this := m.node(op.Equal, ids(m.node(op.Reshape, ids(labels), op.Ints("shape", 6, 1)), classes))
	one := m.node(op.Where, ids(this, dy, m.node(op.Full, nil, op.Type("dtype", dtype.F32), op.Dims("shape", nil), op.ScalarFloat("value", 0))))
	slope := m.node(op.Sub, ids(one, m.node(op.Mul, ids(m.node(op.Exp, ids(logs)), m.node(op.Sum, ids(one), attrs...)))))
	m.p.Outputs = ids(loss, m.node(op.Cast, ids(m.node(op.Cast, ids(slope), op.Type("dtype", dtype.BF16))), op.Type("dtype", dtype.F32)))
	return m
}

// TestRecompute computes the loss of logits and its gradient. With recomputation no group passes a 32-bit tensor of the size of the
// logits to another group, and the gather reads the 16-bit logits.
func TestRecompute(t *testing.T) {
	d, _ := openDevice(t, Options{keepFrom: 1}, func(*fakeDevice) {})
	m := crossEntropy(t)
	against(t, d, m.p)
	passed := func(keep int) (wide, gathered int) {
		q := group.NewGraph(m.p).Recompute(d.policy, keep)
		require.NoError(t, q.Check())
		g := group.NewGraph(q)
		for _, x := range g.Decide(d.policy) {
			for _, o := range x.Outputs {
				if o.DType == dtype.F32 && o.Shape.Size() == 6*37 && g.Users(o.ID)[0] != group.Outside && o.Shape[0] == 6 {
					wide++
				}
			}
			require.False(t, x.Kind == group.Single && g.Nodes[x.Anchor].Op == op.Iota, "the numbers of classes need no memory")
			if x.Anchor != group.None && g.Nodes[x.Anchor].Op == op.Gather {
				gathered += g.Desc(g.Nodes[x.Anchor].Inputs[0]).DType.Size()
			}
		}
		return wide, gathered
	}
	wide, gathered := passed(1 << 20)
	require.Equal(t, 4, gathered)
	require.Positive(t, wide)
	wide, gathered = passed(1)
	require.Equal(t, 2, gathered)
	require.Zero(t, wide)
}

// TestGatherOfLines gathers from a tensor whose lines begin at multiples of 64 elements, with separate indices for each line and with
// common indices.
func TestGatherOfLines(t *testing.T) {
	l := &fakeLibrary{names: []string{"a"}}
	d, _ := openDevice(t, Options{padFrom: 1}, func(d *fakeDevice) { d.libraries = []Library{l} })
	m := newMaker(t, "lines")
	y := m.node(op.Linear, ids(m.input(2, 3, 12), m.input(13, 12)), op.Flag("transpose_w", true))
	rows := m.node(op.Reshape, ids(y), op.Ints("shape", 6, 13))
	one := m.node(op.ArgMax, ids(m.input(6, 13)), op.Int("axis", 1), op.Flag("keep_dims", false))
	some := m.node(op.ArgMax, ids(m.input(4, 13)), op.Int("axis", 1), op.Flag("keep_dims", false))
	m.p.Outputs = ids(m.node(op.Gather, ids(rows, one), op.Int("axis", 1), op.Int("batch", 1)), m.node(op.Gather, ids(rows, some), op.Int("axis", 1), op.Int("batch", 0)),
		m.node(op.Gather, ids(y, some), op.Int("axis", 2), op.Int("batch", 0)))
	against(t, d, m.p)
}
