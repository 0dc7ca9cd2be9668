package gradient_test

import (
	"slices"
	"testing"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/op"
)

func TestProductDifferences(t *testing.T) {
	for _, ta := range []bool{false, true} {
		for _, tb := range []bool{false, true} {
			for _, lead := range [][2][]int{{{}, {}}, {{2}, {}}, {{}, {2}}, {{2}, {2}}, {{2, 1}, {1, 2}}, {{2}, {1}}, {{3, 2}, {2}}} {
				a, b := []int{2, 3}, []int{3, 2}
				if ta {
					slices.Reverse(a)
				}
				if tb {
					slices.Reverse(b)
				}
				x := tensors(real(1, slices.Concat(lead[0], a)...), real(2, slices.Concat(lead[1], b)...))
				differ(t, example{op.MatMul, x, with(op.Flag("transpose_a", ta), op.Flag("transpose_b", tb))})
			}
		}
	}
	turned := op.Flag("transpose_w", true)
	differAll(t, []example{
		{op.Linear, tensors(real(3, 2, 3), real(4, 3, 4)), nil}, {op.Linear, tensors(real(5, 2, 3), real(6, 4, 3), real(7, 4)), with(turned)}, {op.Linear, tensors(real(8, 3), real(9, 3, 2), real(10, 2)), nil},
		{op.Linear, tensors(real(11, 2, 2, 3), real(12, 2, 3), real(13, 2)), with(turned)},
	})
}

func TestConvDifferences(t *testing.T) {
	conv := func(stride, lo, hi, kernel, input []int, groups int) []op.Attr {
		return with(op.Ints("strides", stride...), op.Ints("pad_lo", lo...), op.Ints("pad_hi", hi...), op.Ints("kernel_dilation", kernel...), op.Ints("input_dilation", input...), op.Int("groups", groups))
	}
	line := func(stride, lo, hi, kernel, input, groups int) []op.Attr {
		return conv([]int{stride}, []int{lo}, []int{hi}, []int{kernel}, []int{input}, groups)
	}
	x, w := real(1, 2, 2, 6), real(2, 4, 2, 3)
	grouped := real(3, 4, 1, 3)
	differAll(t, []example{
		{op.Conv, tensors(x, w), line(1, 0, 0, 1, 1, 1)}, {op.Conv, tensors(x, w), line(2, 1, 1, 1, 1, 1)}, {op.Conv, tensors(x, w), line(3, 2, 0, 1, 1, 1)},
		{op.Conv, tensors(x, w), line(1, 2, 3, 2, 1, 1)}, {op.Conv, tensors(x, w), line(1, 0, 1, 1, 2, 1)}, {op.Conv, tensors(x, w), line(2, -1, 2, 2, 3, 1)}, {op.Conv, tensors(x, w), line(1, -2, -1, 1, 1, 1)},
		{op.Conv, tensors(x, grouped), line(1, 1, 1, 1, 1, 2)}, {op.Conv, tensors(x, grouped), line(2, 1, 2, 2, 2, 2)}, {op.Conv, tensors(x, real(4, 2, 2, 1)), line(2, 0, 0, 1, 1, 1)},
		{op.Conv, tensors(real(5, 1, 2, 4, 3), real(6, 2, 2, 2, 3)), conv([]int{2, 1}, []int{1, 0}, []int{0, 2}, []int{1, 2}, []int{1, 2}, 1)},
		{op.Conv, tensors(real(7, 1, 2, 4, 3), real(8, 2, 1, 2, 2)), conv([]int{1, 2}, []int{0, 1}, []int{1, 0}, []int{2, 1}, []int{1, 1}, 2)},
		// The kernel is larger than the input, or the batch is empty.
		{op.Conv, tensors(real(9, 1, 2, 2), real(10, 1, 2, 3)), line(1, 0, 0, 1, 1, 1)}, {op.Conv, tensors(real(9, 0, 2, 4), real(10, 1, 2, 3)), line(1, 0, 0, 1, 1, 1)},
	})
}

