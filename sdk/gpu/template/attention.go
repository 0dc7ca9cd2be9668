package template

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// Attention is softmax(score(q·kᵀ))·v of q [Batch, Heads, Queries, Width], k [Batch, KeyHeads, Keys, Width] and v [Batch, KeyHeads, Keys,
// ValueWidth]. A score is scaled, capped by Softcap·tanh(score/Softcap) unless Softcap is 0, and gets a bias added. Query i has position i
// + Past. A query sees a key if three conditions hold: a mask of bools allows it; with Causal, the key is not after the query; with Window,
// the key is less than Window positions away.
type Attention struct {
	Batch, Heads, KeyHeads, Queries, Keys, Width, ValueWidth int

	Scale, Softcap float64
	Causal         bool
	Past, Window   int
	// Mask is the type of slot 3: bool, the type of a bias, or Invalid if there is no mask. MaskStrides are its strides, 0 where it is
	// broadcast.
	Mask        dtype.DType
	MaskStrides [4]int
	MaskSize    int
}

// Attend returns the work that computes into the last slot the attention of slots 0, 1 and 2 with the mask in slot 3.
func Attend(t Target, a Attention, in []Operand, y Operand) ir.Work {
	s := newSequence(t, len(in)+1, false)
	if a.Batch*a.Heads*a.Queries*a.ValueWidth == 0 {
		return s.work
	}
	f := flash{Attention: a, d: in[0].Type, y: regionOf(len(in), y)}
	for k, o := range in {
		f.in = append(f.in, regionOf(k, o))
		if k < 3 {
			f.operandViews[k] = o.View
		}
	}
	switch {
	case a.Keys == 0:
		s.each("attention_none", a.Batch*a.Heads*a.Queries*a.ValueWidth, 0, func(p *step) func(ir.Value) {
			to := p.buffer("y", f.d, ir.Write, f.y)
			return func(i ir.Value) { p.Store(to, i, p.Const(f.d, 0)) }
		})
	case f.fragments(t):
		s.attendFragments(f)
	default:
		s.attendLanes(f)
	}
	return s.work
}

// flash is attention in which a block computes some queries of one head. It goes through the keys tile by tile and keeps, for each
// query, the greatest score so far, the sum of exponentials relative to it and the weighted sum of values. Exponentials are powers of
// 2.
type flash struct {
	Attention
	d            dtype.DType
	in           []region
	y            region
	operandViews [5]shape.View // views of q, k and v, and in the backward pass of y and dy; their rows are contiguous
}

// compute returns the type of scores and sums.
func (f flash) compute() dtype.DType { return accumulator(f.d) }

// plain reports whether scores have the same order as the products q·kᵀ. If so, products are scaled only when the exponential is computed.
func (f flash) plain() bool {
	return f.Softcap == 0 && f.Scale > 0 && (f.Mask == dtype.Invalid || f.Mask == dtype.Bool)
}

// factor returns the factor by which scores are multiplied in exponents of 2.
func (f flash) factor() float64 {
	if f.plain() {
		return f.Scale * math.Log2E
	}
	return math.Log2E
}

// reach returns the greatest number in index arithmetic.
func (f flash) reach() int {
	n := max(f.Batch*f.Heads*f.Queries*max(f.Width, f.ValueWidth), f.Batch*f.KeyHeads*f.Keys*max(f.Width, f.ValueWidth), f.MaskSize)
	for _, v := range f.operandViews {
		for k, size := range v.Shape {
			n += max(0, size-1) * v.Strides[k]
		}
	}
	return max(n, 4*(f.Queries+f.Keys+max(f.Past, -f.Past)+f.Window+1024))
}

// flashKernel is a kernel of attention under construction.
type flashKernel struct {
	flash
	*step
	q, k, v, y, mask   ir.Buf
	queries, keys      ir.Value // sizes
	past               ir.Value
	batch, head, first ir.Value    // head and first query of the block
	qRow, kRow         ir.Value    // number of rows of queries, and of keys, before the rows of the head
	base               [5]ir.Value // offset at which the rows of the head begin, by operand
	lo, hi             ir.Value    // tiles of keys begin at lo, lo+tile, ... below hi
	rows, tile         int
}

// attend begins a kernel with a block for rows queries of a head. Blocks with the most keys come first.
func (s *sequence) attend(f flash, name string, threads, rows, tile, extra int) *flashKernel {
	tiles := (f.Queries + rows - 1) / rows
	heads := f.Batch * f.Heads
	n := &flashKernel{flash: f, rows: rows, tile: tile}
	p := s.begin(name, threads, tiles*heads*extra, f.reach())
	n.step = p
	n.q, n.k = p.buffer("q", f.d, ir.Read, f.in[0]), p.buffer("k", f.d, ir.Read, f.in[1])
	n.v = p.buffer("v", f.d, ir.Read, f.in[2])
	if f.Mask != dtype.Invalid {
		n.mask = p.buffer("mask", f.Mask, ir.Read, f.in[3])
	}
	n.y = p.buffer("y", f.d, ir.Write, f.y)
	n.queries, n.keys, n.past = p.number("queries", f.Queries), p.number("keys", f.Keys), p.number("past", f.Past)
	return n
}

