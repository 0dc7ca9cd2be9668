package op

import (
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
)

// Fourier transforms. A complex tensor has a last dimension of 2, the real and the imaginary part.

var (
	scaleAttr = choice("norm", "backward", "which direction is scaled: by 1/n the inverse (backward) or the forward one (forward), or both by 1/sqrt(n) (ortho)",
		"backward", "ortho", "forward")
	spectralAxis = required("axis", KindInt, "axis to transform")
)

func spectral(c Code, name, doc string, operands []Operand, attrs []AttrSpec, constraints []Constraint, infer InferFunc) entry {
	return entry{c, Row{Name: name, Class: Composite, Section: "spectral", Doc: doc, Operands: operands, Results: result, Attrs: attrs,
		Constraints: constraints, Tolerance: perTerm(8), Infer: infer}}
}

// complexAxis checks that s is the shape of a complex tensor (C1) and has the axis (C2).
func complexAxis(s shape.Shape, axis int) error {
	if len(s) < 2 || s[len(s)-1] != 2 {
		return violation(ErrShape, "C1", "x is %v, want rank 2 or more and a last dimension of 2", s)
	}
	_, err := axisIn("C2", axis, len(s)-1)
	return err
}

var complexRule = []Constraint{{"C1", "x has rank 2 or more and a last dimension of 2"}, {"C2", "axis is in [0, rank-1)"}}

