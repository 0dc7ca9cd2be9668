package ir

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/goburn/burn/core/dtype"
)

// numbers returns some numbers that a span allows: its ends, and random ones between them.
func (s span) numbers(r *rand.Rand) (all []int64) {
	if s.empty() {
		return nil
	}
	if s.m == 0 {
		return []int64{s.r}
	}
	allows := func(x int64) bool { return x >= s.lo && x <= s.hi && mod(x-s.r%s.m, s.m) == 0 }
	for _, x := range []int64{s.lo, s.hi, 0, 1, -1} {
		if allows(x) {
			all = append(all, x)
		}
	}
	room := new(big.Int).Sub(big.NewInt(s.hi), big.NewInt(s.lo))
	room.Add(room.Div(room, big.NewInt(s.m)), big.NewInt(1))
	for range 6 {
		k := new(big.Int).Mod(new(big.Int).SetUint64(r.Uint64()), room)
		x := k.Mul(k, big.NewInt(s.m)).Add(k, big.NewInt(s.lo))
		if x.IsInt64() && allows(x.Int64()) {
			all = append(all, x.Int64())
		}
	}
	return all
}

// holds reports whether a span allows a number.
func (s span) holds(x *big.Int) bool {
	if !x.IsInt64() {
		return s.open && x.Sign() > 0
	}
	v := x.Int64()
	if v < s.lo || v > s.hi {
		return false
	}
	if s.m == 0 {
		return v == s.r
	}
	d := new(big.Int).Sub(x, big.NewInt(s.r))
	return d.Mod(d, big.NewInt(s.m)).Sign() == 0
}

var interesting = []int64{0, 1, -1, 2, 3, 7, 12, 16, -16, 255, 4096, 1<<31 - 1, 1 << 31, -1 << 31, 1 << 32, 1 << 40, math.MaxInt64, math.MinInt64, math.MaxInt64 - 1, math.MinInt64 + 1}

func randomSpan(r *rand.Rand) span {
	pick := func() int64 {
		if r.IntN(2) == 0 {
			return interesting[r.IntN(len(interesting))]
		}
		return r.Int64N(200) - 100
	}
	a, b := pick(), pick()
	switch r.IntN(4) {
	case 0:
		return exactly(a)
	case 1:
		return between(min(a, b), max(a, b)).residue([]int64{1, 2, 3, 4, 12, 32, 1 << 20}[r.IntN(7)], pick())
	}
	return between(min(a, b), max(a, b))
}

// TestSpansAreSound checks that the result of an operation is in the computed span for all numbers of the operands' spans. A span that
// omits a number lets a kernel read beyond a buffer, because spans justify the removal of bounds checks.
func TestSpansAreSound(t *testing.T) {
	for seed := range uint64(4000) {
		r := rand.New(rand.NewPCG(seed, 90))
		a, b := randomSpan(r), randomSpan(r)
		c := []int64{1, 2, 3, 7, 8, 32, 1000, 1 << 31, math.MaxInt64}[r.IntN(9)]
		plus, plusOK := addSpans(a, b)
		minus, minusOK := subSpans(a, b)
		times, timesOK := mulSpans(a, b)
		negative, negativeOK := negSpan(a)
		quotient, rest, both := divSpan(a, c), remSpan(a, c), a.join(b)
		lo, hi := min(b.lo, b.hi), max(b.lo, b.hi)
		met := a.meet(lo, hi)
		in := func(what string, s span, number *big.Int) {
			if !s.holds(number) {
				t.Fatalf("seed %d: %s of %v and %v, constant %d: %v is not in %+v", seed, what, a, b, c, number, s)
			}
		}
		for _, x := range a.numbers(r) {
			X := big.NewInt(x)
			in("number", a, X)
			in("join", both, X)
			in("quotient", quotient, big.NewInt(x/c))
			in("remainder", rest, big.NewInt(x%c))
			if negativeOK {
				in("negative", negative, new(big.Int).Neg(X))
			}
			if x >= lo && x <= hi {
				in("meet", met, X)
			}
			if a.divisible(c) && x%c != 0 {
				t.Fatalf("seed %d: %v is said to be divisible by %d", seed, a, c)
			}
			for _, y := range b.numbers(r) {
				Y := big.NewInt(y)
				in("join", both, Y)
				if plusOK {
					in("sum", plus, new(big.Int).Add(X, Y))
				}
				if minusOK {
					in("difference", minus, new(big.Int).Sub(X, Y))
				}
				if timesOK {
					in("product", times, new(big.Int).Mul(X, Y))
				}
			}
		}
	}
}

// TestSpansThatWrap checks that the span that within returns contains the results that wrap around: the residue modulo a power of two
// survives the wrap.
func TestSpansThatWrap(t *testing.T) {
	types := []dtype.DType{dtype.I32, dtype.U32, dtype.I64, dtype.U64, dtype.I16, dtype.U8}
	for seed := range uint64(4000) {
		r := rand.New(rand.NewPCG(seed, 91))
		d := types[r.IntN(len(types))]
		full := fullSpan(d)
		a, b := randomSpan(r).meet(full.lo, full.hi), randomSpan(r).meet(full.lo, full.hi)
		for name, f := range map[string]struct {
			spans func(a, b span) (span, bool)
			exact func(x, y *big.Int) *big.Int
		}{
			"sum":        {addSpans, func(x, y *big.Int) *big.Int { return new(big.Int).Add(x, y) }},
			"difference": {subSpans, func(x, y *big.Int) *big.Int { return new(big.Int).Sub(x, y) }},
			"product":    {mulSpans, func(x, y *big.Int) *big.Int { return new(big.Int).Mul(x, y) }},
		} {
			s, ok := f.spans(a, b)
			got := s.within(d, 1, ok)
			for _, x := range a.numbers(r) {
				for _, y := range b.numbers(r) {
					exact := f.exact(big.NewInt(x), big.NewInt(y))
					wrapped := wrap(d, exact)
					if !got.holds(wrapped) {
						t.Fatalf("seed %d: %s of %d in %v and %d in %v as %v: %v is not in %+v", seed, name, x, a, y, b, d, wrapped, got)
					}
					if exact.Cmp(wrapped) != 0 && !full.open && got.over == 0 { // spans do not distinguish u64 sums beyond int64 from sums beyond u64
						t.Fatalf("seed %d: %s of %v and %v as %v may wrap around", seed, name, a, b, d)
					}
				}
			}
		}
	}
}

// wrap returns a number as type d holds it.
func wrap(d dtype.DType, x *big.Int) *big.Int {
	size := new(big.Int).Lsh(big.NewInt(1), uint(8*d.Size()))
	x = new(big.Int).Mod(x, size)
	if d.Class() != dtype.Unsigned && x.Bit(8*d.Size()-1) != 0 {
		x.Sub(x, size)
	}
	return x
}
