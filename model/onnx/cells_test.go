package onnx_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/model/onnx"
	"github.com/goburn/burn/model/onnx/pb"
)

func strsAttr(name string, v ...string) *pb.Attribute {
	a := &pb.Attribute{Name: name, Type: pb.AttrStrings}
	for _, s := range v {
		a.Strings = append(a.Strings, []byte(s))
	}
	return a
}

// The activations of a recurrent cell, with the default coefficients of the specification and with others. One step of an RNN with
// weights of one and no state computes the activation itself.
func TestRecurrentActivations(t *testing.T) {
	dev := onStream(t, openRef(t))
	v := []float64{-3, -0.5, 0.25, 1.5}
	for _, c := range []struct {
		name  string
		attrs []*pb.Attribute
		f     func(x float64) float64
	}{
		{"Relu", nil, func(x float64) float64 { return max(x, 0) }},
		{"Tanh", nil, math.Tanh},
		{"sigmoid", nil, func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }},
		{"Softsign", nil, func(x float64) float64 { return x / (1 + math.Abs(x)) }},
		{"Softplus", nil, func(x float64) float64 { return math.Log1p(math.Exp(x)) }},
		{"Affine", nil, func(x float64) float64 { return x }},
		{"Affine", attrs(floatsAttr("activation_alpha", 2), floatsAttr("activation_beta", 0.5)), func(x float64) float64 { return 2*x + 0.5 }},
		{"ScaledTanh", attrs(floatsAttr("activation_alpha", 2), floatsAttr("activation_beta", 0.5)), func(x float64) float64 { return 2 * math.Tanh(x/2) }},
		{"HardSigmoid", nil, func(x float64) float64 { return min(max(0.2*x+0.5, 0), 1) }},
		{"HardSigmoid", attrs(floatsAttr("activation_alpha", 1), floatsAttr("activation_beta", 0.25)), func(x float64) float64 { return min(max(x+0.25, 0), 1) }},
		{"LeakyRelu", nil, func(x float64) float64 { return max(x, 0.01*x) }},
		{"LeakyRelu", attrs(floatsAttr("activation_alpha", 0.5)), func(x float64) float64 { return max(x, 0.5*x) }},
		{"ThresholdedRelu", attrs(floatsAttr("activation_alpha", 0.25)), func(x float64) float64 {
			if x > 0.25 {
				return x
			}
			return 0
		}},
		{"ELU", attrs(floatsAttr("activation_alpha", 2)), func(x float64) float64 {
			if x < 0 {
				return 2 * math.Expm1(x)
			}
			return x
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := args(xs([]int{1, 4, 1}, v...), xs([]int{1, 1, 1}, 1), xs([]int{1, 1, 1}, 1))
			out := compute(t, dev, 14, "RNN", 2, in, append(c.attrs, intAttr("hidden_size", 1), strsAttr("activations", c.name)))
			want := make([]float64, len(v))
			for i, x := range v {
				want[i] = c.f(x)
			}
			compare(t, out[0], gives([]int{1, 1, 4, 1}, want...))
			compare(t, out[1], gives([]int{1, 4, 1}, want...))
		})
	}
}

// With layout 1 the batch is the first axis of the input, the states and the results; the numbers are the same as with layout 0.
func TestRecurrentLayouts(t *testing.T) {
	dev := onStream(t, openRef(t))
	const steps, batch, width, hidden = 3, 2, 2, 2
	numbers := func(n int) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = math.Sin(float64(3*i+n)) / 2
		}
		return v
	}
	swapped := func(v []float64, a, b, rest int) []float64 { // [a, b, rest] to [b, a, rest]
		out := make([]float64, 0, len(v))
		for j := range b {
			for i := range a {
				out = append(out, v[(i*b+j)*rest:][:rest]...)
			}
		}
		return out
	}
	for op, gates := range map[string]int{"RNN": 1, "GRU": 3, "LSTM": 4} {
		for dirs, direction := range []string{"", "forward", "bidirectional"} {
			if dirs == 0 {
				continue
			}
			a := attrs(intAttr("hidden_size", hidden), strAttr("direction", direction))
			seq, state := numbers(steps*batch*width), numbers(dirs*batch*hidden)
			w, r, b := xs([]int{dirs, gates * hidden, width}, numbers(dirs*gates*hidden*width)...), xs([]int{dirs, gates * hidden, hidden}, numbers(dirs*gates*hidden*hidden)...), xs([]int{dirs, 2 * gates * hidden}, numbers(dirs*2*gates*hidden)...)
			first := args(xs([]int{steps, batch, width}, seq...), w, r, b, arg{}, xs([]int{dirs, batch, hidden}, state...))
			second := args(xs([]int{batch, steps, width}, swapped(seq, steps, batch, width)...), w, r, b, arg{}, xs([]int{batch, dirs, hidden}, swapped(state, dirs, batch, hidden)...))
			outs := 2
			if op == "LSTM" {
				outs = 3
				first, second = append(first, first[5]), append(second, second[5])
			}
			want := compute(t, dev, 14, op, outs, first, a)
			got := compute(t, dev, 14, op, outs, second, append(a, intAttr("layout", 1)))
			elements := func(v onnx.Value) []float64 {
				raw, err := v.Tensor().Bytes(t.Context())
				require.NoError(t, err)
				return numbersOf(t, dtype.F32, raw)
			}
			y := elements(want[0]) // [steps, dirs, batch, hidden] to [batch, steps, dirs, hidden]
			compare(t, got[0], gives([]int{batch, steps, dirs, hidden}, swapped(y, steps*dirs, batch, hidden)...))
			for k := 1; k < outs; k++ {
				compare(t, got[k], gives([]int{batch, dirs, hidden}, swapped(elements(want[k]), dirs, batch, hidden)...))
			}
		}
	}
}

