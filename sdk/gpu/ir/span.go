package ir

import (
	"fmt"
	"math"

	"github.com/goburn/burn/core/dtype"
)

// span is the set of possible values of an integer: it is in [lo, hi] and is r modulo m, or exactly r if m is 0. Values of u64
// above the greatest int64 are possible where open is set; hi is the greatest int64 then.
type span struct {
	lo, hi int64
	m, r   int64
	open   bool
	over   Value // an operation that contributed to the value and may have wrapped around; 0 if there is no such operation
}

func exactly(x int64) span { return span{lo: x, hi: x, r: x} }

func between(lo, hi int64) span { return span{lo: lo, hi: hi, m: 1}.tight() }

// fullSpan returns the span of all values of a type. Spans of floats are not used.
func fullSpan(t dtype.DType) span {
	switch size := t.Size() * 8; {
	case t == dtype.Bool:
		return between(0, 1)
	case t == dtype.U64 || size == 0:
		return span{lo: 0, hi: math.MaxInt64, m: 1, open: true}
	case t.Class() == dtype.Unsigned:
		return between(0, int64(greatestOf(t)))
	default:
		return between(-int64(greatestOf(t))-1, int64(greatestOf(t)))
	}
}

func greatestOf(t dtype.DType) uint64 {
	bits := t.Size() * 8
	if t.Class() != dtype.Unsigned {
		bits--
	}
	return math.MaxUint64 >> (64 - bits)
}

func (s span) constant() bool { return s.lo == s.hi && !s.open }

// empty reports whether no number is possible.
func (s span) empty() bool { return s.lo > s.hi }

// tight returns s with its ends moved inwards to numbers that are r modulo m.
func (s span) tight() span {
	if s.m > 1 && s.lo <= s.hi {
		if d := mod(s.r-mod(s.lo, s.m), s.m); s.lo <= math.MaxInt64-d {
			s.lo += d
		}
		if d := mod(mod(s.hi, s.m)-s.r, s.m); !s.open && s.hi >= math.MinInt64+d {
			s.hi -= d
		}
	}
	if s.constant() {
		s.m, s.r = 0, s.lo
	}
	return s
}

// mod returns the remainder of x modulo m that is not negative.
func mod(x, m int64) int64 {
	if x %= m; x < 0 {
		x += m
	}
	return x
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	if a < 0 {
		return -a
	}
	return a
}

// residue returns s narrowed to numbers that are r modulo m. m may be 0.
func (s span) residue(m, r int64) span {
	switch {
	case m < 0:
		m, r = 1, 0
	case m > 1<<31: // sums of two residues stay far from the greatest int64
		m = max(m&-m&(1<<16-1), 1)
		r = mod(r, m)
	case m > 0:
		r = mod(r, m)
	}
	s.m, s.r = m, r
	return s.tight()
}

// divisible reports whether the number is known to be a multiple of n.
func (s span) divisible(n int64) bool { return s.m%n == 0 && s.r%n == 0 }

// meet returns the intersection of s and [lo, hi].
func (s span) meet(lo, hi int64) span {
	s.lo = max(s.lo, lo)
	if hi < s.hi || hi < math.MaxInt64 {
		s.hi, s.open = min(s.hi, hi), false
	}
	return s.tight()
}

// join returns the smallest span that contains both.
func (s span) join(o span) span {
	if s.empty() {
		return o
	}
	if o.empty() {
		return s
	}
	r := span{lo: min(s.lo, o.lo), hi: max(s.hi, o.hi), open: s.open || o.open, over: s.over}
	if r.over == 0 {
		r.over = o.over
	}
	d, ok := sum(s.r, -o.r)
	if !ok || o.r == math.MinInt64 {
		return r.residue(1, 0)
	}
	return r.residue(gcd(gcd(s.m, o.m), d), s.r)
}

