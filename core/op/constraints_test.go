package op_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// f and i return descriptors of tensors of f32 and i64.
func f(dims ...int) op.Desc { return op.DescOf(dtype.F32, dims...) }
func i(dims ...int) op.Desc { return op.DescOf(dtype.I64, dims...) }

func b(dims ...int) op.Desc { return op.DescOf(dtype.Bool, dims...) }

func ins(d ...op.Desc) []op.Desc { return d }

func with(a ...op.Attr) []op.Attr { return a }

func axis(n int) []op.Attr { return with(op.Int("axis", n)) }

// conv returns the attributes of a convolution with n spatial dimensions and padding pad on both sides.
func conv(n, groups, pad int) []op.Attr {
	ones, pads := make([]int, n), make([]int, n)
	for k := range ones {
		ones[k], pads[k] = 1, pad
	}
	return with(op.Ints("strides", ones...), op.Ints("pad_lo", pads...), op.Ints("pad_hi", pads...), op.Ints("kernel_dilation", ones...),
		op.Ints("input_dilation", ones...), op.Int("groups", groups))
}

// window returns more and the attributes of a window of the given sizes, with padding pad on both sides.
func window(pad int, size []int, more ...op.Attr) []op.Attr {
	ones, pads := make([]int, len(size)), make([]int, len(size))
	for k := range ones {
		ones[k], pads[k] = 1, pad
	}
	return append(more, op.Ints("window", size...), op.Ints("strides", ones...), op.Ints("pad_lo", pads...), op.Ints("pad_hi", pads...), op.Ints("dilation", ones...))
}

// violation is a node that breaks a constraint. New refuses it with an error that wraps is.
type violation struct {
	op         op.Code
	constraint string
	in         []op.Desc
	attrs      []op.Attr
	is         error
}

var (
	rank9 = []int{1, 1, 1, 1, 1, 1, 1, 1, 1}
	maxed = op.Str("reduce", "max")
	sums  = op.Str("reduce", "sum")
)

