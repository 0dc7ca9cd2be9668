// Package vecmath computes elementary functions of whole slices of float32: in assembly if package vector has a loop for this processor,
// and otherwise in plain Go. The kernels of the cpu backend call it for parts of their operands; it must not start threads.
//
// dst and x have the same length. They are the same memory or do not overlap. Unless a function says otherwise, results are within 3 units
// in the last place. The results for NaN, infinities, signed zeros and subnormals equal the results of package math.
package vecmath

import "github.com/goburn/burn/plugins/cpu/internal/vector"

// Exp sets dst[i] to e to the power x[i].
func Exp(dst, x []float32) {
	dst = dst[:len(x)]
	if vector.Has() {
		vector.Exp(dst, x)
		return
	}
	for i, v := range x {
		dst[i] = exp(v)
	}
}

// Log sets dst[i] to the natural logarithm of x[i].
func Log(dst, x []float32) {
	dst = dst[:len(x)]
	if vector.Has() {
		vector.Log.Apply(dst, x)
		return
	}
	for i, v := range x {
		dst[i] = log(v)
	}
}

// Tanh sets dst[i] to the hyperbolic tangent of x[i].
func Tanh(dst, x []float32) {
	dst = dst[:len(x)]
	if vector.Has() {
		vector.Tanh(dst, x)
		return
	}
	for i, v := range x {
		dst[i] = tanh(v)
	}
}

// Sigmoid sets dst[i] to 1/(1+exp(-x[i])).
func Sigmoid(dst, x []float32) {
	dst = dst[:len(x)]
	if vector.Has() {
		vector.Sigmoid(dst, x)
		return
	}
	for i, v := range x {
		dst[i] = 1 / (1 + exp(-v))
	}
}

// Silu sets dst[i] to x[i]/(1+exp(-alpha·x[i])).
func Silu(dst, x []float32, alpha float32) {
	dst = dst[:len(x)]
	if vector.Has() {
		vector.Silu(dst, x, alpha)
		return
	}
	for i, v := range x {
		dst[i] = v * (1 / (1 + exp(-(alpha * v))))
	}
}

// ExpSub sets dst[i] to exp(x[i]-shift) and returns the sum of the results.
func ExpSub(dst, x []float32, shift float32) float32 {
	dst = dst[:len(x)]
	if vector.Has() {
		return vector.ExpSub(dst, x, shift)
	}
	var sum float64
	for i, v := range x {
		e := exp(v - shift)
		dst[i] = e
		sum += float64(e)
	}
	return float32(sum)
}

// Erf sets dst[i] to the error function of x[i].
func Erf(dst, x []float32) {
	dst = dst[:len(x)]
	if vector.Has() {
		vector.Erf.Apply(dst, x)
		return
	}
	for i, v := range x {
		dst[i] = erf(v)
	}
}

// Gelu sets dst[i] to x[i]/2·(1+erf(x[i]/√2)). For negative x, where the sum cancels, the error is a few units in the last place and grows
// with |x|.
func Gelu(dst, x []float32) {
	dst = dst[:len(x)]
	if vector.Has() {
		vector.Gelu.Apply(dst, x)
		return
	}
	for i, v := range x {
		dst[i] = gelu(v)
	}
}

// GeluTanh sets dst[i] to x[i]/2·(1+tanh(√(2/π)·(x[i]+0.044715·x[i]³))). For negative x, where the sum cancels, the error is a few units in
// the last place and grows with |x|.
func GeluTanh(dst, x []float32) {
	dst = dst[:len(x)]
	if vector.Has() {
		vector.GeluTanh.Apply(dst, x)
		return
	}
	for i, v := range x {
		// (1+tanh(u))/2 is 1/(1+exp(-2u))
		u := v * (1.5957691216057308 + 0.07135481627260025*v*v)
		if v < -50 { // the cube may overflow, and for -Inf the product would be 0·Inf
			dst[i] = gelu(v)
			continue
		}
		dst[i] = v * (1 / (1 + exp(-u)))
	}
}
