package elementwise

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
)

// MaxLinks is the greatest number of nodes of a chain. MaxInputs is the greatest number of tensors that a chain reads.
const (
	MaxLinks  = 16
	MaxInputs = kernel.MaxOperands
)

// Link is a node of a chain. From lists its operands: i is input number i of the chain, and -1-i is the result of link number i.
type Link struct {
	Node *op.Node
	In   []op.Desc
	From []int
}

// Links reports whether n, with operands in, can be a link: its result and operands are floats of at most 32 bits or,
// for comparisons and where, booleans.
func Links(n *op.Node, in []op.Desc) bool {
	if len(n.Outputs) != 1 || n.Version != op.Lookup(n.Op).Version {
		return false
	}
	small := func(d dtype.DType) bool { return d == dtype.F32 || kernel.IsHalf(d) }
	switch n.Op {
	case op.Where:
		return in[0].DType == dtype.Bool && small(in[1].DType)
	case op.Equal, op.Less, op.NotEqual, op.Greater, op.GreaterEqual, op.LessEqual:
		return small(in[0].DType)
	case op.Cast:
		return small(in[0].DType) && small(n.Outputs[0].DType)
	}
	for _, d := range in {
		if !small(d.DType) {
			return false
		}
	}
	return len(in) > 0 && small(n.Outputs[0].DType) && (unaryLink(n) != nil || binaryLink(n.Op, in) != nil)
}

func unaryLink(n *op.Node) func(d, x []float32) {
	if len(n.Inputs) != 1 {
		return nil
	}
	if f := fast(n.Op); f != nil {
		return f
	}
	return floatLoop[float32](n)
}

func binaryLink(c op.Code, in []op.Desc) *pair[float32, float32] {
	if len(in) != 2 {
		return nil
	}
	if c == op.PRelu {
		return preluPair[float32]()
	}
	return floatPair[float32](c)
}

// value is an operand of a link: a block of numbers or booleans, or a single element that all share.
type value struct {
	f      []float32
	b      []uint8
	one    float32
	oneB   uint8
	scalar bool
}

// numbers returns the n numbers of v. A single number is repeated in buffer.
func (v *value) numbers(buffer []float32, n int) []float32 {
	if v.scalar {
		return fill(buffer, v.one, n)
	}
	return v.f
}

// blocks is the workspace of a chain on one thread: blocks for inputs and results, and for repeated and rounded elements.
type blocks struct {
	in     [MaxInputs][block]float32
	out    [MaxLinks][block]float32
	one    [3][block]float32
	values [MaxInputs + MaxLinks]value
}

var blockPool = sync.Pool{New: func() any { return new(blocks) }}

// step is a link with its operands: it computes numbers into d, or the booleans of a comparison into t.
type step struct {
	run     func(s *blocks, d []float32, t []uint8, n int)
	to      int // index of the block of its result
	boolean bool
	round   dtype.DType // the 16-bit type that results are rounded to, or Invalid
}

// Chain returns a kernel that computes links in order and stores the result of the last one. All results have the same shape. inputs
// describes the inputs of the chain, in the order of their numbers in Link.From. The kernel works block by block, so that intermediate
// results stay in the cache. Chain returns nil if an op has no loop.
func Chain(links []Link, inputs []op.Desc) kernel.Func {
	steps, linkGrain := make([]step, len(links)), lightGrain
	assign(links, steps)
	for i, l := range links {
		steps[i].run = compile(l)
		if steps[i].run == nil {
			return nil
		}
		if !memoryBound[l.Node.Op] && len(l.In) == 1 {
			linkGrain = heavyGrain
		}
		d := l.Node.Outputs[0].DType
		steps[i].boolean = d == dtype.Bool
		if kernel.IsHalf(d) && i < len(links)-1 {
			steps[i].round = d
		}
	}
	grain := max(heavyGrain/2, linkGrain/len(links))
	from := make([]int, len(inputs))
	for i := range from {
		from[i] = i
	}
	var idle atomic.Pointer[keptLayout] // a call that finds it taken allocates another
	return func(c *kernel.Call) error {
		kept := idle.Swap(nil)
		if kept == nil {
			kept = new(keptLayout)
		}
		defer idle.Store(kept)
		if !kept.of(c.In) {
			kept.set(c.Desc[0].Shape, c.In)
		}
		l := &kept.layout
		var in [MaxInputs]operand[float32]
		var truths [MaxInputs]operand[uint8]
		for k, a := range c.In {
			if a.DType == dtype.Bool {
				truths[k] = reads[uint8](a, k)
			} else {
				in[k] = reads[float32](a, k)
			}
		}
		out := c.Reuse(0, from...)
		if out.DType == dtype.Bool {
			return chainBools(c, l, steps, in[:len(c.In)], truths[:len(c.In)], writes[uint8](c, out), grain)
		}
		y := writes[float32](c, out)
		c.Pool.For(l.n, grain, func(lo, hi int) {
			s := blockPool.Get().(*blocks)
			var p piece
			for l.pieces(&p, lo, hi, block); p.next(); {
				s.load(&p, in[:len(c.In)], truths[:len(c.In)])
				d := y.destination(&p, s.out[steps[len(steps)-1].to][:])
				s.compute(steps, d, nil, p.n)
				y.store(&p, d)
			}
			y.finish()
			s.release()
		})
		return nil
	}
}

// keptLayout is the layout of the last call. The next call usually has the same.
type keptLayout struct {
	layout
	valid bool
	views [MaxInputs]shape.View
}

