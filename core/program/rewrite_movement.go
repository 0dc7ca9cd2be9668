package program

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// step is a quantization to bytes with a single known scale.
type step struct {
	scale, zero op.Desc
	s           float64
	z           int64
}

// bytesOf records the quantization of a tensor by a step.
type bytesOf func(b *op.Builder) op.Desc

// stepOf returns the step with the given scale and zero point.
func (r *rewriter) stepOf(scale, zero op.TensorID, a op.Attrs) (step, bool) {
	st := step{scale: r.descs[scale], zero: r.descs[zero]}
	if d := st.zero.DType; a.Int("axis") != -1 || a.Int("block") != 0 || a.Int("bits") != 0 || d != dtype.U8 && d != dtype.I8 {
		return step{}, false
	}
	s, z := r.numbers(scale), r.whole(zero)
	if len(s) != 1 || len(z) != 1 || !r.scales(scale) {
		return step{}, false
	}
	st.s, st.z = s[0], z[0]
	return st, true
}

// movedBytes recognizes the quantization of a tensor that was dequantized with the same scale and only moved in between: the bytes are
// moved instead. A concatenation becomes a concatenation of bytes; parts that are not dequantized bytes are quantized.
func (r *rewriter) movedBytes(i int) bool {
	n := r.root(i)
	st, ok := r.stepOf(n.Inputs[1], n.Inputs[2], n.Attrs)
	if !ok {
		return false
	}
	moved := r.bytesOf(n.Inputs[0], st, i, 0)
	if moved == nil {
		return false
	}
	return r.replace(i, nil, func(b *op.Builder) op.Desc {
		y := moved(b)
		if len(b.Nodes) == 0 {
			y = b.Un(op.Reshape, y, op.Dims("shape", y.Shape))
		}
		return y
	})
}

// bytesOf returns a function that records tensor id as quantized by st without computing floats, or nil if that is impossible. user is the
// only place that may use the tensor.
func (r *rewriter) bytesOf(id op.TensorID, st step, user, depth int) bytesOf {
	n, at := r.producer(id)
	if n == nil || depth > 16 {
		return nil
	}
	if n.Op == op.Dequantize {
		x := r.descs[n.Inputs[0]]
		from, ok := r.stepOf(n.Inputs[1], n.Inputs[2], n.Attrs)
		if !ok || from.s != st.s || from.z != st.z || x.DType != st.zero.DType || from.scale.DType != st.scale.DType {
			return nil
		}
		return func(*op.Builder) op.Desc { return x }
	}
	if !r.private(user, []int{at}) {
		return nil
	}
	attrs := n.Attrs
	switch n.Op {
	case op.Reshape, op.Permute, op.Expand, op.Slice, op.Flip:
	case op.WindowReduce:
		if attrs.Str("reduce") != "max" {
			return nil
		}
	case op.Pad:
		attrs = append(attrs[:0:0], attrs...)
		for k := range attrs {
			if attrs[k].Name == "value" {
				attrs[k] = op.ScalarInt("value", st.quantized(attrs[k].Value.Float()))
			}
		}
	case op.Concat:
		return r.joined(n, at, st, depth)
	default:
		return nil
	}
	below := r.bytesOf(n.Inputs[0], st, at, depth+1)
	if below == nil {
		return nil
	}
	return func(b *op.Builder) op.Desc { return b.Un(n.Op, below(b), attrs...) }
}

func (r *rewriter) joined(n *op.Node, at int, st step, depth int) bytesOf {
	parts := make([]bytesOf, len(n.Inputs))
	for k, id := range n.Inputs {
		if parts[k] = r.bytesOf(id, st, at, depth+1); parts[k] == nil {
			parts[k] = func(b *op.Builder) op.Desc { return b.Do(op.Quantize, r.descs[id], st.scale, st.zero) }
		}
	}
	return func(b *op.Builder) op.Desc {
		in := make([]op.Desc, len(parts))
		for k, f := range parts {
			in[k] = f(b)
		}
		return b.With(op.Concat, in, n.Attrs...)
	}
}

// quantized returns the quantized value of a number, computed in the type of the scale.
func (st step) quantized(v float64) int64 {
	q := v / st.s
	if st.scale.DType == dtype.F32 {
		q = float64(float32(v) / float32(st.s))
	}
	lo, hi := 0.0, 255.0
	if st.zero.DType == dtype.I8 {
		lo, hi = -128, 127
	}
	if q != q {
		q = 0
	}
	return int64(min(max(math.RoundToEven(q)+float64(st.z), lo), hi))
}
