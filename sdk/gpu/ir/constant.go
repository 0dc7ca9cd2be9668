package ir

import (
	"math"
	"math/bits"

	"github.com/goburn/burn/core/dtype"
)

// canonical returns bits in the form that constants of type t have: sign extended if t is signed, zero extended otherwise.
func canonical(t dtype.DType, bits uint64) uint64 {
	switch size := t.Size() * 8; {
	case t == dtype.Bool:
		return bits & 1
	case size == 0 || size >= 64:
		return bits
	case t.Class() == dtype.Signed:
		return uint64(int64(bits<<(64-size)) >> (64 - size))
	default:
		return bits << (64 - size) >> (64 - size)
	}
}

// calculate applies op to constants x and y of type t; unary operations ignore y. ok is false if op is not calculated for the type, if an
// integer overflows or has no result, or if the result is not the same on all hardware.
func calculate(op Op, t dtype.DType, x, y uint64) (r uint64, ok bool) {
	switch t.Class() {
	case dtype.Signed:
		return calculateSigned(op, t, int64(x), int64(y))
	case dtype.Unsigned:
		return calculateUnsigned(op, t, x, y)
	case dtype.Boolean:
		return calculateBool(op, x, y)
	}
	switch t {
	case dtype.F32:
		f, c, ok := calculateFloat(op, float64(math.Float32frombits(uint32(x))), float64(math.Float32frombits(uint32(y))))
		if c {
			return truth(f != 0), ok
		}
		return uint64(math.Float32bits(float32(f))), ok
	case dtype.F64:
		f, c, ok := calculateFloat(op, math.Float64frombits(x), math.Float64frombits(y))
		if c {
			return truth(f != 0), ok
		}
		return math.Float64bits(f), ok
	}
	return 0, false
}

