package micro

import (
	"github.com/goburn/burn/plugins/cpu/internal/cpuid"
)

//go:noescape
func tile32NEON(k int, a, b, c *float32, ldc int, accumulate bool)

//go:noescape
func tile64NEON(k int, a, b, c *float64, ldc int, accumulate bool)

func hasNEON() bool { return cpuid.Active().Has(cpuid.LevelNEON) }

func native32() []candidate[float32] {
	return []candidate[float32]{{&Kernel[float32]{Name: "neon", MR: 8, NR: 12, KC: 256, MC: 128, NC: 3072, Run: whole(8, 12, tile32NEON)}, hasNEON}}
}

func native64() []candidate[float64] {
	return []candidate[float64]{{&Kernel[float64]{Name: "neon", MR: 8, NR: 6, KC: 256, MC: 128, NC: 1536, Run: whole(8, 6, tile64NEON)}, hasNEON}}
}

// whole returns a function for Kernel.Run. It checks the lengths of the slices
// and calls tile, a function in assembly that does not.
func whole[T Float](rows, cols int, tile func(k int, a, b, c *T, ldc int, accumulate bool)) func(k int, a, b, c []T, ldc int, accumulate bool) {
	return func(k int, a, b, c []T, ldc int, accumulate bool) {
		if k == 0 {
			a, b = make([]T, 1), make([]T, 1)
		} else {
			_, _ = a[rows*k-1], b[cols*k-1]
		}
		_ = c[(rows-1)*ldc+cols-1]
		tile(k, &a[0], &b[0], &c[0], ldc, accumulate)
	}
}
