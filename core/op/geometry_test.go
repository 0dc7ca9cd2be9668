package op_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// dim is the geometry of a window on one dimension.
type dim struct{ n, window, stride, lo, hi, overhang, dilation, input int }

func drawDim(r *rand.Rand, negative bool) dim {
	d := dim{n: 1 + r.IntN(9), window: 1 + r.IntN(4), stride: 1 + r.IntN(3), lo: r.IntN(4), hi: r.IntN(4), dilation: 1 + r.IntN(3), input: 1}
	if negative {
		d.lo, d.hi, d.input = d.lo-2, d.hi-2, 1+r.IntN(3)
	}
	return d
}

// places counts the positions of the window, one after the other. It returns -1 if the padded dimension has a negative length.
func (d dim) places() int {
	length := d.lo + d.hi + d.overhang
	for k := range d.n { // the elements, with the zeros between them
		length++
		if k > 0 {
			length += d.input - 1
		}
	}
	if length < 0 {
		return -1
	}
	count := 0
	for start := 0; start+(d.window-1)*d.dilation < length; start += d.stride {
		count++
	}
	return count
}

// Inference counts the positions of a sliding window as a walk over the dimension does, and refuses a dimension whose padded length is
// negative.
func TestWindowGeometry(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	refused := 0
	check := func(n op.Node, err error, want ...int) {
		t.Helper()
		for _, w := range want {
			if w < 0 {
				require.ErrorIs(t, err, op.ErrShape)
				refused++
				return
			}
		}
		require.NoError(t, err)
		s := n.Outputs[0].Shape
		require.Equal(t, want, []int(s[len(s)-len(want):]), "%v", &n)
	}
	for range 300 {
		a, b := drawDim(r, true), drawDim(r, true)
		pair := func(name string, f func(d dim) int) op.Attr { return op.Ints(name, f(a), f(b)) }
		attrs := func() []op.Attr {
			return with(pair("strides", func(d dim) int { return d.stride }), pair("pad_lo", func(d dim) int { return d.lo }), pair("pad_hi", func(d dim) int { return d.hi }))
		}
		n, err := op.New(op.Conv, ins(f(1, 2, a.n, b.n), f(3, 2, a.window, b.window)), append(attrs(), pair("kernel_dilation", func(d dim) int { return d.dilation }), pair("input_dilation", func(d dim) int { return d.input }))...)
		check(n, err, a.places(), b.places())

		a.input, b.input = 1, 1
		sliding := append(attrs(), pair("dilation", func(d dim) int { return d.dilation }))
		window := pair("window", func(d dim) int { return d.window })
		n, err = op.New(op.WindowReduce, ins(f(a.n, b.n)), append(sliding, window, maxed)...)
		check(n, err, a.places(), b.places())

		a, b = drawDim(r, false), drawDim(r, false)
		sliding, window = append(attrs(), pair("dilation", func(d dim) int { return d.dilation })), pair("window", func(d dim) int { return d.window })
		n, err = op.New(op.Im2Col, ins(f(1, 2, a.n, b.n)), append(sliding, window)...)
		check(n, err, 2*a.window*b.window, a.places()*b.places())
		if l := a.places() * b.places(); l > 0 {
			back, err := op.New(op.Col2Im, n.Outputs, append(sliding, window, op.Ints("size", a.n, b.n))...)
			check(back, err, a.n, b.n)
			_, err = op.New(op.Col2Im, ins(f(1, 2*a.window*b.window, l+1)), append(sliding, window, op.Ints("size", a.n, b.n))...)
			require.ErrorIs(t, err, op.ErrShape)
		}
		a.overhang, b.overhang = r.IntN(3), r.IntN(3)
		sliding = append(sliding, window, pair("overhang", func(d dim) int { return d.overhang }))
		for _, c := range []op.Code{op.MaxPool, op.AvgPool, op.LpPool} {
			n, err = op.New(c, ins(f(a.n, b.n)), sliding...)
			check(n, err, a.places(), b.places())
		}
	}
	require.Greater(t, refused, 3)
}

// A transposed convolution has the shape of the operand of the convolution with the same attributes.
func TestTransposedGeometry(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		d := drawDim(r, false)
		d.lo, d.hi = min(d.lo, (d.window-1)*d.dilation), min(d.hi, (d.window-1)*d.dilation)
		out := d.places()
		if out == 0 {
			continue
		}
		reached := (out-1)*d.stride + (d.window-1)*d.dilation + 1 - d.lo - d.hi
		extra := d.n - reached // the number of elements that no window touched
		n, err := op.New(op.ConvTranspose, ins(f(1, 3, out), f(3, 2, d.window)), op.Ints("strides", d.stride), op.Ints("pad_lo", d.lo), op.Ints("pad_hi", d.hi), op.Ints("output_padding", extra),
			op.Ints("dilation", d.dilation), op.Int("groups", 1))
		require.NoError(t, err)
		require.True(t, n.Outputs[0].SameType(f(1, 2, d.n)), "%v of %+v", n.Outputs[0], d)
	}
}

// The shapes of broadcasting follow NumPy's rule in each dimension.
func TestBroadcastGeometry(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	drawn := func() op.Desc {
		d := op.DescOf(dtype.F32)
		for range r.IntN(4) {
			d.Shape = append(d.Shape, []int{0, 1, 1, 2, 3}[r.IntN(5)])
		}
		return d
	}
	at := func(d op.Desc, k int) int { // k dimensions from the end
		if k >= len(d.Shape) {
			return 1
		}
		return d.Shape[len(d.Shape)-1-k]
	}
	refused := 0
	for range 400 {
		a, b := drawn(), drawn()
		n, err := op.New(op.Add, ins(a, b))
		rank, fits := max(len(a.Shape), len(b.Shape)), true
		want := make([]int, rank)
		for k := range rank {
			x, y := at(a, k), at(b, k)
			if x == 1 {
				x = y
			}
			fits = fits && (x == y || y == 1)
			want[rank-1-k] = x
		}
		if !fits {
			refused++
			require.ErrorIs(t, err, op.ErrShape, "%v and %v", a, b)
			continue
		}
		require.NoError(t, err)
		require.True(t, n.Outputs[0].SameType(op.DescOf(dtype.F32, want...)), "%v and %v: %v", a, b, n.Outputs[0])
		m, err := op.New(op.Less, ins(b, a))
		require.NoError(t, err)
		require.True(t, m.Outputs[0].Shape.Equal(n.Outputs[0].Shape), "the order of operands does not matter")
	}
	require.Greater(t, refused, 20)
}
