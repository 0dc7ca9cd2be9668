package vector_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/plugins/cpu/internal/kerneltest"
	"github.com/goburn/burn/plugins/cpu/internal/vector"
)

func TestAtEveryLevel(t *testing.T) { kerneltest.AtEveryLevel(t) }

func need(t *testing.T) {
	if !vector.Has() {
		t.Skip("the processor, or the level set by BURN_CPU, has no vector loops")
	}
}

// guard is memory for lines of at most 1024 elements between two pages that must not be accessed. Tests create it once, because
// pages are slow to map.
type guard struct{ all []float32 }

const most = 1024 // 4 KiB: a page

func newGuard(t *testing.T) guard {
	data, release := kerneltest.Guarded(t, 4*most, true)
	t.Cleanup(release)
	return guard{unsafe.Slice((*float32)(unsafe.Pointer(&data[0])), most)}
}

// first returns n elements directly after the first guarded page; last returns n elements directly before the second guarded page.
func (g guard) first(n int) []float32 { return g.all[:n:n] }
func (g guard) last(n int) []float32  { return g.all[most-n:] }

// line is an elementwise function of one operand, with its definition in float64 and its tolerance.
type line struct {
	name string
	run  func(d, x []float32)
	want func(x float64) float64
	rel  float64
}

var lines = []line{
	{"exp", vector.Exp, math.Exp, 1e-6},
	{"sigmoid", vector.Sigmoid, func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }, 1e-6},
	{"tanh", vector.Tanh, math.Tanh, 1e-6},
	{"silu", func(d, x []float32) { vector.Silu(d, x, 2) }, func(x float64) float64 { return x / (1 + math.Exp(-2*x)) }, 1e-6},
	{"exp sub", func(d, x []float32) { vector.ExpSub(d, x, 0.25) }, func(x float64) float64 { return math.Exp(x - 0.25) }, 1e-6},
	{"log", vector.Log.Apply, math.Log, 1e-6},
	{"log1p", vector.Log1p.Apply, math.Log1p, 1e-6},
	{"expm1", vector.Expm1.Apply, math.Expm1, 1e-6},
	{"erf", vector.Erf.Apply, math.Erf, 1e-6},
	{"sine", vector.Sine.Apply, math.Sin, 1e-6},
	{"elu", func(d, x []float32) { vector.Elu(d, x, 1, 1, 1) }, func(x float64) float64 {
		if x > 0 {
			return x
		}
		return math.Expm1(x)
	}, 1e-6},
	{"leaky", func(d, x []float32) { vector.Leaky(d, x, 0.5) }, func(x float64) float64 { return math.Max(x, x/2) }, 1e-6},
	{"gate", func(d, x []float32) { vector.Gate(d, x, 0.5, 0.25, true) }, func(x float64) float64 { return x * min(max(x/2+0.25, 0), 1) }, 1e-6},
	{"linear", func(d, x []float32) { vector.Linear(d, x, 2, 0.5) }, func(x float64) float64 { return 2*x + 0.5 }, 1e-6},
	{"standard", func(d, x []float32) { vector.Standard(d, x, 0.5, 4) }, func(x float64) float64 { return (x - 0.5) * 4 }, 1e-6},
	{"clamp", func(d, x []float32) { vector.Clamp(d, x, 0.25, 0.75) }, func(x float64) float64 { return min(max(x, 0.25), 0.75) }, 0},
	{"add to", func(d, x []float32) { vector.Add().To(d, x, 2) }, func(x float64) float64 { return x + 2 }, 1e-7},
	{"divide from", func(d, x []float32) { vector.Div().From(d, 2, x) }, func(x float64) float64 { return 2 / x }, 1e-7},
	{"add both", func(d, x []float32) { vector.Add().Both(d, x, x) }, func(x float64) float64 { return x + x }, 1e-7},
}

func near(got float32, want, rel float64) bool {
	return math.Abs(float64(got)-want) <= rel*math.Abs(want)+rel
}

// TestLinesAtEveryPlace computes lines that begin directly after a guarded page or end directly before one, into other such lines and in
// place. Their lengths are around the lengths of vectors, so that lines have all alignments.
func TestLinesAtEveryPlace(t *testing.T) {
	need(t)
	from, to := newGuard(t), newGuard(t)
	rng := rand.New(rand.NewPCG(1, 2))
	for _, l := range lines {
		for n := 1; n < 150; n += 1 + n/30 {
			for place := range 4 {
				x, d := from.first(n), to.first(n)
				if place&1 != 0 {
					x = from.last(n)
				}
				if place&2 != 0 {
					d = to.last(n)
				}
				for i := range x {
					x[i] = rng.Float32() + 1e-3
				}
				kept := append([]float32(nil), x...)
				l.run(d, x)
				require.Equal(t, kept, x, "%s of %d elements wrote its operand", l.name, n)
				l.run(x, x)
				for i, v := range kept {
					want := l.want(float64(v))
					if !near(d[i], want, l.rel) || d[i] != x[i] {
						t.Fatalf("%s of %d elements, place %d: element %d of %v is %v and in place %v, want %v", l.name, n, place, i, v, d[i], x[i], want)
					}
				}
			}
		}
	}
}

