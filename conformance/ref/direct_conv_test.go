package ref_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// drawn returns a tensor of small whole numbers, whose sums of products are exact.
func drawn(r *rand.Rand, d dtype.DType, dims ...int) ref.Tensor {
	x := ref.Zeros(op.DescOf(d, dims...))
	for i := range x.Desc.Shape.Size() {
		v := int64(r.IntN(11) - 5)
		if x.F != nil {
			x.F[i] = float64(v)
		} else {
			x.I[i] = v
		}
	}
	return x
}

// uniform returns a tensor of numbers in [lo, hi).
func uniform(r *rand.Rand, lo, hi float64, dims ...int) ref.Tensor {
	x := ref.Zeros(op.DescOf(dtype.F64, dims...))
	for i := range x.F {
		x.F[i] = lo + (hi-lo)*r.Float64()
	}
	return x
}

// element reads x[at], and 0 where an index lies outside.
func element(x ref.Tensor, at ...int) float64 {
	pos := 0
	for k, n := range x.Desc.Shape {
		if at[k] < 0 || at[k] >= n {
			return 0
		}
		pos = pos*n + at[k]
	}
	if x.F != nil {
		return x.F[pos]
	}
	return float64(x.I[pos])
}

// each calls f with every index of a shape, in row-major order.
func each(dims []int, f func(at []int)) {
	at := make([]int, len(dims))
	for range shape.Shape(dims).Size() {
		f(at)
		for k := len(dims) - 1; k >= 0; k-- {
			if at[k]++; at[k] < dims[k] {
				break
			}
			at[k] = 0
		}
	}
}

// numbers returns the elements of x as f64.
func numbers(x ref.Tensor) []float64 {
	if x.F != nil {
		return x.F
	}
	out := make([]float64, len(x.I))
	for i, v := range x.I {
		out[i] = float64(v)
	}
	return out
}

// evaluated returns the first result of a legal node.
func evaluated(t *testing.T, c op.Code, in []ref.Tensor, attrs ...op.Attr) ref.Tensor {
	t.Helper()
	out, err := eval(t, c, in, attrs...)
	require.NoError(t, err)
	return out[0]
}

// plane is the geometry of a kernel on two spatial dimensions.
type plane struct{ kernel, stride, lo, hi, dilation, input [2]int }

func drawPlane(r *rand.Rand, negative bool) plane {
	var p plane
	for k := range 2 {
		p.kernel[k], p.stride[k], p.lo[k], p.hi[k], p.dilation[k], p.input[k] = 1+r.IntN(3), 1+r.IntN(3), r.IntN(3), r.IntN(3), 1+r.IntN(2), 1
		if negative {
			p.lo[k], p.hi[k], p.input[k] = p.lo[k]-1, p.hi[k]-1, 1+r.IntN(3)
		}
	}
	return p
}

func (p plane) attrs(dilation string) []op.Attr {
	return []op.Attr{op.Ints("strides", p.stride[:]...), op.Ints("pad_lo", p.lo[:]...), op.Ints("pad_hi", p.hi[:]...), op.Ints(dilation, p.dilation[:]...)}
}

// source returns the input index along axis that kernel element k reads for output index out. It returns -1 before the input and
// between the elements of a dilated input.
func (p plane) source(axis, out, k int) int {
	at := out*p.stride[axis] + k*p.dilation[axis] - p.lo[axis]
	if at < 0 || at%p.input[axis] != 0 {
		return -1
	}
	return at / p.input[axis]
}

// places returns the number of positions of the kernel along axis over n elements with their padding.
func (p plane) places(axis, n int) int {
	count := 0
	for start := 0; start+(p.kernel[axis]-1)*p.dilation[axis] < p.lo[axis]+n+p.hi[axis]; start += p.stride[axis] {
		count++
	}
	return count
}

// A convolution equals the sum over channels and kernel elements of its definition, with groups, dilation of kernel and input, and
// negative padding.
func TestConvBySum(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	done := 0
	for range 120 {
		p := drawPlane(r, true)
		groups, perGroup, outs := 1+r.IntN(3), 1+r.IntN(2), 1+r.IntN(2)
		d := []dtype.DType{dtype.F64, dtype.I32, dtype.I64}[r.IntN(3)]
		x, w := drawn(r, d, 1+r.IntN(2), groups*perGroup, 2+r.IntN(5), 2+r.IntN(5)), drawn(r, d, groups*outs, perGroup, p.kernel[0], p.kernel[1])
		attrs := append(p.attrs("kernel_dilation"), op.Ints("input_dilation", p.input[:]...), op.Int("groups", groups))
		n, err := op.New(op.Conv, []op.Desc{x.Desc, w.Desc}, attrs...)
		if err != nil {
			continue // the input with its padding has a negative size
		}
		done++
		got, err := ref.Eval(&n, []ref.Tensor{x, w})
		require.NoError(t, err)
		var want []float64
		each(n.Outputs[0].Shape, func(at []int) {
			sum := 0.0
			each(w.Desc.Shape[1:], func(k []int) {
				i, j := p.source(0, at[2], k[1]), p.source(1, at[3], k[2])
				sum += element(x, at[0], at[1]/outs*perGroup+k[0], i, j) * element(w, at[1], k[0], k[1], k[2])
			})
			want = append(want, sum)
		})
		require.Equal(t, want, append([]float64(nil), numbers(got[0])...), "%v", &n)
	}
	require.Greater(t, done, 80)
}

