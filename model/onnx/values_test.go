package onnx_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/model/onnx"
	"github.com/goburn/burn/model/onnx/pb"
	"github.com/goburn/burn/tensor"
)

// result is an expected output: numbers, to be compared after a conversion to f64.
type result struct {
	d    dtype.DType
	dims []int
	v    []float64
}

func gives(dims []int, v ...float64) result { return result{dtype.F32, dims, v} }

func (r result) as(d dtype.DType) result { r.d = d; return r }

func results(r ...result) []result { return r }

// compare checks the type and shape of a tensor, and its numbers with a tolerance of 1e-6.
func compare(t *testing.T, got onnx.Value, want result) {
	t.Helper()
	require.Equal(t, want.d, got.DType())
	require.Equal(t, want.dims, append([]int{}, got.Tensor().Shape()...))
	b, err := got.Tensor().Bytes(t.Context())
	require.NoError(t, err)
	require.InDeltaSlice(t, append([]float64{0}, want.v...), append([]float64{0}, numbersOf(t, want.d, b)...), 1e-6, "want %v", want.v)
}

func numbersOf(t *testing.T, d dtype.DType, b []byte) (v []float64) {
	switch {
	case d.IsFloat():
		for i := range len(b) / d.Size() {
			v = append(v, dtype.FloatAt(d, b, i))
		}
	case d == dtype.I64:
		for _, k := range dtype.Slice[int64](b) {
			v = append(v, float64(k))
		}
	case d == dtype.I32:
		for _, k := range dtype.Slice[int32](b) {
			v = append(v, float64(k))
		}
	case d == dtype.I16:
		for _, k := range dtype.Slice[int16](b) {
			v = append(v, float64(k))
		}
	case d == dtype.U16:
		for _, k := range dtype.Slice[uint16](b) {
			v = append(v, float64(k))
		}
	case d == dtype.U8, d == dtype.Bool:
		for _, k := range b {
			v = append(v, float64(k))
		}
	case d == dtype.I8:
		for _, k := range b {
			v = append(v, float64(int8(k)))
		}
	default:
		t.Fatalf("no decoding of %v", d)
	}
	return v
}

// compute runs a model of one node and returns its outputs.
func compute(t *testing.T, dev *tensor.Device, opset int64, op string, outs int, in []arg, a []*pb.Attribute) []onnx.Value {
	t.Helper()
	m, feed := single(t, dev, opset, op, outs, in, a)
	parsed, err := parse(m, onnx.Options{})
	require.NoError(t, err)
	s, err := parsed.Open(dev)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	out, err := s.Run(t.Context(), feed)
	require.NoError(t, err)
	values := make([]onnx.Value, outs)
	for i := range values {
		values[i] = out[fmt.Sprint("y", i)]
	}
	return values
}