// TestReductionsAtEveryPlace does the same for sums and extremes of a line.
func TestReductionsAtEveryPlace(t *testing.T) {
	need(t)
	g := newGuard(t)
	rng := rand.New(rand.NewPCG(3, 4))
	for n := 1; n <= most; n += 1 + n/25 {
		for _, x := range [][]float32{g.first(n), g.last(n)} {
			sum, squares, greatest, least := 0.0, 0.0, math.Inf(-1), math.Inf(1)
			for i := range x {
				x[i] = rng.Float32() - 0.5
				v := float64(x[i])
				sum, squares = sum+v, squares+(v-0.25)*(v-0.25)
				greatest, least = max(greatest, v), min(least, v)
			}
			require.InDelta(t, sum, vector.Sum(x), 1e-5)
			require.InDelta(t, sum, vector.Total(x), 1e-9)
			require.InDelta(t, squares, vector.Squares(x, 0.25), 1e-9)
			require.Equal(t, float32(greatest), vector.Greatest(x))
			require.Equal(t, float32(least), vector.Least(x))
			at := 0
			for x[at] < float32(greatest) {
				at++
			}
			require.Equal(t, at, vector.AtLeast.Find(x, float32(greatest)))
		}
	}
}

// TestRowsAtEveryPlace sums rows and columns of matrices that begin or end at a guarded page.
func TestRowsAtEveryPlace(t *testing.T) {
	need(t)
	from, to := newGuard(t), newGuard(t)
	rng := rand.New(rand.NewPCG(5, 6))
	for _, rows := range []int{1, 3, vector.Stacked, 17} {
		for cols := 1; rows*cols <= most && cols < 70; cols++ {
			for place := range 2 {
				x, byRow, byColumn := from.first(rows*cols), to.first(rows), to.last(cols)
				if place == 1 {
					x, byRow, byColumn = from.last(rows*cols), to.last(rows), to.first(cols)
				}
				for i := range x {
					x[i] = rng.Float32() - 0.5
				}
				var sums, columns [most]float64
				for i, v := range x {
					sums[i/cols] += float64(v)
					columns[i%cols] += float64(v)
				}
				vector.Sums.OfRows(byRow, x, cols, cols)
				vector.Sums.OfColumns(byColumn, x, rows, cols)
				for i, v := range byRow {
					require.InDelta(t, sums[i], v, 1e-5, "row %d of %dx%d", i, rows, cols)
				}
				for i, v := range byColumn {
					require.InDelta(t, columns[i], v, 1e-5, "column %d of %dx%d", i, rows, cols)
				}
			}
		}
	}
}

// TestMovesAtEveryPlace copies and transposes between matrices that begin or end at a guarded page, with ordinary and with non-temporal
// stores.
func TestMovesAtEveryPlace(t *testing.T) {
	need(t)
	from, to := newGuard(t), newGuard(t)
	rng := rand.New(rand.NewPCG(7, 8))
	for _, rows := range []int{1, 2, 4, 7, 16, 19} {
		for cols := 1; rows*cols <= most && cols < 50; cols++ {
			for place := range 4 {
				n := rows * cols
				src, dst := from.first(n), to.first(n)
				if place&1 != 0 {
					src = from.last(n)
				}
				if place&2 != 0 {
					dst = to.last(n)
				}
				for i := range src {
					src[i] = rng.Float32()
				}
				r := vector.Rows{Count: rows, Cols: cols, DstStep: cols, SrcStep: cols}
				for name, move := range map[string]func(){"copy": func() { vector.Copy(r, dst, src) }, "copy, non-temporal": func() { vector.CopyNonTemporal(r, dst, src) },
					"transpose":               func() { vector.Transpose(rows, cols, dst, rows, src, cols) },
					"transpose, non-temporal": func() { vector.TransposeNonTemporal(rows, cols, dst, rows, src, cols) }} {
					clear(dst)
					move()
					vector.Fence()
					for i, v := range src {
						at := i
						if name[0] == 't' {
							at = i%cols*rows + i/cols
						}
						if dst[at] != v {
							t.Fatalf("%s of %dx%d, place %d: element %d is %v, want %v", name, rows, cols, place, at, dst[at], v)
						}
					}
				}
			}
		}
	}
}

// TestStreamAhead checks that StreamAhead writes only its destination, and that the memory it prefetches need not be mapped.
func TestStreamAhead(t *testing.T) {
	need(t)
	from, to := newGuard(t), newGuard(t)
	streamed := 0
	for n := 1; n <= most; n += 1 + n/20 {
		for _, place := range []func(g guard, n int) []float32{guard.first, guard.last} {
			x, d := place(from, n), place(to, n)
			for i := range x {
				x[i], d[i] = float32(i), -1
			}
			dst, src := unsafe.Slice((*byte)(unsafe.Pointer(&d[0])), 4*n), unsafe.Slice((*byte)(unsafe.Pointer(&x[0])), 4*n)
			if !vector.CanStream(dst) {
				continue
			}
			streamed++
			nowhere := unsafe.Pointer(&x[n-1]) // most of the memory after it must not be accessed
			vector.StreamAhead(dst, src, nowhere, unsafe.Pointer(&d[0]))
			vector.Fence()
			require.Equal(t, x, d, fmt.Sprint(n))
		}
	}
	require.Positive(t, streamed, "a page is aligned to a vector")
	require.False(t, vector.CanStream(nil))
	aligned := to.first(64)
	whole := unsafe.Slice((*byte)(unsafe.Pointer(&aligned[0])), 256)
	require.True(t, vector.CanStream(whole))
	require.False(t, vector.CanStream(whole[4:]), "not aligned")
	require.False(t, vector.CanStream(whole[:252]), "not whole vectors")
}

// Ahead counts the elements before the first aligned one.
func TestAhead(t *testing.T) {
	need(t)
	g := newGuard(t).first(200)
	require.Zero(t, vector.Ahead(nil))
	require.Zero(t, vector.Ahead(g), "a page is aligned")
	lanes := 1
	for vector.Ahead(g[lanes:]) != 0 {
		lanes++
	}
	require.Contains(t, []int{4, 8, 16}, lanes)
	for i := range 100 {
		n := vector.Ahead(g[i:])
		require.Less(t, n, lanes)
		require.Zero(t, (i+n)%lanes, "from element %d", i)
	}
}
