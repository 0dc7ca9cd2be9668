package export

import (
	"slices"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/model/onnx/pb"
)

func layerRules() map[op.Code]rule {
	return map[op.Code]rule{
		op.MatMul: {emit: func(e *emitter, n *node) error {
			a, b := n.ins()[0], n.ins()[1]
			if n.attrs.Bool("transpose_a") {
				a = e.transposed(a, len(n.inputs[0].shape))
			}
			if n.attrs.Bool("transpose_b") {
				b = e.transposed(b, len(n.inputs[1].shape))
			}
			n.outputs[0].name = e.node("MatMul", []string{a, b})
			return nil
		}},
		op.Linear: {emit: emitLinear},
		op.Conv: {fits: func(n *op.Node, in []op.Desc) bool {
			return floats(n, in) && none(n.Attrs.Ints("input_dilation"), 1) && !negative(n.Attrs.Ints("pad_lo")) && !negative(n.Attrs.Ints("pad_hi"))
		}, emit: window("Conv", func(n *node) []*pb.Attribute {
			return []*pb.Attribute{attrInt("group", n.attrs.Int("groups")), attrInts("dilations", n.attrs.Ints("kernel_dilation"))}
		})},
		op.ConvTranspose: {fits: func(n *op.Node, in []op.Desc) bool {
			return floats(n, in) && !negative(n.Attrs.Ints("pad_lo")) && !negative(n.Attrs.Ints("pad_hi")) && slices.Max(n.Attrs.Ints("output_padding")) == 0
		}, emit: window("ConvTranspose", func(n *node) []*pb.Attribute {
			return []*pb.Attribute{attrInt("group", n.attrs.Int("groups")), attrInts("dilations", n.attrs.Ints("dilation"))}
		})},
		op.AvgPool: {fits: func(n *op.Node, in []op.Desc) bool {
			return spatial(n, in) && none(n.Attrs.Ints("overhang"), 0) && padsLess(n)
		}, emit: window("AveragePool", func(n *node) []*pb.Attribute {
			return []*pb.Attribute{attrInts("kernel_shape", n.attrs.Ints("window")), attrInts("dilations", n.attrs.Ints("dilation")),
				attrBool("count_include_pad", n.attrs.Bool("count_pad"))}
		})},
		op.MaxPool: {fits: func(n *op.Node, in []op.Desc) bool {
			return spatial(n, in) && !n.Attrs.Bool("indices") && padsLess(n)
		}, emit: window("MaxPool", func(n *node) []*pb.Attribute {
			return []*pb.Attribute{attrInts("kernel_shape", n.attrs.Ints("window")), attrInts("dilations", n.attrs.Ints("dilation"))}
		})},
		op.WindowReduce: {fits: func(n *op.Node, in []op.Desc) bool {
			return floats(n, in) && len(n.Attrs.Ints("window")) <= 3 && !n.Attrs.Bool("indices") && padsLess(n) && !negative(n.Attrs.Ints("pad_lo")) &&
				!negative(n.Attrs.Ints("pad_hi"))
		}, emit: emitWindowReduce},
		op.BatchNorm: as("BatchNormalization", floatOf("epsilon", "epsilon")),
		op.LayerNorm: {fits: func(n *op.Node, in []op.Desc) bool {
			whole := in[0].Shape[n.Attrs.Int("axis"):]
			return !slices.ContainsFunc(in[1:], func(d op.Desc) bool { return !d.Shape.Equal(whole) })
		}, emit: emitLayerNorm},
		op.GroupNorm: rule{fits: func(n *op.Node, in []op.Desc) bool {
			return n.Attrs.Int("groups") == in[0].Shape[1] && len(in[0].Shape) > 2
		}, emit: as("InstanceNormalization", floatOf("epsilon", "epsilon")).emit},
		op.LSTM: {emit: recurrent("LSTM", 4)}, op.GRU: {emit: recurrent("GRU", 3)}, op.RNN: {emit: recurrent("RNN", 1)},
	}
}

// transposed emits an exchange of the last two dimensions, and returns the name of the result.
func (e *emitter) transposed(x string, rank int) string {
	perm := make([]int, rank)
	for i := range perm {
		perm[i] = i
	}
	perm[rank-1], perm[rank-2] = rank-2, rank-1
	return e.node("Transpose", []string{x}, attrInts("perm", perm))
}

func emitLinear(e *emitter, n *node) error {
	in, transposed := n.ins(), n.attrs.Bool("transpose_w")
	if len(n.inputs[0].shape) == 2 && n.inputs[0].dtype.IsFloat() {
		n.outputs[0].name = e.node("Gemm", in, attrBool("transB", transposed))
		return nil
	}
	w := in[1]
	if transposed {
		w = e.transposed(w, 2)
	}
	y := e.node("MatMul", []string{in[0], w})
	if len(in) > 2 {
		y = e.node("Add", []string{y, in[2]})
	}
	n.outputs[0].name = y
	return nil
}

// spatial reports whether the windows cover exactly the dimensions after the first two, as ONNX requires.
func spatial(n *op.Node, in []op.Desc) bool {
	return in[0].DType.IsFloat() && len(n.Attrs.Ints("window")) == len(in[0].Shape)-2
}

