package ir

import (
	"math"

	"github.com/goburn/burn/core/dtype"
)

// ranges computes spans of values in one launch. A value has one definition, so its span follows from the spans of the operands. The
// conditions around an instruction narrow spans further, backwards through the operations that defined the values.
type ranges struct {
	k      *Kernel
	l      Launch
	sub    int
	defs   []*Inst
	facts  []span // by value: facts from conditions, valid where known
	known  []bool
	undo   []saved
	memo   []span
	stamp  []int // by value: the level at which memo was computed
	level  int
	levels int // number of levels so far
	inside int // number of selects that are being analysed
	looks  int // remaining number of steps into selects and facts for this query
}

type saved struct {
	v     Value
	fact  span
	known bool
}

func newRanges(k *Kernel, l Launch, defs []*Inst) *ranges {
	n := len(k.Types)
	r := &ranges{k: k, l: l, sub: k.Subgroup, defs: defs, facts: make([]span, n), known: make([]bool, n), memo: make([]span, n), stamp: make([]int, n)}
	if r.sub == 0 {
		r.sub = k.Threads
	}
	r.fresh()
	return r
}

// fresh clears the computed spans.
func (r *ranges) fresh() {
	r.levels++
	r.level = r.levels
}

// under runs f with the facts that hold if cond equals truth, and reports whether cond can equal truth.
func (r *ranges) under(cond Value, truth bool, f func()) bool {
	if r.inside == 0 {
		r.looks = 1 << 12
	}
	mark, level := len(r.undo), r.level
	possible := r.assume(cond, truth, 0) && r.assume(cond, truth, 0) // facts from the second operand narrow the first
	if possible {
		f()
	}
	for i := len(r.undo) - 1; i >= mark; i-- {
		s := r.undo[i]
		r.facts[s.v], r.known[s.v] = s.fact, s.known
	}
	r.undo, r.level = r.undo[:mark], level
	return possible
}

// look reports whether another step of analysis is within the budget; beyond the budget spans are less precise, but still sound.
func (r *ranges) look() bool {
	r.looks--
	return r.looks > 0
}

// set stores a fact about v.
func (r *ranges) set(v Value, s span) {
	r.undo = append(r.undo, saved{v, r.facts[v], r.known[v]})
	r.facts[v], r.known[v] = s, true
	r.fresh()
}

// assume narrows spans by the condition that cond equals truth. It returns false if cond cannot equal truth.
func (r *ranges) assume(cond Value, truth bool, depth int) bool {
	if s := r.of(cond); s.constant() && (s.lo != 0) != truth {
		return false
	}
	d := r.defs[cond]
	if d == nil || depth > 64 || !r.look() {
		return true
	}
	switch d.Op {
	case Not:
		return r.assume(d.Args[0], !truth, depth+1)
	case And, Or:
		if (d.Op == And) == truth {
			return r.assume(d.Args[0], truth, depth+1) && r.assume(d.Args[1], truth, depth+1)
		}
		for i, v := range d.Args { // at least one operand equals truth: if this operand is known to differ, the other operand equals truth
			if s := r.of(v); s.constant() && (s.lo != 0) != truth {
				return r.assume(d.Args[1-i], truth, depth+1)
			}
		}
	case Lt, Le, Eq, Ne:
		return r.compare(d, truth)
	}
	return true
}

func (r *ranges) compare(d *Inst, truth bool) bool {
	x, y, op := d.Args[0], d.Args[1], d.Op
	if t := r.k.Types[x]; !t.IsInt() {
		return true
	}
	if !truth { // x < y becomes y <= x
		switch op {
		case Lt:
			x, y, op = y, x, Le
		case Le:
			x, y, op = y, x, Lt
		case Eq:
			op = Ne
		case Ne:
			op = Eq
		}
	}
	a, b := r.of(x), r.of(y)
	switch op {
	case Lt, Le:
		gap := int64(0)
		if op == Lt {
			gap = 1
		}
		if gap == 1 && (b.hi == math.MinInt64 || a.lo == math.MaxInt64 && !b.open) {
			return false
		}
		hi, lo := int64(math.MaxInt64), a.lo
		if !b.open {
			hi = b.hi - gap
		}
		if lo < math.MaxInt64 {
			lo += gap
		}
		return r.bound(x, math.MinInt64, hi, 0) && r.bound(y, lo, math.MaxInt64, 0)
	case Eq:
		ahi, bhi := a.hi, b.hi
		return r.bound(x, b.lo, bhi, 0) && r.bound(y, a.lo, ahi, 0)
	case Ne:
		return r.differs(x, b) && r.differs(y, a)
	}
	return true
}

