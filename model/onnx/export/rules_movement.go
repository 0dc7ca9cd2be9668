package export

import (
	"math"
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

func movementRules() map[op.Code]rule {
	return map[op.Code]rule{
		op.Full: {emit: func(e *emitter, n *node) error {
			out := n.outputs[0]
			v := e.constant(out.dtype, nil, element(out.dtype, n.attrs.Value("value")))
			if len(out.shape) > 0 {
				v = e.node("Expand", []string{v, e.dims(out.shape)})
			}
			out.name = v
			return nil
		}},
		op.Iota:    {emit: emitIota},
		op.Reshape: made(func(e *emitter, n *node, in []string) string { return e.reshape(in[0], n.outputs[0].shape) }),
		op.Permute: {emit: func(e *emitter, n *node) error {
			axes, err := n.static("axes")
			n.outputs[0].name = e.node("Transpose", n.ins(), attrInts("perm", axes))
			return err
		}},
		op.Expand: made(func(e *emitter, n *node, in []string) string {
			return e.node("Expand", []string{in[0], e.dims(broadcast(n.inputs[0].shape, n.outputs[0].shape))})
		}),
		op.Slice: {emit: emitSlice},
		op.Flip: {emit: func(e *emitter, n *node) error {
			axes, err := n.static("axes")
			k := len(axes)
			n.outputs[0].name = e.node("Slice", []string{n.inputs[0].name, e.vector(slices.Repeat([]int{-1}, k)...),
				e.vector(slices.Repeat([]int{math.MinInt64}, k)...), e.vector(axes...), e.vector(slices.Repeat([]int{-1}, k)...)})
			return err
		}},
		op.Pad: made(func(e *emitter, n *node, in []string) string {
			d := n.inputs[0].dtype
			return e.node("Pad", []string{in[0], e.dims(append(slices.Clone(n.dims("lo")), n.dims("hi")...)), e.constant(d, nil, element(d, n.attrs.Value("value")))})
		}),
		op.Concat: as("Concat", intOf("axis", "axis")),
		op.Gather: {fits: func(n *op.Node, _ []op.Desc) bool {
			b := n.Attrs.Int("batch")
			return b == 0 || b == n.Attrs.Int("axis")
		}, emit: emitGather},
		op.GatherElements: as("GatherElements", intOf("axis", "axis")),
		op.Scatter: {fits: func(n *op.Node, _ []op.Desc) bool { return n.Attrs.Int("axis") == 0 && n.Attrs.Int("batch") == 0 }, emit: func(e *emitter, n *node) error {
			in := n.ins()
			ix := e.reshape(in[1], append(slices.Clone(n.inputs[1].shape), fixed(1)))
			mode := n.attrs.Str("mode")
			if mode == "assign" {
				mode = "none"
			}
			n.outputs[0].name = e.node("ScatterND", []string{in[0], e.indices(ix, n.inputs[1]), in[2]}, attrString("reduction", mode))
			return nil
		}},
		op.Embedding: rule{fits: func(n *op.Node, _ []op.Desc) bool { return n.Attrs.Int("padding") < 0 },
			emit: as("Gather").emit},
		op.Tile: {emit: func(e *emitter, n *node) error {
			n.outputs[0].name = e.node("Tile", []string{n.inputs[0].name, e.dims(n.dims("repeats"))})
			return nil
		}},
	}
}

// indices casts index operands to i64, which all operators accept.
func (e *emitter) indices(name string, v *value) string {
	if v.dtype == dtype.I64 {
		return name
	}
	return e.node("Cast", []string{name}, attrInt("to", int(elementType(dtype.I64))))
}

// broadcast returns the target shape of the Expand that broadcasts the shape from to the shape to. Dimensions that are equal in both become
// 1, for which Expand keeps the dimension, so that fewer shapes depend on the symbolic dimension.
func broadcast(from, to []dim) []dim {
	out := slices.Clone(to)
	lead := len(to) - len(from)
	for i, d := range from {
		if d == to[lead+i] && d != fixed(0) {
			out[lead+i] = fixed(1)
		}
	}
	return out
}

func emitIota(e *emitter, n *node) error {
	out := n.outputs[0]
	axis := n.attrs.Int("axis")
	length := out.shape[axis]
	line := make([]dim, len(out.shape))
	for i := range line {
		line[i] = fixed(1)
	}
	line[axis] = length
	var v string
	if length.static() {
		var data []byte
		for i := range length.base {
			data = append(data, number(out.dtype, float64(i))...)
		}
		dims, _ := allStatic(line)
		v = e.constant(out.dtype, dims, data)
	} else {
		end := e.node("Squeeze", []string{e.dims([]dim{length})})
		v = e.node("Range", []string{e.constant(dtype.I64, nil, make([]byte, 8)), end, e.constant(dtype.I64, nil, integer(dtype.I64, 1))})
		v = e.node("Cast", []string{v}, attrInt("to", int(elementType(out.dtype))))
		v = e.reshape(v, line)
	}
	if !slices.Equal(line, out.shape) {
		v = e.node("Expand", []string{v, e.dims(broadcast(line, out.shape))})
	}
	out.name = v
	return nil
}

// emitSlice emits a slice along the axes that it changes. ONNX counts negative positions from the end, so an end before the first element
// is written as the least integer.
func emitSlice(e *emitter, n *node) error {
	steps, err := n.static("step")
	if err != nil {
		return err
	}
	start, size := n.dims("start"), n.dims("size")
	var axes, step []int
	var from, to []dim
	for i, s := range steps {
		if s == 1 && start[i] == fixed(0) && size[i] == n.inputs[0].shape[i] {
			continue
		}
		end := dim{start[i].base + size[i].base*s, start[i].per + size[i].per*s}
		if size[i] == fixed(0) {
			end = start[i]
		} else if s < 0 && end.base < 0 && end.static() {
			end = fixed(math.MinInt64)
		}
		axes, step = append(axes, i), append(step, s)
		from, to = append(from, start[i]), append(to, end)
	}
	if len(axes) == 0 {
		n.outputs[0].name = e.node("Identity", n.ins())
		return nil
	}
	n.outputs[0].name = e.node("Slice", []string{n.inputs[0].name, e.dims(from), e.dims(to), e.vector(axes...), e.vector(step...)})
	return nil
}

func emitGather(e *emitter, n *node) error {
	batch, axis := n.attrs.Int("batch"), n.attrs.Int("axis")
	in := n.ins()
	if batch == 0 {
		n.outputs[0].name = e.node("Gather", in, attrInt("axis", axis))
		return nil
	}
	ix := e.reshape(in[1], append(slices.Clone(n.inputs[1].shape), fixed(1)))
	n.outputs[0].name = e.node("GatherND", []string{in[0], e.indices(ix, n.inputs[1])}, attrInt("batch_dims", batch))
	return nil
}
