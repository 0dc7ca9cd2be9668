package conv

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
	"github.com/goburn/burn/plugins/cpu/internal/par"
)

// TestHolesAreZeros multiplies the zeros between dilated input elements by an infinite weight: the products are NaN.
func TestHolesAreZeros(t *testing.T) {
	pool := par.New(1)
	defer pool.Close()
	x := []float32{1, 2, 3, 4, 5, 6} // two channels
	w := make([]float32, 5*2*2)
	w[0] = float32(math.Inf(1)) // the first tap of the first output and the first channel
	p, err := New([]int{1, 2, 3}, []int{5, 2, 2}, Params{InputDilation: []int{2}})
	require.NoError(t, err)
	require.Len(t, p.phases, 2)
	out := make([]float32, 5*4)
	require.NoError(t, RunPlan(pool, p, x, w, out, nil))
	for i, v := range out[:4] {
		if i%2 == 0 {
			require.Equal(t, float32(math.Inf(1)), v, "place %d", i)
		} else {
			require.True(t, v != v, "place %d, got %v", i, v)
		}
	}
	require.Equal(t, make([]float32, 16), out[4:])
}

// together lists convolutions with input dilation whose phases are computed together.
var together = []spec{
	{"2x2", []int{1, 5, 7, 9}, []int{6, 5, 2, 2}, Params{InputDilation: []int{2, 2}, PadLo: []int{1, 1}, PadHi: []int{1, 1}}},
	{"4x4, wide", []int{1, 3, 9, 33}, []int{4, 3, 4, 4}, Params{InputDilation: []int{2, 2}, PadLo: []int{3, 3}, PadHi: []int{3, 3}}},
	{"4x4, shifted", []int{2, 3, 8, 11}, []int{5, 3, 4, 4}, Params{InputDilation: []int{2, 2}, PadLo: []int{2, 2}, PadHi: []int{2, 2}}},
	{"3x3, odd output", []int{1, 4, 11, 12}, []int{7, 4, 3, 3}, Params{InputDilation: []int{2, 2}, PadLo: []int{1, 1}, PadHi: []int{1, 1}}},
	{"many outputs", []int{1, 6, 7, 8}, []int{131, 6, 3, 2}, Params{InputDilation: []int{2, 2}, PadLo: []int{1, 1}, PadHi: []int{2, 1}}},
	{"a batch, groups", []int{9, 6, 6, 7}, []int{12, 2, 3, 3}, Params{InputDilation: []int{2, 2}, PadLo: []int{1, 1}, PadHi: []int{1, 2}, Groups: 3}},
	{"one axis", []int{1, 3, 8, 19}, []int{4, 3, 2, 4}, Params{InputDilation: []int{1, 2}, PadLo: []int{1, 2}, PadHi: []int{0, 1}}},
	{"the other axis", []int{1, 3, 8, 19}, []int{4, 3, 3, 2}, Params{InputDilation: []int{2, 1}, PadLo: []int{1, 1}, PadHi: []int{1, 0}}},
	{"thirds", []int{1, 3, 8, 13}, []int{4, 3, 5, 4}, Params{InputDilation: []int{2, 3}, PadLo: []int{4, 3}, PadHi: []int{1, 2}}},
	{"quarters", []int{1, 3, 5, 45}, []int{4, 3, 3, 8}, Params{InputDilation: []int{2, 4}, PadLo: []int{1, 5}, PadHi: []int{1, 4}}},
	{"eighths", []int{2, 3, 70}, []int{5, 3, 16}, Params{InputDilation: []int{8}, PadLo: []int{11}, PadHi: []int{9}}},
	{"eighths, few", []int{1, 3, 9, 1}, []int{5, 3, 1, 5}, Params{InputDilation: []int{1, 8}, PadLo: []int{0, 3}, PadHi: []int{0, 8}}},
	{"without taps", []int{1, 3, 8, 13}, []int{4, 3, 1, 2}, Params{InputDilation: []int{2, 3}, PadHi: []int{1, 2}}},
	{"cut", []int{1, 3, 12, 17}, []int{4, 3, 4, 4}, Params{InputDilation: []int{2, 2}, PadLo: []int{-2, 1}, PadHi: []int{1, -4}}},
	{"line", []int{2, 3, 150}, []int{5, 3, 8}, Params{InputDilation: []int{2}, PadLo: []int{4}, PadHi: []int{3}}},
	{"volume", []int{1, 2, 9, 8, 10}, []int{3, 2, 2, 4, 4}, Params{InputDilation: []int{1, 2, 2}, PadLo: []int{0, 2, 2}, PadHi: []int{0, 2, 1}}},
	{"volume of strides", []int{1, 2, 5, 8, 10}, []int{3, 2, 2, 3, 2}, Params{InputDilation: []int{2, 2, 2}, PadLo: []int{1, 1, 1}, PadHi: []int{1, 1, 1}}},
	{"one column", []int{1, 3, 30, 1}, []int{4, 3, 3, 1}, Params{InputDilation: []int{2, 2}, PadLo: []int{1, 0}, PadHi: []int{1, 0}}},
	{"deep, cut among threads", []int{1, 390, 2, 40}, []int{3, 390, 2, 2}, Params{InputDilation: []int{2, 2}, PadLo: []int{1, 1}, PadHi: []int{1, 1}}},
}

