package program

import (
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

const (
	// exactTerms is the greatest number of terms that i32 sums exactly. Each term is the product of two differences of bytes, which are at
	// most 255 in magnitude.
	exactTerms = (1<<31 - 1) / (255 * 255)
	// minOutputs is the least number of output channels per group for which Rewrite uses conv_integer.
	minOutputs = 4
	// minScale and maxScale bound the scales, so that the product of two scales, and its product with a sum in i32, are normal numbers in
	// f32.
	minScale, maxScale = 0x1p-60, 0x1p40
)

// quantity is a tensor that was dequantized from bytes with known scales, and then moved.
type quantity struct {
	node  *op.Node  // the dequantization
	moves []op.Node // the movements after the dequantization
	axis  int       // axis of the moved tensor along which scales vary; -1 for a single scale
}

// dequantized reports whether a tensor is a dequantized quantity, and returns it. Permutations may follow the dequantization, and with a
// single scale also reshapes.
func (r *rewriter) dequantized(id op.TensorID) (quantity, bool) {
	var moves []op.Node
	for {
		n, _, ok := r.made(id, op.Dequantize, op.Permute, op.Reshape)
		if !ok || len(moves) > 8 {
			return quantity{}, false
		}
		if n.Op == op.Dequantize {
			slices.Reverse(moves)
			return r.moved(n, moves)
		}
		moves = append(moves, *n)
		id = n.Inputs[0]
	}
}

func (r *rewriter) moved(n *op.Node, moves []op.Node) (quantity, bool) {
	q := quantity{node: n, moves: moves, axis: n.Attrs.Int("axis")}
	x := r.descs[n.Inputs[0]]
	if n.Attrs.Int("block") != 0 || x.DType != dtype.U8 && x.DType != dtype.I8 || !r.scales(n.Inputs[1]) || r.whole(n.Inputs[2]) == nil {
		return quantity{}, false
	}
	for _, m := range moves {
		switch {
		case q.axis < 0:
		case m.Op == op.Permute:
			q.axis = slices.Index(m.Attrs.Ints("axes"), q.axis)
		default:
			return quantity{}, false
		}
	}
	return q, true
}

// scales reports whether a tensor of type f32 or f64 has known elements between minScale and maxScale.
func (r *rewriter) scales(id op.TensorID) bool {
	v := r.numbers(id)
	return len(v) > 0 && !slices.ContainsFunc(v, func(f float64) bool { return !(f >= minScale && f <= maxScale) })
}

// quanta records the bytes of q, moved like q.
func (r *rewriter) quanta(b *op.Builder, q quantity) op.Desc {
	x := r.descs[q.node.Inputs[0]]
	for _, m := range q.moves {
		x = b.Un(m.Op, x, m.Attrs...)
	}
	return x
}

func (q quantity) scale(r *rewriter) op.Desc { return r.descs[q.node.Inputs[1]] }
func (q quantity) zero(r *rewriter) op.Desc  { return r.descs[q.node.Inputs[2]] }

// dequantizedSums records the dequantization of sums of products of x and w. axis is the axis of the result along which the scales of w
// vary.
func (r *rewriter) dequantizedSums(b *op.Builder, sums op.Desc, x, w quantity, axis int) op.Desc {
	scale := b.Do(op.Mul, x.scale(r), w.scale(r))
	if w.axis < 0 {
		axis = -1
	}
	return b.With(op.Dequantize, []op.Desc{sums, scale, b.FullInt(dtype.I32, 0, scale.Shape)}, op.Int("axis", axis))
}

// integerProduct replaces a matmul or linear of two dequantized tensors by a product that is summed in integers, where every sum is exact.
// The bias of a linear is added afterwards.
func (r *rewriter) integerProduct(i int) bool {
	n := r.root(i)
	a, okA := r.dequantized(n.Inputs[0])
	w, okW := r.dequantized(n.Inputs[1])
	if !okA || !okW || a.axis >= 0 || !r.alike(a, w) {
		return false
	}
	turnA, turnW := n.Attrs.Bool("transpose_a"), n.Attrs.Bool("transpose_b")
	if n.Op == op.Linear {
		turnA, turnW = false, n.Attrs.Bool("transpose_w")
	}
	left, right := r.descs[n.Inputs[0]].Shape, r.descs[n.Inputs[1]].Shape
	if len(left) < 2 || len(right) < 2 {
		return false
	}
	columns, terms := len(right)-1, left[len(left)-1]
	if turnW {
		columns--
	}
	if turnA {
		terms = left[len(left)-2]
	}
	if w.axis >= 0 && w.axis != columns || terms > exactTerms {
		return false
	}
	return r.replace(i, nil, func(b *op.Builder) op.Desc {
		x, y := r.quanta(b, a), r.quanta(b, w)
		if turnA {
			x = b.Permute(x, swapped(len(left))...)
		}
		if turnW {
			y = b.Permute(y, swapped(len(right))...)
		}
		sums := b.Do(op.MatMulInteger, x, y, a.zero(r), w.zero(r))
		result := r.dequantizedSums(b, sums, a, w, len(n.Outputs[0].Shape)-1)
		if n.Op == op.Linear && len(n.Inputs) > 2 {
			result = b.Do(op.Add, result, r.descs[n.Inputs[2]])
		}
		return result
	})
}

// alike reports whether two quantities were dequantized to the same float type.
func (r *rewriter) alike(x, w quantity) bool { return x.scale(r).DType == w.scale(r).DType }

// integerConv recognizes a convolution of two quantities.
func (r *rewriter) integerConv(i int) bool {
	n := r.root(i)
	x, okX := r.dequantized(n.Inputs[0])
	w, okW := r.dequantized(n.Inputs[1])
	if !okX || !okW || x.axis >= 0 || w.axis > 0 || !r.alike(x, w) {
		return false
	}
	kernel := r.descs[n.Inputs[1]].Shape
	if kernel[0]/max(1, n.Attrs.Int("groups")) < minOutputs || shape.Shape(kernel[1:]).Size() > exactTerms {
		return false
	}
	return r.replace(i, nil, func(b *op.Builder) op.Desc {
		sums := b.With(op.ConvInteger, []op.Desc{r.quanta(b, x), r.quanta(b, w), x.zero(r), w.zero(r)}, n.Attrs...)
		return r.dequantizedSums(b, sums, x, w, 1)
	})
}
