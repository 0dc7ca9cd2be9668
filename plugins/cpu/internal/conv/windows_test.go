package conv_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/plugins/cpu/internal/conv"
	"github.com/goburn/burn/plugins/cpu/internal/par"
	"github.com/goburn/burn/plugins/cpu/internal/vector"
)

// TestWindows compares maxima and sums of windows with their definition: planes of odd sizes, strides, dilations
// and padding, with NaN and infinities.
func TestWindows(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, threads := range []int{1, 3} {
		pool := par.New(threads)
		for _, c := range []struct {
			planes        int
			plane, window [2]int
			stride, lo    [2]int
			hi, dilation  [2]int
		}{
			{1, [2]int{1, 1}, [2]int{1, 1}, [2]int{1, 1}, [2]int{}, [2]int{}, [2]int{1, 1}},
			{3, [2]int{5, 7}, [2]int{3, 3}, [2]int{1, 1}, [2]int{1, 1}, [2]int{1, 1}, [2]int{1, 1}},
			{2, [2]int{9, 17}, [2]int{2, 4}, [2]int{1, 1}, [2]int{}, [2]int{0, 2}, [2]int{1, 1}},
			{5, [2]int{12, 33}, [2]int{3, 2}, [2]int{2, 1}, [2]int{1, 0}, [2]int{0, 1}, [2]int{1, 1}},
			{2, [2]int{11, 19}, [2]int{2, 3}, [2]int{3, 1}, [2]int{2, 2}, [2]int{2, 2}, [2]int{2, 3}},
			{17, [2]int{4, 40}, [2]int{4, 9}, [2]int{1, 1}, [2]int{}, [2]int{}, [2]int{1, 1}},
		} {
			plan, err := conv.Windows(c.planes, c.plane[:], c.window[:], conv.Params{Stride: c.stride[:], PadLo: c.lo[:], PadHi: c.hi[:], KernelDilation: c.dilation[:]})
			require.NoError(t, err)
			require.Equal(t, vector.Has(), plan != nil, "%+v", c)
			if plan == nil {
				continue // this processor or level has no assembly
			}
			shape := plan.OutShape()
			rows, cols := shape[2], shape[3]
			in, out := c.plane[0]*c.plane[1], rows*cols
			x := make([]float32, c.planes*in)
			for kind, few := range [][]float32{nil, {float32(math.NaN()), 1}, {float32(math.Inf(-1)), float32(math.Inf(-1)), 2}, {float32(math.Inf(1)), 0}} {
				for i := range x {
					x[i] = rng.Float32() - 0.5
					if few != nil && rng.IntN(5) == 0 {
						x[i] = few[rng.IntN(len(few))]
					}
				}
				maxima, sums := make([]float32, c.planes*out+1), make([]float32, c.planes*out+1)
				maxima[c.planes*out], sums[c.planes*out] = 42, 42
				conv.MaxWindows(pool, plan, x, maxima)
				conv.SumWindows(pool, plan, x, sums)
				require.EqualValues(t, 42, maxima[c.planes*out])
				require.EqualValues(t, 42, sums[c.planes*out])
				for i := range c.planes * out {
					plane, y, z := x[i/out*in:][:in], i%out/cols, i%cols
					most, sum := math.Inf(-1), 0.0
					for k := range c.window[0] * c.window[1] {
						r, s := y*c.stride[0]-c.lo[0]+k/c.window[1]*c.dilation[0], z*c.stride[1]-c.lo[1]+k%c.window[1]*c.dilation[1]
						if r >= 0 && r < c.plane[0] && s >= 0 && s < c.plane[1] {
							v := float64(plane[r*c.plane[1]+s])
							most, sum = math.Max(most, v), sum+v
						}
					}
					what := fmt.Sprintf("%+v, kind %d, threads %d, element %d", c, kind, threads, i)
					near(t, most, maxima[i], 0, "maximum of "+what)
					near(t, sum, sums[i], 1e-5, "sum of "+what)
				}
			}
		}
		pool.Close()
	}
}

func near(t *testing.T, want float64, got float32, abs float64, what string) {
	g := float64(got)
	if want == g || math.IsNaN(want) && math.IsNaN(g) || math.Abs(want-g) <= abs {
		return
	}
	t.Helper()
	t.Fatalf("%s is %v, want %v", what, got, want)
}

// Packed weights occupy at least the bytes of the weights, in any of their forms, and at most a few times as many.
func TestWeightsBytes(t *testing.T) {
	pool := par.New(1)
	defer pool.Close()
	for _, w := range [][]int{{1, 1, 1, 1}, {16, 16, 3, 3}, {40, 3, 7, 7}, {9, 1, 3, 3}, {33, 65, 1, 1}} {
		groups, channels := 1, w[1]
		if w[1] == 1 && w[0] > 1 {
			groups, channels = w[0], w[0]
		}
		plan, err := conv.New([]int{1, channels, 20, 20}, w, conv.Params{Groups: groups})
		require.NoError(t, err)
		n := w[0] * w[1] * w[2] * w[3]
		got := conv.PackWeights(pool, plan, make([]float32, n)).Bytes()
		require.GreaterOrEqual(t, got, 4*n, "%v", w)
		require.Less(t, got, 4*n*8+1<<13, "%v", w)
	}
}
