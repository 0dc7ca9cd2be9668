package ref_test

import (
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// transformed returns the discrete Fourier transform of x by its defining sum, scaled by norm.
func transformed(x []complex128, inverse bool, norm string) []complex128 {
	n, sign := float64(len(x)), -1.0
	if inverse {
		sign = 1
	}
	scale := 1.0
	switch {
	case norm == "ortho":
		scale = 1 / math.Sqrt(n)
	case inverse == (norm == "backward"):
		scale = 1 / n
	}
	out := make([]complex128, len(x))
	for k := range out {
		for j, v := range x {
			// The angle is reduced in integers first, so that the sum loses no digits to it.
			out[k] += v * cmplx.Rect(1, sign*2*math.Pi*float64(k*j%len(x))/n)
		}
		out[k] *= complex(scale, 0)
	}
	return out
}

// line returns the n complex numbers of x[outer, n, inner, 2] at one outer and one inner index.
func line(x ref.Tensor, outer, inner int) []complex128 {
	s := x.Desc.Shape
	out := make([]complex128, s[1])
	for j := range out {
		at := ((outer*s[1]+j)*s[2] + inner) * 2
		out[j] = complex(x.F[at], x.F[at+1])
	}
	return out
}

func requireSpectrum(t *testing.T, want, got []complex128, msg ...any) {
	t.Helper()
	require.Len(t, got, len(want), msg...)
	for k := range want {
		require.InDelta(t, 0, cmplx.Abs(want[k]-got[k]), 1e-12*math.Sqrt(float64(len(want)+1))*8, msg...)
	}
}

var norms = []string{"backward", "ortho", "forward"}

// The transform of every length up to 17, primes and powers of two alike, equals the sum that defines it.
func TestFFTBySum(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	for n := 1; n <= 17; n++ {
		for _, norm := range norms {
			for _, inverse := range []bool{false, true} {
				x := uniform(r, -1, 1, 2, n, 3, 2)
				y := evaluated(t, op.FFT, []ref.Tensor{x}, op.Int("axis", 1), op.Flag("inverse", inverse), op.Str("norm", norm))
				for outer := range 2 {
					for inner := range 3 {
						requireSpectrum(t, transformed(line(x, outer, inner), inverse, norm), line(y, outer, inner), "%d %s %v", n, norm, inverse)
					}
				}
				back := evaluated(t, op.FFT, []ref.Tensor{y}, op.Int("axis", 1), op.Flag("inverse", !inverse), op.Str("norm", norm))
				require.InDeltaSlice(t, x.F, back.F, 1e-13, "there and back: %d %s", n, norm)
			}
		}
	}
}

// resized returns x, cut to n elements or extended by zeros.
func resized(x []complex128, n int) []complex128 {
	out := make([]complex128, n)
	copy(out, x)
	return out
}

// A real transform is the first half of the complex one of the signal cut or extended to n.
func TestRFFTBySum(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 24))
	for length := 1; length <= 9; length++ {
		for n := range 12 { // 0 is the length itself
			norm := norms[(length+n)%3]
			x := uniform(r, -1, 1, 2, length, 2)
			y := evaluated(t, op.RFFT, []ref.Tensor{x}, op.Int("axis", 1), op.Int("n", n), op.Str("norm", norm))
			points := n
			if n == 0 {
				points = length
			}
			require.Equal(t, []int{2, points/2 + 1, 2, 2}, []int(y.Desc.Shape))
			for outer := range 2 {
				for inner := range 2 {
					var signal []complex128
					for j := range length {
						signal = append(signal, complex(element(x, outer, j, inner), 0))
					}
					requireSpectrum(t, transformed(resized(signal, points), false, norm)[:points/2+1], line(y, outer, inner), "%d to %d", length, n)
				}
			}
		}
	}
}

// The inverse of a real transform reads the first n/2+1 bins and mirrors them. A bin that is its own mirror image is taken as real.
func TestIRFFTBySum(t *testing.T) {
	r := rand.New(rand.NewPCG(25, 26))
	for bins := 1; bins <= 6; bins++ {
		for n := 1; n <= 11; n++ {
			norm := norms[(bins+n)%3]
			x := uniform(r, -1, 1, 1, bins, 2, 2)
			y := evaluated(t, op.IRFFT, []ref.Tensor{x}, op.Int("axis", 1), op.Int("n", n), op.Str("norm", norm))
			require.Equal(t, []int{1, n, 2}, []int(y.Desc.Shape))
			for inner := range 2 {
				half := resized(line(x, 0, inner), n/2+1)
				full := make([]complex128, n)
				for k := range n {
					mirror := (n - k) % n
					switch {
					case k == mirror:
						full[k] = complex(real(half[k]), 0)
					case k < mirror:
						full[k] = half[k]
					default:
						full[k] = cmplx.Conj(half[mirror])
					}
				}
				for j, w := range transformed(full, true, norm) {
					require.InDelta(t, real(w), element(y, 0, j, inner), 1e-12, "%d bins to %d", bins, n)
					require.InDelta(t, 0, imag(w), 1e-12)
				}
			}
		}
	}
}