// violations break each numbered constraint of each row, most in one way, some in several.
var violations = []violation{
	{op.Full, "C1", nil, with(op.ScalarInt("value", 0), op.Type("dtype", dtype.F32), op.Ints("shape", -1)), op.ErrShape},
	{op.Full, "C1", nil, with(op.ScalarInt("value", 0), op.Type("dtype", dtype.F32), op.Ints("shape", rank9...)), op.ErrShape},
	{op.Full, "C1", nil, with(op.ScalarInt("value", 0), op.Type("dtype", dtype.F32), op.Ints("shape", 1<<40, 1<<40)), op.ErrShape},
	{op.Iota, "C1", nil, with(op.Type("dtype", dtype.F32), op.Ints("shape", -2)), op.ErrShape},
	{op.Iota, "C2", nil, with(op.Type("dtype", dtype.F32), op.Ints("shape", 2, 3), op.Int("axis", 2)), op.ErrShape},
	{op.Iota, "C2", nil, with(op.Type("dtype", dtype.F32), op.Ints("shape")), op.ErrShape},
	{op.Iota, "C3", nil, with(op.Type("dtype", dtype.Bool), op.Ints("shape", 2)), op.ErrDType},
	{op.RandomBits, "C1", nil, with(op.Int("seed", 1), op.Ints("shape", -1)), op.ErrShape},
	{op.RandomBits, "C2", nil, with(op.Int("seed", 1), op.Ints("shape", 2), op.Type("dtype", dtype.F32)), op.ErrDType},

	{op.Reshape, "C1", ins(f(4)), with(op.Ints("shape", -1)), op.ErrShape},
	{op.Reshape, "C2", ins(f(4)), with(op.Ints("shape", 3)), op.ErrShape},
	{op.Permute, "C1", ins(f(2, 3)), with(op.Ints("axes", 0)), op.ErrShape},
	{op.Permute, "C1", ins(f(2, 3)), with(op.Ints("axes", 0, 0)), op.ErrShape},
	{op.Permute, "C1", ins(f(2, 3)), with(op.Ints("axes", 0, 2)), op.ErrShape},
	{op.Expand, "C1", ins(f()), with(op.Ints("shape", -3)), op.ErrShape},
	{op.Expand, "C2", ins(f(2)), with(op.Ints("shape", 3)), op.ErrShape},
	{op.Expand, "C2", ins(f(2, 3)), with(op.Ints("shape", 3)), op.ErrShape},
	{op.Slice, "C1", ins(f(4)), with(op.Ints("start"), op.Ints("size", 1), op.Ints("step", 1)), op.ErrShape},
	{op.Slice, "C2", ins(f(4)), with(op.Ints("start", 0), op.Ints("size", 1), op.Ints("step", 0)), op.ErrShape},
	{op.Slice, "C2", ins(f(4)), with(op.Ints("start", 0), op.Ints("size", -1), op.Ints("step", 1)), op.ErrShape},
	{op.Slice, "C3", ins(f(4)), with(op.Ints("start", 2), op.Ints("size", 3), op.Ints("step", 1)), op.ErrShape},
	{op.Slice, "C3", ins(f(4)), with(op.Ints("start", 1), op.Ints("size", 3), op.Ints("step", -1)), op.ErrShape},
	{op.Slice, "C3", ins(f(4)), with(op.Ints("start", 0), op.Ints("size", 2), op.Ints("step", 1<<62)), op.ErrShape},
	{op.Slice, "C3", ins(f(4)), with(op.Ints("start", -1), op.Ints("size", 1), op.Ints("step", 1)), op.ErrShape},
	{op.Pad, "C1", ins(f(4)), with(op.Ints("lo", 1), op.Ints("hi")), op.ErrShape},
	{op.Pad, "C2", ins(f(4)), with(op.Ints("lo", -3), op.Ints("hi", -2)), op.ErrShape},
	{op.Pad, "C2", ins(f(4)), with(op.Ints("lo", 1<<62), op.Ints("hi", 1<<62)), op.ErrShape},
	{op.Flip, "C1", ins(f(4)), with(op.Ints("axes", 1)), op.ErrShape},
	{op.Flip, "C1", ins(f(4, 4)), with(op.Ints("axes", 1, 1)), op.ErrShape},
	{op.Concat, "C1", ins(f(4)), axis(1), op.ErrShape},
	{op.Concat, "C1", ins(f()), axis(0), op.ErrShape},
	{op.Concat, "C2", ins(f(2, 3), f(2)), axis(0), op.ErrShape},
	{op.Concat, "C2", ins(f(2, 3), f(2, 4)), axis(0), op.ErrShape},
	{op.Gather, "C1", ins(f(3), i(2)), axis(1), op.ErrShape},
	{op.Gather, "C2", ins(f(3, 4), i(3)), with(op.Int("axis", 0), op.Int("batch", 1)), op.ErrShape},
	{op.Gather, "C2", ins(f(3, 4), i()), with(op.Int("axis", 1), op.Int("batch", 1)), op.ErrShape},
	{op.Gather, "C3", ins(f(3, 4), i(2)), with(op.Int("axis", 1), op.Int("batch", 1)), op.ErrShape},
	{op.Scatter, "C1", ins(f(3), i(2), f(2)), axis(-1), op.ErrShape},
	{op.Scatter, "C2", ins(f(3), i(2), f(2)), with(op.Int("axis", 0), op.Int("batch", -1)), op.ErrShape},
	{op.Scatter, "C3", ins(f(3, 4), i(2), f(2)), with(op.Int("axis", 1), op.Int("batch", 1)), op.ErrShape},
	{op.Scatter, "C4", ins(f(3, 4), i(2), f(3, 4)), axis(0), op.ErrShape},
	{op.Scatter, "C5", ins(b(3), i(2), b(2)), with(op.Int("axis", 0), op.Str("mode", "add")), op.ErrDType},

	{op.ArgMax, "C1", ins(f(3)), axis(1), op.ErrShape}, {op.ArgMax, "C2", ins(f(0)), axis(0), op.ErrShape},
	{op.ArgMin, "C1", ins(f()), axis(0), op.ErrShape}, {op.ArgMin, "C2", ins(f(2, 0)), axis(1), op.ErrShape},

	{op.MatMul, "C1", ins(f(3), f(3, 2)), nil, op.ErrShape}, {op.MatMul, "C2", ins(f(2, 3), f(2, 3)), nil, op.ErrShape},
	{op.MatMul, "C2", ins(f(2, 3), f(3, 2)), with(op.Flag("transpose_a", true)), op.ErrShape},
	{op.MatMul, "C3", ins(f(2, 2, 3), f(3, 3, 2)), nil, op.ErrShape},
	{op.Conv, "C1", ins(f(1, 2), f(1, 2)), conv(0, 1, 0), op.ErrShape}, {op.Conv, "C1", ins(f(1, 2, 3), f(1, 2, 3, 3)), conv(1, 1, 0), op.ErrShape},
	{op.Conv, "C2", ins(f(1, 2, 5), f(1, 2, 3)), conv(2, 1, 0), op.ErrAttr},
	{op.Conv, "C3", ins(f(1, 3, 5), f(2, 3, 3)), conv(1, 2, 0), op.ErrShape}, {op.Conv, "C3", ins(f(1, 3, 5), f(2, 3, 3)), conv(1, 0, 0), op.ErrShape},
	{op.Conv, "C4", ins(f(1, 4, 5), f(2, 4, 3)), conv(1, 2, 0), op.ErrShape},
	{op.Conv, "C5", ins(f(1, 2, 3), f(1, 2, 2)), conv(1, 1, -2), op.ErrShape}, {op.Conv, "C5", ins(f(1, 2, 3), f(1, 2, 0)), conv(1, 1, 0), op.ErrShape},
	{op.Conv, "C2", ins(f(1, 2, 5), f(1, 2, 3)), conv(1, 1, math.MaxInt), op.ErrAttr},
	{op.WindowReduce, "C2", ins(f(3)), window(math.MaxInt, []int{1}, maxed), op.ErrAttr},
	{op.WindowReduce, "C3", ins(f(3)), with(maxed, op.Ints("window", 1<<40), op.Ints("strides", 1), op.Ints("pad_lo", 0), op.Ints("pad_hi", 0), op.Ints("dilation", 1<<40)), op.ErrShape},
	{op.Conv, "C5", ins(f(0, 2, 1<<40), f(1, 2, 3)), with(op.Ints("strides", 1), op.Ints("pad_lo", 0), op.Ints("pad_hi", 0), op.Ints("kernel_dilation", 1), op.Ints("input_dilation", 1<<40)), op.ErrShape},
	{op.WindowReduce, "C1", ins(f(3)), window(0, []int{1, 1}, maxed), op.ErrShape}, {op.WindowReduce, "C1", ins(f(3)), window(0, nil, maxed), op.ErrShape},
	{op.WindowReduce, "C2", ins(f(3)), window(0, []int{0}, maxed), op.ErrAttr},
	{op.WindowReduce, "C3", ins(f(3)), window(-2, []int{1}, maxed), op.ErrShape},
	{op.WindowReduce, "C4", ins(f(3)), window(0, []int{1}, sums, op.Flag("indices", true)), op.ErrAttr},

	{op.Softmax, "C1", ins(f(3)), axis(1), op.ErrShape}, {op.LogSoftmax, "C1", ins(f()), axis(0), op.ErrShape},
	{op.BatchNorm, "C1", ins(f(3), f(3), f(3), f(3), f(3)), nil, op.ErrShape}, {op.BatchNorm, "C2", ins(f(2, 3), f(3), f(3), f(2), f(3)), nil, op.ErrShape},
	{op.LayerNorm, "C1", ins(f(2, 3)), axis(2), op.ErrShape}, {op.LayerNorm, "C2", ins(f(2, 3), f(2)), axis(1), op.ErrShape},
	{op.RMSNorm, "C1", ins(f(2, 3)), axis(-1), op.ErrShape}, {op.RMSNorm, "C2", ins(f(2, 3), f(2, 3)), axis(1), op.ErrShape},
	{op.GroupNorm, "C1", ins(f(2), f(2), f(2)), with(op.Int("groups", 1)), op.ErrShape},
	{op.GroupNorm, "C2", ins(f(2, 3), f(3), f(3)), with(op.Int("groups", 2)), op.ErrShape},
	{op.GroupNorm, "C3", ins(f(2, 4), f(4), f(2)), with(op.Int("groups", 2)), op.ErrShape},

	{op.Linear, "C1", ins(f(), f(3, 2)), nil, op.ErrShape}, {op.Linear, "C1", ins(f(3), f(3)), nil, op.ErrShape},
	{op.Linear, "C2", ins(f(2, 3), f(2, 3)), nil, op.ErrShape}, {op.Linear, "C3", ins(f(2, 3), f(3, 4), f(1, 4)), nil, op.ErrShape},
	{op.AvgPool, "C1", ins(f(3)), window(0, []int{1, 1}, op.Ints("overhang", 0, 0)), op.ErrShape},
	{op.AvgPool, "C2", ins(f(3)), window(0, []int{0}, op.Ints("overhang", 0)), op.ErrAttr},
	{op.AvgPool, "C3", ins(f(3)), window(-1, []int{1}, op.Ints("overhang", 0)), op.ErrAttr},
	{op.AvgPool, "C3", ins(f(3)), window(0, []int{1}, op.Ints("overhang", -1)), op.ErrAttr},
	{op.AvgPool, "C2", ins(f(3)), window(0, []int{1}, op.Ints("overhang", 0, 0)), op.ErrAttr},
	{op.LSTM, "C1", ins(f(2, 3), f(1, 8, 3), f(1, 8, 2), f(1, 8), f(1, 1, 2), f(1, 1, 2)), nil, op.ErrShape},
	{op.LSTM, "C2", ins(f(2, 1, 3), f(1, 8, 3), f(1, 8, 2), f(1, 8), f(2, 1, 2), f(1, 1, 2)), nil, op.ErrShape},
	{op.LSTM, "C3", ins(f(2, 1, 3), f(1, 8, 3), f(1, 8, 2), f(1, 6), f(1, 1, 2), f(1, 1, 2)), nil, op.ErrShape},
	{op.GRU, "C1", ins(f(3), f(1, 6, 3), f(1, 6, 2), f(1, 6), f(1, 6), f(1, 1, 2)), nil, op.ErrShape},
	{op.GRU, "C2", ins(f(2, 1, 3), f(1, 6, 3), f(1, 6, 2), f(1, 6), f(1, 6), f(1, 2, 2)), nil, op.ErrShape},
	{op.GRU, "C3", ins(f(2, 1, 3), f(1, 6, 2), f(1, 6, 2), f(1, 6), f(1, 6), f(1, 1, 2)), nil, op.ErrShape},

	{op.GatherElements, "C1", ins(f(3), i(3)), axis(1), op.ErrShape}, {op.GatherElements, "C2", ins(f(2, 3), i(3)), axis(0), op.ErrShape},
	{op.GatherElements, "C2", ins(f(2, 3), i(2, 4)), axis(0), op.ErrShape},
	{op.ScatterElements, "C1", ins(f(3), i(3), f(3)), axis(1), op.ErrShape}, {op.ScatterElements, "C2", ins(f(2, 3), i(2, 4), f(2, 4)), axis(0), op.ErrShape},
	{op.ScatterElements, "C3", ins(f(2, 3), i(2, 2), f(2, 3)), axis(0), op.ErrShape},
	{op.ScatterElements, "C4", ins(b(3), i(3), b(3)), with(op.Int("axis", 0), op.Str("mode", "max")), op.ErrDType},
	{op.GatherND, "C1", ins(f(3), i()), nil, op.ErrShape}, {op.GatherND, "C2", ins(f(3), i(4, 2)), nil, op.ErrShape},
	{op.GatherND, "C2", ins(f(3, 2), i(3)), with(op.Int("batch", 1)), op.ErrShape}, {op.GatherND, "C3", ins(f(3, 2), i(2, 1)), with(op.Int("batch", 1)), op.ErrShape},
	{op.ScatterND, "C1", ins(f(3), i(), f()), nil, op.ErrShape}, {op.ScatterND, "C2", ins(f(3), i(4, 2), f(4)), nil, op.ErrShape},
	{op.ScatterND, "C3", ins(f(3, 2), i(4, 1), f(4)), nil, op.ErrShape}, {op.ScatterND, "C4", ins(b(3), i(4, 1), b(4)), with(op.Str("mode", "mul")), op.ErrDType},
	{op.OneHot, "C1", ins(i(3)), with(op.Int("depth", 2), op.Int("axis", 2), op.Type("dtype", dtype.F32)), op.ErrShape},
	{op.OneHot, "C2", ins(i(3)), with(op.Int("depth", -1), op.Int("axis", 1), op.Type("dtype", dtype.F32)), op.ErrAttr},
	{op.TopK, "C1", ins(f(3)), with(op.Int("k", 1), op.Int("axis", 1)), op.ErrShape}, {op.TopK, "C2", ins(f(3)), with(op.Int("k", 4), op.Int("axis", 0)), op.ErrShape},
	{op.TopK, "C2", ins(f(3)), with(op.Int("k", -1), op.Int("axis", 0)), op.ErrShape},

	{op.Quantize, "C1", ins(f(2, 3), f(3), op.DescOf(dtype.U8, 3)), axis(2), op.ErrShape},
	{op.Quantize, "C1", ins(f(2, 3), f(3), op.DescOf(dtype.U8, 3)), axis(-2), op.ErrShape},
	{op.Quantize, "C2", ins(f(2, 3), f(3), op.DescOf(dtype.U8)), axis(1), op.ErrShape},
	{op.Dequantize, "C1", ins(op.DescOf(dtype.I8, 2, 3), f(3), op.DescOf(dtype.I8, 3)), axis(2), op.ErrShape},
	{op.Dequantize, "C2", ins(op.DescOf(dtype.I8, 2, 3), f(2), op.DescOf(dtype.I8, 2)), axis(1), op.ErrShape},
}