// A transposed convolution adds each element times the kernel to the result, and padding cuts off the ends.
func TestConvTransposeByScatter(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	done := 0
	for range 120 {
		p := drawPlane(r, false)
		groups, perGroup, outs := 1+r.IntN(2), 1+r.IntN(2), 1+r.IntN(3)
		x, w := drawn(r, dtype.F64, 2, groups*perGroup, 1+r.IntN(4), 1+r.IntN(4)), drawn(r, dtype.F64, groups*perGroup, outs, p.kernel[0], p.kernel[1])
		extra := []int{r.IntN(2), r.IntN(2)}
		n, err := op.New(op.ConvTranspose, []op.Desc{x.Desc, w.Desc}, append(p.attrs("dilation"), op.Ints("output_padding", extra...), op.Int("groups", groups))...)
		if err != nil {
			continue // the padding cuts off more elements than there are
		}
		done++
		got, err := ref.Eval(&n, []ref.Tensor{x, w})
		require.NoError(t, err)
		y := ref.Zeros(n.Outputs[0])
		s := y.Desc.Shape
		each(x.Desc.Shape, func(at []int) {
			each(w.Desc.Shape[1:], func(k []int) {
				i, j := at[2]*p.stride[0]+k[1]*p.dilation[0]-p.lo[0], at[3]*p.stride[1]+k[2]*p.dilation[1]-p.lo[1]
				if i < 0 || i >= s[2] || j < 0 || j >= s[3] {
					return
				}
				channel := at[1]/perGroup*outs + k[0]
				y.F[((at[0]*s[1]+channel)*s[2]+i)*s[3]+j] += element(x, at...) * element(w, at[1], k[0], k[1], k[2])
			})
		})
		require.Equal(t, y.F, got[0].F, "%v", &n)
	}
	require.Greater(t, done, 80)
}

// bilinear returns channel c of image n at (y, z), interpolated between the four neighbours, which are 0 outside the image.
func bilinear(x ref.Tensor, n, c int, y, z float64) float64 {
	i, j := int(math.Floor(y)), int(math.Floor(z))
	v, u := y-float64(i), z-float64(j)
	return (1-v)*(1-u)*element(x, n, c, i, j) + (1-v)*u*element(x, n, c, i, j+1) + v*(1-u)*element(x, n, c, i+1, j) + v*u*element(x, n, c, i+1, j+1)
}

// A deformable convolution is a convolution that reads at moved positions and weights by a mask (Zhu et al., "Deformable ConvNets v2").
func TestDeformConvBySum(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 16))
	for range 60 {
		p := drawPlane(r, false)
		groups, outs, offsets := 1+r.IntN(2), 1+r.IntN(2), 1+r.IntN(2)
		channels := groups * offsets
		x := uniform(r, -2, 2, 2, channels, 3+r.IntN(4), 3+r.IntN(4))
		w := uniform(r, -1, 1, groups*outs, channels/groups, p.kernel[0], p.kernel[1])
		attrs := append(p.attrs("dilation"), op.Int("groups", groups), op.Int("offset_groups", offsets))
		places := [2]int{p.places(0, x.Desc.Shape[2]), p.places(1, x.Desc.Shape[3])}
		taps := p.kernel[0] * p.kernel[1]
		moved, mask := uniform(r, -2, 2, 2, offsets*taps*2, places[0], places[1]), uniform(r, 0, 1, 2, offsets*taps, places[0], places[1])
		in := []ref.Tensor{x, w, moved, mask}
		masked := r.IntN(3) > 0
		if !masked {
			in = in[:3]
		}
		got := evaluated(t, op.DeformConv, in, attrs...)
		var want []float64
		each(got.Desc.Shape, func(at []int) {
			sum := 0.0
			each(w.Desc.Shape[1:], func(k []int) {
				c, tap := at[1]/outs*(channels/groups)+k[0], k[1]*p.kernel[1]+k[2]
				tap += c / (channels / offsets) * taps
				y := float64(at[2]*p.stride[0]+k[1]*p.dilation[0]-p.lo[0]) + element(moved, at[0], 2*tap, at[2], at[3])
				z := float64(at[3]*p.stride[1]+k[2]*p.dilation[1]-p.lo[1]) + element(moved, at[0], 2*tap+1, at[2], at[3])
				v := bilinear(x, at[0], c, y, z) * element(w, at[1], k[0], k[1], k[2])
				if masked {
					v *= element(mask, at[0], tap, at[2], at[3])
				}
				sum += v
			})
			want = append(want, sum)
		})
		require.Len(t, got.F, len(want))
		if len(want) > 0 {
			require.InDeltaSlice(t, want, got.F, 1e-12)
		}
	}
}

