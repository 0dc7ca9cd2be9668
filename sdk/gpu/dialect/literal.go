package dialect

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/goburn/burn/core/dtype"
)

// decimal returns the shortest decimal number that rounds to f, with a point or an exponent. Negative numbers are in brackets.
func decimal(f float64, bits int, suffix string) string {
	s := strconv.FormatFloat(f, 'g', -1, bits)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return bracket(s + suffix)
}

// bracket puts brackets around a text that begins with a minus sign.
func bracket(s string) string {
	if s[0] == '-' {
		return "(" + s + ")"
	}
	return s
}

// finite reports whether f is neither infinite nor NaN.
func finite(f float64) bool { return f-f == 0 }

// cLiteral returns a function that returns the text of constants in C-like languages. Infinities and NaN are written as their bits, in the
// given formats.
func cLiteral(bits32, bits64, long string) func(t dtype.DType, bits uint64) string {
	return func(t dtype.DType, bits uint64) string {
		switch t {
		case dtype.F64:
			if f := math.Float64frombits(bits); finite(f) {
				return decimal(f, 64, "")
			}
			return fmt.Sprintf(bits64, bits)
		case dtype.F32:
			if f := math.Float32frombits(uint32(bits)); finite(float64(f)) {
				return decimal(float64(f), 32, "f")
			}
			return fmt.Sprintf(bits32, uint32(bits))
		case dtype.I64:
			if int64(bits) == math.MinInt64 {
				return "(-9223372036854775807" + long + " - 1)"
			}
			return bracket(strconv.FormatInt(int64(bits), 10) + long)
		case dtype.U64:
			return strconv.FormatUint(bits, 10) + "u" + long
		case dtype.U32:
			return strconv.FormatUint(uint64(uint32(bits)), 10) + "u"
		case dtype.I32:
			if int32(bits) == math.MinInt32 {
				return "(-2147483647 - 1)"
			}
			return bracket(strconv.FormatInt(int64(int32(bits)), 10))
		case dtype.I16:
			return bracket(strconv.FormatInt(int64(int16(bits)), 10))
		case dtype.I8, dtype.I4, dtype.I2:
			return bracket(strconv.FormatInt(int64(int8(bits)), 10))
		case dtype.F16, dtype.BF16, dtype.U16:
			return fmt.Sprintf("0x%x", uint16(bits))
		case dtype.Bool:
			return strconv.FormatBool(bits&1 != 0)
		}
		return strconv.FormatUint(uint64(uint8(bits)), 10)
	}
}