// For a sequence without steps, the last state is the initial state.
func TestRecurrentWithoutSteps(t *testing.T) {
	dev := onStream(t, openRef(t))
	out := compute(t, dev, 14, "RNN", 2, args(x(0, 1, 2), x(1, 1, 2), x(1, 1, 1), arg{}, arg{}, xs([]int{1, 1, 1}, 7)), attrs(intAttr("hidden_size", 1), strsAttr("activations", "Relu")))
	compare(t, out[0], gives([]int{0, 1, 1, 1}))
	compare(t, out[1], gives([]int{1, 1, 1}, 7))
}

// chained runs a node followed by a Cast to f32, and returns the result: tests cannot read the narrow types directly.
func chained(t *testing.T, h *harness, node *pb.Node, opset int64, in onnx.Value, more ...*pb.Tensor) onnx.Value {
	t.Helper()
	m := modelOf(opset, &pb.Graph{Nodes: []*pb.Node{node, operator("Cast", node.Outputs, ss("y"), intAttr("to", int64(pb.Float)))}, Initializers: more,
		Inputs: []*pb.ValueInfo{decl("x", pb.Float, nil)}, Outputs: bare("y")})
	parsed, err := parse(m, onnx.Options{})
	require.NoError(t, err)
	s, err := parsed.Open(h.dev)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	out, err := s.Run(t.Context(), map[string]onnx.Value{"x": in})
	require.NoError(t, err)
	return out["y"]
}

// Casts to E8M0, whose values are powers of two, in each of the rounding modes; the default is up.
func TestCastToPowers(t *testing.T) {
	h := &harness{t: t, dev: onStream(t, openRef(t))}
	in := h.f32([]int{7}, 1, 1.25, 1.5, 3, 5, 0.75, 1e-30)
	small := float32(math.Ldexp(1, -100))
	for mode, want := range map[string][]float64{"up": {1, 2, 2, 4, 8, 1, 2 * float64(small)}, "down": {1, 1, 1, 2, 4, 0.5, float64(small)}, "nearest": {1, 1, 2, 4, 4, 1, float64(small)}, "": {1, 2, 2, 4, 8, 1, 2 * float64(small)}} {
		node := operator("Cast", ss("x"), ss("p"), intAttr("to", int64(pb.Float8E8M0)))
		if mode != "" {
			node.Attributes = append(node.Attributes, strAttr("round_mode", mode))
		}
		h.want(chained(t, h, node, 24, in), []int{7}, want...)
	}
	node := operator("Cast", ss("x"), ss("p"), intAttr("to", int64(pb.Float8E8M0)), strAttr("round_mode", "even"))
	m := modelOf(24, &pb.Graph{Nodes: []*pb.Node{node}, Inputs: []*pb.ValueInfo{decl("x", pb.Float, nil)}, Outputs: bare("p")})
	require.ErrorContains(t, runOnce(t, h.dev, m, map[string]onnx.Value{"x": in}), `round_mode is "even", want up, down or nearest`)
}

