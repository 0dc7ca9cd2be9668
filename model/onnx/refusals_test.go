package onnx_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/model/onnx"
	"github.com/goburn/burn/model/onnx/pb"
	"github.com/goburn/burn/tensor"
)

func strAttr(name, v string) *pb.Attribute {
	return &pb.Attribute{Name: name, Type: pb.AttrString, S: []byte(v)}
}

func floatAttr(name string, v float32) *pb.Attribute {
	return &pb.Attribute{Name: name, Type: pb.AttrFloat, F: v}
}

func floatsAttr(name string, v ...float32) *pb.Attribute {
	return &pb.Attribute{Name: name, Type: pb.AttrFloats, Floats: v}
}

func attrs(a ...*pb.Attribute) []*pb.Attribute { return a }

// arg is an operand of a node under test: an input or a constant of the model, with its elements. The zero arg is a missing operand.
type arg struct {
	d        pb.DataType
	dims     []int
	v        []float64 // nil: zeros
	constant bool
}

// x is an f32 input of zeros, xs an f32 input with given elements, n an i64 constant list, and at an i64 constant of rank 0.
func x(dims ...int) arg                 { return arg{d: pb.Float, dims: dims} }
func xs(dims []int, v ...float64) arg   { return arg{d: pb.Float, dims: dims, v: v} }
func typed(d pb.DataType, a arg) arg    { a.d = d; return a }
func at(v float64) arg                  { return arg{d: pb.Int64, v: []float64{v}, constant: true} }
func n(v ...float64) arg                { return arg{d: pb.Int64, dims: []int{len(v)}, v: v, constant: true} }
func args(a ...arg) []arg               { return a }
func (a arg) left() bool                { return a.d == pb.Undefined }
func (a arg) bytes(t *testing.T) []byte { return elementsOf(t, a.d, shape.Shape(a.dims).Size(), a.v) }

// elementsOf encodes count numbers as elements of type d; nil numbers are zeros.
func elementsOf(t *testing.T, d pb.DataType, count int, v []float64) (b []byte) {
	le := binary.LittleEndian
	for i := range count {
		f := 0.0
		if v != nil {
			f = v[i]
		}
		switch d {
		case pb.Float:
			b = le.AppendUint32(b, math.Float32bits(float32(f)))
		case pb.Double:
			b = le.AppendUint64(b, math.Float64bits(f))
		case pb.Int64:
			b = le.AppendUint64(b, uint64(int64(f)))
		case pb.Int32:
			b = le.AppendUint32(b, uint32(int32(f)))
		case pb.Int8, pb.Uint8, pb.Bool:
			b = append(b, byte(int(f)))
		default:
			t.Fatalf("no encoding of %v", d)
		}
	}
	return b
}

// single returns a model of one node on the operands in, with outputs y0 to y(results-1), and the inputs of the model.
func single(t *testing.T, dev *tensor.Device, opset int64, op string, results int, in []arg, a []*pb.Attribute) (*pb.Model, map[string]onnx.Value) {
	t.Helper()
	g := &pb.Graph{}
	node := operator(op, nil, nil, a...)
	feed := map[string]onnx.Value{}
	for i, v := range in {
		name := fmt.Sprint("x", i)
		if v.left() {
			node.Inputs = append(node.Inputs, "")
			continue
		}
		node.Inputs = append(node.Inputs, name)
		if v.constant {
			p := &pb.Tensor{Name: name, DataType: v.d, RawData: v.bytes(t)}
			for _, d := range v.dims {
				p.Dims = append(p.Dims, int64(d))
			}
			g.Initializers = append(g.Initializers, p)
			continue
		}
		unknown := make([]any, len(v.dims))
		g.Inputs = append(g.Inputs, decl(name, v.d, unknown...))
		d, ok := onnx.ElementType(v.d)
		require.True(t, ok)
		y, err := dev.FromBytes(t.Context(), d, shape.Shape(v.dims), v.bytes(t))
		require.NoError(t, err)
		feed[name] = onnx.TensorValue(y)
	}
	for i := range results {
		node.Outputs = append(node.Outputs, fmt.Sprint("y", i))
	}
	g.Nodes, g.Outputs = []*pb.Node{node}, bare(node.Outputs...)
	return modelOf(opset, g), feed
}