// unreachable maps each constraint that cannot be broken alone to the reason: it follows from the others.
var unreachable = map[string]string{}

// shared returns violations and those of the constraints that many rows have in common.
func shared() []violation {
	all := violations
	for _, c := range builtin() {
		row := op.Lookup(c)
		for _, k := range row.Constraints {
			var v violation
			switch k.Text {
			case "the operands broadcast together":
				d := row.Operands[0].Types.List()[0]
				v = violation{c, k.ID, ins(op.DescOf(d, 2, 3), op.DescOf(d, 2)), nil, op.ErrShape}
				for len(v.in) < len(row.Operands) {
					v.in = append(v.in, op.DescOf(d, 2))
				}
				if c == op.Where {
					v.in = ins(b(2, 3), f(2), f())
				}
			case "axes are distinct and in [0, rank)":
				all = append(all, violation{c, k.ID, ins(f(2, 3)), with(op.Ints("axes", 0, 0)), op.ErrShape})
				v = violation{c, k.ID, ins(f(2, 3)), with(op.Ints("axes", 2)), op.ErrShape}
			case "axis is in [0, rank)":
				needs := slices.IndexFunc(row.Attrs, func(a op.AttrSpec) bool { return a.Name != "axis" && a.Default.Kind() == 0 })
				if len(row.Operands) != 1 || !row.Operands[0].Types.Has(dtype.F32) || needs >= 0 {
					continue
				}
				v = violation{c, k.ID, ins(f(2, 3)), axis(2), op.ErrShape}
			default:
				continue
			}
			all = append(all, v)
		}
	}
	return all
}

