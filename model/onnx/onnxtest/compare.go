package onnxtest

import (
	"fmt"
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/tensor"
)

// Tolerance is the greatest permitted difference of outputs: |got-want| <= Abs + Rel*|want|. NaN equals NaN, and infinities equal
// only themselves.
type Tolerance struct {
	Rel, Abs float64
	Any      bool // compare type, shape and structure, but no values
}

// The default tolerances. Integers and booleans, including outputs quantized to 8 bits, are compared exactly, whatever Rel and Abs.
var (
	Default = Tolerance{Rel: 1e-3, Abs: 1e-5}
	Half    = Tolerance{Rel: 1e-2, Abs: 1e-3} // f16 and bf16
)

// Mismatch describes how an output differs.
type Mismatch struct {
	Output string  // name of the output, with the path inside a sequence: "y[2]"
	What   string  // description of the difference
	Index  []int   // index of the first element out of tolerance; nil when type or structure differ
	MaxAbs float64 // greatest absolute difference of two finite elements
	Count  int     // number of elements out of tolerance
}

// Error returns the description with the name of the output.
func (m *Mismatch) Error() string { return m.Output + ": " + m.What }

// compare returns nil if got equals want within tol.
func compare(name string, got, want Array, tol Tolerance) *Mismatch {
	if got.DType != want.DType || !got.Shape.Equal(want.Shape) {
		return &Mismatch{Output: name, What: fmt.Sprintf("got %v, want %v", got, want)}
	}
	if tol.Any {
		return nil
	}
	if got.DType.IsFloat() {
		return compareFloats(name, got, want, tol)
	}
	g, w := tensor.Int64s(got.DType, got.Data), tensor.Int64s(want.DType, want.Data)
	m := Mismatch{Output: name}
	first := -1
	for i := range w {
		if g[i] == w[i] {
			continue
		}
		if m.Count++; first < 0 {
			first = i
		}
		a, b := number(got.DType, g[i]), number(want.DType, w[i])
		m.MaxAbs = max(m.MaxAbs, math.Abs(a-b))
	}
	if first < 0 {
		return nil
	}
	m.Index = unravel(first, want.Shape)
	m.What = fmt.Sprintf("%d of %d elements differ, by up to %.4g; first at %v: got %v, want %v", m.Count, len(w), m.MaxAbs,
		shape.Shape(m.Index), text(got.DType, g[first]), text(want.DType, w[first]))
	return &m
}

func compareFloats(name string, got, want Array, tol Tolerance) *Mismatch {
	g, w := tensor.Float64s(got.DType, got.Data), tensor.Float64s(want.DType, want.Data)
	m := Mismatch{Output: name}
	first, maxRel := -1, 0.0
	for i, want := range w {
		got := g[i]
		if got == want || math.IsNaN(got) && math.IsNaN(want) {
			continue
		}
		d := math.Abs(got - want) // NaN or Inf if one of them is not finite
		if math.IsNaN(d) || math.IsInf(d, 0) || d > tol.Abs+tol.Rel*math.Abs(want) {
			if m.Count++; first < 0 {
				first = i
			}
		}
		if !math.IsNaN(d) && !math.IsInf(d, 0) {
			m.MaxAbs = max(m.MaxAbs, d)
			if want != 0 {
				maxRel = max(maxRel, d/math.Abs(want))
			}
		}
	}
	if first < 0 {
		return nil
	}
	m.Index = unravel(first, want.Shape)
	m.What = fmt.Sprintf("%d of %d elements out of tolerance, max error %.4g, relative %.4g; first at %v: got %v, want %v", m.Count,
		len(w), m.MaxAbs, maxRel, shape.Shape(m.Index), g[first], w[first])
	return &m
}

// number returns an element of Int64s as a float, to compute the size of a difference.
func number(d dtype.DType, v int64) float64 {
	if d == dtype.U64 {
		return float64(uint64(v))
	}
	return float64(v)
}

func text(d dtype.DType, v int64) any {
	switch d {
	case dtype.U64:
		return uint64(v)
	case dtype.Bool:
		return v != 0
	}
	return v
}

// unravel returns the multi-dimensional index of element i in row-major order.
func unravel(i int, s shape.Shape) []int {
	index := make([]int, len(s))
	for d := len(s) - 1; d >= 0; d-- {
		index[d] = i % s[d]
		i /= s[d]
	}
	return index
}