func truth(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func calculateSigned(op Op, t dtype.DType, x, y int64) (uint64, bool) {
	r, ok := int64(0), true
	switch op {
	case Add:
		r = x + y
		ok = (r > x) == (y > 0)
	case Sub:
		r = x - y
		ok = (r < x) == (y > 0)
	case Mul:
		r, ok = product(x, y)
	case Div, Rem:
		if y == 0 || y == -1 {
			return 0, false
		}
		if r = x / y; op == Rem {
			r = x % y
		}
	case Min:
		r = min(x, y)
	case Max:
		r = max(x, y)
	case Neg:
		r, ok = -x, x != math.MinInt64
	case Abs:
		r, ok = max(x, -x), x != math.MinInt64
	case And:
		r = x & y
	case Or:
		r = x | y
	case Xor:
		r = x ^ y
	case Not:
		r = ^x
	case Shl:
		if y < 0 || y >= int64(t.Size()*8) {
			return 0, false
		}
		r = x << y
		ok = r>>y == x
	case Shr:
		if y < 0 || y >= int64(t.Size()*8) {
			return 0, false
		}
		r = x >> y
	case Eq, Ne, Lt, Le:
		return truth(op == Eq && x == y || op == Ne && x != y || op == Lt && x < y || op == Le && x <= y), true
	default:
		return 0, false
	}
	return uint64(r), ok && canonical(t, uint64(r)) == uint64(r)
}

// product returns x·y, and reports whether it is within the range of int64.
func product(x, y int64) (int64, bool) {
	if x == 0 || y == 0 {
		return 0, true
	}
	r := x * y
	if x == -1 && y == math.MinInt64 || y == -1 && x == math.MinInt64 || r/y != x {
		return 0, false
	}
	return r, true
}

func calculateUnsigned(op Op, t dtype.DType, x, y uint64) (uint64, bool) {
	r, ok := uint64(0), true
	switch op {
	case Add:
		r = x + y
		ok = r >= x
	case Sub:
		r, ok = x-y, x >= y
	case Mul:
		hi, lo := bits.Mul64(x, y)
		r, ok = lo, hi == 0
	case Div, Rem:
		if y == 0 {
			return 0, false
		}
		if r = x / y; op == Rem {
			r = x % y
		}
	case Min:
		r = min(x, y)
	case Max:
		r = max(x, y)
	case Abs:
		r = x
	case And:
		r = x & y
	case Or:
		r = x | y
	case Xor:
		r = x ^ y
	case Not:
		return canonical(t, ^x), true
	case Shl:
		if y >= uint64(t.Size()*8) {
			return 0, false
		}
		r = x << y
		ok = r>>y == x
	case Shr:
		if y >= uint64(t.Size()*8) {
			return 0, false
		}
		r = x >> y
	case Eq, Ne, Lt, Le:
		return truth(op == Eq && x == y || op == Ne && x != y || op == Lt && x < y || op == Le && x <= y), true
	default:
		return 0, false
	}
	return r, ok && canonical(t, r) == r
}

func calculateBool(op Op, x, y uint64) (uint64, bool) {
	switch op {
	case And:
		return x & y, true
	case Or:
		return x | y, true
	case Xor, Ne:
		return x ^ y, true
	case Eq:
		return x ^ y ^ 1, true
	case Not:
		return x ^ 1, true
	case Lt:
		return y &^ x, true
	case Le:
		return x ^ 1 | y, true
	}
	return 0, false
}

// calculateFloat applies op to f32 or f64 constants. One operation in float64, rounded to float32 by the caller, is correctly rounded
// (Figueroa, "When is double rounding innocuous?", 1995). For a comparison, r is 0 or 1 and compared is true.
func calculateFloat(op Op, x, y float64) (r float64, compared, ok bool) {
	switch op {
	case Add:
		r = x + y
	case Sub:
		r = x - y
	case Mul:
		r = x * y
	case Div:
		r = x / y
	case Neg:
		r = -x
	case Abs:
		r = math.Abs(x)
	case Min, Max:
		if x == y {
			return 0, false, false // the result for zeros of different sign depends on the hardware
		}
		if r = min(x, y); op == Max {
			r = max(x, y)
		}
	case Eq, Ne, Lt, Le:
		return float64(truth(op == Eq && x == y || op == Ne && x != y || op == Lt && x < y || op == Le && x <= y)), true, true
	default:
		return 0, false, false
	}
	return r, false, r == r // the bits of NaN depend on the hardware
}

// convert returns a constant of type from converted to type to. ok is false if the result is not defined.
func convert(from, to dtype.DType, x uint64) (r uint64, ok bool) {
	switch from.Class() {
	case dtype.Float:
		return convertFloat(floatOf(from, x), to)
	case dtype.NoClass:
		return 0, false
	}
	if to == dtype.Bool {
		return truth(x != 0), true
	}
	if to.Class() != dtype.Float {
		return canonical(to, x), to.Class() != dtype.NoClass
	}
	if to == dtype.F64 {
		if from == dtype.U64 {
			return math.Float64bits(float64(x)), true
		}
		return math.Float64bits(float64(int64(x))), true
	}
	f := float32(int64(x))
	if from == dtype.U64 {
		f = float32(x)
	}
	return bitsOf(to, float64(f)), true
}

func convertFloat(f float64, to dtype.DType) (uint64, bool) {
	switch to.Class() {
	case dtype.Boolean:
		return truth(f != 0), true
	case dtype.Float:
		return bitsOf(to, f), f == f
	case dtype.Signed:
		f = math.Trunc(f)
		limit := math.Ldexp(1, to.Size()*8-1)
		return uint64(int64(f)), f >= -limit && f < limit
	case dtype.Unsigned:
		f = math.Trunc(f)
		return uint64(f), f >= 0 && f < math.Ldexp(1, to.Size()*8)
	}
	return 0, false
}

func floatOf(t dtype.DType, bits uint64) float64 {
	switch t {
	case dtype.F64:
		return math.Float64frombits(bits)
	case dtype.F16:
		return float64(dtype.Float16(bits).Float32())
	case dtype.BF16:
		return float64(dtype.BFloat16(bits).Float32())
	}
	return float64(math.Float32frombits(uint32(bits)))
}

func bitsOf(t dtype.DType, f float64) uint64 {
	switch t {
	case dtype.F64:
		return math.Float64bits(f)
	case dtype.F16:
		return uint64(dtype.Float16From64(f))
	case dtype.BF16:
		return uint64(dtype.BFloat16From64(f))
	}
	return uint64(math.Float32bits(float32(f)))
}
