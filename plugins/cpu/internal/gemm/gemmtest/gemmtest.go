// Package gemmtest contains helpers of the tests of matrix products: the reference that results are compared with, random operands, and
// memory layouts of operands. Only tests import it. It imports none of the packages that it tests, so that their internal tests can import
// it.
package gemmtest

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Number lists the element types of matrices.
type Number interface {
	float32 | float64 | int64 | int32 | int16 | int8 | uint64 | uint32 | uint16 | uint8
}

// View is a matrix: element (i, j) is Data[i*Row+j*Col].
type View[T Number] struct {
	Data     []T
	Row, Col int
}

// Product is C = A·B, or C += A·B, of sizes M x K and K x N, with an epilogue.
type Product[T Number] struct {
	M, N, K          int
	A, B             View[T]
	C                []T
	LDC              int
	Accumulate       bool
	BiasRow, BiasCol []T // nil for none
	HasClamp         bool
	Lo, Hi           T
}

// Want returns C computed by three loops. Sums are in float64 or, for integers, in T, where they wrap around. It does not change p.C.
func (p *Product[T]) Want() []T {
	c := append([]T(nil), p.C...)
	for i := range p.M {
		for j := range p.N {
			var exact float64
			var wrapped T
			for k := range p.K {
				x, y := p.A.Data[i*p.A.Row+k*p.A.Col], p.B.Data[k*p.B.Row+j*p.B.Col]
				exact += float64(x) * float64(y)
				wrapped += x * y
			}
			v := wrapped
			if IsFloat[T]() {
				v = T(exact)
			}
			if p.Accumulate {
				v += c[i*p.LDC+j]
			}
			c[i*p.LDC+j] = p.finish(v, i, j)
		}
	}
	return c
}

// finish applies the epilogue to element (i, j).
func (p *Product[T]) finish(v T, i, j int) T {
	if p.BiasRow != nil {
		v += p.BiasRow[i]
	}
	if p.BiasCol != nil {
		v += p.BiasCol[j]
	}
	if p.HasClamp && v < p.Lo {
		v = p.Lo
	}
	if p.HasClamp && v > p.Hi {
		v = p.Hi
	}
	return v
}

// IsFloat reports whether T is a floating point type.
func IsFloat[T Number]() bool { return T(1)/2*2 == 1 && T(1)/2 != 0 }

// Random returns n numbers: floats between -1 and 1, integers of any value.
func Random[T Number](rng *rand.Rand, n int) []T {
	s := make([]T, n)
	for i := range s {
		if IsFloat[T]() {
			s[i] = T(rng.Float64()*2 - 1)
		} else {
			s[i] = T(rng.Uint64())
		}
	}
	return s
}

// Equal fails the test unless got equals want: floats within the rounding errors of sums of k products, integers exactly.
func Equal[T Number](t testing.TB, want, got []T, k int, name string) {
	t.Helper()
	tolerance := 1e-6 * float64(k+8)
	if _, double := any(want).([]float64); double {
		tolerance = 1e-14 * float64(k+8)
	}
	for i := range want {
		if want[i] == got[i] || want[i] != want[i] && got[i] != got[i] {
			continue
		}
		if !IsFloat[T]() || !(math.Abs(float64(want[i])-float64(got[i])) <= tolerance*max(1, math.Abs(float64(want[i])))) {
			t.Fatalf("%s: element %d, got %v, want %v", name, i, got[i], want[i])
		}
	}
}

// Layout determines the strides of a matrix of a given size.
type Layout struct {
	Name     string
	row, col func(rows, cols int) int
}

func one(int, int) int  { return 1 }
func none(int, int) int { return 0 }

// Layouts are contiguous rows, contiguous columns, gaps everywhere, and three
// that repeat elements.
var Layouts = []Layout{
	{"rows", func(_, cols int) int { return cols }, one},
	{"transposed", one, func(rows, _ int) int { return rows }},
	{"apart", func(_, cols int) int { return 3*cols + 1 }, func(_, _ int) int { return 3 }},
	{"one row", none, one},
	{"one column", one, none},
	{"scalar", none, none},
}

// Strides returns the strides of a matrix in layout l, and the number of elements that it needs in memory.
func (l Layout) Strides(rows, cols int) (row, col, size int) {
	row, col = l.row(rows, cols), l.col(rows, cols)
	return row, col, max(0, rows-1)*row + max(0, cols-1)*col + 1
}

// Rate reports the speed of a benchmark whose iterations take flops operations each.
func Rate(b *testing.B, flops int) {
	b.ReportMetric(float64(b.N)*float64(flops)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}