func (k *keptLayout) of(in []kernel.Array) bool {
	for i := range in {
		v, w := &in[i].View, &k.views[i]
		if v.Offset != w.Offset || !slices.Equal(v.Strides, w.Strides) || !slices.Equal(v.Shape, w.Shape) {
			return false
		}
	}
	return k.valid
}

func (k *keptLayout) set(s shape.Shape, in []kernel.Array) {
	k.layout, k.valid = layout{}, true
	setLayout(&k.layout, s, in)
	for i := range in {
		k.views[i] = in[i].View
	}
}

func chainBools(c *kernel.Call, l *layout, steps []step, in []operand[float32], truths []operand[uint8], y result[uint8], grain int) error {
	c.Pool.For(l.n, grain, func(lo, hi int) {
		s := blockPool.Get().(*blocks)
		var p piece
		for l.pieces(&p, lo, hi, block); p.next(); {
			s.load(&p, in, truths)
			d := y.destination(&p, kernel.Cast[uint8](kernel.Bytes(s.out[steps[len(steps)-1].to][:])))
			s.compute(steps, nil, d, p.n)
			y.store(&p, d)
		}
		y.finish()
		s.release()
	})
	return nil
}

// release returns s to the pool without its references.
func (s *blocks) release() {
	clear(s.values[:])
	blockPool.Put(s)
}

// load loads the inputs of a piece.
func (s *blocks) load(p *piece, in []operand[float32], truths []operand[uint8]) {
	for k := range in {
		v := &s.values[k]
		if truths[k].data != nil {
			v.b, v.oneB, v.scalar = truths[k].load(p, kernel.Cast[uint8](kernel.Bytes(s.in[k][:]))[:block])
		} else {
			v.f, v.one, v.scalar = in[k].load(p, s.in[k][:])
		}
	}
}

// compute runs the steps; the last one writes to d or t.
func (s *blocks) compute(steps []step, d []float32, t []uint8, n int) {
	for i := range steps {
		st := &steps[i]
		to, truths := s.out[st.to][:n], []uint8(nil)
		if st.boolean {
			truths = kernel.Cast[uint8](kernel.Bytes(s.out[st.to][:]))[:n]
		}
		if i == len(steps)-1 {
			to, truths = d, t
		}
		st.run(s, to, truths, n)
		if st.round != 0 {
			bits := kernel.Cast[uint16](kernel.Bytes(s.one[0][:]))[:n]
			kernel.Encode(st.round, bits, to)
			kernel.Decode(st.round, to, bits)
		}
		s.values[MaxInputs+i] = value{f: to, b: truths}
	}
}

// assign assigns a block of results to each step. It reuses the block of an operand that no later step reads, if the element
// sizes are equal.
func assign(links []Link, steps []step) {
	last := make([]int, len(links))
	for i, l := range links {
		for _, f := range l.From {
			if f < 0 {
				last[-1-f] = i
			}
		}
	}
	var busy [MaxLinks]bool
	boolean := func(i int) bool { return links[i].Node.Outputs[0].DType == dtype.Bool }
	for i, l := range links {
		ends := func(same bool) {
			for _, f := range l.From {
				if f < 0 && last[-1-f] == i && same == (boolean(-1-f) == boolean(i)) {
					busy[steps[-1-f].to] = false
				}
			}
		}
		ends(true)
		for busy[steps[i].to] {
			steps[i].to++
		}
		busy[steps[i].to] = true
		ends(false)
	}
}

// valueIndex returns the index of a value among the values of blocks.
func valueIndex(from int) int {
	if from < 0 {
		return MaxInputs - 1 - from
	}
	return from
}

// compile returns the loop of a link.
func compile(l Link) func(s *blocks, d []float32, t []uint8, n int) {
	at := make([]int, len(l.From))
	for i, f := range l.From {
		at[i] = valueIndex(f)
	}
	n := l.Node
	switch {
	case n.Op == op.Cast:
		return func(s *blocks, d []float32, _ []uint8, n int) { copy(d, s.values[at[0]].numbers(s.one[0][:], n)) }
	case n.Op == op.Where:
		return func(s *blocks, d []float32, _ []uint8, n int) { chooseLink(s, d, at, n) }
	case n.Outputs[0].DType == dtype.Bool:
		p := comparison[float32](n.Op)
		return func(s *blocks, _ []float32, t []uint8, n int) { pairLink(s, t, at, p, n) }
	case len(at) == 1:
		f := unaryLink(n)
		if f == nil {
			return nil
		}
		return func(s *blocks, d []float32, _ []uint8, n int) { f(d, s.values[at[0]].numbers(s.one[0][:], n)) }
	}
	p := binaryLink(n.Op, l.In)
	if p == nil {
		return nil
	}
	return func(s *blocks, d []float32, _ []uint8, n int) { pairLink(s, d, at, p, n) }
}

func pairLink[R any](s *blocks, d []R, at []int, p *pair[float32, R], n int) {
	a, b := &s.values[at[0]], &s.values[at[1]]
	switch {
	case a.scalar && !b.scalar && p.sv != nil:
		p.sv(d, a.one, b.f)
	case b.scalar && p.vs != nil:
		p.vs(d, a.numbers(s.one[1][:], n), b.one)
	default:
		p.vv(d, a.numbers(s.one[1][:], n), b.numbers(s.one[2][:], n))
	}
}

func chooseLink(s *blocks, d []float32, at []int, n int) {
	cond, a, b := &s.values[at[0]], s.values[at[1]].numbers(s.one[1][:], n), s.values[at[2]].numbers(s.one[2][:], n)
	if cond.scalar {
		if cond.oneB != 0 {
			copy(d, a)
		} else {
			copy(d, b)
		}
		return
	}
	choose(d, cond.b, a, b)
}
