package depthwise

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// plain returns the convolution in float64, and for each element the sum of the magnitudes of its terms, which bounds its rounding error.
func plain(x, w []float32, in, out [2]int, size, stride, top, left int, bias float32) (y, terms []float64) {
	for oy := range out[0] {
		for ox := range out[1] {
			sum, abs := float64(bias), math.Abs(float64(bias))
			for ky := range size {
				for kx := range size {
					iy, ix, v := oy*stride+ky-top, ox*stride+kx-left, 0.0
					if iy >= 0 && iy < in[0] && ix >= 0 && ix < in[1] {
						v = float64(x[iy*in[1]+ix])
					}
					sum += v * float64(w[ky*size+kx])
					abs += math.Abs(v * float64(w[ky*size+kx]))
				}
			}
			y, terms = append(y, sum), append(terms, abs)
		}
	}
	return y, terms
}

func TestPlanes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	fill := func(n int) []float32 {
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(r.NormFloat64())
		}
		return v
	}
	const guard, mark = 40, float32(-77)
	for _, size := range []int{3, 5} {
		for _, stride := range []int{1, 2} {
			for _, in := range [][2]int{{1, 1}, {1, 9}, {2, 3}, {7, 7}, {5, 16}, {14, 14}, {9, 17}, {11, 31}, {8, 33}, {20, 40}, {3, 65}} {
				for _, pad := range [][4]int{{0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {0, 1, 1, 0}, {3, 0, 1, 4}} { // top, left, bottom, right
					out := [2]int{(in[0]+pad[0]+pad[2]-size)/stride + 1, (in[1]+pad[1]+pad[3]-size)/stride + 1}
					if in[0]+pad[0]+pad[2] < size || in[1]+pad[1]+pad[3] < size {
						continue
					}
					p := New(in, out, size, stride, pad[0], pad[1])
					require.NotNil(t, p)
					if !p.Has() {
						t.Skip("the processor, or the level set by BURN_CPU, has no such loops")
					}
					const n = 3
					x, w, bias := fill(n*in[0]*in[1]), fill(n*size*size), fill(n)
					plane := out[0] * out[1]
					dst := make([]float32, n*plane+2*guard)
					for i := range dst {
						dst[i] = mark
					}
					lo, hi := float32(math.Inf(-1)), float32(math.Inf(1))
					if r.IntN(2) == 0 {
						lo, hi = -1, 1.5
					}
					cut := r.IntN(out[0] + 1)
					y := dst[guard : guard+n*plane : guard+n*plane]
					p.Run(y, x, w, bias, lo, hi, 0, cut)
					p.Run(y, x, w, bias, lo, hi, cut, out[0])
					name := fmt.Sprintf("size %d stride %d in %v pad %v", size, stride, in, pad)
					for c := range n {
						want, terms := plain(x[c*in[0]*in[1]:], w[c*size*size:], in, out, size, stride, pad[0], pad[1], bias[c])
						for i, v := range want {
							v = min(max(v, float64(lo)), float64(hi))
							require.InDelta(t, v, float64(y[c*plane+i]), 1e-6*terms[i]*float64(size), "%s plane %d element %d", name, c, i)
						}
					}
					for i := range guard {
						require.Equal(t, mark, dst[i], name)
						require.Equal(t, mark, dst[len(dst)-1-i], name)
					}
				}
			}
		}
	}
}

// TestPadding checks that zeros around the input take part in the sum.
func TestPadding(t *testing.T) {
	p := New([2]int{4, 4}, [2]int{4, 4}, 3, 1, 1, 1)
	if !p.Has() {
		t.Skip("the processor, or the level set by BURN_CPU, has no such loops")
	}
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	w := []float32{inf, 0, 0, 0, 1, 0, 0, 0, 0}
	x := []float32{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, nan}
	y := make([]float32, 16)
	p.Run(y, x, w, []float32{0}, float32(math.Inf(-1)), inf, 0, 4)
	for i, v := range y {
		switch row, col := i/4, i%4; {
		case row == 0 || col == 0 || i == 15 || row == 3 && col == 3:
			require.True(t, math.IsNaN(float64(v)), "element %d: %v", i, v)
		case row >= 2 && col >= 2: // the NaN is multiplied by a weight of zero
			require.True(t, math.IsNaN(float64(v)), "element %d: %v", i, v)
		default:
			require.Equal(t, inf, v, "element %d", i)
		}
	}
}

func TestUnsupported(t *testing.T) {
	require.Nil(t, New([2]int{4, 4}, [2]int{4, 4}, 4, 1, 1, 1))
	require.Nil(t, New([2]int{4, 4}, [2]int{2, 2}, 3, 3, 1, 1))
	require.Nil(t, New([2]int{4, 4}, [2]int{2, 2}, 3, 1, -1, 0))
	require.Nil(t, New([2]int{4, 0}, [2]int{4, 0}, 3, 1, 1, 1))
}