// region computes the head and the first query of block i, which counts all tiles and heads.
func (n *flashKernel) region(i ir.Value) {
	p := n.step
	heads := n.Batch * n.Heads
	tiles := p.number("tiles", (n.Queries+n.rows-1)/n.rows)
	head := p.Rem(i, p.Int(heads))
	n.batch, n.head = p.Div(head, p.Int(n.Heads)), p.Rem(head, p.Int(n.Heads))
	number := p.Max(p.Sub(p.Sub(tiles, p.Int(1)), p.Div(i, p.Int(heads))), p.Int(0))
	n.first = p.Mul(number, p.Int(n.rows))
	n.qRow = p.Mul(head, n.queries)
	n.kRow = p.Mul(p.Add(p.Mul(n.batch, p.Int(n.KeyHeads)), p.Div(n.head, p.Int(n.Heads/n.KeyHeads))), n.keys)
	n.bases(p.Div(n.head, p.Int(n.Heads/n.KeyHeads)))
	n.lo, n.hi = p.Int(0), n.keys
	at := p.Add(n.first, n.past) // position of the first query
	if n.Causal {
		n.hi = p.Min(n.hi, p.Max(p.Add(at, p.Int(n.rows)), p.Int(0)))
	}
	if n.Window > 0 {
		n.hi = p.Min(n.hi, p.Max(p.Add(at, p.Int(n.rows-1+n.Window)), p.Int(0)))
		begin := p.Max(p.Sub(at, p.Int(n.Window-1)), p.Int(0))
		n.lo = p.Mul(p.Div(begin, p.Int(n.tile)), p.Int(n.tile))
	}
}

// bases computes the offsets of the rows of the head, and of the key head that it uses.
func (n *flashKernel) bases(keyHead ir.Value) {
	for k, v := range n.operandViews {
		if v.Shape == nil {
			continue
		}
		head := n.head
		if k == 1 || k == 2 {
			head = keyHead
		}
		n.base[k] = n.Add(n.Mul(n.batch, n.Int(v.Strides[0])), n.Mul(head, n.Int(v.Strides[1])))
	}
}

// matrixRows describes the rows of a matrix from row first on. limit bounds the rows that may be read.
type matrixRows struct {
	from         ir.Buf
	base         ir.Value // offset of the first element of the matrix
	stride       int      // distance between rows, in elements
	first, limit ir.Value
}

// rowsOf returns the rows of the head, from first on, of operand k.
func (n *flashKernel) rowsOf(k int, from ir.Buf, first ir.Value) matrixRows {
	limit := n.queries
	if k == 1 || k == 2 {
		limit = n.keys
	}
	return matrixRows{from, n.base[k], n.operandViews[k].Strides[2], first, limit}
}

// score returns the score of query i and key j of this head, computed from their product dot. It is -Inf if the query does not
// see the key or j is beyond the keys.
func (n *flashKernel) score(dot, i, j ir.Value) ir.Value { return n.masked(n.scaled(dot), i, j) }

// scaled returns the score of a product, without a bias. If plain, it is the product itself.
func (n *flashKernel) scaled(dot ir.Value) ir.Value {
	p, d := n.step, n.compute()
	if !n.plain() {
		dot = p.Mul(dot, p.Float(d, n.Scale))
		if n.Softcap != 0 {
			c := p.Float(d, n.Softcap)
			dot = p.Mul(c, p.Unary(ir.Tanh, p.Div(dot, c)))
		}
	}
	return dot
}

// masked returns the score of a query and a key, like score, for a product that scaled has converted.
func (n *flashKernel) masked(dot, i, j ir.Value) ir.Value {
	p, d := n.step, n.compute()
	seen := p.Lt(j, n.keys)
	if n.Mask != dtype.Invalid {
		at := p.Int(0)
		i, j := p.Min(i, p.Sub(n.queries, p.Int(1))), p.Min(j, p.Sub(n.keys, p.Int(1)))
		for k, c := range []ir.Value{n.batch, n.head, i, j} {
			if st := n.MaskStrides[k]; st != 0 {
				at = p.Add(at, p.Mul(c, p.Int(st)))
			}
		}
		v := p.Load(n.mask, p.clamp(at, 0, n.MaskSize-1))
		if n.Mask == dtype.Bool {
			seen = p.And(seen, v)
		} else {
			dot = p.Add(dot, p.Cast(d, v))
		}
	}
	at := p.Add(i, n.past)
	if n.Causal {
		seen = p.And(seen, p.Le(j, at))
	}
	if n.Window > 0 {
		seen = p.And(seen, p.Lt(p.Unary(ir.Abs, p.Sub(at, j)), p.Int(n.Window)))
	}
	return p.Select(seen, dot, p.Float(d, math.Inf(-1)))
}

// finite returns v, or 0 if v is -Inf: the reference that is subtracted from scores.
func (n *flashKernel) finite(v ir.Value) ir.Value {
	d := n.TypeOf(v)
	return n.Select(n.Eq(v, n.Float(d, math.Inf(-1))), n.Float(d, 0), v)
}

// power returns 2 to the power of (v - top)·factor. top must be finite.
func (n *flashKernel) power(v, top ir.Value) ir.Value {
	d := n.TypeOf(v)
	return n.Unary(ir.Exp2, n.Mul(n.Sub(v, top), n.Float(d, n.factor())))
}

// inverse returns 1/all, or 0 if all is 0.
func (n *flashKernel) inverse(all ir.Value) ir.Value {
	d := n.TypeOf(all)
	return n.Select(n.Eq(all, n.Float(d, 0)), n.Float(d, 0), n.Div(n.Float(d, 1), all))
}
