package template

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// AttendBackward returns the work that computes the gradients of q, k and v of an attention into the last three slots. The slots before
// hold q, k, v, the result y, its gradient dy, and the mask, if the attention has a mask. A bias has no gradient here. After Dao et al.,
// FlashAttention, 2022: weights are recomputed from the scores, tile by tile, so that no matrix of queries by keys is stored in memory.
// Each element is summed by one block in a fixed order, so that results are deterministic.
func AttendBackward(t Target, a Attention, in, out []Operand) ir.Work {
	s := newSequence(t, len(in)+len(out), false)
	f := flashBack{flash: flash{Attention: a, d: in[0].Type, y: regionOf(3, in[3])}, dy: regionOf(4, in[4])}
	for _, k := range []int{0, 1, 2, 5} {
		if k < len(in) {
			f.in = append(f.in, regionOf(k, in[k]))
		}
	}
	for k, o := range in[:5] {
		f.operandViews[k] = o.View
	}
	for k, o := range out {
		f.grads[k] = regionOf(len(in)+k, o)
	}
	if a.Batch*a.Heads*a.Queries*a.Keys == 0 { // no query sees a key
		for k, o := range out {
			if n := o.View.Shape.Size(); n > 0 {
				s.each("attention_back_none", n, 0, func(p *step) func(ir.Value) {
					to := p.buffer("d", f.d, ir.Write, f.grads[k])
					return func(i ir.Value) { p.Store(to, i, p.Const(f.d, 0)) }
				})
			}
		}
		return s.work
	}
	rows := a.Batch * a.Heads * a.Queries * f.compute().Size()
	f.total, f.mean = s.temp(rows), s.temp(rows)
	if f.fragments(t) {
		s.backFragments(f)
	} else {
		s.backLanes(f)
	}
	return s.work
}

// flashBack is the backward pass of a flash. The result y of the forward pass is an operand here.
type flashBack struct {
	flash
	dy    region
	grads [3]region // gradients of q, k and v
	// total holds, for each query, the logarithm to base 2 of the sum of its exponentials, +Inf if the query sees no key. mean holds, for
	// each query, the sum of dy·y.
	total, mean region
}

// backKernel is a kernel of a backward pass. A block holds rows of queries and goes through tiles of keys, or holds rows of keys and
// goes through tiles of the queries of all heads that use them.
type backKernel struct {
	*flashKernel
	dy, total, mean ir.Buf
	keyHead         ir.Value // head of the keys, in a block that holds rows of keys
}

// back begins a kernel in which each block holds some queries, or some keys if keys is set. rows is their number.
func (s *sequence) back(f flashBack, name string, threads, rows, tile, extra int, keys bool) *backKernel {
	count, heads := f.Queries, f.Heads
	if keys {
		count, heads = f.Keys, f.KeyHeads
	}
	p := s.begin(name, threads, ceil(count, rows)*f.Batch*heads*extra, f.reach())
	n := &backKernel{flashKernel: &flashKernel{flash: f.flash, step: p, rows: rows, tile: tile}}
	n.q, n.k, n.v = p.buffer("q", f.d, ir.Read, f.in[0]), p.buffer("k", f.d, ir.Read, f.in[1]), p.buffer("v", f.d, ir.Read, f.in[2])
	if f.Mask != dtype.Invalid {
		n.mask = p.buffer("mask", f.Mask, ir.Read, f.in[3])
	}
	n.dy = p.buffer("dy", f.d, ir.Read, f.dy)
	n.queries, n.keys, n.past = p.number("queries", f.Queries), p.number("keys", f.Keys), p.number("past", f.Past)
	return n
}

// statistics adds the buffers of the two statistics of queries, which a kernel writes or reads.
func (n *backKernel) statistics(f flashBack, access ir.Access) {
	n.total, n.mean = n.buffer("total", n.compute(), access, f.total), n.buffer("mean", n.compute(), access, f.mean)
}

// placeKeys computes the head and the first key of block i, for blocks that hold rows of keys. Blocks with the most queries come first.
func (n *backKernel) placeKeys(i ir.Value) {
	heads := n.Batch * n.KeyHeads
	head := n.Rem(i, n.Int(heads))
	n.batch = n.Div(head, n.Int(n.KeyHeads))
	n.first = n.Mul(n.Div(i, n.Int(heads)), n.Int(n.rows))
	n.kRow = n.Mul(head, n.keys)
	n.keyHead = n.Rem(head, n.Int(n.KeyHeads))
	n.head = n.Mul(n.keyHead, n.Int(n.Heads/n.KeyHeads))
	n.bases(n.keyHead)
	n.lo, n.hi = n.Int(0), n.queries
	at := n.Sub(n.first, n.past) // the query with the position of the first key
	begin := at
	if n.Window > 0 {
		n.hi = n.Min(n.hi, n.Max(n.Add(at, n.Int(n.rows-1+n.Window)), n.Int(0)))
		if !n.Causal {
			begin = n.Sub(at, n.Int(n.Window-1))
		}
	}
	if n.Causal || n.Window > 0 {
		n.lo = n.Mul(n.Div(n.Max(begin, n.Int(0)), n.Int(n.tile)), n.Int(n.tile))
	}
}

// heads calls body for each query head that uses the keys of the block.
func (n *backKernel) heads(body func()) {
	first := n.head
	n.For(n.Int(0), n.Int(n.Heads/n.KeyHeads), 1, func(g ir.Value) {
		n.head = n.Add(first, g)
		n.qRow = n.Mul(n.Add(n.Mul(n.batch, n.Int(n.Heads)), n.head), n.queries)
		n.bases(n.keyHead)
		body()
	})
}

// weight returns the weight of a value in the result of a query, computed from its score and the total of the query. exp is ir.Exp2 or
// ir.Exp2Fast.
func (n *backKernel) weight(exp ir.Op, score, total ir.Value) ir.Value {
	return n.Unary(exp, n.FMA(score, n.Float(n.TypeOf(score), n.factor()), n.Unary(ir.Neg, total)))
}

// slope returns the derivative of the softcap at a scaled product, given the capped score.
func (n *backKernel) slope(scaled ir.Value) ir.Value {
	d := n.TypeOf(scaled)
	u := n.Div(scaled, n.Float(d, n.Softcap))
	return n.Sub(n.Float(d, 1), n.Mul(u, u))
}

// elementOf returns the offset of an element of operand k.
func (n *backKernel) elementOf(k int, row, column ir.Value) ir.Value {
	return n.Add(n.base[k], n.Add(n.Mul(row, n.Int(n.operandViews[k].Strides[2])), column))
}
