package op

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
)

// largest is the greatest size and dimension that ops for interpolation and sampling accept.
const largest = 1 << 30

var interpolateRows = []entry{
	{Interpolate, Row{Name: "interpolate", Class: Composite, Section: "interpolation", Results: result, Tolerance: perTerm(16),
		Operands: []Operand{in("x", dtype.Floats)},
		Doc: "x with its trailing dimensions resampled, one after the other, to the given size. Of a dimension of n elements and size m, result i lies at " +
			"c = (i+1/2)/s-1/2 (half_pixel), the same but 0 for m = 1 (pytorch_half_pixel), i/s (asymmetric), or i·(n-1)/(m-1), 0 for m = 1 " +
			"(align_corners), where s is m/n or a given scale, which stands for the fraction of least denominator within 2^-40·s of it. nearest takes the " +
			"element that c is rounded to, the others the sum of K(f·(j-c))·x[j] over all j: K is 1-|d| up to 1 (linear), the cubic of Keys with parameter " +
			"cubic_a up to 2 (cubic), or sinc(d)·sinc(d/a) up to a = lanczos_a (lanczos); f is 1, and with antialias 1/t where t > 1 is the distance " +
			"of the c. Elements outside are those at the ends, or with exclude_outside count 0. With antialias, exclude_outside or lanczos the weights are divided by their sum.",
		Attrs: []AttrSpec{required("size", KindInts, "of each trailing dimension"), choice("mode", "nearest", "kernel", "nearest", "linear", "cubic", "lanczos"),
			choice("coordinates", "half_pixel", "where results lie", "half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"),
			choice("rounding", "round_prefer_floor", "of nearest", "round_prefer_floor", "round_prefer_ceil", "floor", "ceil"),
			defaults(Floats("scales"), "of each trailing dimension; none: size over dimension"), defaults(Float("cubic_a", -0.75), "parameter of cubic"),
			defaults(Int("lanczos_a", 3), "reach of lanczos"), defaults(Flag("antialias", false), "widen the kernel to shrink"),
			defaults(Flag("exclude_outside", false), "elements outside do not count")},
		Constraints: []Constraint{{"C1", "size has 1 to 3 entries, at most the rank of x, each from 0 to 2^30"},
			{"C2", "scales is empty or has an entry from 2^-20 to 2^20 for each of size"},
			{"C3", "no trailing dimension is above 2^30, nor empty unless its size is 0"}, {"C4", "cubic_a is finite and lanczos_a from 1 to 16"},
			{"C5", "the elements under the kernels of each dimension are a legal shape"}},
		Infer: inferInterpolate}},
}

// axisMap maps the m results of interpolation along one dimension to its n elements: result i is at (slope·i+offset)/unit.
type axisMap struct {
	n, m                int
	slope, offset, unit int
	step                float64 // distance between results in elements, slope/unit
}

// newAxisMap returns the map of m results to n elements, both at most largest. A scale of 0 means m/n.
func newAxisMap(n, m int, scale float64, coordinates string) axisMap {
	p, q := m, n // the scale is p/q
	if scale != 0 {
		p, q = simplest(scale*(1-0x1p-40), scale*(1+0x1p-40))
	} else if g := gcd(m, n); g > 0 {
		p, q = m/g, n/g
	}
	x := axisMap{n: n, m: m}
	switch {
	case coordinates == "align_corners":
		x.slope, x.unit = n-1, m-1
		if m <= 1 {
			x.slope, x.unit = 0, 1
		}
	case coordinates == "asymmetric":
		x.slope, x.unit = q, p
	case coordinates == "pytorch_half_pixel" && m == 1:
		x.slope, x.unit = 0, 1
	default:
		x.slope, x.offset, x.unit = 2*q, q-p, 2*p
	}
	x.step = float64(x.slope) / float64(x.unit)
	return x
}

// identity reports whether every result is at the position of the element with the same index.
func (x axisMap) identity() bool { return x.n == x.m && x.slope == x.unit && x.offset == 0 }

// reach returns the number of elements on each side of a result that its kernel may cover.
func (x axisMap) reach(a Attrs) int {
	r := 1
	switch a.Str("mode") {
	case "cubic":
		r = 2
	case "lanczos":
		r = a.Int("lanczos_a")
	}
	if a.Bool("antialias") && x.slope > x.unit {
		return int(math.Ceil(float64(r) * x.step))
	}
	return r
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// simplest returns the fraction with the least denominator in [lo, hi], 0 < lo < hi, from the continued fractions of both.
func simplest(lo, hi float64) (p, q int) {
	whole := math.Floor(lo)
	switch {
	case whole == lo:
		return int(whole), 1
	case whole < math.Floor(hi):
		return int(whole) + 1, 1
	}
	q, p = simplest(1/(hi-whole), 1/(lo-whole))
	return int(whole)*q + p, q
}

func inferInterpolate(in []Desc, a Attrs) ([]Desc, error) {
	size, scales, s := a.Ints("size"), a.Floats("scales"), in[0].Shape
	if len(size) < 1 || len(size) > min(3, len(s)) {
		return nil, violation(ErrShape, "C1", "size %v over rank %d, want 1 to %d entries", size, len(s), min(3, len(s)))
	}
	if len(scales) != 0 && len(scales) != len(size) {
		return nil, violation(ErrAttr, "C2", "%d scales, want %d or none", len(scales), len(size))
	}
	if c, l := a.Float("cubic_a"), a.Int("lanczos_a"); math.IsNaN(c) || math.IsInf(c, 0) || l < 1 || l > 16 {
		return nil, violation(ErrAttr, "C4", "cubic_a %v and lanczos_a %d, want a finite number, and one from 1 to 16", c, l)
	}
	out := s.Clone()
	for i, m := range size {
		d := len(s) - len(size) + i
		if m < 0 || m > largest {
			return nil, violation(ErrShape, "C1", "size %v, want entries from 0 to %d", size, largest)
		}
		if s[d] > largest || s[d] == 0 && m > 0 {
			return nil, violation(ErrShape, "C3", "dimension %d of %v becomes %d, want a dimension of at most %d that is not empty unless it becomes 0", d, s, m, largest)
		}
		scale := 0.0
		if len(scales) > 0 {
			if scale = scales[i]; !(scale >= 0x1p-20 && scale <= 0x1p20) {
				return nil, violation(ErrAttr, "C2", "scale %v, want one from 2^-20 to 2^20", scale)
			}
		}
		if m > 0 {
			taps := 1
			if a.Str("mode") != "nearest" {
				taps = 2 * newAxisMap(s[d], m, scale, a.Str("coordinates")).reach(a)
			}
			if _, err := legal("C5", shape.Of(max(1, out[:d].Size()), m, taps, max(1, out[d+1:].Size()))); err != nil {
				return nil, err
			}
		}
		out[d] = m
	}
	return one(in[0].DType, out), nil
}
