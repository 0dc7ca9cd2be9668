package cpu

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/op"
)

// TestRepeatedOperands subtracts, because the order of operands matters there, with one operand broadcast along every set of axes.
func TestRepeatedOperands(t *testing.T) {
	for _, c := range []struct{ s, v [3]int }{
		{[3]int{3, 5, 40}, [3]int{1, 1, 40}}, {[3]int{3, 5, 40}, [3]int{1, 5, 40}}, {[3]int{3, 5, 40}, [3]int{1, 5, 1}},
		{[3]int{3, 5, 40}, [3]int{3, 5, 1}}, {[3]int{3, 5, 40}, [3]int{3, 1, 40}}, {[3]int{3, 5, 40}, [3]int{3, 1, 1}},
		{[3]int{1, 70, 3}, [3]int{1, 1, 3}}, {[3]int{2, 70, 3}, [3]int{2, 70, 1}}, {[3]int{40, 50, 64}, [3]int{40, 50, 1}},
		{[3]int{40, 50, 64}, [3]int{1, 1, 64}}, {[3]int{40, 50, 64}, [3]int{1, 50, 1}}, {[3]int{3, 5, 40}, [3]int{1, 1, 1}},
		{[3]int{1, 2100, 2101}, [3]int{1, 1, 2101}}, {[3]int{1, 2101, 2100}, [3]int{1, 2101, 1}}, // non-temporal stores
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			bed := newBed(t)
			size := func(d [3]int) int { return d[0] * d[1] * d[2] }
			a, b := random(1, size(c.s)), random(2, size(c.v))
			x, y := put(bed, a, c.s[:]...), put(bed, b, c.v[:]...)
			left, right := get[float32](bed, bed.do(op.Sub, list(x, y))[0]), get[float32](bed, bed.do(op.Sub, list(y, x))[0])
			i := 0
			for p := range c.s[0] {
				for q := range c.s[1] {
					for r := range c.s[2] {
						v := b[(p%c.v[0]*c.v[1]+q%c.v[1])*c.v[2]+r%c.v[2]]
						if left[i] != a[i]-v || right[i] != v-a[i] {
							t.Fatalf("element %d: %g and %g, got %g and %g", i, a[i], v, left[i], right[i])
						}
						i++
					}
				}
			}
		})
	}
}

// TestGatherColumns takes elements along the last axis.
func TestGatherColumns(t *testing.T) {
	bed := newBed(t)
	const rows, length, count = 37, 19, 23
	a, idx := random(1, rows*length), make([]int64, count)
	for i := range idx {
		idx[i] = int64(i * 7 % length)
	}
	got := get[float32](bed, bed.do(op.Gather, list(put(bed, a, rows, length), put(bed, idx, count)), op.Int("axis", 1))[0])
	for r := range rows {
		for k, i := range idx {
			require.Equal(t, a[r*length+int(i)], got[r*count+k])
		}
	}
}

// TestRunningSums covers contiguous lines, strided lines, and numbers of lines that leave a remainder of a vector.
func TestRunningSums(t *testing.T) {
	for _, c := range []struct{ outer, length, inner int }{{1, 50, 1}, {7, 33, 1}, {40, 9, 1}, {3, 20, 37}, {2, 5, 16}} {
		bed := newBed(t)
		a := random(1, c.outer*c.length*c.inner)
		got := get[float32](bed, bed.do(op.CumSum, list(put(bed, a, c.outer, c.length, c.inner)), op.Int("axis", 1))[0])
		for o := range c.outer {
			for i := range c.inner {
				sum := 0.0
				for k := range c.length {
					at := (o*c.length+k)*c.inner + i
					sum += float64(a[at])
					require.Equal(t, float32(sum), got[at])
				}
			}
		}
	}
}

