package gradient_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/core/program/gradient"
)

// Reads returns the operands and results that a rule reads. Training keeps only these in memory for the backward pass.
func TestReads(t *testing.T) {
	const none = uint64(0)
	for _, c := range []struct {
		op      op.Code
		need    []bool
		in, out uint64
	}{
		{op.Add, []bool{true, true}, none, none}, {op.Neg, []bool{true}, none, none}, {op.Reshape, []bool{true}, none, none}, {op.Sum, []bool{true}, none, none},
		{op.Exp, []bool{true}, none, 1}, {op.Tanh, []bool{true}, none, 1}, {op.Relu, []bool{true}, none, 1}, {op.Softmax, []bool{true}, none, 1}, {op.Log, []bool{true}, 1, none},
		{op.Mul, []bool{true, false}, 2, none}, {op.Mul, []bool{false, true}, 1, none}, {op.Mul, []bool{true, true}, 3, none},
		{op.MatMul, []bool{true, false}, 2, none}, {op.MatMul, []bool{false, true}, 1, none}, {op.Conv, []bool{false, true}, 1, none},
		{op.Linear, []bool{false, false, true}, none, none}, {op.Linear, []bool{true, false, true}, 2, none}, {op.Linear, []bool{false, true}, 1, none},
		{op.Div, []bool{true, false}, 2, none}, {op.Div, []bool{false, true}, 2, 1}, {op.Rem, []bool{true, false}, none, none}, {op.Rem, []bool{false, true}, 3, none},
		{op.FloorMod, []bool{true, false}, none, none}, {op.FloorMod, []bool{true, true}, 3, none}, {op.Pow, []bool{true, false}, 3, none}, {op.Pow, []bool{false, true}, 3, 1},
		{op.LayerNorm, []bool{true}, 1, none}, {op.LayerNorm, []bool{true, true, true}, 3, none}, {op.LayerNorm, []bool{false, true, true}, 1, none},
		{op.TopK, []bool{true}, none, 2}, {op.Dropout, []bool{true}, none, 2}, {op.Gather, []bool{true, false}, 2, none}, {op.Where, []bool{false, true, true}, 1, none},
		{op.SVD, []bool{true}, none, 7}, {op.Cholesky, []bool{true}, none, 1}, {op.Attention, []bool{true, true, true}, 7, 1},
	} {
		r, ok := gradient.Of(c.op)
		require.True(t, ok, "%v", c.op)
		in, out := r.Reads(c.need)
		require.Equal(t, [2]uint64{c.in, c.out}, [2]uint64{in, out}, "%v of %v", c.op, c.need)
	}
	_, ok := gradient.Of(op.Einsum)
	require.False(t, ok)
	require.False(t, gradient.Rule{}.Exists())
}

func TestHow(t *testing.T) {
	for c, want := range map[op.Code][2]string{
		op.MatMul: {"rule", ""}, op.Einsum: {"decomposition", ""}, op.CrossEntropyLoss: {"decomposition", ""},
		op.Full: {"none", "it has no operand of a float type to depend on"}, op.ArgMax: {"none", "its results are integers or truth values"},
		op.DynamicQuantize: {"none", "its results are steps of its operands, and their scales are statistics of calibration"},
	} {
		how, reason := gradient.How(c)
		require.Equal(t, want, [2]string{how, reason}, "%v", c)
	}
}

// The rule of Attention holds if the target supports AttentionGradient and no gradient of a bias is needed. All other rules hold on every
// target.
func TestHolds(t *testing.T) {
	d := func(dims ...int) op.Desc { return op.DescOf(dtype.F32, dims...) }
	in := []op.Desc{d(1, 2, 3, 4), d(1, 2, 3, 4), d(1, 2, 3, 4), d(3, 3)}
	n, err := op.New(op.Attention, in)
	require.NoError(t, err)
	all := func(int) bool { return true }
	noBias := func(i int) bool { return i < 3 }
	asked := op.NoOp
	refuses := program.Target{Supports: func(n *op.Node, in []op.Desc) error {
		asked = n.Op
		require.Len(t, in, 6, "the result and its gradient are between values and mask")
		return errors.New("not here")
	}}
	takes := program.Target{Supports: func(*op.Node, []op.Desc) error { return nil }}
	require.False(t, gradient.Holds(takes, &n, in, all))
	require.True(t, gradient.Holds(takes, &n, in, noBias))
	require.True(t, gradient.Holds(program.Target{}, &n, in, noBias))
	require.False(t, gradient.Holds(refuses, &n, in, noBias))
	require.Equal(t, op.AttentionGradient, asked)
	require.True(t, gradient.Conditional(op.Attention))
	for _, c := range gradient.Ops() {
		if c != op.Attention {
			require.False(t, gradient.Conditional(c), "%v", c)
		}
	}
	add, err := op.New(op.Add, []op.Desc{d(2), d(2)})
	require.NoError(t, err)
	require.True(t, gradient.Holds(refuses, &add, []op.Desc{d(2), d(2)}, all))
}