var spectralRows = []entry{
	spectral(FFT, "fft", "Discrete Fourier transform of complex x along axis: element k is the sum over j of x[j]·exp(-2πi·jk/n), with the other sign in "+
		"the inverse, scaled by norm.", []Operand{in("x", dtype.Floats)},
		[]AttrSpec{spectralAxis, defaults(Flag("inverse", false), "inverse transform"), scaleAttr},
		append(complexRule[:2:2], Constraint{"C3", "the axis is not empty"}),
		func(in []Desc, a Attrs) ([]Desc, error) {
			if err := complexAxis(in[0].Shape, a.Int("axis")); err != nil {
				return nil, err
			}
			if in[0].Shape[a.Int("axis")] == 0 {
				return nil, violation(ErrShape, "C3", "axis %d of %v is empty", a.Int("axis"), in[0].Shape)
			}
			return inferSame(in, a)
		}),
	spectral(RFFT, "rfft", "Elements 0 to n/2 of the Fourier transform of real x along axis; the result is complex, with one dimension more. x is first cut or "+
		"filled with zeros to length n.", []Operand{in("x", dtype.Floats)},
		[]AttrSpec{spectralAxis, defaults(Int("n", 0), "length of the transform, 0 for that of the axis"), scaleAttr},
		[]Constraint{{"C1", "axis is in [0, rank)"}, {"C2", "the length is 1 or more"}},
		func(in []Desc, a Attrs) ([]Desc, error) {
			s, axis := in[0].Shape.Clone(), a.Int("axis")
			if _, err := axisIn("C1", axis, len(s)); err != nil {
				return nil, err
			}
			n := lengthOr(a.Int("n"), s[axis])
			if n < 1 || n > limit {
				return nil, violation(ErrShape, "C2", "length %d of %v", n, s)
			}
			s[axis] = n/2 + 1
			return one(in[0].DType, append(s, 2)), nil
		}),
	spectral(IRFFT, "irfft", "The real x of length n whose rfft along axis is given. Elements above n/2 are cut off, missing ones count as zero; the imaginary parts of elements 0 and, "+
		"for even n, n/2 do not count.", []Operand{in("x", dtype.Floats)},
		[]AttrSpec{spectralAxis, required("n", KindInt, "length of the result"), scaleAttr},
		append(complexRule[:2:2], Constraint{"C3", "n is 1 or more"}),
		func(in []Desc, a Attrs) ([]Desc, error) {
			s := in[0].Shape.Clone()
			if err := complexAxis(s, a.Int("axis")); err != nil {
				return nil, err
			}
			if a.Int("n") < 1 || a.Int("n") > limit {
				return nil, violation(ErrAttr, "C3", "n is %d", a.Int("n"))
			}
			s[a.Int("axis")] = a.Int("n")
			return one(in[0].DType, s[:len(s)-1]), nil
		}),
	{FFTShift, Row{Name: "fftshift", Class: Composite, Section: "spectral", Operands: []Operand{in("x", dtype.Any)}, Results: result, Tolerance: exact,
		Doc: "x rolled by half the length (rounded down) along axes: the zero frequency comes to the middle. The inverse rolls back.",
		Attrs: []AttrSpec{required("axes", KindInts, "distinct axes"),
			defaults(Flag("inverse", false), "roll back")},
		Constraints: axesRule,
		Infer: func(in []Desc, a Attrs) ([]Desc, error) {
			if err := axesIn("C1", a.Ints("axes"), len(in[0].Shape)); err != nil {
				return nil, err
			}
			return inferSame(in, a)
		}}},
	spectral(STFT, "stft", "rfft of windowed frames of real x[..., length], complex [..., frames, bins, 2]: frame f is n_fft elements from f·hop on, times the "+
		"window, which has zeros added on both sides (fewer before) up to n_fft. With center x is first mirrored by n_fft/2 at both ends, without its first "+
		"and last element twice. With onesided bins are n_fft/2+1, else n_fft.",
		[]Operand{in("x", dtype.Floats), same("window", 1)}, stftAttrs,
		[]Constraint{{"C1", "x has rank 1 or more"}, {"C2", "n_fft and hop are 1 or more"}, {"C3", "window has rank 1 and 1 to n_fft elements"},
			{"C4", "x has n_fft elements or more; with center more than n_fft/2"}},
		func(in []Desc, a Attrs) ([]Desc, error) {
			s, n, hop := in[0].Shape.Clone(), a.Int("n_fft"), a.Int("hop")
			last := len(s) - 1
			if last < 0 {
				return nil, violation(ErrShape, "C1", "x is a scalar")
			}
			if err := frameAttrs(in[1].Shape, n, hop); err != nil {
				return nil, err
			}
			length := s[last]
			if a.Bool("center") {
				if length <= n/2 {
					return nil, violation(ErrShape, "C4", "%d elements, want more than %d", length, n/2)
				}
				length += n / 2 * 2
			}
			if length < n {
				return nil, violation(ErrShape, "C4", "%d elements, want %d or more", length, n)
			}
			return one(in[0].DType, append(s[:last:last], 1+(length-n)/hop, bins(n, a.Bool("onesided")), 2)), nil
		}),
	spectral(ISTFT, "istft", "The real signal whose stft with the same attributes is x[..., frames, bins, 2], of least squares: frames after the inverse "+
		"transform are multiplied by the window, added up where they were, and divided by the sum of the squares of the window where that is above "+
		"1e-11; elsewhere the result is 0. With center n_fft/2 elements are cut off at the start, and without a length at the end too. With a length the end is cut or "+
		"filled with zeros to it.",
		[]Operand{in("x", dtype.Floats), same("window", 1)},
		append(stftAttrs[:4:4], defaults(Int("length", 0), "length of the result, 0 for what the frames cover")),
		[]Constraint{{"C1", "x is [..., frames, bins, 2] with a frame or more"}, {"C2", "n_fft and hop are 1 or more"}, {"C3", "window has rank 1 and 1 to n_fft elements"},
			{"C4", "bins is n_fft/2+1, or n_fft when not onesided"}, {"C5", "length is not negative"}},
		func(in []Desc, a Attrs) ([]Desc, error) {
			s, n, hop := in[0].Shape.Clone(), a.Int("n_fft"), a.Int("hop")
			last := len(s) - 1
			if last < 2 || s[last] != 2 || s[last-2] < 1 {
				return nil, violation(ErrShape, "C1", "x is %v, want [..., frames, bins, 2]", s)
			}
			if err := frameAttrs(in[1].Shape, n, hop); err != nil {
				return nil, err
			}
			if want := bins(n, a.Bool("onesided")); s[last-1] != want {
				return nil, violation(ErrShape, "C4", "%d bins, want %d", s[last-1], want)
			}
			length := a.Int("length")
			if length < 0 || length > limit {
				return nil, violation(ErrAttr, "C5", "length is %d", length)
			}
			if length == 0 {
				length = n + hop*(s[last-2]-1)
				if a.Bool("center") {
					length -= n / 2 * 2
				}
			}
			return one(in[0].DType, append(s[:last-2:last-2], length)), nil
		}),
	windowRow(HannWindow, "hann_window", "0.5 - 0.5·cos(2πk/N)"),
	windowRow(HammingWindow, "hamming_window", "alpha - (1-alpha)·cos(2πk/N)", defaults(Float("alpha", 0.54), "constant term; 25/46 is usual too")),
	windowRow(BlackmanWindow, "blackman_window", "0.42 - 0.5·cos(2πk/N) + 0.08·cos(4πk/N)"),
	windowRow(KaiserWindow, "kaiser_window", "I0(beta·sqrt(1-(2k/N-1)²))/I0(beta), where I0 is the modified Bessel function of order 0",
		defaults(Float("beta", 12), "shape, in [0, 500]")),
}

