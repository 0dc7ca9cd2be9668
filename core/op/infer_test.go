package op_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

func TestInference(t *testing.T) {
	u8 := func(d ...int) op.Desc { return op.DescOf(dtype.U8, d...) }
	for _, c := range []struct {
		op    op.Code
		in    []op.Desc
		attrs []op.Attr
		want  []op.Desc
	}{
		{op.Full, nil, with(op.ScalarInt("value", 1), op.Type("dtype", dtype.U8), op.Ints("shape", 0, 3)), ins(u8(0, 3))},
		{op.RandomBits, nil, with(op.Int("seed", 1), op.Ints("shape")), ins(op.DescOf(dtype.I32))},
		{op.Reshape, ins(f(0, 3)), with(op.Ints("shape", 7, 0)), ins(f(7, 0))},
		{op.Permute, ins(f(2, 3, 4)), with(op.Ints("axes", 2, 0, 1)), ins(f(4, 2, 3))},
		{op.Expand, ins(b(3, 1)), with(op.Ints("shape", 2, 3, 0)), ins(b(2, 3, 0))},
		{op.Slice, ins(f(5, 4)), with(op.Ints("start", 4, 9), op.Ints("size", 3, 0), op.Ints("step", -2, 1)), ins(f(3, 0))},
		{op.Pad, ins(f(3, 4)), with(op.Ints("lo", -1, 2), op.Ints("hi", 0, -3)), ins(f(2, 3))},
		{op.Concat, ins(f(2, 0), f(2, 3), f(2, 1)), axis(1), ins(f(2, 4))},
		{op.Gather, ins(f(2, 5, 3), i(2, 4, 6)), with(op.Int("axis", 1), op.Int("batch", 1)), ins(f(2, 4, 6, 3))},
		{op.Gather, ins(f(5, 3), i()), axis(0), ins(f(3))},
		{op.Scatter, ins(f(5, 3), i(4), f(4, 3)), axis(0), ins(f(5, 3))},
		{op.Cast, ins(f(2)), with(op.Type("dtype", dtype.Bool)), ins(b(2))},
		{op.IsNaN, ins(f(2)), nil, ins(b(2))},
		{op.Add, ins(f(2, 1, 3), f(4, 1)), nil, ins(f(2, 4, 3))},
		{op.Add, ins(f(0, 1), f(3)), nil, ins(f(0, 3))},
		{op.Less, ins(i(), i(2)), nil, ins(b(2))},
		{op.Where, ins(b(2, 1), i(3), i()), nil, ins(i(2, 3))},
		{op.Sum, ins(f(2, 3, 4)), with(op.Ints("axes", 2, 0)), ins(f(3))},
		{op.Sum, ins(f(2, 3, 4)), with(op.Ints("axes", 1), op.Flag("keep_dims", true)), ins(f(2, 1, 4))},
		{op.Sum, ins(f(2, 0)), with(op.Ints("axes", 1)), ins(f(2))},
		{op.ArgMax, ins(f(2, 3)), axis(0), ins(i(3))},
		{op.Sort, ins(u8(2, 3)), axis(1), ins(u8(2, 3), i(2, 3))},
		{op.MatMul, ins(f(5, 1, 2, 3), f(4, 3, 7)), nil, ins(f(5, 4, 2, 7))},
		{op.MatMul, ins(f(3, 2), f(7, 3)), with(op.Flag("transpose_a", true), op.Flag("transpose_b", true)), ins(f(2, 7))},
		{op.MatMul, ins(f(2, 0), f(0, 3)), nil, ins(f(2, 3))},
		{op.Conv, ins(f(2, 4, 7, 6), f(6, 2, 3, 2)), with(op.Ints("strides", 2, 1), op.Ints("pad_lo", 1, -1), op.Ints("pad_hi", 2, 0), op.Ints("kernel_dilation", 1, 2),
			op.Ints("input_dilation", 1, 3), op.Int("groups", 2)), ins(f(2, 6, 4, 13))}, // (7+3-3)/2+1; 16-1-3+1
		{op.Conv, ins(f(1, 1, 2), f(1, 1, 5)), conv(1, 1, 0), ins(f(1, 1, 0))},
		{op.WindowReduce, ins(f(2, 6, 5)), window(0, []int{3, 2}, maxed, op.Flag("indices", true)), ins(f(2, 4, 4), i(2, 4, 4))},
		{op.AvgPool, ins(f(6)), with(op.Ints("window", 3), op.Ints("strides", 2), op.Ints("pad_lo", 0), op.Ints("pad_hi", 0), op.Ints("overhang", 1), op.Ints("dilation", 1)), ins(f(3))},
		{op.Linear, ins(f(2, 3, 5), f(4, 5), f(4)), with(op.Flag("transpose_w", true)), ins(f(2, 3, 4))},
		{op.Linear, ins(f(5), f(5, 4)), nil, ins(f(4))},
		{op.LSTM, ins(f(3, 2, 5), f(2, 16, 5), f(2, 16, 4), f(2, 16), f(2, 2, 4), f(2, 2, 4)), with(op.Str("direction", "bidirectional")),
			ins(f(3, 2, 2, 4), f(2, 2, 4), f(2, 2, 4))},
		{op.GRU, ins(f(3, 2, 5), f(1, 12, 5), f(1, 12, 4), f(1, 12), f(1, 12), f(1, 2, 4)), nil, ins(f(3, 1, 2, 4), f(1, 2, 4))},
		{op.GatherElements, ins(f(4, 5), i(2, 9)), axis(1), ins(f(2, 9))},
		{op.GatherND, ins(f(2, 3, 4, 5), i(2, 6, 1)), with(op.Int("batch", 1)), ins(f(2, 6, 4, 5))},
		{op.GatherND, ins(f(2, 3), i(2)), nil, ins(f())},
		{op.ScatterND, ins(f(2, 3), i(4, 1), f(4, 3)), nil, ins(f(2, 3))},
		{op.OneHot, ins(i(2, 3)), with(op.Int("depth", 4), op.Int("axis", 1), op.Type("dtype", dtype.U8)), ins(u8(2, 4, 3))},
		{op.TopK, ins(f(2, 5)), with(op.Int("k", 2), op.Int("axis", 1)), ins(f(2, 2), i(2, 2))},
		{op.Quantize, ins(f(2, 3), f(3), u8(3)), axis(1), ins(u8(2, 3))},
		{op.Dequantize, ins(u8(2, 3), f(), u8()), nil, ins(f(2, 3))},
	} {
		n, err := op.New(c.op, c.in, c.attrs...)
		require.NoError(t, err, c.op)
		require.Len(t, n.Outputs, len(c.want), c.op)
		for k := range c.want {
			require.True(t, c.want[k].SameType(n.Outputs[k]), "%v gives %v for output %d, want %v", c.op, n.Outputs[k], k, c.want[k])
		}
		require.NoError(t, op.Check(&n, c.in), c.op)
	}
}

