package ir

import (
	"math"
	"math/bits"

	"github.com/goburn/burn/core/dtype"
)

// of returns the span of an integer or bool.
func (r *ranges) of(v Value) span {
	if r.stamp[v] == r.level {
		return r.memo[v]
	}
	level := r.level
	s := fullSpan(r.k.Types[v])
	if d := r.defs[v]; d != nil {
		s = r.transfer(d, v)
	}
	if r.known[v] {
		f := r.facts[v]
		if over := s.over; f.open {
			s = s.meet(f.lo, math.MaxInt64)
		} else {
			s = s.meet(f.lo, f.hi)
			s.over = over
		}
		if f.m > s.m && s.m == 1 {
			s = s.residue(f.m, f.r)
		}
	}
	r.memo[v], r.stamp[v] = s, level
	return s
}

// transfer computes the span of v, which d defines, from the spans of d's operands.
func (r *ranges) transfer(d *Inst, v Value) span {
	t := r.k.Types[v]
	switch d.Op {
	case Const:
		return number(t, d.Imm)
	case Scalar:
		return number(t, r.l.Args[d.Ref].Bits)
	case Thread:
		return between(0, int64(r.k.Threads)-1)
	case Lane:
		return between(0, int64(min(r.sub, r.k.Threads))-1)
	case Block:
		return between(0, int64(r.l.Grid[d.Imm])-1)
	case Blocks:
		return exactly(int64(r.l.Grid[d.Imm]))
	case PopCount:
		return between(0, 32)
	case For:
		return r.counter(d)
	case FMA:
		return fullSpan(t)
	case Select:
		return r.selected(d)
	case Cast:
		return r.converted(d)
	case ShuffleXor, ShuffleUp, ShuffleFrom:
		return fullSpan(t) // facts that hold here do not hold in other threads
	}
	if d.Op < Add || d.Op > Le || t == dtype.Invalid || t.IsFloat() {
		return fullSpan(t)
	}
	if d.Op == And || d.Op == Or || d.Op == Xor || d.Op == Not {
		return r.bitwise(d)
	}
	if d.Op >= Eq && d.Op <= Le {
		return r.compared(d)
	}
	return r.calculated(d, t, v)
}

// number returns the span of a constant.
func number(t dtype.DType, bits uint64) span {
	bits = canonical(t, bits)
	if t == dtype.U64 && bits > math.MaxInt64 {
		return fullSpan(t)
	}
	if t.IsFloat() {
		return fullSpan(t)
	}
	return exactly(int64(bits))
}

// counter returns the span of a loop variable.
func (r *ranges) counter(d *Inst) span {
	lo, hi := r.of(d.Args[0]), r.of(d.Args[1])
	s := span{lo: lo.lo, hi: hi.hi, open: hi.open, m: 1, over: lo.over}
	if s.over == 0 {
		s.over = hi.over
	}
	if !s.open && s.hi > math.MinInt64 {
		s.hi--
	}
	if m := gcd(lo.m, int64(d.Imm)); m > 0 && !lo.open {
		return s.residue(m, lo.r)
	}
	return s.tight()
}

// selected returns the span of a Select. It analyses each side with the facts that follow from the condition, up to some depth.
func (r *ranges) selected(d *Inst) span {
	if r.inside == 0 {
		r.looks = 1 << 12
	}
	if r.inside >= 4 || !r.look() {
		return r.of(d.Args[1]).join(r.of(d.Args[2]))
	}
	r.inside++
	defer func() { r.inside-- }()
	s := span{lo: 1, hi: 0}
	r.under(d.Args[0], true, func() { s = r.of(d.Args[1]) })
	r.under(d.Args[0], false, func() { s = s.join(r.of(d.Args[2])) })
	if s.empty() {
		return fullSpan(d.Type)
	}
	return s
}

func (r *ranges) converted(d *Inst) span {
	from := r.k.Types[d.Args[0]]
	if from.IsFloat() || d.Type.IsFloat() {
		return fullSpan(d.Type)
	}
	s := r.of(d.Args[0])
	if d.Type == dtype.Bool {
		if s.lo > 0 || s.hi < 0 {
			return exactly(1)
		}
		if s.constant() {
			return exactly(0)
		}
		return fullSpan(d.Type)
	}
	return s.within(d.Type, d.Out[0], true)
}

func (r *ranges) compared(d *Inst) span {
	if !r.k.Types[d.Args[0]].IsInt() || d.Args[0] == d.Args[1] {
		return fullSpan(dtype.Bool)
	}
	a, b := r.of(d.Args[0]), r.of(d.Args[1])
	yes, no := false, false
	switch d.Op {
	case Lt:
		yes, no = !a.open && a.hi < b.lo, !b.open && a.lo >= b.hi
	case Le:
		yes, no = !a.open && a.hi <= b.lo, !b.open && a.lo > b.hi
	default:
		apart := !a.open && a.hi < b.lo || !b.open && a.lo > b.hi
		if m := gcd(a.m, b.m); m > 1 && mod(a.r, m) != mod(b.r, m) {
			apart = true
		}
		yes, no = a.constant() && a.lo == b.lo && b.constant(), apart
		if d.Op == Ne {
			yes, no = no, yes
		}
	}
	switch {
	case yes:
		return exactly(1)
	case no:
		return exactly(0)
	}
	return fullSpan(dtype.Bool)
}

