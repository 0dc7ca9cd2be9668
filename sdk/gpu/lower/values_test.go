package lower

import (
	"math"
	"math/rand/v2"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// draw returns a tensor of random values of a domain. If special is true, floats have special values among them; integers without a
// domain always have.
func draw(r *rand.Rand, d op.Desc, domain op.Domain, special bool) ref.Tensor {
	x := ref.Zeros(d)
	if d.DType.IsFloat() && x.F != nil && !dtype.Smalls.Has(d.DType) {
		odd := []float64{0, math.Copysign(0, -1), 1, -1, math.Inf(1), math.Inf(-1), math.NaN(), 0.5, 2.5, -1.5, 1e-40, 65504, 1e30, -1e30, 127.5, 255.9, 2147483648, 4294967296, 9.3e18, 1.9e19}
		lo, hi := domain.Lo, domain.Hi
		if lo == 0 && hi == 0 {
			lo, hi = -8, 8
		}
		for i := range x.F {
			v := lo + (hi-lo)*r.Float64()
			if domain.Whole {
				v = math.Round(v)
			}
			if special && r.IntN(6) == 0 {
				v = odd[r.IntN(len(odd))]
			}
			x.F[i] = ref.Round(d.DType, v)
			if domain.NonZero && x.F[i] == 0 {
				x.F[i] = 1
			}
		}
		return x
	}
	if x.I == nil { // floats of 8 and 4 bits are codes
		x = ref.Tensor{Desc: d, I: make([]int64, d.Shape.Size())}
	}
	odd := []int64{0, 1, -1, math.MinInt64, math.MaxInt64, -1 << 31, 1<<31 - 1, -128, 127, 255, -32768, 65535, 1 << 24, 1<<24 + 1, 1<<30 + 1<<22 + 1, 1<<53 + 1, 7, 8, 31, 32, 63, 64}
	for i := range x.I {
		v := int64(r.Uint64()) >> r.IntN(64)
		if domain.Lo != 0 || domain.Hi != 0 {
			v = int64(domain.Lo) + r.Int64N(int64(domain.Hi-domain.Lo)+1)
		} else if r.IntN(4) == 0 {
			v = odd[r.IntN(len(odd))]
		}
		x.I[i] = ref.Wrap(d.DType, v)
		if domain.NonZero && x.I[i] == 0 {
			x.I[i] = 1
		}
	}
	return x
}