func TestPoolingDifferences(t *testing.T) {
	slide := func(window, stride, lo, hi, dilation []int, more ...op.Attr) []op.Attr {
		return append(more, op.Ints("window", window...), op.Ints("strides", stride...), op.Ints("pad_lo", lo...), op.Ints("pad_hi", hi...), op.Ints("dilation", dilation...))
	}
	line := func(window, stride, lo, hi, dilation int, more ...op.Attr) []op.Attr {
		return slide([]int{window}, []int{stride}, []int{lo}, []int{hi}, []int{dilation}, more...)
	}
	var all []example
	for _, mode := range []string{"sum", "max"} {
		how := op.Str("reduce", mode)
		x := real(1, 2, 7)
		all = append(all,
			example{op.WindowReduce, tensors(x), line(3, 1, 0, 0, 1, how)}, example{op.WindowReduce, tensors(x), line(3, 2, 1, 2, 1, how)},
			example{op.WindowReduce, tensors(x), line(2, 3, 0, 0, 2, how)}, example{op.WindowReduce, tensors(x), line(2, 1, -1, -2, 1, how)},
			example{op.WindowReduce, tensors(x), line(7, 7, 0, 0, 1, how)}, example{op.WindowReduce, tensors(x), line(8, 1, 0, 0, 1, how)},
			example{op.WindowReduce, tensors(real(2, 2, 6)), line(2, 2, 0, 0, 1, how)}, example{op.WindowReduce, tensors(real(3, 2, 6)), line(3, 3, 0, 0, 1, how)},
			example{op.WindowReduce, tensors(real(4, 2, 4, 6)), slide([]int{2, 3}, []int{2, 3}, []int{0, 0}, []int{0, 0}, []int{1, 1}, how)},
			example{op.WindowReduce, tensors(real(5, 4, 5)), slide([]int{2, 2}, []int{1, 2}, []int{1, 0}, []int{0, 1}, []int{2, 1}, how)},
		)
	}
	over := func(n ...int) op.Attr { return op.Ints("overhang", n...) }
	all = append(all,
		example{op.MaxPool, tensors(real(6, 1, 2, 7)), line(3, 2, 1, 1, 1, over(0))}, example{op.MaxPool, tensors(real(7, 1, 2, 6)), line(3, 2, 0, 0, 1, over(1))},
		example{op.MaxPool, tensors(real(8, 1, 1, 4, 4)), slide([]int{2, 2}, []int{2, 2}, []int{0, 0}, []int{0, 0}, []int{1, 1}, over(0, 0))},
		// Some windows contain only padding, at the start or, with overhang, at the end. The index of their maximum is -1.
		example{op.MaxPool, tensors(real(9, 1, 1, 3)), line(2, 1, 3, 0, 1, over(0))}, example{op.MaxPool, tensors(real(10, 1, 1, 3)), line(2, 2, 0, 2, 1, over(1))},
	)
	differAll(t, all)
}

func TestNormDifferences(t *testing.T) {
	eps := op.Float("epsilon", 0.1)
	x := real(1, 3, 2, 4)
	groups := func(n int) []op.Attr { return with(op.Int("groups", n), eps) }
	differAll(t, []example{
		{op.LayerNorm, tensors(x), with(axis(2), eps)}, {op.LayerNorm, tensors(x, real(2, 4)), with(axis(2), eps)}, {op.LayerNorm, tensors(x, real(3, 2, 4), real(4, 4)), with(axis(1), eps)},
		{op.LayerNorm, tensors(x, real(5, 2, 1), real(6)), with(axis(0), eps)}, {op.RMSNorm, tensors(x), with(axis(1), eps)}, {op.RMSNorm, tensors(x, real(7, 4)), with(axis(2), eps)},
		{op.RMSNorm, tensors(x, real(8, 2, 1)), with(axis(1), eps)},
		{op.GroupNorm, tensors(real(9, 2, 4, 3), real(10, 4), real(11, 4)), groups(2)}, {op.GroupNorm, tensors(real(12, 2, 4, 3), real(13, 4), real(14, 4)), groups(4)},
		{op.GroupNorm, tensors(real(15, 2, 3), real(16, 3), real(17, 3)), groups(1)}, {op.GroupNorm, tensors(real(18, 1, 2, 2, 2), real(19, 2), real(20, 2)), groups(1)},
		{op.BatchNorm, tensors(real(21, 2, 3, 2), real(22, 3), real(23, 3), real(24, 3), positive(25, 3)), with(eps)},
		{op.BatchNorm, tensors(real(26, 4, 2), real(27, 2), real(28, 2), real(29, 2), positive(30, 2)), nil},
	})
}

// apart returns matrices of full rank whose singular values, and eigenvalues where they are symmetric, are not close to each other.
func apart(seed uint64, symmetric bool, dims ...int) ref.Tensor {
	x := drawn(seed, -0.4, 0.4, dims...)
	rows, columns := dims[len(dims)-2], dims[len(dims)-1]
	for k := range x.F {
		i, j := k/columns%rows, k%columns
		if i == j {
			x.F[k] += float64(2 + 2*i)
		} else if symmetric && i > j {
			x.F[k] = x.F[k-k%(rows*columns)+j*columns+i]
		}
	}
	return x
}