func TestPhasesTogether(t *testing.T) {
	for _, threads := range []int{1, 3} {
		pool := par.New(threads)
		for _, s := range together {
			t.Run(fmt.Sprintf("%s/threads=%d", s.name, threads), func(t *testing.T) {
				checkTogether[float32](t, pool, s)
				if threads == 1 {
					checkTogether[float64](t, pool, s)
					checkTogether[int32](t, pool, s)
				}
			})
		}
		pool.Close()
	}
}

// jointPlan returns a plan that computes phases together, whether or not New would choose it.
func jointPlan(t *testing.T, s spec) *Plan {
	p, err := New(s.x, s.w, s.p)
	require.NoError(t, err)
	p.joint = newJointLayout(p)
	require.NotNil(t, p.joint)
	return p
}

func checkTogether[T micro.Number](t *testing.T, pool *par.Pool, s spec) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	p, x, w := jointPlan(t, s), random[T](rng, count(s.x)), random[T](rng, count(s.w))
	for _, e := range []*micro.Epilogue[T]{nil, {BiasRow: random[T](rng, s.w[0]), HasClamp: true, Lo: 0, Hi: 100}} {
		want, _ := naive(x, s.x, w, s.w, s.p, e)
		ready := PackWeights(pool, p, w)
		for range 2 { // the second run reuses the workspace of the first
			out := random[T](rng, len(want))
			require.NoError(t, RunPacked(pool, p, x, ready, out, e))
			near(t, want, out)
		}
		checkSum(t, pool, p, x, w, e, s)
	}
}

func TestPhasesWorthIt(t *testing.T) {
	for _, c := range []struct {
		size, kernel, pad int
		want              bool
	}{{28, 4, 3, true}, {28, 2, 1, true}, {8, 2, 1, true}, {16, 4, 2, true}, {8, 4, 2, false}, {4, 4, 2, false}} {
		p, err := New([]int{1, 64, c.size, c.size}, []int{32, 64, c.kernel, c.kernel}, Params{InputDilation: []int{2, 2}, PadLo: []int{c.pad, c.pad}, PadHi: []int{c.pad, c.pad}})
		require.NoError(t, err)
		require.Equal(t, c.want, p.joint != nil, "%+v", c)
	}
}

// TestPhasesOfInfinity puts an infinity at the end of a row, which the next row
// follows in memory: it may affect only the outputs whose taps read it.
func TestPhasesOfInfinity(t *testing.T) {
	pool := par.New(2)
	defer pool.Close()
	s := spec{"", []int{1, 2, 6, 7}, []int{3, 2, 4, 4}, Params{InputDilation: []int{2, 2}, PadLo: []int{2, 2}, PadHi: []int{2, 2}}}
	p := jointPlan(t, s)
	rng := rand.New(rand.NewPCG(9, 10))
	x, w := random[float32](rng, count(s.x)), random[float32](rng, count(s.w))
	x[6] = float32(math.Inf(1))
	want, _ := naive(x, s.x, w, s.w, s.p, nil)
	got := make([]float32, len(want))
	require.NoError(t, RunPlan(pool, p, x, w, got, nil))
	for i, v := range want {
		if math.IsInf(float64(v), 0) {
			require.Equal(t, v, got[i], "element %d", i)
		} else {
			require.InDelta(t, v, got[i], 1e-4, "element %d", i)
		}
	}
}

func TestFinite(t *testing.T) {
	for _, n := range []int{0, 1, 5, 1023, 1024, 1025, 20000} {
		w := make([]float32, n)
		for i := range w {
			w[i] = math.MaxFloat32
		}
		require.True(t, finite(w), "%d", n)
		for _, at := range []int{0, n / 2, n - 1} {
			for _, v := range []float64{math.Inf(1), math.Inf(-1), math.NaN()} {
				if n > 0 {
					w[at] = float32(v)
					require.False(t, finite(w), "%v at %d of %d", v, at, n)
					w[at] = math.MaxFloat32
				}
			}
		}
	}
}

// TestWeightsByStrides packs the weights of a transposed convolution: channels
// first, and the kernel reversed.
func TestWeightsByStrides(t *testing.T) {
	pool := par.New(2)
	defer pool.Close()
	for _, s := range together {
		p := jointPlan(t, s)
		rng := rand.New(rand.NewPCG(11, 12))
		x, w := random[float32](rng, count(s.x)), random[float32](rng, count(s.w))
		want, _ := naive(x, s.x, w, s.w, s.p, nil)
		held, taps := make([]float32, len(w)+3), p.taps
		for i, v := range w {
			at := index(i, []int{s.w[0], s.w[1], taps})
			held[3+(at[1]*s.w[0]+at[0])*taps+taps-1-at[2]] = v
		}
		strides := p.weightStrides()
		strides[0], strides[1] = taps, s.w[0]*taps
		for d := range p.axes {
			strides[2+d] = -strides[2+d]
		}
		ready := PackView(pool, p, held, 3+taps-1, strides)
		if !(jointPhases[float32]{}).fits(p) {
			require.Nil(t, ready)
			continue
		}
		require.NotNil(t, ready, s.name)
		got := make([]float32, len(want))
		require.NoError(t, RunPacked(pool, p, x, ready, got, nil))
		near(t, want, got)

		held[3] = float32(math.NaN())
		require.Nil(t, PackView(pool, p, held, 3+taps-1, strides))
		strides[0]++
		require.Nil(t, PackView(pool, p, make([]float32, 2*len(held)), 3+taps-1, strides))
	}
}