func TestAttributeCompletion(t *testing.T) {
	n, err := op.New(op.Sum, ins(f(2)), op.Ints("axes", 0))
	require.NoError(t, err)
	require.True(t, n.Attrs.Equal(op.Attrs{op.Ints("axes", 0), op.Flag("keep_dims", false)}), "defaults in the order of the schema: %v", n.Attrs)
	n, err = op.New(op.Pad, ins(f(2)), op.ScalarFloat("value", 1), op.Ints("hi", 1), op.Ints("lo", 0))
	require.NoError(t, err)
	require.Equal(t, "{lo=[0] hi=[1] value=1}", n.Attrs.String())
	n, err = op.New(op.Neg, ins(f(2)))
	require.NoError(t, err)
	require.Nil(t, n.Attrs)

	for _, c := range []struct {
		attrs []op.Attr
		say   string
	}{
		{nil, `attribute "axes" is missing, want ints`},
		{with(op.Int("axes", 0)), `attribute "axes" is int, want ints`},
		{with(op.Ints("axes", 0), op.Flag("keep", true)), `unknown attribute "keep"`},
		{with(op.Ints("axes", 0), op.Ints("axes", 0)), "given twice"},
	} {
		_, err := op.New(op.Sum, ins(f(2)), c.attrs...)
		require.ErrorIs(t, err, op.ErrAttr)
		require.ErrorContains(t, err, c.say)
	}
	_, err = op.New(op.Gelu, ins(f(2)), op.Str("approximate", "cubic"))
	require.ErrorContains(t, err, `is "cubic", want one of [none tanh]`)
	_, err = op.New(op.Cast, ins(f(2)), op.Type("dtype", 99))
	require.ErrorIs(t, err, op.ErrAttr)
}

