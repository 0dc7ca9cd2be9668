package template

import (
	"math/bits"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// Order describes a sort of lines [Outer, N, Inner] along N. The result is the first Keep elements in order.
type Order struct {
	Outer, N, Inner, Keep int
	Descending            bool
}

// Sort returns the work that computes slot 1, the elements of slot 0 in order, and slot 2, the original place (i64) of each element. Equal
// elements keep their order; NaN is greatest and both zeros are equal.
func Sort(t Target, o Order, x, values, indices Operand) ir.Work {
	s := newSequence(t, 3, false)
	s.sort(o.sorting(x.Type), regionOf(0, x), regionOf(1, values), regionOf(2, indices))
	return s.work
}

// ArgSort returns the work that computes only the second result of Sort, in slot 1.
func ArgSort(t Target, o Order, x, indices Operand) ir.Work {
	s := newSequence(t, 2, false)
	k := o.sorting(x.Type)
	k.places = true
	s.sort(k, regionOf(0, x), region{}, regionOf(1, indices))
	return s.work
}

func (o Order) sorting(d dtype.DType) sorting {
	return sorting{rows: o.Outer * o.Inner, n: o.N, inner: o.Inner, keep: o.Keep, d: d, bits: 8 * d.Size(), index: dtype.I64, descending: o.Descending}
}

// sorting is a sort of several lines: rows lines with n elements of type d each. Element k of line r is at ((r/inner)·n + k)·inner +
// r%inner.
type sorting struct {
	rows, n, inner, keep int
	d                    dtype.DType
	bits                 int         // number of low bits of a key that can differ
	index                dtype.DType // i64 or u32
	descending           bool
	places               bool // only the places are stored
}

// carrier returns the unsigned type in which elements are moved. word returns the type in which their keys are computed.
func (k sorting) carrier() dtype.DType {
	return map[int]dtype.DType{1: dtype.U8, 2: dtype.U16, 4: dtype.U32, 8: dtype.U64}[k.d.Size()]
}

func (k sorting) word() dtype.DType {
	if k.d.Size() == 8 {
		return dtype.U64
	}
	return dtype.U32
}

// at returns the offset of element i of line row, where each line has a fixed number of elements (length).
func (k sorting) at(p *step, row ir.Value, i ir.Value, length int) ir.Value {
	c := p.split(row, k.rows/k.inner, k.inner)
	return p.join([]int{k.rows / k.inner, length, k.inner}, c[0], i, c[1])
}

// key returns the sort key of a loaded element: unsigned words in the order of the sort.
func (k sorting) key(p *step, raw ir.Value) ir.Value {
	w := k.word()
	v := p.Cast(w, raw)
	width := 8 * k.d.Size()
	mask := ^uint64(0) >> (64 - width)
	sign := uint64(1) << (width - 1)
	c := func(b uint64) ir.Value { return p.Const(w, b) }
	switch {
	case k.d.IsFloat():
		infinity := map[dtype.DType]uint64{dtype.F64: 0x7ff << 52, dtype.F32: 0xff << 23, dtype.F16: 0x1f << 10, dtype.BF16: 0xff << 7}[k.d]
		magnitude := p.And(v, c(sign-1))
		negative := p.Ne(p.And(v, c(sign)), c(0))
		ordered := p.Select(negative, p.Sub(c(sign), magnitude), p.Add(c(sign), magnitude)) // both zeros are sign
		v = p.Select(p.Lt(c(infinity), magnitude), c(mask), ordered)
	case k.d.Class() == dtype.Signed:
		v = p.Binary(ir.Xor, v, c(sign))
	}
	if k.descending {
		v = p.Sub(c(mask), v)
	}
	return v
}

// sort adds the launches that sort lines of x into values and indices.
func (s *sequence) sort(k sorting, x, values, indices region) {
	k.keep = min(k.keep, k.n)
	if k.rows == 0 || k.keep == 0 {
		return
	}
	if line := 1 << bits.Len(uint(k.n-1)); line <= 2048 && line*(k.word().Size()+4) <= min(s.t.Shared, 48<<10) {
		s.sortBlock(k, line, x, values, indices)
		return
	}
	s.sortRadix(k, x, values, indices)
}

// sortBlock sorts lines in shared memory by a bitonic network. length, a power of two, is the greatest number of elements of a line.
// Elements with equal keys are ordered by their places. A block sorts several lines if they are short.
func (s *sequence) sortBlock(k sorting, length int, x, values, indices region) {
	word := k.word()
	lines := max(1, 512/max(length, 2))
	if length < 2 {
		length = 2
	}
	n := lines * length
	threads := min(n/2, max(s.t.Threads, 1), 512)
	blocks := (k.rows + lines - 1) / lines
	p := s.begin("sort_block", threads, blocks, k.rows*k.n+k.rows)
	from := p.buffer("x", k.carrier(), ir.Read, x)
	to := ir.Buf(-1)
	if !k.places {
		to = p.buffer("values", k.carrier(), ir.Write, values)
	}
	at := p.buffer("indices", k.index, ir.Write, indices)
	rows := p.number("rows", k.rows)
	keys, order := p.Shared("keys", word, n), p.Shared("order", dtype.U32, n)
	thread := p.Thread()
	elements := func(body func(e, row, i ir.Value)) {
		p.For(thread, p.Int(n), threads, func(e ir.Value) {
			row := p.Add(p.Mul(p.block, p.Int(lines)), p.Div(e, p.Int(length)))
			body(e, row, p.Rem(e, p.Int(length)))
		})
	}
	elements(func(e, row, i ir.Value) {
		p.SharedStore(keys, e, p.Const(word, ^uint64(0)>>(64-8*word.Size())))
		p.SharedStore(order, e, p.Cast(dtype.U32, i))
		p.If(p.And(p.Lt(row, rows), p.Lt(i, p.Int(k.n))), func() {
			r := p.Min(row, p.Int(k.rows-1))
			p.SharedStore(keys, e, k.key(p, p.Load(from, k.at(p, r, p.Min(i, p.Int(k.n-1)), k.n))))
		})
	})
	one := p.Int(1)
	p.For(one, p.Int(bits.Len(uint(length))), 1, func(merge ir.Value) {
		p.For(p.Int(0), merge, 1, func(pass ir.Value) {
			p.Barrier()
			log := p.Sub(p.Sub(merge, one), pass)
			stride := p.powerOfTwo(log, length/2)
			p.For(thread, p.Int(n/2), threads, func(q ir.Value) {
				low := p.And(q, p.Sub(stride, one))
				i := p.And(p.Add(p.Mul(p.Sub(q, low), p.Int(2)), low), p.Int(n-1))
				j := p.And(p.Add(i, stride), p.Int(n-1))
				ki, kj := p.SharedLoad(keys, i), p.SharedLoad(keys, j)
				oi, oj := p.SharedLoad(order, i), p.SharedLoad(order, j)
				after := p.Binary(ir.Or, p.Lt(kj, ki), p.And(p.Eq(ki, kj), p.Lt(oj, oi)))
				falling := p.Ne(p.And(p.And(i, p.Int(length-1)), p.powerOfTwo(merge, length)), p.Int(0))
				p.If(p.Ne(after, falling), func() {
					p.SharedStore(keys, i, kj)
					p.SharedStore(keys, j, ki)
					p.SharedStore(order, i, oj)
					p.SharedStore(order, j, oi)
				})
			})
		})
	})
	p.Barrier()
	elements(func(e, row, i ir.Value) {
		p.If(p.And(p.Lt(row, rows), p.Lt(i, p.Int(k.keep))), func() {
			r := p.Min(row, p.Int(k.rows-1))
			dst := k.at(p, r, p.Min(i, p.Int(k.keep-1)), k.keep)
			region := p.SharedLoad(order, e)
			if !k.places {
				src := p.Cast(p.Index, p.Min(region, p.Const(dtype.U32, uint64(k.n-1))))
				p.Store(to, dst, p.Load(from, k.at(p, r, src, k.n)))
			}
			p.Store(at, dst, p.Cast(k.index, region))
		})
	})
	s.end(p)
}

// powerOfTwo returns 2 to the power of log as an index. most is the greatest possible result.
func (p *step) powerOfTwo(log ir.Value, most int) ir.Value {
	v := p.Binary(ir.Shl, p.Const(dtype.U32, 1), p.Cast(dtype.U32, p.clamp(log, 0, 31)))
	return p.Cast(p.Index, p.Min(v, p.Const(dtype.U32, uint64(most))))
}
