package reduction

import (
	"math"
	"unsafe"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/cpu/internal/vector"
)

// assembled contains the reducers of float32 in assembly, if this processor supports them.
var assembled = assemble()

func assemble() map[op.Code]any {
	if !vector.Has() {
		return nil
	}
	add, most, least := vector.Add().Both, vector.Max().Both, vector.Min().Both
	return map[op.Code]any{
		op.Sum: &reducer[float32]{line: vector.Sum, join: func(a, b float32) float32 { return a + b },
			rows: func(acc, x []float32) { add(acc, acc, x) }, ofRows: vector.Sums.OfRows, ofColumns: vector.Sums.OfColumns,
			stack: vector.Sums.OfStack, start: float32(math.Copysign(0, -1))},
		op.ReduceMax: &reducer[float32]{none: lowest[float32](), line: vector.Greatest, join: func(a, b float32) float32 { return max(a, b) },
			rows: func(acc, x []float32) { most(acc, acc, x) }, ofRows: vector.Maxima.OfRows, ofColumns: vector.Maxima.OfColumns,
			stack: vector.Maxima.OfStack, start: lowest[float32]()},
		op.ReduceMin: &reducer[float32]{none: highest[float32](), line: vector.Least, join: func(a, b float32) float32 { return min(a, b) },
			rows: func(acc, x []float32) { least(acc, acc, x) }, ofRows: vector.Minima.OfRows, ofColumns: vector.Minima.OfColumns,
			stack: vector.Minima.OfStack, start: highest[float32]()},
	}
}

// native returns the reducer of op c for elements of type T in assembly, or nil if there is none.
func native[T number](c op.Code) *reducer[T] {
	r, _ := assembled[c].(*reducer[T])
	return r
}

func reducerOf[T number](c op.Code) *reducer[T] {
	if r := native[T](c); r != nil {
		return r
	}
	switch c {
	case op.Prod:
		return &reducer[T]{none: 1, line: prodLine[T], join: func(a, b T) T { return a * b }, rows: func(acc, x []T) {
			acc = acc[:len(x)]
			for i, v := range x {
				acc[i] *= v
			}
		}}
	case op.ReduceMax:
		return &reducer[T]{none: lowest[T](), line: maxLine[T], join: func(a, b T) T { return max(a, b) }, rows: func(acc, x []T) {
			acc = acc[:len(x)]
			for i, v := range x {
				acc[i] = max(acc[i], v)
			}
		}}
	case op.ReduceMin:
		return &reducer[T]{none: highest[T](), line: minLine[T], join: func(a, b T) T { return min(a, b) }, rows: func(acc, x []T) {
			acc = acc[:len(x)]
			for i, v := range x {
				acc[i] = min(acc[i], v)
			}
		}}
	}
	return sums[T]()
}

func sums[T number]() *reducer[T] {
	if r := native[T](op.Sum); r != nil {
		return r
	}
	return &reducer[T]{line: sumLine[T], join: func(a, b T) T { return a + b }, rows: func(acc, x []T) {
		acc = acc[:len(x)]
		for i, v := range x {
			acc[i] += v
		}
	}}
}

// pairwise is the length up to which elements are summed in order. Longer sums are halved recursively, so that errors grow with the
// logarithm of the length.
const pairwise = 1024

func sumLine[T number](x []T) T {
	if len(x) > pairwise {
		half := len(x) / 2 &^ 7
		return sumLine(x[:half]) + sumLine(x[half:])
	}
	var a, b, c, d, e, f, g, h T
	for len(x) >= 8 {
		v := x[:8:8]
		a += v[0]
		b += v[1]
		c += v[2]
		d += v[3]
		e += v[4]
		f += v[5]
		g += v[6]
		h += v[7]
		x = x[8:]
	}
	s := ((a + b) + (c + d)) + ((e + f) + (g + h))
	for _, v := range x {
		s += v
	}
	return s
}

func prodLine[T number](x []T) T {
	p := T(1)
	for _, v := range x {
		p *= v
	}
	return p
}

func maxLine[T number](x []T) T {
	m := x[0]
	for _, v := range x[1:] {
		if v > m {
			m = v
		} else if !(v <= m) || v == 0 { // NaN, or a zero, whose sign matters
			m = max(m, v)
		}
	}
	return m
}

func minLine[T number](x []T) T {
	m := x[0]
	for _, v := range x[1:] {
		if v < m {
			m = v
		} else if !(v >= m) || v == 0 {
			m = min(m, v)
		}
	}
	return m
}

func isFloat[T number]() bool {
	half := 0.5 // not a constant, so that the conversion truncates
	return T(half) != 0
}

// lowest returns minus infinity for floats and the least integer for integers.
func lowest[T number]() T {
	if isFloat[T]() {
		f := math.Inf(-1)
		return T(f)
	}
	var z T
	if z--; z > 0 {
		return 0 // unsigned
	}
	least := T(1)
	for range 8*unsafe.Sizeof(z) - 1 {
		least *= 2
	}
	return least
}

// highest returns infinity for floats and the greatest integer for integers.
func highest[T number]() T {
	if isFloat[T]() {
		f := math.Inf(1)
		return T(f)
	}
	var z T
	z--
	return z - lowest[T]()
}
