package data

import (
	"math/bits"
	"math/rand/v2"
)

// Random returns a generator that depends only on the seed and on numbers that identify its purpose, such as epoch and item.
// Different numbers produce unrelated streams.
func Random(seed uint64, numbers ...int) *rand.Rand { return rand.New(generator(seed, numbers...)) }

func generator(seed uint64, numbers ...int) *rand.PCG {
	hi, lo := mix(seed), mix(seed^0x6a09e667f3bcc909)
	for _, n := range numbers {
		hi, lo = mix(hi^uint64(n)), mix(lo+uint64(n)*0x9e3779b97f4a7c15+1)
	}
	return rand.NewPCG(hi, lo)
}

// mix applies the finaliser of SplitMix64 (Steele, Lea, Flood 2014).
func mix(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// below draws a number in [0, n) without bias (Lemire 2019). It does not use the methods of rand.Rand, whose results may differ between
// versions of Go: a saved position must mean the same order in every version.
func below(g *rand.PCG, n int) int {
	bound := uint64(n)
	hi, lo := bits.Mul64(g.Uint64(), bound)
	if lo < bound {
		for threshold := -bound % bound; lo < threshold; {
			hi, lo = bits.Mul64(g.Uint64(), bound)
		}
	}
	return int(hi)
}

// Permutation returns the numbers 0 to n-1 in an order that depends only on seed and epoch (Fisher and Yates). It is equal in all
// versions of Go and on all platforms.
func Permutation(n int, seed uint64, epoch int) []int {
	order := make([]int, n)
	g := generator(seed, epoch)
	for i := range order {
		j := below(g, i+1)
		order[i] = order[j]
		order[j] = i
	}
	return order
}
