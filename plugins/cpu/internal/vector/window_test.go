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
		t.Skip("the processor, or the level set by BURN_CPU, has no vector loops")
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
						is(t, nan, top != top)
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
					is(t, most[i], dst[i], "%+v, element %d", r, i)
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

func TestPlane(t *testing.T) {
	each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(3, 4))
		for _, size := range []int{3, 5} {
			for _, stride := range []int{1, 2} {
				if !HasPlane(size, stride) {
					continue
				}
				for cols := 1; cols < 70; cols += 1 + cols/9 {
					for rows := 1; rows < 10; rows++ {
						step := cols + size + rng.IntN(4)
						r := Rows{Count: rows, Cols: cols, DstStep: cols + rng.IntN(2), SrcStep: stride * step}
						offsets := []int{0, 2, 1, 3, 4}[:size]
						src := random(rng, ((rows-1)*stride+size)*step)
						weights, dst := random(rng, size*size), make([]float32, rows*r.DstStep)
						Plane(r, size, stride, dst, src, offsets, weights, 0.5, -1, 2)
						for y := range rows {
							for i := range cols {
								sum := 0.5
								for k, w := range weights {
									sum += float64(w) * float64(src[(y*stride+k/size)*step+offsets[k%size]+i])
								}
								require.InDelta(t, min(max(sum, -1), 2), dst[y*r.DstStep+i], 1e-5)
							}
						}
					}
				}
			}
		}
	})
}

func TestCopyAndSplit(t *testing.T) {
	each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(3, 4))
		for cols := 1; cols < 100; cols++ {
			r := Rows{Count: 1 + cols%3, Cols: cols, DstStep: cols + 1, SrcStep: cols + cols%2}
			src, dst := random(rng, r.Count*r.SrcStep), make([]float32, r.Count*r.DstStep)
			even, odd := make([]float32, len(dst)), make([]float32, len(dst))
			Copy(r, dst, src)
			Split(r, even, odd, src)
			for y := range r.Count {
				for i, v := range src[y*r.SrcStep:][:cols] {
					require.Equal(t, v, dst[y*r.DstStep+i])
					require.Equal(t, v, [][]float32{even, odd}[i%2][y*r.DstStep+i/2], "%d of %d", i, cols)
				}
				require.Zero(t, dst[y*r.DstStep+cols])
				require.Zero(t, even[y*r.DstStep+(cols+1)/2])
				require.Zero(t, odd[y*r.DstStep+cols/2])
			}
		}
	})
}