// im2col copies windows, and col2im is its adjoint: ⟨im2col(x), y⟩ = ⟨x, col2im(y)⟩ for all x and y.
func TestPatchesByCopy(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 18))
	for range 80 {
		p := drawPlane(r, false)
		x := drawn(r, dtype.F64, 2, 2, 3+r.IntN(4), 3+r.IntN(4))
		attrs := append(p.attrs("dilation"), op.Ints("window", p.kernel[:]...))
		columns := evaluated(t, op.Im2Col, []ref.Tensor{x}, attrs...)
		places := [2]int{p.places(0, x.Desc.Shape[2]), p.places(1, x.Desc.Shape[3])}
		var want []float64
		each([]int{2, 2, p.kernel[0], p.kernel[1], places[0], places[1]}, func(at []int) {
			want = append(want, element(x, at[0], at[1], p.source(0, at[4], at[2]), p.source(1, at[5], at[3])))
		})
		require.Len(t, columns.F, len(want))
		require.Equal(t, want, append([]float64(nil), columns.F...))
		y := drawn(r, dtype.F64, columns.Desc.Shape...)
		back := evaluated(t, op.Col2Im, []ref.Tensor{y}, append(attrs, op.Ints("size", x.Desc.Shape[2:]...))...)
		left, right := 0.0, 0.0
		for i := range y.F {
			left += columns.F[i] * y.F[i]
		}
		for i := range x.F {
			right += x.F[i] * back.F[i]
		}
		require.Equal(t, left, right)
	}
}

// Pools reduce the elements of each window that are in the input. An average divides by a count that includes padding on request, and
// never the overhang.
func TestPoolsByWindow(t *testing.T) {
	r := rand.New(rand.NewPCG(19, 20))
	for range 150 {
		p := drawPlane(r, false)
		over := [2]int{r.IntN(2), r.IntN(2)}
		x := uniform(r, -3, 3, 2, 4+r.IntN(4), 4+r.IntN(4))
		attrs := append(p.attrs("dilation"), op.Ints("window", p.kernel[:]...), op.Ints("overhang", over[:]...))
		power := []float64{1, 2, 3, 0.5}[r.IntN(4)]
		counted := r.IntN(2) == 1
		most, err := eval(t, op.MaxPool, []ref.Tensor{x}, append(attrs, op.Flag("indices", true))...)
		require.NoError(t, err)
		mean := evaluated(t, op.AvgPool, []ref.Tensor{x}, append(attrs, op.Flag("count_pad", counted))...)
		norm := evaluated(t, op.LpPool, []ref.Tensor{x}, append(attrs, op.Float("p", power))...)
		height, width := x.Desc.Shape[1], x.Desc.Shape[2]
		i := -1
		each(mean.Desc.Shape, func(at []int) {
			i++
			best, where, sum, powers, count, padded := -inf, int64(-1), 0.0, 0.0, 0, 0
			each(p.kernel[:], func(k []int) {
				a, b := at[1]*p.stride[0]+k[0]*p.dilation[0]-p.lo[0], at[2]*p.stride[1]+k[1]*p.dilation[1]-p.lo[1]
				if a < height+p.hi[0] && b < width+p.hi[1] {
					padded++
				}
				if a < 0 || a >= height || b < 0 || b >= width {
					return
				}
				v := element(x, at[0], a, b)
				count++
				sum += v
				powers += math.Pow(math.Abs(v), power)
				if v > best {
					best, where = v, int64(a*width+b)
				}
			})
			divisor := float64(count)
			if counted {
				divisor = float64(padded)
			}
			require.Equal(t, where, most[1].I[i])
			require.Equal(t, best, most[0].F[i])
			if divisor > 0 {
				require.InDelta(t, sum/divisor, mean.F[i], 1e-12)
			}
			require.InDelta(t, math.Pow(powers, 1/power), norm.F[i], 1e-9)
		})
	}
}
