package program

import (
	"math"
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// centred is a tensor of bytes that was widened to i32, and the zero point that was subtracted from it.
type centred struct{ x, zero op.Desc }

func (r *rewriter) widenedBytes(id op.TensorID) (op.Desc, bool) {
	n, _, ok := r.made(id, op.Cast)
	if !ok {
		return op.Desc{}, false
	}
	d := r.descs[n.Inputs[0]]
	return d, d.DType == dtype.U8 || d.DType == dtype.I8
}

func (r *rewriter) centredBytes(id op.TensorID) (centred, bool) {
	if x, ok := r.widenedBytes(id); ok {
		return centred{x: x}, true
	}
	n, _, ok := r.made(id, op.Sub)
	if !ok {
		return centred{}, false
	}
	x, okX := r.widenedBytes(n.Inputs[0])
	zero, okZero := r.widenedBytes(n.Inputs[1])
	if !okX || !okZero || x.DType != zero.DType || !x.Shape.Equal(n.Outputs[0].Shape) {
		return centred{}, false
	}
	return centred{x, zero}, true
}

// zeros returns the zero points of two operands. If only one operand has a zero point, the other zero point is 0. It returns false if
// neither has a zero point.
func zeros(b *op.Builder, x, w centred) (op.Desc, op.Desc, bool) {
	if x.zero.ID == 0 && w.zero.ID == 0 {
		return x.zero, w.zero, false
	}
	for _, c := range []*centred{&x, &w} {
		if c.zero.ID == 0 {
			c.zero = b.FullInt(c.x.DType, 0, nil)
		}
	}
	return x.zero, w.zero, true
}

// byteProduct recognizes a product in i32 of bytes minus zero points.
func (r *rewriter) byteProduct(i int) bool {
	n := r.root(i)
	if n.Outputs[0].DType != dtype.I32 || n.Attrs.Bool("transpose_a") || n.Attrs.Bool("transpose_b") {
		return false
	}
	x, okX := r.centredBytes(n.Inputs[0])
	w, okW := r.centredBytes(n.Inputs[1])
	if !okX || !okW {
		return false
	}
	return r.replace(i, nil, func(b *op.Builder) op.Desc {
		in := []op.Desc{x.x, w.x}
		if xz, wz, some := zeros(b, x, w); some {
			in = append(in, xz, wz)
		}
		return b.With(op.MatMulInteger, in)
	})
}

// byteConv recognizes a convolution in i32 of bytes minus zero points.
func (r *rewriter) byteConv(i int) bool {
	n := r.root(i)
	if n.Outputs[0].DType != dtype.I32 || n.Outputs[0].Shape[1]/max(1, n.Attrs.Int("groups")) < minOutputs {
		return false
	}
	x, okX := r.centredBytes(n.Inputs[0])
	w, okW := r.centredBytes(n.Inputs[1])
	if !okX || !okW || x.zero.Shape.Size() != 1 {
		return false
	}
	outputs := w.x.Shape[0]
	if s := w.zero.Shape; s.Size() != 1 && (len(s) != len(w.x.Shape) || s[0] != outputs || s.Size() != outputs) {
		return false
	}
	return r.replace(i, nil, func(b *op.Builder) op.Desc {
		in := []op.Desc{x.x, w.x}
		if xz, wz, some := zeros(b, x, w); some {
			dims := []int(nil)
			if wz.Shape.Size() != 1 {
				dims = []int{outputs}
			}
			in = append(in, b.Reshape(xz, nil), b.Reshape(wz, slices.Clone(dims)))
		}
		return b.With(op.ConvInteger, in, n.Attrs...)
	})
}

// roundedBytes recognizes a quantization with a scale of 1: sums in i32, multiplied by known factors, rounded, plus a zero point, cast to
// bytes.
func (r *rewriter) roundedBytes(i int) bool {
	n := r.root(i)
	d := n.Outputs[0].DType
	if d != dtype.U8 && d != dtype.I8 {
		return false
	}
	sum, at, ok := r.made(n.Inputs[0], op.Add)
	if !ok {
		return false
	}
	round, under, ok := r.made(sum.Inputs[0], op.Round)
	zero := r.numbers(sum.Inputs[1])
	if !ok || len(zero) != 1 || !round.Outputs[0].Shape.Equal(n.Outputs[0].Shape) || !inBytes(d, zero[0]) {
		return false
	}
	product, _, ok := r.made(round.Inputs[0], op.Mul)
	if !ok || !r.finiteTimesInts(product.Inputs[0], product.Inputs[1]) && !r.finiteTimesInts(product.Inputs[1], product.Inputs[0]) {
		return false
	}
	return r.replace(i, []int{at, under}, func(b *op.Builder) op.Desc {
		return b.Do(op.Quantize, product.Outputs[0], b.Like(product.Outputs[0], 1), b.FullInt(d, int64(zero[0]), nil))
	})
}

// inBytes reports whether v is a number of the type.
func inBytes(d dtype.DType, v float64) bool {
	lo, hi := 0.0, 255.0
	if d == dtype.I8 {
		lo, hi = -128, 127
	}
	return v == math.Trunc(v) && v >= lo && v <= hi
}

// finiteTimesInts reports whether id contains floats cast from i32 and factor is known and finite, so that no product is NaN.
func (r *rewriter) finiteTimesInts(id, factor op.TensorID) bool {
	c, _, ok := r.made(id, op.Cast)
	if !ok || r.descs[c.Inputs[0]].DType != dtype.I32 {
		return false
	}
	v := r.numbers(factor)
	return len(v) > 0 && !slices.ContainsFunc(v, func(f float64) bool { return math.IsNaN(f) || math.IsInf(f, 0) })
}