// padsLess reports whether paddings are less than the window, as runtimes require.
func padsLess(n *op.Node) bool {
	w, over := n.Attrs.Ints("window"), n.Attrs.Ints("overhang")
	for i := range w {
		hi := n.Attrs.Ints("pad_hi")[i]
		if over != nil {
			hi += over[i]
		}
		if n.Attrs.Ints("pad_lo")[i] >= w[i] || hi >= w[i] {
			return false
		}
	}
	return true
}

// window returns the emit function of an operator with strides and paddings; more returns its other attributes. For a maximum, an
// overhang becomes padding.
func window(kind string, more func(n *node) []*pb.Attribute) func(e *emitter, n *node) error {
	return func(e *emitter, n *node) error {
		for _, name := range []string{"strides", "pad_lo", "pad_hi", "overhang", "window"} {
			if _, err := n.static(name); err != nil {
				return err
			}
		}
		hi := slices.Clone(n.attrs.Ints("pad_hi"))
		for i, o := range n.attrs.Ints("overhang") {
			hi[i] += o
		}
		attrs := append(more(n), attrInts("strides", n.attrs.Ints("strides")), attrInts("pads", append(slices.Clone(n.attrs.Ints("pad_lo")), hi...)))
		n.outputs[0].name = e.node(kind, n.ins(), attrs...)
		return nil
	}
}

// emitWindowReduce emits a sum as a mean multiplied by the size of the window. Unless two dimensions precede the dimensions of the window,
// it merges the preceding dimensions into one batch dimension, and adds a channel dimension of 1.
func emitWindowReduce(e *emitter, n *node) error {
	kind, attrs := "MaxPool", []*pb.Attribute{}
	sum := n.attrs.Str("reduce") == "sum"
	if sum {
		kind, attrs = "AveragePool", []*pb.Attribute{attrInt("count_include_pad", 1)}
	}
	w := n.attrs.Ints("window")
	x, out := n.inputs[0], n.outputs[0]
	lead := len(x.shape) - len(w)
	m := *n
	if lead != 2 {
		all := fixed(1)
		for _, d := range x.shape[:lead] {
			if !all.static() && !d.static() {
				return differs("window_reduce has two dimensions that are symbolic before its window")
			}
			all = dim{all.base * d.base, all.base*d.per + all.per*d.base}
		}
		to := append([]dim{all, fixed(1)}, x.shape[lead:]...)
		m.inputs = []*value{{name: e.reshape(x.name, to), dtype: x.dtype, shape: to}}
	}
	err := window(kind, func(n *node) []*pb.Attribute {
		return append(attrs, attrInts("kernel_shape", w), attrInts("dilations", n.attrs.Ints("dilation")))
	})(e, &m)
	if err != nil {
		return err
	}
	if sum {
		out.name = e.node("Mul", []string{out.name, e.scalar(x.dtype, float64(shape.Shape(w).Size()))})
	}
	if lead != 2 {
		out.name = e.reshape(out.name, out.shape)
	}
	return nil
}

func emitLayerNorm(e *emitter, n *node) error {
	in, axis := n.ins(), n.attrs.Int("axis")
	if len(in) == 1 { // ONNX requires a scale
		d := n.inputs[0].dtype
		dims, ok := allStatic(n.inputs[0].shape[axis:])
		if !ok {
			return differs("layer_norm normalises the symbolic dimension")
		}
		in = append(in, e.constant(d, dims, slices.Repeat(number(d, 1), shape.Shape(dims).Size())))
	}
	n.outputs[0].name = e.node("LayerNormalization", in, attrInt("axis", axis), attrFloat("epsilon", n.attrs.Float("epsilon")))
	return nil
}

// recurrent returns the emit function of layers with this number of gates. ONNX has the biases of both products in one tensor.
func recurrent(kind string, gates int) func(e *emitter, n *node) error {
	return func(e *emitter, n *node) error {
		in, dt := n.ins(), n.inputs[0].dtype
		r := n.inputs[2].shape
		dirs, hidden := r[0], r[2]
		bias, rest := in[3], in[4:]
		second := ""
		if kind == "GRU" {
			second, rest = in[4], in[5:]
		} else {
			dims, ok := allStatic([]dim{dirs, {base: gates * hidden.base, per: gates * hidden.per}})
			if !ok {
				return differs("%v has states of the symbolic dimension", n.op)
			}
			second = e.constant(dt, dims, make([]byte, shape.Shape(dims).Size()*dt.Size()))
		}
		bias = e.node("Concat", []string{bias, second}, attrInt("axis", 1))
		attrs := []*pb.Attribute{attrString("direction", n.attrs.Str("direction")), attrInt("hidden_size", hidden.base)}
		switch kind {
		case "GRU":
			attrs = append(attrs, attrBool("linear_before_reset", n.attrs.Bool("reset_after")))
		case "RNN":
			f := map[string]string{"tanh": "Tanh", "relu": "Relu"}[n.attrs.Str("activation")]
			list := &pb.Attribute{Name: "activations", Type: pb.AttrStrings}
			for range dirs.base {
				list.Strings = append(list.Strings, []byte(f))
			}
			attrs = append(attrs, list)
		}
		out := e.nodes(kind, len(n.outputs), append([]string{in[0], in[1], in[2], bias, ""}, rest...), attrs...)
		for i := range n.outputs {
			n.outputs[i].name = out[i]
		}
		return nil
	}
}