// TestArgOfShortLines has NaN, equal elements, and lengths below, at and above the length of a vector.
func TestArgOfShortLines(t *testing.T) {
	for _, n := range []int{1, 5, 16, 31, 33, 200} {
		bed := newBed(t)
		const rows = 90
		a := random(1, rows*n)
		for i := range a {
			if a[i] = float32(math.Round(float64(a[i] * 4))); i%157 == 5 {
				a[i] = float32(math.NaN())
			}
		}
		x := put(bed, a, rows, n)
		most, least := get[int64](bed, bed.do(op.ArgMax, list(x), op.Int("axis", 1))[0]), get[int64](bed, bed.do(op.ArgMin, list(x), op.Int("axis", 1))[0])
		for r := range rows {
			hi, lo := 0, 0
			for i, v := range a[r*n:][:n] {
				if best := a[r*n+hi]; best == best && (v > best || v != v) {
					hi = i
				}
				if best := a[r*n+lo]; best == best && (v < best || v != v) {
					lo = i
				}
			}
			require.EqualValues(t, hi, most[r], "greatest of row %d of %d", r, n)
			require.EqualValues(t, lo, least[r], "least of row %d of %d", r, n)
		}
	}
}

// TestLargeNorms compares results that are written with non-temporal stores with the results of the same lines in smaller tensors.
func TestLargeNorms(t *testing.T) {
	const rows, length = 2049, 2060
	bed := newBed(t)
	a := random(1, rows*length)
	scale := put(bed, random(2, length), length)
	for _, c := range []struct {
		code  op.Code
		more  []op.Desc
		attrs []op.Attr
	}{
		{op.Softmax, nil, []op.Attr{op.Int("axis", 1)}}, {op.LogSoftmax, nil, []op.Attr{op.Int("axis", 1)}},
		{op.LayerNorm, list(scale, scale), []op.Attr{op.Int("axis", 1), op.Float("epsilon", 1e-5)}},
		{op.RMSNorm, list(scale), []op.Attr{op.Int("axis", 1), op.Float("epsilon", 1e-5)}},
	} {
		large := get[float32](bed, bed.do(c.code, append(list(put(bed, a, rows, length)), c.more...), c.attrs...)[0])
		for _, from := range []int{0, 1000, rows - 100} {
			part := put(bed, a[from*length:][:100*length], 100, length)
			want := get[float32](bed, bed.do(c.code, append(list(part), c.more...), c.attrs...)[0])
			require.Equal(t, want, large[from*length:][:100*length])
		}
	}
}

// TestLargeTranspose covers results that are written with non-temporal stores, with rows that are a multiple of a vector and others.
func TestLargeTranspose(t *testing.T) {
	for _, d := range [][2]int{{2064, 2128}, {2063, 2130}, {2130, 2064}} {
		bed := newBed(t)
		a := random(1, d[0]*d[1])
		turned := bed.do(op.Permute, list(put(bed, a, d[0], d[1])), op.Ints("axes", 1, 0))[0]
		got := get[float32](bed, bed.do(op.Copy, list(turned))[0])
		for i := range d[0] {
			for j := range d[1] {
				if got[j*d[0]+i] != a[i*d[1]+j] {
					t.Fatalf("%v: element %d of row %d, got %g, want %g", d, i, j, got[j*d[0]+i], a[i*d[1]+j])
				}
			}
		}
	}
}

// TestLargeHeads exchanges the middle dimensions of large tensors, with rows that are a multiple of a vector and others.
func TestLargeHeads(t *testing.T) {
	for _, n := range []int{32, 33} {
		bed := newBed(t)
		const a, b, c = 3, 200, 220
		x := random(1, a*b*c*n)
		turned := bed.do(op.Permute, list(put(bed, x, a, b, c, n)), op.Ints("axes", 0, 2, 1, 3))[0]
		got := get[float32](bed, bed.do(op.Copy, list(turned))[0])
		for i := range got {
			l, j, k, h := i%n, i/n%b, i/n/b%c, i/n/b/c
			if want := x[((h*b+j)*c+k)*n+l]; got[i] != want {
				t.Fatalf("rows of %d: element %d, got %g, want %g", n, i, got[i], want)
			}
		}
	}
}
