package lower

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/internal/long"
	"github.com/goburn/burn/sdk/gpu/template"
)

// powers returns n powers of two with random signs. Their running product, and the product of any neighbours, stays in the range of f64,
// also without three of them, but leaves the range of d again and again. All their products are exact.
func powers(r *rand.Rand, d dtype.DType, n int) []float64 {
	span := map[dtype.DType][2]int{dtype.F32: {-149, 127}, dtype.BF16: {-133, 127}, dtype.F16: {-24, 15}}[d]
	x, exponent := make([]float64, n), 0
	for i := range x {
		k := span[0] + r.IntN(span[1]-span[0]+1)
		if exponent+k > 250 || exponent+k < -250 {
			k = max(min(-k, span[1]), span[0])
		}
		if exponent+k > 250 || exponent+k < -250 {
			k = 0
		}
		exponent += k
		x[i] = math.Ldexp(float64(1-2*r.IntN(2)), k)
	}
	return x
}

// TestRunningProducts compares running products with products in f64, on hardware with and without f64, and with subgroups of all sizes.
// Some products are too large or too small for their type, and some follow infinities, zeros and NaNs.
func TestRunningProducts(t *testing.T) {
	r := source(t.Name())
	var targets []template.Target
	for _, x := range structuredTargets {
		y := x
		y.Types, y.Math = x.Types&^dtype.SetOf(dtype.F64), x.Math&^dtype.SetOf(dtype.F64)
		targets = append(targets, x, y)
	}
	for i, target := range targets {
		for k, d := range []dtype.DType{dtype.F32, dtype.F16, dtype.BF16} {
			for _, c := range [][3]int{{1, 3, 1}, {5, 17, 1}, {2, 33, 3}, {3, 700, 1}, {1, 5000, 1}, {1, 17000, 1}, {1, 300, 2}} {
				if c[1] > 1000 && (i+k)%long.Every(3) != 0 {
					continue
				}
				if c[1] > 16384 && target.Math.Has(dtype.F64) {
					continue // the line is split, and the product of a thread's elements, which are not neighbours, may leave the range of f64
				}
				testRunningProduct(t, r, target, d, c)
			}
		}
	}
}

func testRunningProduct(t *testing.T, r *rand.Rand, target template.Target, d dtype.DType, dims [3]int) {
	t.Helper()
	x := ref.Zeros(op.DescOf(d, dims[0], dims[1], dims[2]))
	want := ref.Zeros(x.Desc)
	n, inner := dims[1], dims[2]
	exclusive, reverse := r.IntN(2) == 0, r.IntN(2) == 0
	for o := range dims[0] {
		for in := range inner {
			line := powers(r, d, n)
			for _, special := range []float64{math.Inf(1), 0, math.NaN()}[:r.IntN(4)] {
				line[r.IntN(n)] = special
			}
			p := 1.
			for i, v := range line {
				at := (o*n+i)*inner + in
				if reverse {
					at = (o*n+n-1-i)*inner + in
				}
				x.F[at] = v
				if exclusive {
					want.F[at] = ref.Round(d, p)
				}
				p *= v
				if !exclusive {
					want.F[at] = ref.Round(d, p)
				}
			}
		}
	}
	c := trialOf(t, op.CumProd, []op.Attr{op.Int("axis", 1), op.Flag("exclusive", exclusive), op.Flag("reverse", reverse)}, []ref.Tensor{x})
	c.want = []ref.Tensor{want}
	c.run(target, 3)
}
