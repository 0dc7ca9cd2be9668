package op_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// recorder returns a builder whose results are numbered from 11, and an operand t1 f32[2,3].
func recorder() (*op.Builder, op.Desc) {
	last := op.TensorID(10)
	return op.NewBuilder(func() op.TensorID { last++; return last }), op.Desc{ID: 1, DType: dtype.F32, Shape: shape.Of(2, 3)}
}

// recorded returns the text of each recorded node.
func recorded(b *op.Builder) (text []string) {
	for i := range b.Nodes {
		text = append(text, b.Nodes[i].String())
	}
	return text
}

// A call that would change nothing records no node and returns its operand.
func TestBuilderIdentities(t *testing.T) {
	b, x := recorder()
	scalar := op.Desc{ID: 2, DType: dtype.F32}
	for _, y := range []op.Desc{b.Reshape(x, shape.Of(2, 3)), b.Permute(x, 0, 1), b.Expand(x, shape.Of(2, 3)), b.Cast(x, dtype.F32), b.Narrow(x, 0, 0, 2), b.Narrow(x, 1, 0, 3), b.Concat(1, x)} {
		require.Equal(t, x, y)
	}
	require.Equal(t, scalar, b.Reshape(scalar, nil))
	require.Equal(t, scalar, b.Expand(scalar, shape.Shape{}))
	require.Equal(t, scalar, b.Permute(scalar))
	require.Empty(t, b.Nodes)
	require.NoError(t, b.Err())
}

// A call that changes something records one node and returns its first output.
func TestBuilderRecords(t *testing.T) {
	for want, record := range map[string]func(b *op.Builder, x op.Desc) op.Desc{
		"t11 f32[3,2] = reshape(t1) {shape=[3,2]}":                        func(b *op.Builder, x op.Desc) op.Desc { return b.Reshape(x, shape.Of(3, 2)) },
		"t11 f32[1,2,3] = reshape(t1) {shape=[1,2,3]}":                    func(b *op.Builder, x op.Desc) op.Desc { return b.Reshape(x, shape.Of(1, 2, 3)) },
		"t11 f32[3,2] = permute(t1) {axes=[1,0]}":                         func(b *op.Builder, x op.Desc) op.Desc { return b.Permute(x, 1, 0) },
		"t11 f32[4,2,3] = expand(t1) {shape=[4,2,3]}":                     func(b *op.Builder, x op.Desc) op.Desc { return b.Expand(x, shape.Of(4, 2, 3)) },
		"t11 i64[2,3] = cast(t1) {dtype=i64 saturate=true}":               func(b *op.Builder, x op.Desc) op.Desc { return b.Cast(x, dtype.I64) },
		"t11 f32[2,1] = slice(t1) {start=[0,2] size=[2,1] step=[1,1]}":    func(b *op.Builder, x op.Desc) op.Desc { return b.Narrow(x, 1, 2, 1) },
		"t11 f32[1,3] = slice(t1) {start=[0,0] size=[1,3] step=[1,1]}":    func(b *op.Builder, x op.Desc) op.Desc { return b.Narrow(x, 0, 0, 1) },
		"t11 f32[2,0] = slice(t1) {start=[0,3] size=[2,0] step=[1,1]}":    func(b *op.Builder, x op.Desc) op.Desc { return b.Narrow(x, 1, 3, 0) },
		"t11 f32[2] = sum(t1) {axes=[1] keep_dims=false}":                 func(b *op.Builder, x op.Desc) op.Desc { return b.Reduce(op.Sum, x, false, 1) },
		"t11 f32[1,1] = reduce_max(t1) {axes=[0,1] keep_dims=true}":       func(b *op.Builder, x op.Desc) op.Desc { return b.Reduce(op.ReduceMax, x, true, 0, 1) },
		"t11 f32[2,6] = concat(t1, t1) {axis=1}":                          func(b *op.Builder, x op.Desc) op.Desc { return b.Concat(1, x, x) },
		"t11 f32[] = full() {value=0.5 dtype=f32 shape=[]}":               func(b *op.Builder, x op.Desc) op.Desc { return b.Like(x, 0.5) },
		"t11 bf16[] = full() {value=-1 dtype=bf16 shape=[]}":              func(b *op.Builder, _ op.Desc) op.Desc { return b.Scalar(dtype.BF16, -1) },
		"t11 u8[2] = full() {value=7 dtype=u8 shape=[2]}":                 func(b *op.Builder, _ op.Desc) op.Desc { return b.FullInt(dtype.U8, 7, shape.Of(2)) },
		"t11 i8[] = full() {value=-128 dtype=i8 shape=[]}":                func(b *op.Builder, _ op.Desc) op.Desc { return b.Bound(dtype.I8, op.ScalarInt("value", -128)) },
		"t11 f32[2,3] = softmax(t1) {axis=1}":                             func(b *op.Builder, x op.Desc) op.Desc { return b.Un(op.Softmax, x, op.Int("axis", 1)) },
		"t11 f32[2,3] = sub(t1, t1)":                                      func(b *op.Builder, x op.Desc) op.Desc { return b.Do(op.Sub, x, x) },
		"t11 f32[2,3], t12 i64[2,3] = sort(t1) {axis=0 descending=false}": func(b *op.Builder, x op.Desc) op.Desc { return b.With(op.Sort, ins(x), op.Int("axis", 0)) },
	} {
		b, x := recorder()
		y := record(b, x)
		require.NoError(t, b.Err(), want)
		require.Equal(t, []string{want}, recorded(b))
		require.Equal(t, b.Nodes[0].Outputs[0], y)
	}
}