// Quantization to types narrower than a byte and to small floats saturates at the ends of the range and rounds halves to even.
func TestQuantizeNarrow(t *testing.T) {
	h := &harness{t: t, dev: onStream(t, openRef(t))}
	in := h.f32([]int{5}, 0, 1.25, 2.6, -3, 100)
	half := f32s("s", nil, 0.5)
	for d, want := range map[pb.DataType][]float64{
		pb.Int4: {0, 2, 5, -6, 7}, pb.Uint4: {0, 2, 5, 0, 15}, pb.Int2: {0, 1, 1, -2, 1}, pb.Uint2: {0, 2, 3, 0, 3}, pb.Float8E4M3FN: {0, 2.5, 5, -6, 192}, pb.Float8E5M2: {0, 2.5, 5, -6, 192}, pb.Float4E2M1: {0, 2, 6, -6, 6},
	} {
		opset := int64(21)
		if d == pb.Int2 || d == pb.Uint2 || d == pb.Float4E2M1 {
			opset = 25
		}
		h.want(chained(t, h, operator("QuantizeLinear", ss("x", "s"), ss("q"), intAttr("output_dtype", int64(d))), opset, in, half), []int{5}, want...)
	}
	perAxis := operator("QuantizeLinear", ss("x", "s"), ss("q"), intAttr("output_dtype", int64(pb.Float8E4M3FN)), intAttr("axis", 0))
	h.want(chained(t, h, perAxis, 21, in, f32s("s", []int64{5}, 1, 1.25, 1, 2, 50)), []int{5}, 0, 1, 2.5, -1.5, 2)
	blocks := operator("QuantizeLinear", ss("x", "s"), ss("q"), intAttr("output_dtype", int64(pb.Float8E4M3FN)), intAttr("axis", 0), intAttr("block_size", 3))
	h.want(chained(t, h, blocks, 21, in, f32s("s", []int64{2}, 1, 4)), []int{5}, 0, 1.25, 2.5, -0.75, 24) // 25 is halfway between 24 and 26, and rounds to even
}

// A constant is given by its nonzero elements with row-major indices or coordinates.
func TestSparseConstants(t *testing.T) {
	h := &harness{t: t, dev: onStream(t, openRef(t))}
	dense := func(s *pb.SparseTensor) (*pb.Model, map[string]onnx.Value) {
		m := modelOf(17, &pb.Graph{Nodes: []*pb.Node{operator("Constant", nil, ss("c"), &pb.Attribute{Name: "sparse_value", Type: pb.AttrSparseTensor, SparseTensor: s}), operator("Add", ss("x", "c"), ss("y"))},
			Inputs: []*pb.ValueInfo{decl("x", pb.Float)}, Outputs: bare("y")})
		return m, map[string]onnx.Value{"x": h.f32(nil, 0)}
	}
	values := f32s("v", []int64{2}, 1, 2)
	for _, at := range []*pb.Tensor{i64s("", []int64{2}, 1, 5), i64s("", []int64{2, 2}, 0, 1, 1, 2)} {
		m, feed := dense(&pb.SparseTensor{Dims: []int64{2, 3}, Values: values, Indices: at})
		parsed, err := parse(m, onnx.Options{})
		require.NoError(t, err)
		h.s, err = parsed.Open(h.dev)
		require.NoError(t, err)
		h.want(h.run(feed)["y"], []int{2, 3}, 0, 1, 0, 0, 0, 2)
		require.NoError(t, h.s.Close())
	}
	for say, s := range map[string]*pb.SparseTensor{
		"index 6 of a sparse tensor, want one in [0,6)":    {Dims: []int64{2, 3}, Values: values, Indices: i64s("", []int64{2}, 1, 6)},
		"index -1 of a sparse tensor":                      {Dims: []int64{2, 3}, Values: values, Indices: i64s("", []int64{2, 2}, 0, 1, -1, 2)},
		"index 3 of a sparse tensor, want one in [0,3)":    {Dims: []int64{2, 3}, Values: values, Indices: i64s("", []int64{2, 2}, 0, 3, 1, 2)},
		"with 2 values are [3], want [2] or [2 2]":         {Dims: []int64{2, 3}, Values: values, Indices: i64s("", []int64{3}, 1, 2, 3)},
		"with 2 values are [2 1], want [2] or [2 2]":       {Dims: []int64{2, 3}, Values: values, Indices: i64s("", []int64{2, 1}, 0, 1)}, // rows alone
		"with 2 values are [1 2], want [2] or [2 2]":       {Dims: []int64{2, 3}, Values: values, Indices: i64s("", []int64{1, 2}, 0, 1)},
		"with 2 values are [4], want [2] or [2 2]":         {Dims: []int64{2, 3}, Values: values, Indices: i64s("", []int64{4}, 0, 1, 1, 1)},
		"with 2 values are [2 3], want [2] or [2 2]":       {Dims: []int64{2, 3}, Values: values, Indices: i64s("", []int64{2, 3}, 0, 1, 1, 1, 1, 1)},
		"a sparse tensor has no values or no indices":      {Dims: []int64{2, 3}, Values: values},
		"indices of a sparse tensor are INT32, want INT64": {Dims: []int64{2, 3}, Values: values, Indices: &pb.Tensor{DataType: pb.Int32, Dims: []int64{2}, Int32Data: []int32{1, 2}}},
		"sparse_tensor.dims[1]: negative: -3":              {Dims: []int64{2, -3}, Values: values, Indices: i64s("", []int64{2}, 1, 2)},
	} {
		m, feed := dense(s)
		require.ErrorContains(t, runOnce(t, h.dev, m, feed), say)
	}
}