func TestViolations(t *testing.T) {
	broken := map[string]bool{}
	for _, v := range shared() {
		name := v.op.String() + " " + v.constraint
		broken[name] = true
		t.Run(name, func(t *testing.T) {
			_, err := op.New(v.op, v.in, v.attrs...)
			var e *op.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, v.constraint, e.Constraint, "%v", err)
			require.Equal(t, v.op.String(), e.Op)
			require.ErrorIs(t, err, v.is, "%v", err)
			require.Equal(t, v.in, e.Inputs)
			require.Contains(t, err.Error(), "["+v.constraint+"]")
		})
	}
	for _, c := range builtin() {
		for _, k := range op.Lookup(c).Constraints {
			name := c.String() + " " + k.ID
			_, exempt := unreachable[name]
			require.NotEqual(t, exempt, broken[name], "%s (%s): either a violation or a reason why there is none", name, k.Text)
		}
	}
}

// Every op refuses operands of a wrong count or type. These rules have no numbered constraint.
func TestOperandFaults(t *testing.T) {
	for _, c := range []struct {
		op  op.Code
		in  []op.Desc
		is  error
		say string
	}{
		{op.Add, ins(f(2)), op.ErrShape, "add: 1 inputs, want 2 (f32[2])"},
		{op.Add, ins(f(2), i(2)), op.ErrDType, "add: b is i64, want f32 like a (f32[2], i64[2])"},
		{op.Add, ins(b(2), b(2)), op.ErrDType, "add: a is bool, want one of f64|f32|"},
		{op.Not, ins(f(2)), op.ErrDType, "not: x is f32"},
		{op.Where, ins(b(1), f(1), i(1)), op.ErrDType, "where: b is i64, want f32 like a"},
		{op.Linear, ins(f(1), f(1, 1), f(1), f(1)), op.ErrShape, "linear: 4 inputs, want 2 to 3"},
		{op.Exp, ins(op.Desc{Shape: []int{1}}), op.ErrDType, "exp: x is invalid"},
	} {
		_, err := op.New(c.op, c.in)
		require.ErrorIs(t, err, c.is)
		require.ErrorContains(t, err, c.say)
	}
	_, err := op.New(op.Concat, nil, op.Int("axis", 0))
	require.ErrorContains(t, err, "concat: 0 inputs, want 1 or more")
	_, err = op.New(op.Concat, ins(f(1), i(1)), op.Int("axis", 0))
	require.ErrorIs(t, err, op.ErrDType, "variadic operands share a type")
	big := f(1<<40, 1)
	_, err = op.New(op.Add, ins(big, f(1<<40)))
	require.ErrorIs(t, err, op.ErrShape, "a result that does not fit in memory's address range")
	require.True(t, errors.Is(op.ErrUnsupported, errors.ErrUnsupported))
}
