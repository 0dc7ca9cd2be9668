package window

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
	"github.com/goburn/burn/plugins/cpu/internal/par"
)

type spec struct {
	name  string
	shape []int
	p     Params
}

var specs = []spec{
	{"rank 0", []int{}, Params{Size: []int{}}},
	{"copy", []int{2, 3}, Params{Size: []int{1, 1}}},
	{"1d", []int{2, 3, 10}, Params{Size: []int{1, 1, 3}, Stride: []int{1, 1, 2}}},
	{"1d pads", []int{7}, Params{Size: []int{3}, PadLo: []int{2}, PadHi: []int{4}, Dilation: []int{2}}},
	{"2d", []int{2, 3, 9, 8}, Params{Size: []int{1, 1, 3, 3}, Stride: []int{1, 1, 2, 2}, PadLo: []int{0, 0, 1, 1}, PadHi: []int{0, 0, 1, 1}}},
	{"2d dilated", []int{1, 2, 9, 11}, Params{Size: []int{1, 1, 2, 3}, PadLo: []int{0, 0, 3, 5}, Dilation: []int{1, 1, 3, 2}}},
	{"2d negative pads", []int{2, 9, 11}, Params{Size: []int{1, 2, 3}, PadLo: []int{0, -2, -1}, PadHi: []int{0, 1, -3}}},
	{"2d beyond", []int{2, 2, 3}, Params{Size: []int{1, 1, 1}, PadLo: []int{0, -5, 3}, PadHi: []int{0, 6, 2}}},
	{"2d whole", []int{2, 5, 6}, Params{Size: []int{1, 5, 6}}},
	{"rows only", []int{2, 3, 6, 5}, Params{Size: []int{1, 1, 2, 1}, Stride: []int{1, 1, 2, 1}}},
	{"columns only", []int{2, 3, 6, 5}, Params{Size: []int{1, 1, 1, 2}}},
	{"stride alone", []int{2, 6, 5}, Params{Size: []int{1, 1, 1}, Stride: []int{1, 2, 3}}},
	{"channels", []int{2, 5, 3, 2}, Params{Size: []int{1, 3, 1, 1}, PadLo: []int{0, 1, 0, 0}, PadHi: []int{0, 1, 0, 0}}},
	{"3d", []int{2, 4, 5, 6}, Params{Size: []int{1, 2, 3, 2}, Stride: []int{1, 1, 2, 3}, PadLo: []int{0, 1, 1, 0}}},
	{"8d", []int{1, 2, 1, 2, 3, 2, 1, 3}, Params{Size: []int{1, 2, 1, 2, 2, 1, 1, 2}}},
	{"9d", []int{2, 2, 1, 2, 3, 2, 1, 3, 2}, Params{Size: []int{2, 2, 1, 2, 2, 1, 1, 2, 1}}},
	{"no planes", []int{0, 3, 4}, Params{Size: []int{1, 2, 2}}},
	{"nothing but padding", []int{2, 0, 3}, Params{Size: []int{1, 2, 2}, PadLo: []int{0, 3, 0}}},
	{"wide 2/1", []int{2, 11, 83}, Params{Size: []int{1, 2, 2}}},
	{"wide 3/1 pads", []int{3, 19, 45}, Params{Size: []int{1, 3, 3}, PadLo: []int{0, 1, 1}, PadHi: []int{0, 1, 1}}},
	{"wide 5/1 pads", []int{2, 9, 40}, Params{Size: []int{1, 5, 5}, PadLo: []int{0, 2, 2}, PadHi: []int{0, 2, 2}}},
	{"wide 2/2", []int{2, 24, 66}, Params{Size: []int{1, 2, 2}, Stride: []int{1, 2, 2}}},
	{"wide 3/2", []int{2, 55, 111}, Params{Size: []int{1, 3, 3}, Stride: []int{1, 2, 2}}},
	{"wide 3/2 pads", []int{2, 14, 70}, Params{Size: []int{1, 3, 3}, Stride: []int{1, 2, 2}, PadLo: []int{0, 1, 1}, PadHi: []int{0, 2, 2}}},
	{"wide 3/2 as wide as with its padding", []int{2, 11, 71}, Params{Size: []int{1, 3, 3}, Stride: []int{1, 2, 2}, PadLo: []int{0, 1, 1}}},
	{"wide 3/3", []int{2, 24, 98}, Params{Size: []int{1, 3, 3}, Stride: []int{1, 3, 3}}},
	{"wide 3/3 beyond", []int{2, 5, 50}, Params{Size: []int{1, 2, 3}, Stride: []int{1, 1, 3}, PadLo: []int{0, 4, 0}, PadHi: []int{0, 4, 1}, Dilation: []int{1, 2, 1}}},
	{"wide negative pads", []int{2, 9, 90}, Params{Size: []int{1, 2, 3}, Stride: []int{1, 1, 2}, PadLo: []int{0, -2, -1}, PadHi: []int{0, 1, -3}}},
	{"too large", []int{2, 3, 3}, Params{Size: []int{1, 4, 2}}},
}