// String returns the span as text for messages.
func (s span) String() string {
	switch {
	case s.open:
		return fmt.Sprintf("%d or more", s.lo)
	case s.constant():
		return fmt.Sprint(s.lo)
	case s.m > 1:
		return fmt.Sprintf("%d to %d, %d modulo %d", s.lo, s.hi, s.r, s.m)
	}
	return fmt.Sprintf("%d to %d", s.lo, s.hi)
}

// within returns s if type t can hold it. Otherwise value v wraps around, and only the residue modulo a power of two remains.
func (s span) within(t dtype.DType, v Value, ok bool) span {
	full := fullSpan(t)
	if ok && s.lo >= full.lo && (full.open || s.hi <= full.hi && !s.open) {
		return s
	}
	if full.open && s.lo >= 0 && !ok { // beyond int64, but maybe not beyond u64
		full.over = s.over
	} else {
		full.over = v
	}
	if p := s.m & -s.m; p > 1 {
		return full.residue(p, s.r)
	}
	return full
}

func sum(a, b int64) (int64, bool) {
	r := a + b
	return r, (r > a) == (b > 0)
}

// addSpans returns a + b, and whether the ends are numbers of int64.
func addSpans(a, b span) (span, bool) {
	lo, ok := sum(a.lo, b.lo)
	hi, ok2 := sum(a.hi, b.hi)
	if m := gcd(a.m, b.m); m != 0 {
		return span{lo: lo, hi: hi}.residue(m, mod(a.r, m)+mod(b.r, m)), ok && ok2 && !a.open && !b.open
	}
	return exactly(lo), ok && ok2
}

func negSpan(a span) (span, bool) {
	if a.lo == math.MinInt64 || a.open {
		return span{m: 1}, false
	}
	return span{lo: -a.hi, hi: -a.lo}.residue(a.m, -a.r), true
}

func subSpans(a, b span) (span, bool) {
	n, ok := negSpan(b)
	if !ok {
		return span{m: 1}, false
	}
	return addSpans(a, n)
}

func mulSpans(a, b span) (span, bool) {
	if a.open || b.open {
		return span{m: 1}, false
	}
	s := span{lo: math.MaxInt64, hi: math.MinInt64}
	for _, x := range []int64{a.lo, a.hi} {
		for _, y := range []int64{b.lo, b.hi} {
			p, ok := product(x, y)
			if !ok {
				tz := max(lowest(a)*lowest(b), 1) // each factor is at most 2^16
				return span{m: tz}, false
			}
			s.lo, s.hi = min(s.lo, p), max(s.hi, p)
		}
	}
	mm, ok1 := product(a.m, b.m)
	mr, ok2 := product(a.m, b.r)
	rm, ok3 := product(a.r, b.m)
	rr, ok4 := product(a.r, b.r)
	if !ok1 || !ok2 || !ok3 || !ok4 {
		return s.residue(1, 0), true
	}
	return s.residue(gcd(gcd(mm, mr), rm), rr), true
}

// lowest returns a power of two, at most 2^16, that divides the number.
func lowest(s span) int64 {
	g := gcd(s.m, s.r) & (1<<16 - 1)
	if g == 0 {
		return 1 << 16
	}
	return g & -g
}

// divSpan returns a / c for positive c, rounded toward zero.
func divSpan(a span, c int64) span {
	s := span{lo: a.lo / c, hi: a.hi / c, m: 1, open: a.open && c == 1}
	if a.open && c > 1 {
		s.hi = math.MaxInt64
	}
	if a.m%c == 0 && (a.lo >= 0 || a.r%c == 0) {
		r := a.r
		if a.m > 0 {
			r = mod(r, a.m)
		}
		return s.residue(a.m/c, r/c)
	}
	return s.tight()
}

// remSpan returns the remainder of a / c for positive c, with the sign of a.
func remSpan(a span, c int64) span {
	if a.lo >= 0 && a.hi < c && !a.open {
		return a
	}
	s := span{lo: max(1-c, min(a.lo, 0)), hi: min(c-1, max(a.hi, 0))}
	if m := gcd(a.m, c); m != 0 {
		return s.residue(m, a.r)
	}
	return s.residue(1, 0)
}
