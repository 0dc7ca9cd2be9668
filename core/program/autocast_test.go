package program_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/core/shape"
)

// small returns a program that computes y = 0.5·relu(x·w + b), gathered, and exp(y) for x[2,4]: it has a product, ops of either precision, a
// wide op, and constants that are bound and filled.
func small(t *testing.T) *program.Program {
	t.Helper()
	last := op.TensorID(0)
	next := func() op.TensorID { last++; return last }
	desc := func(d dtype.DType, dims ...int) op.Desc {
		return op.Desc{ID: next(), DType: d, Shape: shape.Of(dims...)}
	}
	p := &program.Program{Name: "small", Inputs: []op.Desc{desc(dtype.F32, 2, 4)}, Consts: []op.Desc{desc(dtype.F32, 4, 3), desc(dtype.F32, 3), desc(dtype.I64, 2)}}
	b := op.NewBuilder(next)
	y := b.Do(op.Relu, b.Do(op.Add, b.Do(op.MatMul, p.Inputs[0], p.Consts[0]), p.Consts[1]))
	y = b.Do(op.Mul, y, b.Scalar(dtype.F32, 0.5))
	y = b.With(op.Gather, []op.Desc{y, p.Consts[2]}, op.Int("axis", 0))
	e := b.Do(op.Exp, y)
	require.NoError(t, b.Err())
	p.Nodes, p.Outputs = b.Nodes, []op.TensorID{e.ID, y.ID}
	require.NoError(t, p.Check())
	return p
}

// types returns the ops of a program with the types of their first results.
func types(p *program.Program) (list []string) {
	for i := range p.Nodes {
		list = append(list, op.Lookup(p.Nodes[i].Op).Name+" "+p.Nodes[i].Outputs[0].DType.String())
	}
	return list
}

func TestAutocast(t *testing.T) {
	p := small(t)
	before := p.String()
	q, from, err := p.Autocast(dtype.BF16, nil)
	require.NoError(t, err)
	require.NoError(t, q.Check())
	require.Equal(t, before, p.String())
	require.Equal(t, []string{"cast bf16", "matmul bf16", "add bf16", "relu bf16", "full bf16", "mul bf16", "gather bf16", "cast f32", "exp f32"}, types(q))
	require.Equal(t, p.Inputs, q.Inputs)
	for i, d := range p.OutputDescs() {
		require.True(t, d.SameType(q.OutputDescs()[i]))
	}
	require.Equal(t, []int{0, 1, 2}, from)
	for i, want := range []dtype.DType{dtype.BF16, dtype.BF16, dtype.I64} {
		require.Equal(t, want, q.Consts[i].DType)
	}
}

// A node that the backend does not support in the narrow type stays in f32, and so do its constants.
func TestAutocastUnsupported(t *testing.T) {
	q, from, err := small(t).Autocast(dtype.F16, func(n *op.Node, _ []op.Desc) bool { return n.Op != op.Add })
	require.NoError(t, err)
	require.NoError(t, q.Check())
	require.Equal(t, []string{"cast f16", "matmul f16", "cast f32", "add f32", "relu f32", "full f32", "mul f32", "gather f32", "exp f32"}, types(q))
	require.Equal(t, []int{0, 1, 2}, from)
	require.Equal(t, dtype.F32, q.Consts[1].DType)

	q, _, err = small(t).Autocast(dtype.F16, func(*op.Node, []op.Desc) bool { return false })
	require.NoError(t, err)
	require.NotContains(t, types(q), "cast f16")
}

func TestPrecisionOf(t *testing.T) {
	for c, want := range map[op.Code]program.Precision{op.Conv: program.Narrow, op.Attention: program.Narrow, op.Softmax: program.Wide, op.LayerNorm: program.Wide,
		op.Exp: program.Wide, op.Sum: program.Wide, op.Add: program.Either, op.Gelu: program.Either, op.Reshape: program.Either, op.Cast: program.Either, op.ReduceMax: program.Either} {
		require.Equal(t, want, program.PrecisionOf(c), op.Lookup(c).Name)
	}
}
