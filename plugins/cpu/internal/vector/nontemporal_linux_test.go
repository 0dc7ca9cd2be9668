package vector

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestChooseNonTemporal(t *testing.T) {
	each(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(5, 6))
		for n := range 130 {
			a, b, d := fence(t, r, n), fence(t, r, n), fence(t, r, n)
			cond := bytesOf(fence(t, r, (n+3)/4))
			cond = cond[len(cond)-n:]
			for i := range cond {
				cond[i] = byte(r.IntN(3)) * 100
			}
			done := ChooseNonTemporal(d, cond, a, b)
			Fence()
			require.Equal(t, wholeVectors(n), done)
			for i := range done {
				want := b[i]
				if cond[i] != 0 {
					want = a[i]
				}
				require.Equal(t, want, d[i])
			}
		}
	})
}
