package vector

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestStacks(t *testing.T) {
	nan, zero, inf := float32(math.NaN()), float32(math.Copysign(0, -1)), float32(math.Inf(1))
	each(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(3, 4))
		for _, n := range []int{1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64, 100, 257} {
			row := n + r.IntN(3)
			for kind, few := range [][]float32{nil, {0, zero, zero}, {zero}, {nan, 1, 0}, {inf, -1}, {-inf, -inf}} {
				x, from := fence(t, r, (Stacked-1)*row+n), make([]float32, n)
				for _, v := range [][]float32{x, from} {
					for i := range v {
						v[i] = r.Float32() - 0.5
						if few != nil && (kind != 3 || r.IntN(20) == 0) {
							v[i] = few[r.IntN(len(few))]
						}
					}
				}
				for j := Sums; j <= Minima; j++ {
					acc := append(append([]float32(nil), from...), 42)
					j.OfStack(acc[:n], x, row)
					require.EqualValues(t, 42, acc[n])
					for c := range n {
						column := []float32{from[c]}
						for k := range Stacked {
							column = append(column, x[k*row+c])
						}
						sameJoint(t, j, joinedBy(j, column), acc[c], "joint %d, column %d of %d, kind %d", j, c, n, kind)
					}
				}
				guarded := fence(t, r, n)
				Sums.OfStack(guarded, x, row)
			}
		}
	})
}