func or(s []int, i, def int) int {
	if s == nil {
		return def
	}
	return s[i]
}

// naive computes sums and maxima element by element. A place is the index of a
// maximum within the axes from first on, or -1 if the window has only padding.
func naive[T micro.Number](x []T, s spec, first int) (sums, maxima []T, places []int64, shape []int) {
	shape = []int{}
	for i, n := range s.shape {
		length := n + or(s.p.PadLo, i, 0) + or(s.p.PadHi, i, 0)
		outs := 0
		for at := 0; at+(s.p.Size[i]-1)*or(s.p.Dilation, i, 1) < length; at += or(s.p.Stride, i, 1) {
			outs++
		}
		shape = append(shape, outs)
	}
	for o := range count(shape) {
		at := index(o, shape)
		var sum T
		best, place := Lowest[T](), int64(-1)
		for k := range count(s.p.Size) {
			tap := index(k, s.p.Size)
			flat, inside := 0, true
			for i, n := range s.shape {
				v := at[i]*or(s.p.Stride, i, 1) + tap[i]*or(s.p.Dilation, i, 1) - or(s.p.PadLo, i, 0)
				inside = inside && v >= 0 && v < n
				flat = flat*n + v
			}
			if !inside {
				continue
			}
			v := x[flat]
			sum += v
			nan, bestNaN := v != v, best != best
			if place < 0 || !bestNaN && (nan || v > best) {
				best, place = v, int64(flat%count(s.shape[first:]))
			}
		}
		sums, maxima, places = append(sums, sum), append(maxima, best), append(places, place)
	}
	return sums, maxima, places, shape
}

func count(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

func index(i int, shape []int) []int {
	at := make([]int, len(shape))
	for d := len(shape) - 1; d >= 0; d-- {
		at[d] = i % shape[d]
		i /= shape[d]
	}
	return at
}

// values are small integers, with many ties, and for floats a NaN or an
// infinity here and there.
func values[T micro.Number](rng *rand.Rand, n int, odd bool) []T {
	s := make([]T, n)
	for i := range s {
		s[i] = T(rng.IntN(7)) - 3
		if odd && T(1)/2 != 0 && rng.IntN(9) == 0 {
			switch v := any(&s[i]).(type) {
			case *float32:
				*v = [3]float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))}[rng.IntN(3)]
			case *float64:
				*v = [3]float64{math.NaN(), math.Inf(1), math.Inf(-1)}[rng.IntN(3)]
			}
		}
	}
	return s
}

func same[T micro.Number](t *testing.T, what string, want, got []T) {
	t.Helper()
	require.Len(t, got, len(want))
	for i := range want {
		if want[i] != got[i] && (want[i] == want[i] || got[i] == got[i]) {
			t.Fatalf("%s of %T: element %d, got %v, want %v", what, got[i], i, got[i], want[i])
		}
	}
}

func check[T micro.Number](t *testing.T, pool *par.Pool, s spec) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	for _, odd := range []bool{false, true} {
		x := values[T](rng, count(s.shape), odd)
		plan, err := New(s.shape, s.p)
		require.NoError(t, err)
		for _, first := range []int{plan.outer, plan.outer / 2, 0} {
			sums, maxima, places, shape := naive(x, s, first)
			require.Equal(t, shape, plan.OutShape())
			out, at := values[T](rng, len(sums), false), make([]int64, len(sums))
			Sum(pool, plan, x, out)
			same(t, "sum", sums, out)
			MaxFrom(pool, plan, first, x, out, at)
			same(t, "max", maxima, out)
			same(t, "place", places, at)
			out = values[T](rng, len(sums), false)
			Max(pool, plan, x, out, nil)
			same(t, "max without place", maxima, out)
		}
	}
}

func TestAgainstNaive(t *testing.T) {
	for _, threads := range []int{1, 3} {
		pool := par.New(threads)
		for _, s := range specs {
			t.Run(fmt.Sprintf("%s/threads=%d", s.name, threads), func(t *testing.T) {
				check[float32](t, pool, s)
				check[float64](t, pool, s)
				check[int64](t, pool, s)
				check[int32](t, pool, s)
				check[int16](t, pool, s)
				check[int8](t, pool, s)
				check[uint64](t, pool, s)
				check[uint32](t, pool, s)
				check[uint16](t, pool, s)
				check[uint8](t, pool, s)
			})
		}
		pool.Close()
	}
}