// A node that breaks a rule of the specification is refused with an error that names the node and tells the wrong values.
func TestRefusals(t *testing.T) {
	dev := onStream(t, openRef(t))
	u8 := typed(pb.Uint8, x())
	none := arg{}
	lstm := func(dims ...int) []arg { return args(x(2, 1, 3), x(dims...), x(1, 8, 2)) }
	tfidf := func(change ...*pb.Attribute) []*pb.Attribute {
		base := attrs(strAttr("mode", "TF"), intAttr("min_gram_length", 1), intAttr("max_gram_length", 2), intAttr("max_skip_count", 0), intsAttr("ngram_counts", 0, 2), intsAttr("ngram_indexes", 0, 1, 2),
			intsAttr("pool_int64s", 5, 6, 7, 8))
		for _, c := range change {
			for i := range base {
				if base[i].Name == c.Name {
					base[i] = c
					c = nil
					break
				}
			}
			if c != nil {
				base = append(base, c)
			}
		}
		return base
	}
	tokens := typed(pb.Int64, x(4))
	for _, c := range []struct {
		op      string
		opset   int64
		results int
		in      []arg
		attrs   []*pb.Attribute
		say     string
	}{
		{"Relu", 17, 1, args(none), nil, "input 0 is none, want a tensor"},
		{"Identity", 17, 1, args(none), nil, "input 0 is missing"},
		{"LeakyRelu", 17, 1, args(x(2)), attrs(intAttr("alpha", 1)), "attribute alpha is INT, want FLOAT"},
		{"Concat", 17, 1, args(x(2), x(2)), attrs(intAttr("axis", 1)), "axis 1"}, {"Concat", 17, 1, args(x(2), none), attrs(intAttr("axis", 0)), "input 1 is none"},
		{"Slice", 17, 1, args(x(4), n(0), n(1, 2)), nil, "1 starts, 2 ends, 1 axes, 0 steps"}, {"Slice", 17, 1, args(x(4), n(0), n(1), n(0), n(1, 1)), nil, "2 steps"},
		{"Slice", 17, 1, args(x(4), n(0), n(1), n(0), n(0)), nil, "step of axis 0 is 0"}, {"Slice", 17, 1, args(x(4), n(0), n(1), n(1)), nil, "axis 1"},
		{"Split", 13, 3, args(x(4)), nil, "4 elements in 3 equal parts"}, {"Split", 18, 2, args(x(4)), attrs(intAttr("num_outputs", 3)), "num_outputs is 3 for 2 outputs"},
		{"Split", 13, 2, args(x(4), n(4)), nil, "1 sizes for 2 outputs"}, {"Split", 13, 2, args(x(4), n(1, 2)), nil, "parts of [1 2] from 4 elements"}, {"Split", 13, 2, args(x(4), n(5, -1)), nil, "parts of [5 -1] from 4"},
		{"Reshape", 14, 1, args(x(6), n(4, -1)), nil, "shape [4 -1]: the elements do not fit for [6]"}, {"Reshape", 14, 1, args(x(6), n(0, 0)), nil, "a zero beyond the rank"},
		{"Flatten", 13, 1, args(x(2, 3)), attrs(intAttr("axis", 3)), "axis is 3, want one in [-2,2]"}, {"Flatten", 13, 1, args(x(2, 3)), attrs(intAttr("axis", -3)), "axis is -3"},
		{"Squeeze", 13, 1, args(x(2, 1), n(0)), nil, "axis 0 of [2,1] is not 1"}, {"Unsqueeze", 13, 1, args(x(2), n(0, 0)), nil, "axis 0"}, {"Transpose", 13, 1, args(x(2, 3)), attrs(intsAttr("perm", 0, 0)), "axis 0"},
		{"Transpose", 13, 1, args(x(2, 3)), attrs(intsAttr("perm", 1)), "axes [1], want 2 of them"}, {"Expand", 13, 1, args(x(2), n(3)), nil, "cannot broadcast [2] with [3]"},
		{"Tile", 13, 1, args(x(2), n(1, 1)), nil, "repeats has 2 entries, want 1"}, {"Tile", 13, 1, args(x(2), n(-1)), nil, "repeats is [-1], want none negative"},
		{"DepthToSpace", 13, 1, args(x(1, 4, 2)), attrs(intAttr("blocksize", 2)), "input is [1,4,2], want rank 4"}, {"DepthToSpace", 13, 1, args(x(1, 4, 2, 2)), nil, "blocksize is 0, want 1 or more"},
		{"DepthToSpace", 13, 1, args(x(1, 6, 2, 2)), attrs(intAttr("blocksize", 2)), "6 channels for blocks of 2 by 2"}, {"DepthToSpace", 13, 1, args(x(1, 4, 2, 2)), attrs(intAttr("blocksize", 2), strAttr("mode", "RDC")), `mode is "RDC", want DCR or CRD`},
		{"SpaceToDepth", 13, 1, args(x(1, 1, 3, 2)), attrs(intAttr("blocksize", 2)), "blocks of 2 for 3 by 2"}, {"SpaceToDepth", 28, 1, args(x(1, 1, 2, 2)), attrs(intAttr("blocksize", 2), strAttr("mode", "X")), `mode is "X"`},
		{"ConstantOfShape", 9, 1, args(n(2)), attrs(&pb.Attribute{Name: "value", Type: pb.AttrTensor, T: f32s("", []int64{2}, 1, 2)}), "value is [2], want one element"}, {"Constant", 13, 1, nil, nil, "no attribute holds the value"},
		{"Range", 11, 1, args(at(0), at(3), at(0)), nil, "delta is 0"}, {"Range", 11, 1, args(x(), x(), x()), nil, "delta is 0"}, {"Range", 11, 1, args(x(2), x(), x()), nil, "input 0 is [2], want a scalar"},
		{"Range", 11, 1, args(xs(nil, math.NaN()), x(), xs(nil, 1)), nil, "NaN elements"}, {"EyeLike", 9, 1, args(x(3)), nil, "input is [3], want rank 2"}, {"Trilu", 14, 1, args(x(3)), nil, "input is [3], want rank 2 or more"},
		{"Pad", 13, 1, args(x(4), n(1)), nil, "pads has 1 entries for 1 axes"}, {"Pad", 13, 1, args(x(4), n(-3, -2)), nil, "axis 0: 4-3-2 is negative"}, {"Pad", 13, 1, args(x(4), n(1<<40, 0)), nil, "pads of axis 0 are 1099511627776 and 0"},
		{"Pad", 13, 1, args(x(4), n(1, 1), x(2)), nil, "constant_value is [2], want a scalar"}, {"Pad", 13, 1, args(x(4), n(1, 1)), attrs(strAttr("mode", "zero")), `mode is "zero", want constant, reflect, edge or wrap`},
		{"Pad", 13, 1, args(x(0), n(1, 1)), attrs(strAttr("mode", "edge")), "axis 0 is empty, nothing to pad it with"}, {"Pad", 18, 1, args(x(4), n(1, 1), none, n(1)), nil, "axis 1"},
		{"Pad", 13, 1, args(x(4), n(-5, 3)), attrs(strAttr("mode", "edge")), "axis 0: 4-5+0 removes more than there is"},
		{"MaxPool", 12, 1, args(x(1, 4)), attrs(intsAttr("kernel_shape", 2)), "x is [1,4], want rank 3 or more"}, {"MaxPool", 12, 1, args(x(1, 1, 4)), nil, "kernel_shape has 0 entries, want 1, one per spatial dimension"},
		{"MaxPool", 12, 1, args(x(1, 1, 4)), attrs(intsAttr("kernel_shape", 0)), "kernel [0], strides [1] and dilations [1], want 1 or more"}, {"MaxPool", 12, 1, args(x(1, 1, 4)), attrs(intsAttr("kernel_shape", 2), intsAttr("strides", 1, 1)), "strides has 2 entries, want 1"},
		{"MaxPool", 12, 1, args(x(1, 1, 4)), attrs(intsAttr("kernel_shape", 2), intsAttr("pads", 1)), "pads has 1 entries, want 2"}, {"MaxPool", 12, 1, args(x(1, 1, 4)), attrs(intsAttr("kernel_shape", 2), strAttr("auto_pad", "SAME")), `auto_pad is "SAME"`},
		{"AveragePool", 11, 1, args(x(1, 1, 4)), attrs(intsAttr("kernel_shape", 9)), "does not fit"}, {"MaxUnpool", 9, 1, args(x(1, 1, 2), typed(pb.Int64, x(1, 1, 3))), attrs(intsAttr("kernel_shape", 2)), "x is [1,1,2] and indices [1,1,3]"},
		{"MaxUnpool", 9, 1, args(x(1, 1, 1), typed(pb.Int64, x(1, 1, 1))), attrs(intsAttr("kernel_shape", 2), intsAttr("pads", 2, 2)), "the result is [1,1,-2]"},
		{"MaxUnpool", 9, 1, args(x(1, 1, 2), typed(pb.Int64, x(1, 1, 2)), n(4)), attrs(intsAttr("kernel_shape", 2), intsAttr("strides", 2)), "output_shape is [4], want 3 entries"},
		{"Conv", 11, 1, args(x(1, 2), x(1, 2)), nil, "want the same rank, 3 or more"}, {"Conv", 11, 1, args(x(1, 2, 4), x(2, 2, 3)), attrs(intsAttr("kernel_shape", 2)), "kernel_shape is [2], want [3] as w has it"},
		{"ConvTranspose", 11, 1, args(x(1, 3, 4), x(3, 2, 3)), attrs(intAttr("group", 2)), "group is 2 for 3 channels"}, {"ConvTranspose", 11, 1, args(x(1, 2, 4), x(2, 2, 3)), attrs(intsAttr("output_padding", 0, 0)), "output_padding [0 0]"},
		{"LSTM", 14, 1, lstm(2, 8, 3), attrs(intAttr("hidden_size", 2)), "operand 1 is [2,8,3], want [1,8,3]"}, {"RNN", 14, 1, args(x(2, 1, 3), x(1, 2, 3), x(1, 2, 2)), attrs(&pb.Attribute{Name: "activations", Type: pb.AttrStrings, Strings: [][]byte{[]byte("Cos")}}), `activation "Cos"`},
		{"InstanceNormalization", 6, 1, args(x(3), x(3), x(3)), nil, "x is [3], want rank 2 or more"}, {"BatchNormalization", 15, 1, args(x(), x(1), x(1), x(1), x(1)), nil, "x is a scalar"},
		{"GroupNormalization", 21, 1, args(x(1, 3, 2), x(3), x(3)), attrs(intAttr("num_groups", 2)), "num_groups is 2 for x [1,3,2]"}, {"LRN", 13, 1, args(x(1, 3)), nil, "size is 0 for x [1,3]"},
		{"OneHot", 11, 1, args(typed(pb.Int64, x(2)), at(-1), xs([]int{2}, 0, 1)), nil, "depth is -1, want none negative"}, {"ScatterElements", 18, 1, args(x(2), n(0), x(1)), attrs(strAttr("reduction", "sub")), `reduction is "sub", want none, add, mul, min or max`},
		{"TensorScatter", 24, 1, args(x(2, 3, 1), x(2, 4, 1)), nil, "update has 4 steps for a cache of 3"}, {"TensorScatter", 24, 1, args(x(2, 3), x(2, 1)), nil, "with axis 0, want equal ranks and an axis above 0"},
		{"TensorScatter", 24, 1, args(x(2, 3, 1), x(2, 1, 1)), attrs(strAttr("mode", "ring")), `mode is "ring", want linear or circular`},
		{"Mod", 13, 1, args(x(2), x(2)), attrs(intAttr("fmod", 2)), "fmod is 2, want 0 or 1"}, {"Einsum", 12, 1, args(x(2)), attrs(strAttr("equation", "i->j")), `index "j" of the result, want it once there and among the operands`},
		{"DFT", 17, 1, args(x(2, 3)), nil, "x is [2,3], want the last dimension 1 or 2"}, {"DFT", 17, 1, args(x(1, 4, 1)), attrs(intAttr("axis", 2)), "axis 2 holds the real and imaginary parts, want another axis"}, {"DFT", 17, 1, args(x(1, 4, 1), at(0)), nil, "dft_length is 0"},
		{"STFT", 17, 1, args(x(1, 8, 1), at(0), none, at(4)), nil, "frame_step 0"}, {"STFT", 17, 1, args(x(1, 8, 1), at(2), none, at(9)), nil, "frame_length is 9 for a signal [1,8,1]"},
		{"MelWeightMatrix", 17, 1, args(at(0), at(8), at(8000), xs(nil, 0), xs(nil, 4000)), nil, "0 mel bins over 8 samples at 8000 hertz"}, {"MelWeightMatrix", 17, 1, args(at(2), at(8), at(8000), xs(nil, 0), xs(nil, 40000)), nil, "of the spectrum"},
		{"Det", 11, 1, args(x(2, 3)), nil, "x is [2,3], want square matrices"}, {"Col2Im", 18, 1, args(x(1, 5, 4), n(5, 5), n(1, 5)), nil, "x is [1,5,4], want [N, C·5, 5]"}, {"CenterCropPad", 18, 1, args(x(2), n(-1)), nil, "shape is [-1]"},
		{"RandomNormal", 1, 1, nil, nil, "shape is missing"}, {"Multinomial", 7, 1, args(x(3)), nil, "input is [3], want [batch, classes]"}, {"Multinomial", 7, 1, args(x(1, 3)), attrs(intAttr("sample_size", -1)), "sample_size is -1"},
		{"MaxRoiPool", 1, 1, args(x(1, 1, 4, 4), x(1, 4)), attrs(intsAttr("pooled_shape", 2, 2)), "rois [1,4]"}, {"MaxRoiPool", 1, 1, args(x(1, 1, 4, 4), x(1, 5)), attrs(intsAttr("pooled_shape", 0, 2)), "pooled_shape is [0 2]"}, {"MaxRoiPool", 1, 1, args(x(1, 0, 4, 4), x(1, 5)), attrs(intsAttr("pooled_shape", 1, 1)), "want elements"},
		{"QuantizeLinear", 13, 1, args(x(2, 3), x(3), typed(pb.Uint8, x(2))), nil, "scale is [3] and zero point [2], want the same shape"}, {"QuantizeLinear", 21, 1, args(x(2, 4), x(2, 2), typed(pb.Uint8, x(2, 2))), nil, "block_size 0 and scale [2,2] for x [2,4]"},
		{"DequantizeLinear", 21, 1, args(typed(pb.Uint8, x(2, 5)), x(2, 2), typed(pb.Uint8, x(2, 2))), attrs(intAttr("block_size", 2)), "scale [2,2] in blocks of 2 for x [2,5]"}, {"BitCast", 26, 1, args(x(2)), attrs(intAttr("to", int64(pb.Double))), "to is f64 for f32, want as many bits"},
		{"BitCast", 26, 1, args(typed(pb.Uint8, x(2))), attrs(intAttr("to", int64(pb.Uint4))), "to is u4 for u8, want as many bits"}, {"BitCast", 26, 1, args(typed(pb.Uint8, x(2))), attrs(intAttr("to", int64(pb.Int2))), "to is i2 for u8, want as many bits"},
		{"SequenceAt", 11, 1, args(x(2), at(0)), nil, "input 0 is tensor, want a sequence"}, {"SplitToSequence", 11, 1, args(x(4), at(0)), nil, "split is 0, want 1 or more"}, {"SequenceConstruct", 11, 1, args(x(2), u8), nil, "input 1 is u8, want f32"},
		{"TfIdfVectorizer", 9, 1, args(x(4)), tfidf(), "x is f32[4], want i32 or i64 of rank 1 or 2"}, {"TfIdfVectorizer", 9, 1, args(tokens), tfidf(strAttr("mode", "DF")), `mode is "DF", want TF, IDF or TFIDF`}, {"TfIdfVectorizer", 9, 1, args(tokens), tfidf(intAttr("min_gram_length", 3)), "n-grams of 3 to 2 tokens"},
		{"TfIdfVectorizer", 9, 1, args(tokens), tfidf(intsAttr("ngram_indexes")), "want them not empty and not negative"}, {"TfIdfVectorizer", 9, 1, args(tokens), tfidf(floatsAttr("weights", 1)), "1 weights for 3 n-grams"}, {"TfIdfVectorizer", 9, 1, args(tokens), tfidf(intsAttr("ngram_counts", 0, 1)), "2-grams from 1 to 4 of 4 tokens"},
		{"TfIdfVectorizer", 9, 1, args(tokens), tfidf(intsAttr("ngram_indexes", 0, 1)), "more n-grams than the 2 of ngram_indexes"}, {"TfIdfVectorizer", 9, 1, args(tokens), tfidf(intsAttr("ngram_indexes", 0, 1, 2, 3)), "3 n-grams, want as many as ngram_indexes has, 4"},
		{"TfIdfVectorizer", 9, 1, args(tokens), tfidf(intsAttr("pool_int64s", 5, 5, 7, 8)), "the pool has [5] twice"},
	} {
		t.Run(fmt.Sprintf("%s/%s", c.op, c.say), func(t *testing.T) {
			m, feed := single(t, dev, c.opset, c.op, c.results, c.in, c.attrs)
			err := runOnce(t, dev, m, feed)
			require.ErrorContains(t, err, c.say)
			var node *onnx.NodeError
			require.ErrorAs(t, err, &node)
			require.Equal(t, []string{c.op, "y0"}, []string{node.Op, node.Node}, "a node without a name is called by its first output")
			require.True(t, errors.Is(err, onnx.ErrModel) || errors.Is(err, core.ErrShape), "%v", err)
		})
	}
}

// runOnce parses, opens and runs a model. It returns the first error.
func runOnce(t *testing.T, dev *tensor.Device, m *pb.Model, feed map[string]onnx.Value) error {
	parsed, err := parse(m, onnx.Options{})
	if err != nil {
		return err
	}
	s, err := parsed.Open(dev)
	if err != nil {
		return err
	}
	defer func() { require.NoError(t, s.Close()) }()
	_, err = s.Run(t.Context(), feed)
	return err
}
