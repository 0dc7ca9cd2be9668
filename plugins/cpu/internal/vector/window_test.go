package vector

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// each runs f at every level that this machine has.
func each(t *testing.T, f func(t *testing.T)) {
	if !Has() {
		t.Skip("this processor has no vector loops, or they are switched off")
	}
	kept := active
	defer func() { active = kept }()
	for _, l := range levels() {
		active = l
		t.Run(fmt.Sprintf("%d lanes", l.lanes), f)
	}
}

func random(rng *rand.Rand, n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = rng.Float32()*2 - 1
	}
	return v
}

func TestTaps(t *testing.T) {
	each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 2))
		for cols := 1; cols <= 140; cols += 1 + cols/40 {
			for _, rows := range []int{1, 2, 3, 4, 5, 9} {
				r := Rows{Count: rows, Cols: cols, DstStep: cols + rng.IntN(3), SrcStep: cols + 7}
				offsets := []int{0, 1, 2, r.SrcStep, r.SrcStep + 3, 2*r.SrcStep + 5, 5}[:1+rng.IntN(7)]
				src, weights := random(rng, (rows-1)*r.SrcStep+2*r.SrcStep+5+cols), random(rng, len(offsets))
				if rng.IntN(2) == 0 {
					src[rng.IntN(len(src))] = float32(math.NaN())
				}
				dst := random(rng, rows*r.DstStep+3)
				want := append([]float32(nil), dst...)
				most := append([]float32(nil), dst...)
				bias := rng.Float32()
				for y := range rows {
					for i := range cols {
						sum, top, nan := float64(bias), math.Inf(-1), false
						for k, o := range offsets {
							v := float64(src[y*r.SrcStep+o+i])
							sum += float64(weights[k]) * v
							top, nan = math.Max(top, v), nan || v != v
						}
						want[y*r.DstStep+i] = float32(math.Min(math.Max(sum, -0.5), 0.75))
						most[y*r.DstStep+i] = float32(top)
						require.Equal(t, nan, top != top)
					}
				}
				got := append([]float32(nil), dst...)
				Taps(r, got, src, offsets, weights, bias, -0.5, 0.75)
				for i := range want {
					require.InDelta(t, want[i], got[i], 1e-5, "%+v, element %d", r, i)
				}
				Most(r, dst, src, offsets)
				for i := range most {
					if most[i] != most[i] {
						require.True(t, dst[i] != dst[i], "%+v, element %d", r, i)
						continue
					}
					require.Equal(t, most[i], dst[i], "%+v, element %d", r, i)
				}
			}
		}
	})
}

func TestTapsRefuse(t *testing.T) {
	each(t, func(t *testing.T) {
		r := Rows{Count: 2, Cols: 5, DstStep: 5, SrcStep: 8}
		require.Panics(t, func() { Most(r, make([]float32, 9), make([]float32, 40), []int{0}) })
		require.Panics(t, func() { Most(r, make([]float32, 10), make([]float32, 14), []int{0, 2}) })
		require.Panics(t, func() { Most(r, make([]float32, 10), make([]float32, 40), []int{0, -1}) })
		require.Panics(t, func() { Taps(r, make([]float32, 10), make([]float32, 40), []int{0, 1}, []float32{1}, 0, 0, 1) })
		require.Panics(t, func() { Taps(r, make([]float32, 10), make([]float32, 40), nil, nil, 0, 0, 1) })
		Most(r, make([]float32, 10), make([]float32, 15), []int{0, 2})
	})
}

func TestSplit(t *testing.T) {
	each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(3, 4))
		for n := range 100 {
			src := random(rng, n)
			even, odd := make([]float32, (n+1)/2), make([]float32, n/2)
			Split(even, odd, src)
			for i, v := range src {
				if i%2 == 0 {
					require.Equal(t, v, even[i/2], "%d of %d", i, n)
				} else {
					require.Equal(t, v, odd[i/2], "%d of %d", i, n)
				}
			}
		}
	})
}