// differs narrows the span of v, whose value is not c, if c is one of its ends.
func (r *ranges) differs(v Value, c span) bool {
	if !c.constant() {
		return true
	}
	switch s := r.of(v); {
	case s.constant():
		return s.lo != c.lo
	case s.lo == c.lo:
		return r.bound(v, s.lo+1, math.MaxInt64, 0)
	case s.hi == c.lo && !s.open:
		return r.bound(v, math.MinInt64, s.hi-1, 0)
	}
	return true
}

// bound narrows v to [lo, hi], and narrows the operands of its definition accordingly. The greatest and the least int64 mean no bound.
func (r *ranges) bound(v Value, lo, hi int64, depth int) bool {
	old := r.of(v)
	s := old.meet(lo, hi)
	if s.empty() {
		return false
	}
	if s == old {
		return true
	}
	r.set(v, s)
	d := r.defs[v]
	if d == nil || depth > 16 || !r.look() {
		return true
	}
	return r.backward(d, s, depth+1)
}

// backward narrows the operands of d, whose result is in s.
func (r *ranges) backward(d *Inst, s span, depth int) bool {
	if s.open || len(d.Args) == 0 || len(d.Args) > 2 {
		return true
	}
	x := d.Args[0]
	a := r.of(x)
	if len(d.Args) == 1 {
		if d.Op == Cast && r.k.Types[x].IsInt() && r.keeps(a, r.k.Types[x], d.Type, s) {
			return r.bound(x, s.lo, s.hi, depth)
		}
		return true
	}
	y := d.Args[1]
	b := r.of(y)
	exact := func(_ span, ok bool) bool { return ok && !a.open && !b.open }
	fits := func(t span, ok bool) bool { return exact(t, ok) && t.within(d.Type, d.Out[0], true).over != d.Out[0] }
	switch d.Op {
	case Add:
		if fits(addSpans(a, b)) {
			return r.bound(x, less(s.lo, b.hi), less(s.hi, b.lo), depth) && r.bound(y, less(s.lo, a.hi), less(s.hi, a.lo), depth)
		}
	case Sub:
		if fits(subSpans(a, b)) {
			return r.bound(x, more(s.lo, b.lo), more(s.hi, b.hi), depth) && r.bound(y, less(a.lo, s.hi), less(a.hi, s.lo), depth)
		}
	case Mul, Shl:
		if c := factorOf(d.Op, b); c > 0 && fits(mulSpans(a, exactly(c))) {
			return r.bound(x, ceilDiv(s.lo, c), floorDiv(s.hi, c), depth)
		}
		if c := factorOf(d.Op, a); d.Op == Mul && c > 0 && fits(mulSpans(exactly(c), b)) {
			return r.bound(y, ceilDiv(s.lo, c), floorDiv(s.hi, c), depth)
		}
	case Div, Shr:
		if c := factorOf(d.Op, b); c > 0 && a.lo >= 0 {
			hi, ok := product(s.hi, c)
			if lo, ok2 := product(max(s.lo, 0), c); ok2 && ok && hi <= math.MaxInt64-(c-1) {
				return r.bound(x, lo, hi+c-1, depth)
			}
		}
	case Min:
		return r.bound(x, s.lo, math.MaxInt64, depth) && r.bound(y, s.lo, math.MaxInt64, depth)
	case Max:
		return r.bound(x, math.MinInt64, s.hi, depth) && r.bound(y, math.MinInt64, s.hi, depth)
	}
	return true
}

// keeps reports whether a value of type from is in s if its cast to type to is in s.
func (r *ranges) keeps(a span, from, to dtype.DType, s span) bool {
	if full := fullSpan(to); a.lo >= full.lo && (full.open || a.hi <= full.hi && !a.open) {
		return true
	}
	// A negative number becomes a large unsigned number, which is not in s.
	return from.Class() == dtype.Signed && to.Class() == dtype.Unsigned && to.Size() >= from.Size() && s.hi <= int64(greatestOf(from))
}

// factorOf returns the constant by which an operation with operand s multiplies or divides, or 0 if there is no such constant.
func factorOf(op Op, s span) int64 {
	switch {
	case !s.constant():
		return 0
	case op == Shl || op == Shr:
		if s.lo >= 0 && s.lo < 62 {
			return 1 << s.lo
		}
		return 0
	}
	return s.lo
}

// less returns a - b and more returns a + b. If a is an end of int64, which means no bound, the result is a.
func less(a, b int64) int64 {
	switch {
	case a == math.MinInt64 || a == math.MaxInt64:
		return a
	case b < 0 && a > math.MaxInt64+b:
		return math.MaxInt64
	case b > 0 && a < math.MinInt64+b:
		return math.MinInt64
	}
	return a - b
}

func more(a, b int64) int64 {
	if b == math.MinInt64 {
		return math.MinInt64
	}
	return less(a, -b)
}

func floorDiv(a, c int64) int64 {
	q := a / c
	if a%c < 0 {
		q--
	}
	return q
}

func ceilDiv(a, c int64) int64 {
	q := a / c
	if a%c > 0 {
		q++
	}
	return q
}
