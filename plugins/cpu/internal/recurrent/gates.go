package recurrent

import (
	"math"
	"sync"

	"github.com/goburn/burn/plugins/cpu/internal/vecmath"
	"github.com/goburn/burn/plugins/cpu/internal/vector"
)

// pairs contains the loops in assembly, if the processor supports them.
var pairs = sync.OnceValue(func() (p struct{ add, sub, mul func(d, a, b []float32) }) {
	p.add, p.sub, p.mul = vector.Add().Both, vector.Sub().Both, vector.Mul().Both
	return p
})

func sigmoid[T float](x []T) {
	if x, ok := any(x).([]float32); ok {
		vecmath.Sigmoid(x, x)
		return
	}
	for i, v := range x {
		x[i] = T(1 / (1 + math.Exp(-float64(v))))
	}
}

func tanh[T float](x []T) {
	if x, ok := any(x).([]float32); ok {
		vecmath.Tanh(x, x)
		return
	}
	for i, v := range x {
		x[i] = T(math.Tanh(float64(v)))
	}
}

// mul sets d to a·b. The slices have the same length, and are the same memory or do not overlap.
func mul[T float](d, a, b []T) {
	if d, ok := any(d).([]float32); ok && vector.Has() {
		pairs().mul(d, any(a).([]float32), any(b).([]float32))
		return
	}
	a, b = a[:len(d)], b[:len(d)]
	for i := range d {
		d[i] = T(a[i] * b[i])
	}
}

// add sets d to a+b. The slices are the same memory or do not overlap.
func add[T float](d, a, b []T) {
	if d, ok := any(d).([]float32); ok && vector.Has() {
		pairs().add(d, any(a).([]float32), any(b).([]float32))
		return
	}
	a, b = a[:len(d)], b[:len(d)]
	for i := range d {
		d[i] = a[i] + b[i]
	}
}

// sub sets d to a-b. The slices are the same memory or do not overlap.
func sub[T float](d, a, b []T) {
	if d, ok := any(d).([]float32); ok && vector.Has() {
		pairs().sub(d, any(a).([]float32), any(b).([]float32))
		return
	}
	a, b = a[:len(d)], b[:len(d)]
	for i := range d {
		d[i] = a[i] - b[i]
	}
}
