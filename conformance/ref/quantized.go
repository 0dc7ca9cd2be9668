package ref

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

var quantizedKernels = map[op.Code]kernel{
	op.DynamicQuantize: func(n *op.Node, in []Tensor) ([]Tensor, error) {
		x, round := in[0], narrowing(in[0].Desc.DType)
		lo, hi := 0.0, 0.0
		for _, f := range x.F {
			lo, hi = min(lo, f), max(hi, f)
		}
		scale := Round(x.Desc.DType, round(round(hi-lo)/255))
		if scale == 0 {
			scale = 1
		}
		y, s, z := Zeros(n.Outputs[0]), Zeros(n.Outputs[1]), Zeros(n.Outputs[2])
		s.F[0] = scale
		z.I[0] = floatToInt(dtype.U8, min(max(math.RoundToEven(round(-lo/scale)), 0), 255))
		for i, f := range x.F {
			y.I[i] = saturate(math.RoundToEven(round(f/scale)), z.I[0], dtype.U8, 0)
		}
		return []Tensor{y, s, z}, nil
	},
	op.FakeQuantize: direct(func(n *op.Node, in []Tensor) Tensor {
		out := Zeros(n.Outputs[0])
		each(n.Outputs[0].Shape, func(pos int, idx []int) {
			s := scaleAt(n, in[1].Desc.Shape, idx)
			q := quantizedNumber(n, in[0].Desc.DType, in[0].F[pos]/in[1].F[s], in[2], s)
			out.F[pos] = float64(q-in[2].I[s]) * in[1].F[s]
		})
		return out
	}),
	op.Requantize: direct(func(n *op.Node, in []Tensor) Tensor {
		out, round := Zeros(n.Outputs[0]), narrowing(in[1].Desc.DType)
		each(n.Outputs[0].Shape, func(pos int, idx []int) {
			s := scaleAt(n, in[1].Desc.Shape, idx)
			out.I[pos] = quantizedNumber(n, in[1].Desc.DType, round(float64(in[0].I[pos]))*in[1].F[s], in[2], s)
		})
		return out
	}),
	op.MatMulInteger: direct(func(n *op.Node, in []Tensor) Tensor {
		return integerProduct(n.Outputs[0], in[0], in[1], in[2:])
	}),
	op.ConvInteger: direct(func(n *op.Node, in []Tensor) Tensor { return integerConv(n, in[0], in[1], in[2:]) }),
	op.QLinearMatMul: direct(func(n *op.Node, in []Tensor) Tensor {
		sums := integerProduct(op.Desc{DType: dtype.I32, Shape: n.Outputs[0].Shape}, in[0], in[3], []Tensor{in[2], in[5]})
		out := Zeros(n.Outputs[0])
		each(out.Desc.Shape, func(pos int, idx []int) {
			place := func(k int) int { return stretched(in[k].Desc.Shape, idx) }
			out.I[pos] = rescaled(sums.I[pos], in[1], place(1), in[4], place(4), in[6], place(6), in[7], place(7))
		})
		return out
	}),
	op.QLinearConv: direct(func(n *op.Node, in []Tensor) Tensor {
		inner := *n
		inner.Outputs = []op.Desc{{DType: dtype.I32, Shape: n.Outputs[0].Shape}}
		sums, out := integerConv(&inner, in[0], in[3], []Tensor{in[2], in[5]}), Zeros(n.Outputs[0])
		each(out.Desc.Shape, func(pos int, idx []int) {
			sum, channel := sums.I[pos], 0
			if len(in) > 8 {
				sum = Wrap(dtype.I32, sum+in[8].I[idx[1]])
			}
			if len(in[4].Desc.Shape) > 0 {
				channel = idx[1]
			}
			out.I[pos] = rescaled(sum, in[1], 0, in[4], channel, in[6], 0, in[7], 0)
		})
		return out
	}),
}

// narrowing returns the function that rounds each step of a computation on type d: to f32 for f32 and narrower types, not at all for f64.
func narrowing(d dtype.DType) func(float64) float64 {
	return func(f float64) float64 {
		if d != dtype.F64 {
			return Round(dtype.F32, f)
		}
		return f
	}
}

// saturate returns zero + q for a whole q (NaN counts as 0), clamped to the range of type d, or to fewer bits of it.
func saturate(q float64, zero int64, d dtype.DType, bits int) int64 {
	if math.IsNaN(q) {
		q = 0
	}
	q += float64(zero)
	if bits > 0 {
		least, greatest := 0.0, math.Ldexp(1, bits)-1
		if d.Class() == dtype.Signed {
			least, greatest = -math.Ldexp(1, bits-1), math.Ldexp(1, bits-1)-1
		}
		q = min(max(q, least), greatest)
	}
	return floatToInt(d, q)
}

// quantizedNumber rounds q, computed in the width of d, adds element s of the zero points, and saturates to the node's bits.
func quantizedNumber(n *op.Node, d dtype.DType, q float64, zero Tensor, s int) int64 {
	return saturate(math.RoundToEven(narrowing(d)(q)), zero.I[s], zero.Desc.DType, n.Attrs.Int("bits"))
}

// centred returns a as i64 minus its zero point, element which of zeros, if there is one.
func centred(a Tensor, zeros []Tensor, which int) Tensor {
	out := Zeros(op.Desc{DType: dtype.I64, Shape: a.Desc.Shape})
	each(a.Desc.Shape, func(pos int, idx []int) {
		if out.I[pos] = a.I[pos]; which < len(zeros) {
			z := zeros[which]
			out.I[pos] -= z.I[stretched(z.Desc.Shape, idx)]
		}
	})
	return out
}

func integerProduct(d op.Desc, a, b Tensor, zeros []Tensor) Tensor {
	sums := matmul(&op.Node{Outputs: []op.Desc{{DType: dtype.I64, Shape: d.Shape}}}, []Tensor{centred(a, zeros, 0), centred(b, zeros, 1)})
	out := Zeros(d)
	for i := range out.I {
		out.I[i] = Wrap(dtype.I32, sums.I[i])
	}
	return out
}

func integerConv(n *op.Node, x, w Tensor, zeros []Tensor) Tensor {
	if len(zeros) > 1 && len(zeros[1].Desc.Shape) == 1 { // by output channel
		z := zeros[1]
		s := w.Desc.Shape.Clone()
		for d := range s[1:] {
			s[1+d] = 1
		}
		zeros = []Tensor{zeros[0], {Desc: op.Desc{DType: z.Desc.DType, Shape: s}, I: z.I}}
	}
	wide := *n
	wide.Outputs = []op.Desc{{DType: dtype.I64, Shape: n.Outputs[0].Shape}}
	sums, out := conv(&wide, []Tensor{centred(x, zeros, 0), centred(w, zeros, 1)}), Zeros(n.Outputs[0])
	for i := range out.I {
		out.I[i] = Wrap(dtype.I32, sums.I[i])
	}
	return out
}

// rescaled returns sum·(a·b/y), rounded, plus the zero point. Scales and zero point are elements of tensors.
func rescaled(sum int64, a Tensor, i int, b Tensor, j int, y Tensor, k int, zero Tensor, l int) int64 {
	round := narrowing(a.Desc.DType)
	factor := round(round(a.F[i]*b.F[j]) / y.F[k])
	return saturate(math.RoundToEven(round(round(float64(sum))*factor)), zero.I[l], zero.Desc.DType, 0)
}