func TestRandomShapes(t *testing.T) {
	pool := par.New(2)
	defer pool.Close()
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range 300 {
		var s spec
		for d := range 1 + rng.IntN(4) {
			s.shape = append(s.shape, rng.IntN(8))
			if d == 0 && rng.IntN(2) == 0 {
				s.p.Size, s.p.Stride = append(s.p.Size, 1), append(s.p.Stride, 1)
				s.p.PadLo, s.p.PadHi = append(s.p.PadLo, 0), append(s.p.PadHi, 0)
				s.p.Dilation = append(s.p.Dilation, 1)
				continue
			}
			s.p.Size = append(s.p.Size, 1+rng.IntN(3))
			s.p.Stride = append(s.p.Stride, 1+rng.IntN(3))
			s.p.PadLo = append(s.p.PadLo, rng.IntN(7)-3)
			s.p.PadHi = append(s.p.PadHi, rng.IntN(7)-3)
			s.p.Dilation = append(s.p.Dilation, 1+rng.IntN(3))
		}
		t.Run(fmt.Sprintf("%d %v %+v", i, s.shape, s.p), func(t *testing.T) { check[float32](t, pool, s) })
	}
}

// TestByHand pins a few results that were worked out on paper.
func TestByHand(t *testing.T) {
	pool := par.New(1)
	plan, err := New([]int{1, 1, 3, 3}, Params{Size: []int{1, 1, 2, 2}, PadHi: []int{0, 0, 1, 1}, Stride: []int{1, 1, 2, 2}})
	require.NoError(t, err)
	require.Equal(t, []int{1, 1, 2, 2}, plan.OutShape())
	x := []float32{1, 2, 3, 4, 5, 5, 7, 8, -9}
	out, at := make([]float32, 4), make([]int64, 4)
	Sum(pool, plan, x, out)
	require.Equal(t, []float32{12, 8, 15, -9}, out)
	Max(pool, plan, x, out, at)
	require.Equal(t, []float32{5, 5, 8, -9}, out)
	require.Equal(t, []int64{4, 5, 7, 8}, at)

	plan, err = New([]int{2}, Params{Size: []int{1}, PadLo: []int{1}})
	require.NoError(t, err)
	small, at := make([]int8, 3), make([]int64, 3)
	Max(pool, plan, []int8{-128, -128}, small, at)
	require.Equal(t, []int8{-128, -128, -128}, small)
	require.Equal(t, []int64{-1, 0, 1}, at)
}

func TestErrors(t *testing.T) {
	cases := []struct {
		shape []int
		p     Params
		want  string
	}{
		{[]int{3}, Params{}, "window: size, got 0 values, want 1"},
		{[]int{3}, Params{Size: []int{0}}, "window: size of axis 0, got 0, want 1"},
		{[]int{-3}, Params{Size: []int{1}}, "window: shape, got [-3], want no negative size"},
		{[]int{3}, Params{Size: []int{1}, Stride: []int{-1}}, "window: stride of axis 0, got -1"},
		{[]int{3}, Params{Size: []int{1}, Dilation: []int{1, 1}}, "window: dilation, got 2 values, want 1"},
	}
	for _, c := range cases {
		_, err := OutShape(c.shape, c.p)
		require.ErrorContains(t, err, c.want)
	}
	plan, err := New([]int{2, 4}, Params{Size: []int{1, 2}})
	require.NoError(t, err)
	require.Panics(t, func() { MaxFrom(par.New(1), plan, 2, make([]float32, 8), make([]float32, 6), nil) })
}

func BenchmarkPool(b *testing.B) {
	shape := []int{1, 64, 112, 112}
	p := Params{Size: []int{1, 1, 3, 3}, Stride: []int{1, 1, 2, 2}, PadLo: []int{0, 0, 1, 1}, PadHi: []int{0, 0, 1, 1}}
	plan, err := New(shape, p)
	require.NoError(b, err)
	x, out := values[float32](rand.New(rand.NewPCG(5, 6)), count(shape), false), make([]float32, count(plan.OutShape()))
	at := make([]int64, len(out))
	for _, threads := range []int{1, 2} {
		pool := par.New(threads)
		for name, run := range map[string]func(){
			"sum":       func() { Sum(pool, plan, x, out) },
			"max":       func() { Max(pool, plan, x, out, nil) },
			"max place": func() { Max(pool, plan, x, out, at) },
		} {
			b.Run(fmt.Sprintf("%s/threads=%d", name, threads), func(b *testing.B) {
				for b.Loop() {
					run()
				}
				b.ReportMetric(9*float64(len(out))*float64(b.N)/b.Elapsed().Seconds()/1e9, "Gelem/s")
			})
		}
		pool.Close()
	}
}