func (r *ranges) bitwise(d *Inst) span {
	a := r.of(d.Args[0])
	if d.Op == Not {
		if d.Type == dtype.Bool {
			return span{lo: 1 - a.hi, hi: 1 - a.lo, m: 1}.tight()
		}
		if d.Type.Class() == dtype.Signed {
			s, ok := subSpans(exactly(-1), a)
			return s.within(d.Type, d.Out[0], ok)
		}
		return fullSpan(d.Type)
	}
	b := r.of(d.Args[1])
	p := min(lowestKnown(a), lowestKnown(b)) // the bits below p are known
	bit := map[Op]func(x, y int64) int64{
		And: func(x, y int64) int64 { return x & y }, Or: func(x, y int64) int64 { return x | y }, Xor: func(x, y int64) int64 { return x ^ y },
	}[d.Op]
	if a.constant() && b.constant() {
		return exactly(bit(a.lo, b.lo))
	}
	s := fullSpan(d.Type)
	switch {
	case d.Op == And && a.lo >= 0 && b.lo >= 0:
		s = span{lo: 0, hi: min(a.hi, b.hi), open: a.open && b.open, m: 1}
	case d.Op == And && (a.lo >= 0 && !a.open || b.lo >= 0 && !b.open):
		s = span{lo: 0, hi: a.hi, m: 1}
		if b.lo >= 0 {
			s.hi = b.hi
		}
	case a.lo >= 0 && b.lo >= 0 && !a.open && !b.open:
		s = span{lo: 0, hi: 1<<bits.Len64(uint64(a.hi|b.hi)) - 1, m: 1}
		if d.Op == Or {
			s.lo = max(a.lo, b.lo)
		}
	}
	s.over = max(a.over, b.over)
	if d.Op == And { // a bit is 0 if it is 0 in one operand
		if z := max(lowest(a), lowest(b)); z > p {
			return s.residue(z, 0)
		}
	}
	return s.residue(p, bit(mod(a.r, p), mod(b.r, p)))
}

// lowestKnown returns 2^n if the lowest n bits of a number are known. The result is at most 2^30.
func lowestKnown(s span) int64 {
	if s.m == 0 {
		return 1 << 30
	}
	return min(s.m&-s.m, 1<<30)
}

func (r *ranges) calculated(d *Inst, t dtype.DType, v Value) span {
	a := r.of(d.Args[0])
	b := span{m: 1}
	if len(d.Args) == 2 {
		b = r.of(d.Args[1])
	}
	s, ok := span{m: 1}, false
	switch d.Op {
	case Add:
		s, ok = addSpans(a, b)
	case Sub:
		if x, c := r.remainder(d); c > 0 {
			s, ok = remSpan(r.of(x), c), true
			break
		}
		s, ok = subSpans(a, b)
	case Mul:
		s, ok = mulSpans(a, b)
	case Shl:
		if c := factorOf(Shl, b); c > 0 {
			s, ok = mulSpans(a, exactly(c))
		}
	case Neg:
		s, ok = negSpan(a)
	case Abs:
		if n, fine := negSpan(a); fine {
			s, ok = span{lo: 0, hi: max(a.hi, n.hi), m: 1}, true
			if a.lo >= 0 {
				s = a
			} else if a.hi < 0 {
				s = n
			}
		}
	case Min:
		s, ok = pick(a, b, min(a.lo, b.lo), min(a.hi, b.hi), a.open && b.open), true
		if !a.open && a.hi <= b.lo {
			s = a
		}
	case Max:
		s, ok = pick(a, b, max(a.lo, b.lo), max(a.hi, b.hi), a.open || b.open), true
	case Div:
		if b.constant() && b.lo > 0 {
			s, ok = divSpan(a, b.lo), true
		} else if a.lo >= 0 && b.lo > 0 { // at most a, at least 0
			s, ok = span{lo: 0, hi: a.hi / b.lo, m: 1, open: a.open && b.lo == 1}, true
			if a.open {
				s.hi = math.MaxInt64
			}
		}
	case Shr:
		if c := factorOf(Shr, b); c > 0 && a.lo >= 0 {
			s, ok = divSpan(a, c), true
		} else if c > 0 {
			s, ok = span{lo: a.lo >> b.lo, hi: a.hi >> b.lo, m: 1}, true
		} else if a.lo >= 0 {
			s, ok = span{lo: 0, hi: a.hi, m: 1, open: a.open}, true
		}
	case Rem:
		if b.constant() && b.lo > 0 {
			s, ok = remSpan(a, b.lo), true
		} else if b.lo > 0 && !b.open {
			s, ok = span{lo: max(1-b.hi, min(a.lo, 0)), hi: min(b.hi-1, max(a.hi, 0)), m: 1}, true
		}
	case MulHi:
		if p, fine := mulSpans(a, b); fine && p.lo >= 0 && t.Size() == 4 {
			s, ok = span{lo: p.lo >> 32, hi: p.hi >> 32, m: 1}, true
		}
	}
	if s = s.tight(); s.over == 0 {
		s.over = max(a.over, b.over)
	}
	return s.within(t, v, ok)
}

// pick returns a span from lo to hi for a number that is in a or in b. If open is set, the span has no upper end.
func pick(a, b span, lo, hi int64, open bool) span {
	s := a.join(b)
	s.lo, s.hi, s.open = lo, hi, open
	if s.m == 0 && lo != hi {
		s.m = 1
	}
	return s.tight()
}

// remainder returns x and c if d computes x - x/c·c.
func (r *ranges) remainder(d *Inst) (x Value, c int64) {
	m := r.defs[d.Args[1]]
	if m == nil || m.Op != Mul {
		return 0, 0
	}
	for i := range m.Args {
		q := r.defs[m.Args[i]]
		if q == nil || q.Op != Div || q.Args[0] != d.Args[0] {
			continue
		}
		by, times := r.of(q.Args[1]), r.of(m.Args[1-i])
		if by.constant() && times.constant() && by.lo == times.lo && by.lo > 0 {
			return d.Args[0], by.lo
		}
	}
	return 0, 0
}