// Operators with the default values of attributes, and with changes from one opset to another. The expected numbers were computed by
// hand from the specification.
func TestValuesBySpecification(t *testing.T) {
	dev := onStream(t, openRef(t))
	seq := func(n int) (v []float64) {
		for i := range n {
			v = append(v, float64(i))
		}
		return v
	}
	bools := func(v ...float64) arg { return arg{d: pb.Bool, dims: []int{len(v)}, v: v} }
	ints := func(v ...float64) arg { return arg{d: pb.Int64, dims: []int{len(v)}, v: v} }
	i8, bytes := func(v ...float64) arg { return arg{d: pb.Int8, dims: []int{len(v)}, v: v} }, func(dims []int, v ...float64) arg { return arg{d: pb.Uint8, dims: dims, v: v} }
	none, inf := arg{}, math.Inf(1)
	square := xs([]int{2, 2}, 1, 2, 3, 4)
	ramp := xs([]int{5}, 0, 1, 2.6, -3, 100)
	to := func(d pb.DataType) *pb.Attribute { return intAttr("output_dtype", int64(d)) }
	for _, c := range []struct {
		op    string
		opset int64
		in    []arg
		attrs []*pb.Attribute
		want  []result
	}{
		// Up to opset 12 Softmax flattens its input to a matrix at axis 1; since opset 13 it works along the last axis.
		{"Softmax", 11, args(xs([]int{1, 2, 2}, 0, 0, 0, 0)), nil, results(gives([]int{1, 2, 2}, .25, .25, .25, .25))}, {"Softmax", 13, args(xs([]int{1, 2, 2}, 0, 0, 0, 0)), nil, results(gives([]int{1, 2, 2}, .5, .5, .5, .5))},
		{"Hardmax", 11, args(xs([]int{1, 2, 2}, 1, 2, 3, 0)), nil, results(gives([]int{1, 2, 2}, 0, 0, 1, 0))}, {"Hardmax", 13, args(xs([]int{1, 2, 2}, 1, 2, 3, 0)), nil, results(gives([]int{1, 2, 2}, 0, 1, 1, 0))},
		{"LogSoftmax", 11, args(xs([]int{1, 2, 1}, 0, 0)), nil, results(gives([]int{1, 2, 1}, -math.Ln2, -math.Ln2))}, {"LogSoftmax", 13, args(xs([]int{1, 2, 1}, 0, 0)), nil, results(gives([]int{1, 2, 1}, 0, 0))},
		{"Flatten", 13, args(xs([]int{2, 3, 1}, seq(6)...)), attrs(intAttr("axis", 0)), results(gives([]int{1, 6}, seq(6)...))}, {"Flatten", 13, args(xs([]int{2, 3, 1}, seq(6)...)), attrs(intAttr("axis", -1)), results(gives([]int{6, 1}, seq(6)...))},
		{"Flatten", 13, args(xs([]int{2, 3, 1}, seq(6)...)), nil, results(gives([]int{2, 3}, seq(6)...))}, {"Flatten", 13, args(xs([]int{3}, seq(3)...)), nil, results(gives([]int{3, 1}, seq(3)...))}, {"Flatten", 13, args(xs(nil, 7)), attrs(intAttr("axis", 0)), results(gives([]int{1, 1}, 7))},
		{"Transpose", 13, args(xs([]int{1, 2, 3}, seq(6)...)), nil, results(gives([]int{3, 2, 1}, 0, 3, 1, 4, 2, 5))}, {"Squeeze", 11, args(xs([]int{1, 2, 1}, 3, 4)), nil, results(gives([]int{2}, 3, 4))}, {"Squeeze", 11, args(xs([]int{1, 2, 1}, 3, 4)), attrs(intsAttr("axes", -1)), results(gives([]int{1, 2}, 3, 4))},
		{"Unsqueeze", 13, args(xs([]int{2}, 3, 4), n(2, 0)), nil, results(gives([]int{1, 2, 1}, 3, 4))}, {"Unsqueeze", 11, args(xs([]int{2}, 3, 4)), attrs(intsAttr("axes", -1, 0)), results(gives([]int{1, 2, 1}, 3, 4))},
		{"Split", 13, args(xs([]int{4}, seq(4)...)), nil, results(gives([]int{2}, 0, 1), gives([]int{2}, 2, 3))}, {"Split", 18, args(xs([]int{5}, seq(5)...)), attrs(intAttr("num_outputs", 2)), results(gives([]int{3}, 0, 1, 2), gives([]int{2}, 3, 4))},
		{"Split", 11, args(xs([]int{1, 3}, seq(3)...)), attrs(intAttr("axis", -1), intsAttr("split", 1, 2)), results(gives([]int{1, 1}, 0), gives([]int{1, 2}, 1, 2))}, {"Slice", 9, args(xs([]int{4}, seq(4)...)), attrs(intsAttr("starts", -2), intsAttr("ends", 1000)), results(gives([]int{2}, 2, 3))},
		{"Slice", 13, args(xs([]int{4}, seq(4)...), n(3), n(-1000), n(-1), n(-2)), nil, results(gives([]int{2}, 3, 1))}, {"Slice", 13, args(xs([]int{2, 2}, seq(4)...), n(1), n(2), n(-1)), nil, results(gives([]int{2, 1}, 1, 3))},
		{"SpaceToDepth", 13, args(xs([]int{1, 2, 2, 2}, seq(8)...)), attrs(intAttr("blocksize", 2)), results(gives([]int{1, 8, 1, 1}, 0, 4, 1, 5, 2, 6, 3, 7))},
		{"SpaceToDepth", 28, args(xs([]int{1, 2, 2, 2}, seq(8)...)), attrs(intAttr("blocksize", 2), strAttr("mode", "CRD")), results(gives([]int{1, 8, 1, 1}, seq(8)...))},
		{"DepthToSpace", 13, args(xs([]int{1, 8, 1, 1}, seq(8)...)), attrs(intAttr("blocksize", 2)), results(gives([]int{1, 2, 2, 2}, 0, 2, 4, 6, 1, 3, 5, 7))}, {"DepthToSpace", 13, args(xs([]int{1, 8, 1, 1}, seq(8)...)), attrs(intAttr("blocksize", 2), strAttr("mode", "CRD")), results(gives([]int{1, 2, 2, 2}, seq(8)...))},
		{"Compress", 11, args(xs([]int{3}, 5, 6, 7), bools(1, 0, 1, 1, 1)), attrs(intAttr("axis", 0)), results(gives([]int{2}, 5, 7))}, {"Compress", 11, args(square, bools(0, 1, 1)), nil, results(gives([]int{2}, 2, 3))}, {"Compress", 11, args(square, bools(0, 1)), attrs(intAttr("axis", -1)), results(gives([]int{2, 1}, 2, 4))},
		{"ReduceSum", 13, args(square), nil, results(gives([]int{1, 1}, 10))}, {"ReduceSum", 13, args(square), attrs(intAttr("noop_with_empty_axes", 1)), results(gives([]int{2, 2}, 1, 2, 3, 4))}, {"ReduceSum", 13, args(square, n()), nil, results(gives([]int{1, 1}, 10))},
		{"ReduceSum", 13, args(square, n(-1)), attrs(intAttr("keepdims", 0)), results(gives([]int{2}, 3, 7))}, {"ReduceMean", 13, args(square), attrs(intsAttr("axes", 0)), results(gives([]int{1, 2}, 2, 3))}, {"ReduceL1", 13, args(xs([]int{2}, -3, 4)), attrs(intAttr("keepdims", 0)), results(gives([]int{}, 7))},
		{"ReduceL2", 13, args(xs([]int{2}, -3, 4)), nil, results(gives([]int{1}, 5))}, {"ReduceSumSquare", 13, args(xs([]int{2}, -3, 4)), nil, results(gives([]int{1}, 25))}, {"ReduceLogSum", 13, args(xs([]int{2}, 2, 2)), nil, results(gives([]int{1}, 2*math.Ln2))},
		{"ReduceMax", 20, args(bools(0, 1)), nil, results(gives([]int{1}, 1).as(dtype.Bool))}, {"ReduceMin", 20, args(bools(0, 1)), nil, results(gives([]int{1}, 0).as(dtype.Bool))}, {"ReduceMax", 18, args(x(0)), nil, results(gives([]int{1}, -inf))},
		{"ArgMax", 12, args(xs([]int{2, 2}, 5, 1, 5, 9)), nil, results(gives([]int{1, 2}, 0, 1).as(dtype.I64))}, {"ArgMax", 12, args(xs([]int{2, 2}, 5, 1, 5, 9)), attrs(intAttr("select_last_index", 1), intAttr("keepdims", 0)), results(gives([]int{2}, 1, 1).as(dtype.I64))},
		{"ArgMin", 12, args(xs([]int{3}, 1, 1, 2)), attrs(intAttr("select_last_index", 1)), results(gives([]int{1}, 1).as(dtype.I64))}, {"TopK", 11, args(xs([]int{3}, 5, 9, 5), n(2)), nil, results(gives([]int{2}, 9, 5), gives([]int{2}, 1, 0).as(dtype.I64))},
		{"TopK", 11, args(xs([]int{3}, 5, 9, 4), n(2)), attrs(intAttr("largest", 0)), results(gives([]int{2}, 4, 5), gives([]int{2}, 2, 0).as(dtype.I64))}, {"TopK", 1, args(xs([]int{3}, 5, 9, 4)), attrs(intAttr("k", 1)), results(gives([]int{1}, 9), gives([]int{1}, 1).as(dtype.I64))},
		{"LeakyRelu", 16, args(xs([]int{2}, -100, 2)), nil, results(gives([]int{2}, -1, 2))}, {"HardSigmoid", 6, args(xs([]int{3}, -9, 1, 9)), nil, results(gives([]int{3}, 0, .7, 1))}, {"ThresholdedRelu", 10, args(xs([]int{3}, 1, 1.5, -2)), nil, results(gives([]int{3}, 0, 1.5, 0))},
		{"Elu", 6, args(xs([]int{2}, -inf, 1)), nil, results(gives([]int{2}, -1, 1))}, {"HardSwish", 14, args(xs([]int{3}, -4, 3, 1.5)), nil, results(gives([]int{3}, 0, 3, 1.125))}, {"Shrink", 9, args(xs([]int{3}, -1, .4, 2)), nil, results(gives([]int{3}, -1, 0, 2))},
		{"Shrink", 9, args(xs([]int{3}, -2, .4, 2)), attrs(floatAttr("lambd", 1), floatAttr("bias", .5)), results(gives([]int{3}, -1.5, 0, 1.5))}, {"Clip", 6, args(xs([]int{3}, -2, .4, 2)), attrs(floatAttr("min", 0), floatAttr("max", 1)), results(gives([]int{3}, 0, .4, 1))},
		{"Clip", 12, args(xs([]int{2}, -2, 2), none, xs(nil, 1)), nil, results(gives([]int{2}, -2, 1))}, {"Clip", 12, args(i8(-2, 2), typed(pb.Int8, xs(nil, 0))), nil, results(gives([]int{2}, 0, 2).as(dtype.I8))}, {"Clip", 13, args(xs([]int{1}, 5), xs(nil, 3), xs(nil, 1)), nil, results(gives([]int{1}, 1))},
		{"Mod", 13, args(ints(-4, 7, 5), ints(3, -3, 8)), nil, results(gives([]int{3}, 2, -2, 5).as(dtype.I64))}, {"Mod", 13, args(ints(-4, 7, 5), ints(3, -3, 8)), attrs(intAttr("fmod", 1)), results(gives([]int{3}, -1, 1, 5).as(dtype.I64))}, {"Pow", 13, args(xs([]int{2}, -2, 3), xs(nil, 3)), nil, results(gives([]int{2}, -8, 27))},
		{"Pow", 13, args(ints(2, -3), typed(pb.Float, xs(nil, 2))), nil, results(gives([]int{2}, 4, 9).as(dtype.I64))}, {"IsInf", 10, args(xs([]int{3}, inf, -inf, 1)), nil, results(gives([]int{3}, 1, 1, 0).as(dtype.Bool))}, {"IsInf", 10, args(xs([]int{2}, inf, -inf)), attrs(intAttr("detect_negative", 0)), results(gives([]int{2}, 1, 0).as(dtype.Bool))},
		{"CumSum", 14, args(xs([]int{3}, 1, 2, 3), at(0)), nil, results(gives([]int{3}, 1, 3, 6))}, {"CumSum", 14, args(xs([]int{3}, 1, 2, 3), at(-1)), attrs(intAttr("exclusive", 1), intAttr("reverse", 1)), results(gives([]int{3}, 5, 3, 0))},
		{"OneHot", 11, args(ints(1, -1, 5), at(3), xs([]int{2}, 2, 9)), nil, results(gives([]int{3, 3}, 2, 9, 2, 2, 2, 9, 2, 2, 2))}, {"OneHot", 11, args(ints(1), at(2), xs([]int{2}, 0, 1)), attrs(intAttr("axis", 0)), results(gives([]int{2, 1}, 0, 1))},
		{"EyeLike", 9, args(x(2, 3)), attrs(intAttr("k", 1)), results(gives([]int{2, 3}, 0, 1, 0, 0, 0, 1))}, {"EyeLike", 9, args(x(2, 1)), attrs(intAttr("dtype", int64(pb.Int64))), results(gives([]int{2, 1}, 1, 0).as(dtype.I64))}, {"Trilu", 14, args(square), nil, results(gives([]int{2, 2}, 1, 2, 0, 4))},
		{"Trilu", 14, args(square, at(-1)), attrs(intAttr("upper", 0)), results(gives([]int{2, 2}, 0, 0, 3, 0))}, {"Range", 11, args(at(5), at(0), at(-2)), nil, results(gives([]int{3}, 5, 3, 1).as(dtype.I64))}, {"Range", 11, args(at(0), at(0), at(3)), nil, results(gives([]int{0}).as(dtype.I64))},
		{"Range", 11, args(xs(nil, 1), xs(nil, 2), xs(nil, .4)), nil, results(gives([]int{3}, 1, 1.4, 1.8))}, {"ConstantOfShape", 9, args(n(2)), nil, results(gives([]int{2}, 0, 0))}, {"ConstantOfShape", 9, args(n()), nil, results(gives([]int{}, 0))},
		{"Shape", 15, args(x(2, 3, 4)), attrs(intAttr("start", -2)), results(gives([]int{2}, 3, 4).as(dtype.I64))}, {"Shape", 15, args(x(2, 3, 4)), attrs(intAttr("start", 1), intAttr("end", -1)), results(gives([]int{1}, 3).as(dtype.I64))}, {"Shape", 15, args(x(2)), attrs(intAttr("start", 5)), results(gives([]int{0}).as(dtype.I64))},
		{"Size", 13, args(x(2, 0)), nil, results(gives([]int{}, 0).as(dtype.I64))}, {"Pad", 1, args(xs([]int{2}, 1, 2)), attrs(intsAttr("paddings", 1, 0)), results(gives([]int{3}, 0, 1, 2))}, {"Pad", 2, args(xs([]int{2}, 1, 2)), attrs(intsAttr("pads", 0, 1), floatAttr("value", 9)), results(gives([]int{3}, 1, 2, 9))},
		{"Pad", 18, args(square, n(1, 0), xs(nil, 8), n(-1)), nil, results(gives([]int{2, 3}, 8, 1, 2, 8, 3, 4))}, {"Pad", 13, args(xs([]int{3}, 1, 2, 3), n(2, -1)), attrs(strAttr("mode", "reflect")), results(gives([]int{4}, 1, 2, 1, 2))}, {"Pad", 19, args(xs([]int{3}, 1, 2, 3), n(1, 2)), attrs(strAttr("mode", "wrap")), results(gives([]int{6}, 3, 1, 2, 3, 1, 2))},
		{"Dropout", 7, args(square), nil, results(gives([]int{2, 2}, 1, 2, 3, 4), gives([]int{2, 2}, 1, 1, 1, 1))}, {"Dropout", 10, args(square), nil, results(gives([]int{2, 2}, 1, 2, 3, 4), gives([]int{2, 2}, 1, 1, 1, 1).as(dtype.Bool))},
		{"BatchNormalization", 7, args(xs([]int{1, 2, 2}, 1, 2, 3, 4), xs([]int{2, 2}, 1, 2, 3, 4), xs([]int{2, 2}, 0, 1, 0, 1), xs([]int{2, 2}, 0, 1, 1, 2), xs([]int{2, 2}, 1, 1, 4, 4)), attrs(floatAttr("epsilon", 0), intAttr("spatial", 0)), results(gives([]int{1, 2, 2}, 1, 3, 3, 5))},
		{"BatchNormalization", 15, args(xs([]int{3}, 1, 2, 3), xs([]int{1}, 2), xs([]int{1}, 1), xs([]int{1}, 1), xs([]int{1}, 4)), attrs(floatAttr("epsilon", 0)), results(gives([]int{3}, 1, 2, 3))},
		{"LayerNormalization", 17, args(xs([]int{2, 2}, -1, 1, -2, 2), square, xs([]int{2, 1}, 0, 1)), attrs(floatAttr("epsilon", 0)), results(gives([]int{2, 2}, -1, 2, -2, 5))}, {"LpNormalization", 1, args(xs([]int{2, 2}, 3, 4, 0, 0)), nil, results(gives([]int{2, 2}, .6, .8, 0, 0))},
		{"LpNormalization", 1, args(xs([]int{2}, -3, 1)), attrs(intAttr("p", 1)), results(gives([]int{2}, -.75, .25))}, {"MeanVarianceNormalization", 9, args(xs([]int{1, 1, 1, 2}, 1, 3)), nil, results(gives([]int{1, 1, 1, 2}, -1, 1))}, {"LRN", 13, args(xs([]int{1, 2}, 1, 2)), attrs(intAttr("size", 1), floatAttr("alpha", 1), floatAttr("beta", 1)), results(gives([]int{1, 2}, .5, .4))},
		{"MaxPool", 12, args(xs([]int{1, 1, 3}, 1, 3, 2)), attrs(intsAttr("kernel_shape", 2), intsAttr("strides", 2), intAttr("ceil_mode", 1)), results(gives([]int{1, 1, 2}, 3, 2), gives([]int{1, 1, 2}, 1, 2).as(dtype.I64))}, {"MaxPool", 12, args(xs([]int{1, 1, 3}, 1, 3, 2)), attrs(intsAttr("kernel_shape", 2), strAttr("auto_pad", "SAME_LOWER")), results(gives([]int{1, 1, 3}, 1, 3, 3))},
		{"MaxPool", 12, args(xs([]int{1, 1, 2, 2}, 1, 2, 9, 4)), attrs(intsAttr("kernel_shape", 2, 2), intAttr("storage_order", 1)), results(gives([]int{1, 1, 1, 1}, 9), gives([]int{1, 1, 1, 1}, 1).as(dtype.I64))}, {"AveragePool", 11, args(xs([]int{1, 1, 2}, 2, 4)), attrs(intsAttr("kernel_shape", 2), intsAttr("pads", 1, 0)), results(gives([]int{1, 1, 2}, 2, 3))},
		{"AveragePool", 11, args(xs([]int{1, 1, 2}, 2, 4)), attrs(intsAttr("kernel_shape", 2), intsAttr("pads", 1, 0), intAttr("count_include_pad", 1)), results(gives([]int{1, 1, 2}, 1, 3))}, {"LpPool", 11, args(xs([]int{1, 1, 2}, 3, 4)), attrs(intsAttr("kernel_shape", 2)), results(gives([]int{1, 1, 1}, 5))},
		{"MaxUnpool", 9, args(xs([]int{1, 1, 2}, 5, 6), typed(pb.Int64, xs([]int{1, 1, 2}, 1, 2)), n(1, 1, 5)), attrs(intsAttr("kernel_shape", 2), intsAttr("strides", 2)), results(gives([]int{1, 1, 5}, 0, 5, 6, 0, 0))}, {"GlobalLpPool", 2, args(xs([]int{1, 1, 2}, -3, 4)), nil, results(gives([]int{1, 1, 1}, 5))},
		{"ConvTranspose", 11, args(xs([]int{1, 1, 2}, 1, 2), xs([]int{1, 1, 2}, 1, 1)), attrs(intsAttr("strides", 2), intsAttr("output_shape", 3)), results(gives([]int{1, 1, 3}, 1, 2, 2))}, {"ConvTranspose", 11, args(xs([]int{1, 1, 2}, 1, 2), xs([]int{1, 1, 2}, 1, 1)), attrs(intsAttr("strides", 2), intsAttr("output_shape", 1, 1, 3)), results(gives([]int{1, 1, 3}, 1, 2, 2))},
		{"Gemm", 6, args(xs([]int{2, 1, 2}, 1, 2, 3, 4), xs([]int{2, 2}, 1, 0, 0, 1), xs([]int{2}, 10, 20)), attrs(intAttr("broadcast", 1)), results(gives([]int{2, 2}, 11, 22, 13, 24))}, {"Gemm", 13, args(square, square), attrs(intAttr("transB", 1), floatAttr("alpha", .5)), results(gives([]int{2, 2}, 2.5, 5.5, 5.5, 12.5))},
		{"Resize", 11, args(xs([]int{1, 1, 1, 2}, 5, 7), x(0), arg{d: pb.Float, dims: []int{4}, v: []float64{1, 1, 1, 2}, constant: true}), attrs(strAttr("coordinate_transformation_mode", "tf_half_pixel_for_nn"), strAttr("nearest_mode", "floor")), results(gives([]int{1, 1, 1, 4}, 5, 5, 7, 7))},
		{"Resize", 11, args(xs([]int{2}, 5, 7), x(0), x(0), n(4)), attrs(strAttr("coordinate_transformation_mode", "asymmetric")), results(gives([]int{4}, 5, 5, 7, 7))}, {"BitCast", 26, args(xs([]int{2}, 1, -2)), attrs(intAttr("to", int64(pb.Int32))), results(gives([]int{2}, 0x3f800000, -0x40000000).as(dtype.I32))},
		{"BitCast", 26, args(bytes([]int{3}, 0, 2, 1)), attrs(intAttr("to", int64(pb.Bool))), results(gives([]int{3}, 0, 1, 1).as(dtype.Bool))}, {"BitCast", 26, args(xs([]int{1}, 3)), attrs(intAttr("to", int64(pb.Float))), results(gives([]int{1}, 3))},
		// Quantization: to u8 by default, halves to even, with scales along axis 1 or for blocks.
		{"QuantizeLinear", 13, args(ramp, xs(nil, .5)), nil, results(gives([]int{5}, 0, 2, 5, 0, 200).as(dtype.U8))}, {"QuantizeLinear", 13, args(xs([]int{3}, .5, 1.5, 2.5), xs(nil, 1), typed(pb.Int8, xs(nil, 1))), nil, results(gives([]int{3}, 1, 3, 3).as(dtype.I8))},
		{"QuantizeLinear", 21, args(ramp, xs(nil, .5)), attrs(to(pb.Int16)), results(gives([]int{5}, 0, 2, 5, -6, 200).as(dtype.I16))}, {"QuantizeLinear", 21, args(ramp, xs(nil, .5)), attrs(to(pb.Uint16)), results(gives([]int{5}, 0, 2, 5, 0, 200).as(dtype.U16))},
		{"QuantizeLinear", 13, args(xs([]int{2, 3}, 4, 4, 4, 8, 8, 8), xs([]int{3}, 1, 2, 4)), nil, results(gives([]int{2, 3}, 4, 2, 1, 8, 4, 2).as(dtype.U8))}, {"QuantizeLinear", 13, args(xs([]int{2, 2}, 4, 4, 8, 8), xs([]int{2}, 1, 2)), attrs(intAttr("axis", 0)), results(gives([]int{2, 2}, 4, 4, 4, 4).as(dtype.U8))},
		{"QuantizeLinear", 21, args(xs([]int{2, 4}, 1, 2, 3, 4, 5, 6, 7, 8), xs([]int{2, 2}, 1, 2, .5, 4)), attrs(intAttr("block_size", 2)), results(gives([]int{2, 4}, 1, 2, 2, 2, 10, 12, 2, 2).as(dtype.U8))},
		{"DequantizeLinear", 21, args(bytes([]int{1, 4}, 1, 2, 3, 4), xs([]int{1, 2}, 1, 10), bytes([]int{1, 2}, 0, 2)), attrs(intAttr("block_size", 2)), results(gives([]int{1, 4}, 1, 2, 10, 20))}, {"DequantizeLinear", 13, args(bytes([]int{2, 2}, 1, 2, 3, 4), xs([]int{2}, 1, 10), bytes([]int{2}, 1, 0)), nil, results(gives([]int{2, 2}, 0, 20, 2, 40))},
		{"DequantizeLinear", 13, args(typed(pb.Int32, xs([]int{2}, -3, 5)), xs(nil, .5)), nil, results(gives([]int{2}, -1.5, 2.5))}, {"DequantizeLinear", 23, args(bytes([]int{1}, 3), xs(nil, .5)), attrs(intAttr("output_dtype", int64(pb.Double))), results(gives([]int{1}, 1.5).as(dtype.F64))},
		{"DynamicQuantizeLinear", 11, args(xs([]int{3}, 0, 2, -3)), nil, results(gives([]int{3}, 153, 255, 0).as(dtype.U8), gives([]int{}, 5./255), gives([]int{}, 153).as(dtype.U8))}, {"DynamicQuantizeLinear", 11, args(xs([]int{2}, 1, 5)), nil, results(gives([]int{2}, 51, 255).as(dtype.U8), gives([]int{}, 5./255), gives([]int{}, 0).as(dtype.U8))},
	} {
		t.Run(fmt.Sprintf("%s-%d %v", c.op, c.opset, c.want[0].v), func(t *testing.T) {
			for i, v := range compute(t, dev, c.opset, c.op, len(c.want), c.in, c.attrs) {
				compare(t, v, c.want[i])
			}
		})
	}
}