// A builder keeps its first fault: it records nothing more, results have neither id nor shape, and no helper panics on them.
func TestBuilderFault(t *testing.T) {
	b, x := recorder()
	y := b.Do(op.Neg, x)
	bad := b.Do(op.Add, x, op.DescOf(dtype.I32))
	require.Zero(t, bad.ID)
	first := b.Err()
	require.ErrorIs(t, first, op.ErrDType)
	require.Len(t, b.All(op.Sort, ins(y), op.Int("axis", 0)), 2, "as many results as the op has, for callers that index them")
	require.Len(t, b.All(op.NoOp, nil), 1)
	b.Fail(errors.New("later"))
	for _, z := range []op.Desc{b.Reshape(bad, shape.Of(9)), b.Permute(bad, 1, 0), b.Expand(bad, shape.Of(4)), b.Narrow(bad, 3, 1, 1), b.Reduce(op.Sum, bad, true, 5), b.Concat(0, bad, bad),
		b.Cast(bad, dtype.F64), b.Scalar(dtype.F32, 1), b.Do(op.Neg, y)} {
		require.Zero(t, z.ID)
	}
	require.Same(t, first.(*op.Error), b.Err().(*op.Error))
	require.Len(t, b.Nodes, 1)

	b, _ = recorder()
	cause := errors.New("cause")
	b.Fail(cause)
	require.Equal(t, cause, b.Err())
	require.Empty(t, b.Nodes)
}

// Decompose returns an error if the rule fails or returns other types than inference. The error names the op that failed.
func TestDecomposeFaults(t *testing.T) {
	x := op.Desc{ID: 1, DType: dtype.F32, Shape: shape.Of(3)}
	same := func(in []op.Desc, _ op.Attrs) ([]op.Desc, error) { return in[:1], nil }
	for _, c := range []struct {
		name string
		rule op.Decomposition
		say  string
	}{
		{"test.shapes", func(b *op.Builder, in []op.Desc, _ op.Attrs) []op.Desc { return ins(b.Reduce(op.Sum, in[0], false, 0)) }, "test.shapes: decomposition gives f32[] for output 0, want f32[3]"},
		{"test.types", func(b *op.Builder, in []op.Desc, _ op.Attrs) []op.Desc { return ins(b.Cast(in[0], dtype.I64)) }, "decomposition gives i64[3] for output 0, want f32[3]"},
		{"test.faults", func(b *op.Builder, in []op.Desc, _ op.Attrs) []op.Desc {
			return ins(b.Un(op.Softmax, in[0], op.Int("axis", 4)))
		}, "softmax: axis 4, want one in [0,1)"},
	} {
		code := op.Register(op.Row{Name: c.name, Version: 1, Doc: "x", Operands: []op.Operand{{Name: "x", Types: dtype.Floats}}, Results: []string{"y"}, Infer: same}, c.rule)
		require.True(t, op.HasDecomposition(code))
		n, err := op.New(code, ins(x))
		require.NoError(t, err)
		n.Outputs[0].ID = 2
		last := op.TensorID(2)
		nodes, ok, err := op.Decompose(&n, ins(x), func() op.TensorID { last++; return last })
		require.ErrorContains(t, err, c.say)
		require.True(t, ok)
		require.Nil(t, nodes)
	}
}

// A composite of the table whose results have no elements decomposes into one Full for each of them.
func TestDecomposeEmpty(t *testing.T) {
	x := op.Desc{ID: 1, DType: dtype.F32, Shape: shape.Of(0, 3)}
	n, err := op.New(op.TopK, ins(x), op.Int("k", 2), op.Int("axis", 1))
	require.NoError(t, err)
	n.Outputs[0].ID, n.Outputs[1].ID = 2, 3
	last := op.TensorID(3)
	nodes, ok, err := op.Decompose(&n, ins(x), func() op.TensorID { last++; return last })
	require.NoError(t, err)
	require.True(t, ok)
	b := op.Builder{Nodes: nodes}
	require.Equal(t, []string{"t2 f32[0,2] = full() {value=0 dtype=f32 shape=[0,2]}", "t3 i64[0,2] = full() {value=0 dtype=i64 shape=[0,2]}"}, recorded(&b))
}
