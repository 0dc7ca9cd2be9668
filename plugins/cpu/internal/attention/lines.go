package attention

import (
	"math"

	"github.com/goburn/burn/plugins/cpu/internal/vecmath"
	"github.com/goburn/burn/plugins/cpu/internal/vector"
)

// float32s returns x as []float32 if T is float32 and this processor has loops for it.
func float32s[T float](x []T) ([]float32, bool) {
	f, ok := any(x).([]float32)
	return f, ok && vector.Has()
}

func fill[T float](x []T, v T) {
	for i := range x {
		x[i] = v
	}
}

// scale sets y to x·factor.
func scale[T float](y, x []T, factor T) {
	if to, ok := float32s(y); ok {
		vector.Standard(to, any(x).([]float32), 0, float32(factor))
		return
	}
	for i, v := range x {
		y[i] = v * factor
	}
}

// sum returns the sum of x. It is finite if all of x are finite and the sum does not overflow.
func sum[T float](x []T) T {
	if x, ok := float32s(x); ok {
		return T(vector.Sum(x))
	}
	var s T
	for _, v := range x {
		s += v
	}
	return s
}

func isFinite[T float](v T) bool { return v-v == 0 }

// shift returns the number to subtract from scores whose maximum is top. It is zero if all scores are -Inf.
func shift[T float](top T) T {
	if math.IsInf(float64(top), -1) {
		return 0
	}
	return top
}

// expSub replaces x by exp(x-m) and returns the sum.
func expSub[T float](x []T, m T) T {
	if x, ok := any(x).([]float32); ok {
		return T(vecmath.ExpSub(x, x, float32(m)))
	}
	var sum T
	for i, v := range x {
		x[i] = T(math.Exp(float64(v - m)))
		sum += x[i]
	}
	return sum
}

// greatest returns the maximum of x, NaN if x contains one, and -Inf if x is empty.
func greatest[T float](x []T) T {
	if x, ok := float32s(x); ok && len(x) > 0 {
		return T(vector.Greatest(x))
	}
	m := T(math.Inf(-1))
	for _, v := range x {
		if !(v <= m) {
			m = max(m, v)
		}
	}
	return m
}

// greatestOfRows sets most[i] to the maximum of the cols elements that begin at x[i*ld].
func greatestOfRows[T float](most, x []T, cols, ld int) {
	if x, ok := float32s(x); ok {
		vector.Maxima.OfRows(any(most).([]float32), x, cols, ld)
		return
	}
	for i := range most {
		most[i] = greatest(x[i*ld:][:cols])
	}
}

// applySoftcap replaces x by c·tanh(x/c).
func applySoftcap[T float](x []T, c T) {
	for i, v := range x {
		x[i] = v / c
	}
	if f, ok := any(x).([]float32); ok {
		vecmath.Tanh(f, f)
	} else {
		for i, v := range x {
			x[i] = T(math.Tanh(float64(v)))
		}
	}
	scale(x, x, c)
}