func TestFactorDifferences(t *testing.T) {
	a, b := apart(1, false, 2, 3, 3), real(2, 2, 3, 2)
	all := []example{
		{op.Inverse, tensors(a), nil}, {op.Det, tensors(a), nil}, {op.Det, tensors(apart(3, false, 1, 1)), nil}, {op.SlogDet, tensors(a), nil}, {op.Solve, tensors(a, b), nil},
		{op.Solve, tensors(a, real(4, 3, 2)), nil}, {op.Solve, tensors(apart(5, false, 3, 3), b), nil},
		{op.SVD, tensors(apart(6, false, 3, 3)), nil}, {op.SVD, tensors(apart(7, false, 4, 2)), nil}, {op.SVD, tensors(apart(8, false, 2, 2, 4)), nil},
	}
	for _, upper := range []bool{false, true} {
		for _, turned := range []bool{false, true} {
			for _, one := range []bool{false, true} {
				all = append(all, example{op.TriangularSolve, tensors(a, b), with(op.Flag("upper", upper), op.Flag("transpose", turned), op.Flag("unit", one))})
			}
		}
	}
	differAll(t, all)
}

func TestAttentionDifferences(t *testing.T) {
	q, k, v := real(1, 1, 4, 3, 2), real(2, 1, 2, 5, 2), real(3, 1, 2, 5, 3)
	causal := with(op.Flag("causal", true), op.Int("past", 2))
	seen := truth([]int64{1, 0, 1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1}, 3, 5) // the second query sees nothing
	differAll(t, []example{
		{op.Attention, tensors(q, k, v), nil}, {op.Attention, tensors(q, k, v), causal}, {op.Attention, tensors(q, k, v), with(op.Float("scale", 0.3), op.Float("softcap", 2))},
		{op.Attention, tensors(q, k, v), with(op.Int("window", 2))}, {op.Attention, tensors(q, k, v, seen), causal[:0]},
	})
}

// An element off the diagonal of a symmetric matrix moves together with its mirror image: the difference quotient is the sum of both
// gradients.
func TestSymmetricDifferences(t *testing.T) {
	x := apart(1, true, 3, 3)
	for _, e := range []example{{op.Cholesky, tensors(x), nil}, {op.Cholesky, tensors(x), with(op.Flag("upper", true))}, {op.Eigh, tensors(x), nil}} {
		n, err := op.New(e.op, []op.Desc{x.Desc}, e.attrs...)
		if err != nil {
			t.Fatal(err)
		}
		weight := func(i int, d op.Desc) ref.Tensor { return real(uint64(40+i), d.Shape...) }
		loss := func(x ref.Tensor) (sum float64) {
			y, err := ref.Eval(&n, tensors(x))
			if err != nil {
				t.Fatal(err)
			}
			for i := range y {
				for k, w := range weight(i, n.Outputs[i]).F {
					sum += w * y[i].F[k]
				}
			}
			return sum
		}
		got := backward(t, e, []bool{true}, weight)[0].F
		for i := range 3 {
			for j := range i + 1 {
				const h = 1e-5
				up, down, sum := x.Clone(), x.Clone(), got[3*i+j]
				up.F[3*i+j] += h
				down.F[3*i+j] -= h
				if i != j {
					up.F[3*j+i] += h
					down.F[3*j+i] -= h
					sum += got[3*j+i]
				}
				if want := (loss(up) - loss(down)) / (2 * h); !near(sum, want, 1e-5) {
					t.Errorf("%v: element %d,%d is %v, want %v", e, i, j, sum, want)
				}
			}
		}
	}
}

func near(a, b, tolerance float64) bool { return a-b <= tolerance && b-a <= tolerance }

// In ops of several results, the gradient is the sum of the gradients for each result alone. A result without a gradient adds nothing.
func TestOneResultOfSeveral(t *testing.T) {
	x := apart(1, true, 3, 3)
	for _, c := range []struct {
		e       example
		results int
	}{
		{example{op.Eigh, tensors(x), nil}, 2}, {example{op.SVD, tensors(apart(2, false, 4, 3)), nil}, 3}, {example{op.SlogDet, tensors(x), nil}, 2},
		{example{op.Dropout, tensors(x), with(op.Int("seed", 3))}, 1}, {example{op.TopK, tensors(x), with(op.Int("k", 2), axis(1))}, 1}, {example{op.Sort, tensors(x), with(axis(0))}, 1},
	} {
		weight := func(i int, d op.Desc) ref.Tensor { return real(uint64(50+i), d.Shape...) }
		sum := make([]float64, 9+3)
		for only := range c.results {
			g := backward(t, c.e, []bool{true}, func(i int, d op.Desc) ref.Tensor {
				if i != only {
					return ref.Tensor{}
				}
				return weight(i, d)
			})[0]
			for k, v := range g.F {
				sum[k] += v
			}
		}
		for k, want := range backward(t, c.e, []bool{true}, weight)[0].F {
			if !near(sum[k], want, 1e-9) {
				t.Errorf("%v: element %d is %v, want %v", c.e, k, sum[k], want)
			}
		}
		none := backward(t, c.e, []bool{true}, func(int, op.Desc) ref.Tensor { return ref.Tensor{} })[0]
		for k, v := range none.F {
			if v != 0 {
				t.Errorf("%v: element %d is %v without gradients of results", c.e, k, v)
			}
		}
	}
}