// The shift puts bin 0 in the middle, as numpy.fft.fftshift does: by n/2, and its inverse by (n+1)/2.
func TestFFTShiftByIndex(t *testing.T) {
	for n := 1; n <= 8; n++ {
		x := counting(dtype.I32, n, 3)
		y := evaluated(t, op.FFTShift, []ref.Tensor{x}, op.Ints("axes", 0))
		for i := range n {
			require.Equal(t, element(x, i, 1), element(y, (i+n/2)%n, 1))
		}
		back := evaluated(t, op.FFTShift, []ref.Tensor{y}, op.Ints("axes", 0), op.Flag("inverse", true))
		require.Equal(t, x.I, back.I)
		both := evaluated(t, op.FFTShift, []ref.Tensor{x}, op.Ints("axes", 0, 1))
		for i := range n {
			for j := range 3 {
				require.Equal(t, element(x, i, j), element(both, (i+n/2)%n, (j+1)%3))
			}
		}
	}
}

// bessel returns the modified Bessel function of the first kind of order 0, by its power series.
func bessel(x float64) float64 {
	sum, term := 1.0, 1.0
	for k := 1; term > sum*1e-18; k++ {
		term *= x * x / 4 / float64(k*k)
		sum += term
	}
	return sum
}

// The windows follow the formulas of Harris (1978).
func TestWindowsByFormula(t *testing.T) {
	for _, size := range []int{0, 1, 2, 3, 8, 13} {
		for _, periodic := range []bool{true, false} {
			n := float64(size)
			if !periodic {
				n--
			}
			for _, c := range []struct {
				op   op.Code
				more []op.Attr
				at   func(u float64) float64 // u from 0 to 1
			}{
				{op.HannWindow, nil, func(u float64) float64 { return math.Pow(math.Sin(math.Pi*u), 2) }},
				{op.HammingWindow, nil, func(u float64) float64 { return 0.54 - 0.46*math.Cos(2*math.Pi*u) }},
				{op.HammingWindow, []op.Attr{op.Float("alpha", 0.5)}, func(u float64) float64 { return math.Pow(math.Sin(math.Pi*u), 2) }},
				{op.BlackmanWindow, nil, func(u float64) float64 { return 0.42 - 0.5*math.Cos(2*math.Pi*u) + 0.08*math.Cos(4*math.Pi*u) }},
				{op.KaiserWindow, nil, func(u float64) float64 { return bessel(12*math.Sqrt(max(0, 1-(2*u-1)*(2*u-1)))) / bessel(12) }},
				{op.KaiserWindow, []op.Attr{op.Float("beta", 0)}, func(float64) float64 { return 1 }},
				{op.KaiserWindow, []op.Attr{op.Float("beta", 3.5)}, func(u float64) float64 { return bessel(3.5*math.Sqrt(max(0, 1-(2*u-1)*(2*u-1)))) / bessel(3.5) }},
			} {
				y := evaluated(t, c.op, nil, append(c.more, op.Int("size", size), op.Flag("periodic", periodic), op.Type("dtype", dtype.F64))...)
				require.Len(t, y.F, size)
				for k, got := range y.F {
					want := 1.0 // of one element
					if size > 1 {
						want = c.at(float64(k) / n)
					}
					require.InDelta(t, want, got, 1e-14, "%v of %d, periodic %v, element %d", c.op, size, periodic, k)
				}
			}
		}
	}
}

// A short-time transform is the transform of each frame times the window. Its inverse returns the signal where a window covers it, and
// zeros elsewhere.
func TestSTFTByFrames(t *testing.T) {
	r := rand.New(rand.NewPCG(27, 28))
	for _, c := range []struct {
		length, points, hop, window int
		center, onesided            bool
	}{
		{16, 4, 1, 4, false, true}, {16, 4, 2, 4, true, true}, {15, 5, 2, 5, true, false}, {11, 7, 3, 4, true, true}, {9, 8, 2, 5, false, false},
		{8, 8, 5, 8, true, true}, {6, 1, 1, 1, true, true}, {7, 6, 7, 1, false, true}, {20, 6, 4, 3, true, false}, {12, 3, 1, 2, true, true},
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			x, w := uniform(r, -1, 1, 2, c.length), uniform(r, 0.5, 1, c.window)
			attrs := []op.Attr{op.Int("n_fft", c.points), op.Int("hop", c.hop), op.Flag("center", c.center), op.Flag("onesided", c.onesided)}
			y := evaluated(t, op.STFT, []ref.Tensor{x, w}, attrs...)
			pad := 0
			if c.center {
				pad = c.points / 2
			}
			bins := c.points
			if c.onesided {
				bins = c.points/2 + 1
			}
			frames := (c.length+2*pad-c.points)/c.hop + 1
			require.Equal(t, []int{2, frames, bins, 2}, []int(y.Desc.Shape))
			before := (c.points - c.window) / 2
			for signal := range 2 {
				for frame := range frames {
					part := make([]complex128, c.points)
					for k := range part {
						at := frame*c.hop + k - pad
						if at < 0 { // mirrored without the end itself
							at = -at
						}
						if at >= c.length {
							at = 2*c.length - 2 - at
						}
						part[k] = complex(element(x, signal, at)*element(w, k-before), 0)
					}
					got := make([]complex128, bins)
					for k := range got {
						got[k] = complex(element(y, signal, frame, k, 0), element(y, signal, frame, k, 1))
					}
					requireSpectrum(t, transformed(part, false, "backward")[:bins], got)
				}
			}
			back := evaluated(t, op.ISTFT, []ref.Tensor{y, w}, append(attrs, op.Int("length", c.length))...)
			for at := range c.length {
				covered := false
				for frame := range frames {
					k := at + pad - frame*c.hop - before
					covered = covered || k >= 0 && k < c.window
				}
				for signal := range 2 {
					if covered {
						require.InDelta(t, element(x, signal, at), element(back, signal, at), 1e-12)
					} else {
						require.Zero(t, element(back, signal, at), "no window reached it")
					}
				}
			}
		})
	}
}