// Check verifies everything in a node that comes from elsewhere.
func TestCheck(t *testing.T) {
	in := ins(f(2, 3))
	good, err := op.New(op.Sum, in, op.Ints("axes", 1))
	require.NoError(t, err)
	for _, c := range []struct {
		name   string
		change func(n *op.Node)
		is     error
	}{
		{"unknown op", func(n *op.Node) { n.Op = 60000 }, op.ErrUnsupported},
		{"no op", func(n *op.Node) { n.Op = op.NoOp }, op.ErrUnsupported},
		{"version", func(n *op.Node) { n.Version++ }, op.ErrUnsupported},
		{"attribute missing", func(n *op.Node) { n.Attrs = n.Attrs[:1] }, op.ErrAttr},
		{"attributes out of order", func(n *op.Node) { n.Attrs = op.Attrs{n.Attrs[1], n.Attrs[0]} }, op.ErrAttr},
		{"attribute of another kind", func(n *op.Node) { n.Attrs = op.Attrs{op.Int("axes", 1), n.Attrs[1]} }, op.ErrAttr},
		{"attribute out of range", func(n *op.Node) { n.Attrs = op.Attrs{op.Ints("axes", 2), n.Attrs[1]} }, op.ErrShape},
		{"no outputs", func(n *op.Node) { n.Outputs = nil }, op.ErrShape},
		{"output shape", func(n *op.Node) { n.Outputs = ins(f(3)) }, op.ErrShape},
		{"output type", func(n *op.Node) { n.Outputs = ins(i(2)) }, op.ErrShape},
	} {
		n := good
		c.change(&n)
		require.ErrorIs(t, op.Check(&n, in), c.is, c.name)
	}
	require.NoError(t, op.Check(&good, in))
	require.ErrorIs(t, op.Check(&good, nil), op.ErrShape)
}

func TestTensorID(t *testing.T) {
	id := op.NewTensorID(3, 12)
	require.Equal(t, uint16(3), id.Generation())
	require.Equal(t, uint64(12), id.Sequence())
	require.Equal(t, "t12/3", id.String())
	require.NotEqual(t, id, op.NewTensorID(4, 12))
	require.Equal(t, "t12", op.NewTensorID(0, 12).String())
}

// NumberValue restores a number from its bits, as wire codecs do.
func TestNumberValue(t *testing.T) {
	for _, a := range with(op.Int("", -5), op.Float("", 0.1), op.Flag("", true), op.Type("", dtype.BF16), op.ScalarInt("", -1), op.ScalarFloat("", 2.5)) {
		bits, isInt := a.Value.Bits()
		require.True(t, a.Value.Equal(op.NumberValue(a.Value.Kind(), bits, isInt)), "%v", a.Value)
	}
	require.False(t, op.ScalarInt("", 1).Value.Equal(op.ScalarFloat("", 1).Value))
	require.Equal(t, 1.0, op.ScalarInt("", 1).Value.Float())
	require.Equal(t, int64(2), op.ScalarFloat("", 2.9).Value.Int())
}
