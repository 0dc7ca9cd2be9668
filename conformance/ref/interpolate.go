package ref

import (
	"math"
	"math/big"
	"slices"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// place is an element of a dimension, by index, and its weight.
type place struct {
	at     int
	weight float64
}

var interpolateKernels = map[op.Code]kernel{
	op.Interpolate: direct(func(n *op.Node, in []Tensor) Tensor {
		size, s := n.Attrs.Ints("size"), in[0].Desc.Shape
		first := len(s) - len(size)
		places := make([][][]place, len(size)) // of each result of each dimension
		for d, m := range size {
			for i := range m {
				places[d] = append(places[d], interpolated(n.Attrs, d, s[first+d], m, i))
			}
		}
		out := Zeros(n.Outputs[0])
		each(n.Outputs[0].Shape, func(pos int, idx []int) {
			counts := make(shape.Shape, len(size))
			for d := range size {
				counts[d] = len(places[d][idx[first+d]])
			}
			var terms []float64
			each(counts, func(_ int, k []int) {
				p, w := slices.Clone(idx), 1.0
				for d := range k {
					q := places[d][idx[first+d]][k[d]]
					p[first+d] = q.at
					w *= q.weight
				}
				terms = append(terms, w*in[0].F[at(s, p)])
			})
			out.F[pos] = total(terms)
		})
		return out
	}),
}

// ratio returns a fraction as a number without rounding.
func ratio(p, q int64) *big.Rat { return big.NewRat(p, q) }

// simpleFraction returns the fraction with the least denominator within 2^-40·s of s.
func simpleFraction(s float64) *big.Rat {
	for q := int64(1); ; q++ {
		p := math.Round(s * float64(q))
		if p > 0 && math.Abs(p/float64(q)-s) <= 0x1p-40*s {
			return ratio(int64(p), q)
		}
	}
}

// floor returns the greatest integer that is at most x.
func floor(x *big.Rat) int {
	return int(new(big.Int).Div(x.Num(), x.Denom()).Int64()) // Euclidean: toward -Inf for a positive denominator
}

// interpolated returns the elements, with weights, that result i of m is interpolated from, along dimension d with n elements.
func interpolated(a op.Attrs, d, n, m, i int) []place {
	s, half := ratio(int64(m), int64(n)), ratio(1, 2)
	if scales := a.Floats("scales"); len(scales) > 0 {
		s = simpleFraction(scales[d])
	}
	step, c := new(big.Rat).Inv(s), ratio(int64(i), 1)
	switch mode := a.Str("coordinates"); {
	case mode == "align_corners" && m == 1:
		step, c = ratio(0, 1), ratio(0, 1)
	case mode == "align_corners":
		step = ratio(int64(n-1), int64(m-1))
		c.Mul(c, step)
	case mode == "asymmetric":
		c.Mul(c, step)
	case mode == "pytorch_half_pixel" && m == 1:
		step, c = ratio(0, 1), ratio(0, 1)
	default:
		c.Add(c, half).Mul(c, step).Sub(c, half)
	}
	if a.Str("mode") == "nearest" {
		var at int
		switch a.Str("rounding") {
		case "floor":
			at = floor(c)
		case "ceil":
			at = -floor(c.Neg(c))
		case "round_prefer_ceil":
			at = floor(c.Add(c, half))
		default:
			at = -floor(c.Neg(c.Sub(c, half)))
		}
		return []place{{min(max(at, 0), n-1), 1}}
	}
	reach := 1
	switch a.Str("mode") {
	case "cubic":
		reach = 2
	case "lanczos":
		reach = a.Int("lanczos_a")
	}
	stretch, _ := step.Float64()
	if !a.Bool("antialias") || stretch < 1 {
		stretch = 1
	}
	far := int(math.Ceil(float64(reach)*stretch)) + 1
	var out []place
	sum := 0.0
	for j := floor(c) - far; j <= floor(c)+far; j++ {
		away, _ := new(big.Rat).Sub(ratio(int64(j), 1), c).Float64()
		w := interpolationKernel(a, math.Abs(away)/stretch)
		if a.Bool("exclude_outside") && (j < 0 || j >= n) {
			w = 0
		}
		if sum += w; w != 0 { // what does not count may be infinite
			out = append(out, place{min(max(j, 0), n-1), w})
		}
	}
	if a.Bool("antialias") || a.Bool("exclude_outside") || a.Str("mode") == "lanczos" {
		for k := range out {
			out[k].weight /= sum
		}
	}
	return out
}

func interpolationKernel(a op.Attrs, d float64) float64 {
	switch a.Str("mode") {
	case "linear":
		return max(0, 1-d)
	case "cubic":
		return cubic(d, a.Float("cubic_a"))
	}
	reach := float64(a.Int("lanczos_a"))
	if d >= reach {
		return 0
	}
	return sinc(d) * sinc(d/reach)
}

// cubic returns the kernel of Keys with parameter a.
func cubic(d, a float64) float64 {
	switch {
	case d <= 1:
		return (a+2)*d*d*d - (a+3)*d*d + 1
	case d < 2:
		return a*d*d*d - 5*a*d*d + 8*a*d - 4*a
	}
	return 0
}

func sinc(x float64) float64 {
	if x == 0 {
		return 1
	}
	return math.Sin(math.Pi*x) / (math.Pi * x)
}
