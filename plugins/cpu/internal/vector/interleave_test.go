package vector

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestInterleave(t *testing.T) {
	each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(3, 4))
		for cols := 1; cols < 140; cols++ {
			r := Rows{Count: 1 + cols%4, Cols: cols, DstStep: cols + rng.IntN(3), SrcStep: (cols+1)/2 + rng.IntN(3)}
			even, odd := random(rng, r.Count*r.SrcStep+1), random(rng, r.Count*r.SrcStep+1)
			dst := random(rng, r.Count*r.DstStep+3)
			want := append([]float32(nil), dst...)
			for y := range r.Count {
				for i := range cols {
					want[y*r.DstStep+i] = [][]float32{even, odd}[i%2][y*r.SrcStep+i/2]
				}
			}
			Interleave(r, dst, even, odd)
			require.Equal(t, want, dst, fmt.Sprintf("%+v", r))
			if cols == 1 {
				Interleave(r, dst, even, nil)
				require.Equal(t, want, dst)
			}
		}
		require.Panics(t, func() {
			Interleave(Rows{Count: 2, Cols: 4, DstStep: 4, SrcStep: 2}, make([]float32, 7), make([]float32, 4), make([]float32, 4))
		})
		require.Panics(t, func() {
			Interleave(Rows{Count: 2, Cols: 4, DstStep: 4, SrcStep: 2}, make([]float32, 8), make([]float32, 4), make([]float32, 3))
		})
	})
}

func TestSample(t *testing.T) {
	each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(5, 6))
		for cols := 1; cols < 140; cols++ {
			r := Rows{Count: 1 + cols%4, Cols: cols, DstStep: (cols+1)/2 + rng.IntN(3), SrcStep: cols + rng.IntN(3)}
			src := random(rng, r.Count*r.SrcStep+1)
			dst := random(rng, r.Count*r.DstStep+3)
			want := append([]float32(nil), dst...)
			for y := range r.Count {
				for i := range (cols + 1) / 2 {
					want[y*r.DstStep+i] = src[y*r.SrcStep+2*i]
				}
			}
			Sample(r, dst, src)
			require.Equal(t, want, dst, fmt.Sprintf("%+v", r))
		}
		require.Panics(t, func() {
			Sample(Rows{Count: 2, Cols: 4, DstStep: 2, SrcStep: 4}, make([]float32, 3), make([]float32, 8))
		})
		require.Panics(t, func() {
			Sample(Rows{Count: 2, Cols: 4, DstStep: 2, SrcStep: 4}, make([]float32, 4), make([]float32, 7))
		})
	})
}
