package ref

import "math"

// accumulator sums with a running compensation (Neumaier 1974): the result is about as exact as with twice the precision. Infinite and NaN
// sums are as in plain addition.
type accumulator struct{ sum, lost float64 }

func (a *accumulator) add(x float64) {
	t := a.sum + x
	if math.Abs(a.sum) >= math.Abs(x) {
		a.lost += (a.sum - t) + x
	} else {
		a.lost += (x - t) + a.sum
	}
	a.sum = t
}

func (a *accumulator) value() float64 {
	if math.IsInf(a.sum, 0) || math.IsNaN(a.sum) {
		return a.sum
	}
	return a.sum + a.lost
}

func total(xs []float64) float64 {
	var a accumulator
	for _, x := range xs {
		a.add(x)
	}
	return a.value()
}
