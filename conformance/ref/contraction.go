package ref

import (
	"slices"

	"github.com/goburn/burn/core/op"
)

// dot gathers products of elements of two tensors of the same type and sums them.
type dot struct {
	acc accumulator
	i   int64
}

func (d *dot) add(a Tensor, p int, b Tensor, q int) {
	if a.Desc.DType.IsFloat() {
		d.acc.add(a.F[p] * b.F[q])
	} else {
		d.i += a.I[p] * b.I[q]
	}
}

// store writes the sum to element to of out.
func (d *dot) store(out Tensor, to int) {
	if out.Desc.DType.IsFloat() {
		out.F[to] = d.acc.value()
	} else {
		out.I[to] = Wrap(out.Desc.DType, d.i)
	}
}

var contractionKernels = map[op.Code]kernel{
	op.MatMul: direct(matmul),
	op.Linear: direct(linear),
	op.Conv:   direct(conv),
}

func matmul(n *op.Node, in []Tensor) Tensor {
	a, b, out := in[0], in[1], Zeros(n.Outputs[0])
	as, bs := a.Desc.Shape, b.Desc.Shape
	inner := as[len(as)-1]
	if n.Attrs.Bool("transpose_a") {
		inner = as[len(as)-2]
	}
	// Rows and columns of the stored matrices are this many elements apart.
	aRow, aCol := as[len(as)-1], 1
	if n.Attrs.Bool("transpose_a") {
		aRow, aCol = aCol, aRow
	}
	bRow, bCol := bs[len(bs)-1], 1
	if n.Attrs.Bool("transpose_b") {
		bRow, bCol = bCol, bRow
	}
	each(n.Outputs[0].Shape, func(pos int, idx []int) {
		batch, row, col := idx[:len(idx)-2], idx[len(idx)-2], idx[len(idx)-1]
		// Batch dimensions of length 1 broadcast.
		p := stretched(as[:len(as)-2], batch)*as[len(as)-2]*as[len(as)-1] + row*aRow
		q := stretched(bs[:len(bs)-2], batch)*bs[len(bs)-2]*bs[len(bs)-1] + col*bCol
		var sum dot
		for k := range inner {
			sum.add(a, p+k*aCol, b, q+k*bRow)
		}
		sum.store(out, pos)
	})
	return out
}

func linear(n *op.Node, in []Tensor) Tensor {
	x, w, out := in[0], in[1], Zeros(n.Outputs[0])
	xs, ws := x.Desc.Shape, w.Desc.Shape
	each(n.Outputs[0].Shape, func(pos int, idx []int) {
		col := idx[len(idx)-1]
		var sum dot
		for k := range xs[len(xs)-1] {
			wi := []int{k, col}
			if n.Attrs.Bool("transpose_w") {
				wi = []int{col, k}
			}
			sum.add(x, at(xs, slices.Concat(idx[:len(idx)-1], []int{k})), w, at(ws, wi))
		}
		if len(in) > 2 && in[2].Desc.DType.IsFloat() {
			sum.acc.add(in[2].F[col])
		} else if len(in) > 2 {
			sum.i += in[2].I[col]
		}
		sum.store(out, pos)
	})
	return out
}

func conv(n *op.Node, in []Tensor) Tensor {
	x, w, out := in[0], in[1], Zeros(n.Outputs[0])
	xs, ws := x.Desc.Shape, w.Desc.Shape
	perGroup := ws[0] / n.Attrs.Int("groups") // output channels
	zero := Zeros(op.Desc{DType: x.Desc.DType})
	each(n.Outputs[0].Shape, func(pos int, idx []int) {
		var sum dot
		each(ws[1:], func(_ int, k []int) { // k: channel within the group, then the position in the kernel
			group := idx[1] / perGroup
			xi := []int{idx[0], group*ws[1] + k[0]}
			inside := true
			for d := range len(xs) - 2 {
				spread := idx[2+d]*n.Attrs.Ints("strides")[d] + k[1+d]*n.Attrs.Ints("kernel_dilation")[d] - n.Attrs.Ints("pad_lo")[d]
				dilation := n.Attrs.Ints("input_dilation")[d]
				if spread < 0 || spread%dilation != 0 || spread/dilation >= xs[2+d] {
					inside = false // padding, or between elements: counts as zero
					break
				}
				xi = append(xi, spread/dilation)
			}
			wi := at(ws, slices.Concat(idx[1:2], k))
			if inside {
				sum.add(x, at(xs, xi), w, wi)
			} else {
				sum.add(zero, 0, w, wi)
			}
		})
		sum.store(out, pos)
	})
	return out
}