var stftAttrs = []AttrSpec{required("n_fft", KindInt, "length of a transform"), required("hop", KindInt, "distance of frames"),
	defaults(Flag("center", true), "frame f is centred at f·hop"), defaults(Flag("onesided", true), "n_fft/2+1 bins, not n_fft")}

func bins(n int, onesided bool) int {
	if onesided {
		return n/2 + 1
	}
	return n
}

// lengthOr returns n, or the dimension when n is 0.
func lengthOr(n, dimension int) int {
	if n == 0 {
		return dimension
	}
	return n
}

// frameAttrs checks C2 and C3 of stft and istft.
func frameAttrs(window shape.Shape, n, hop int) error {
	if n < 1 || hop < 1 || n > limit || hop > limit {
		return violation(ErrAttr, "C2", "n_fft is %d and hop %d, want 1 or more", n, hop)
	}
	if len(window) != 1 || window[0] < 1 || window[0] > n {
		return violation(ErrShape, "C3", "window is %v, want one dimension of 1 to %d", window, n)
	}
	return nil
}

// windowRow returns the row of an op that creates a window of size elements.
func windowRow(c Code, name, formula string, params ...AttrSpec) entry {
	constraints := []Constraint{{"C1", "size is not negative"}, {"C2", "dtype is a float type"}}
	if len(params) > 0 {
		constraints = append(constraints, Constraint{"C3", params[0].Name + " is finite, and in its range"})
	}
	return entry{c, Row{Name: name, Class: Composite, Section: "spectral", Results: result, Tolerance: perTerm(8),
		Doc: "Element k of size is " + formula + ", where N is size, or size-1 when not periodic; a window of one element is 1.",
		Attrs: slices.Concat([]AttrSpec{required("size", KindInt, "number of elements"),
			defaults(Flag("periodic", true), "one period of a periodic function, as transforms want it; false: symmetric, for filters"),
			defaults(Type("dtype", dtype.F32), "element type, a float")}, params),
		Constraints: constraints,
		Infer: func(_ []Desc, a Attrs) ([]Desc, error) {
			size := a.Int("size")
			if size < 0 || size > limit {
				return nil, violation(ErrAttr, "C1", "size is %d", size)
			}
			if d := a.DType("dtype"); !dtype.Floats.Has(d) {
				return nil, violation(ErrDType, "C2", "dtype is %v, want one of %v", d, dtype.Set(dtype.Floats))
			}
			if len(params) > 0 {
				if err := finite("C3", a, params[0].Name); err != nil {
					return nil, err
				}
				if beta := a.Float("beta"); beta < 0 || beta > 500 {
					return nil, violation(ErrAttr, "C3", "beta is %v, want one in [0,500]", beta)
				}
			}
			return one(a.DType("dtype"), shape.Of(size)), nil
		}}}
}
