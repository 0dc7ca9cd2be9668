package dialect

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/sdk/gpu/ir"
	"github.com/goburn/burn/sdk/gpu/template"
)

// largest returns the largest kernels that templates build, for a device like an H200 or, if plain, for one without matrix instructions,
// asynchronous copies and f64 products.
func largest(t *testing.T, plain bool) []*ir.Kernel {
	types := dtype.SetOf(dtype.All()...)
	target := template.Target{
		Subgroup: 32, Threads: 1024, Shared: 227 << 10, Units: 132, Blocks: 8, Grid: [3]int{1<<31 - 1, 65535, 65535}, Wide: 16, Types: types, Math: types, Async: true,
		MMA: []ir.MMA{{M: 16, N: 8, K: 16, Type: dtype.F16}, {M: 16, N: 8, K: 16, Type: dtype.BF16}},
	}
	factors := []dtype.DType{dtype.F32, dtype.F64, dtype.I8, dtype.BF16, dtype.F16}
	if plain {
		target.MMA, target.Async, target.Threads, target.Shared = nil, false, 256, 16<<10
		factors = []dtype.DType{dtype.F32, dtype.I8, dtype.BF16, dtype.F16}
	}
	return largestOn(t, target, factors)
}

// withMatrices returns the largest kernels for an Apple GPU with simdgroup matrices, of the dtypes of these matrices.
func withMatrices(t *testing.T) []*ir.Kernel {
	types := dtype.SetOf(dtype.All()...) &^ dtype.SetOf(dtype.F64)
	target := template.Target{Subgroup: 32, Threads: 1024, Shared: 32 << 10, Units: 16, Blocks: 4, Grid: [3]int{1<<31 - 1, 65535, 65535}, Wide: 16, Types: types, Math: types,
		MMA: MetalMatrices("Apple7")}
	return largestOn(t, target, []dtype.DType{dtype.BF16, dtype.F16})
}

// largestOn returns the largest kernels for a target: products and convolutions of factors of these dtypes, direct convolutions of f32, and
// attention of bf16 and f32.
func largestOn(t *testing.T, target template.Target, factors []dtype.DType) []*ir.Kernel {
	compute := map[dtype.DType]dtype.DType{dtype.F32: dtype.F32, dtype.F64: dtype.F64, dtype.I8: dtype.I32, dtype.BF16: dtype.F32, dtype.F16: dtype.F32}
	whole := func(d dtype.DType, dims ...int) template.Operand {
		return template.Operand{Type: d, View: shape.Contiguous(shape.Of(dims...))}
	}
	var kernels []*ir.Kernel
	add := func(w ir.Work, err error) {
		require.NoError(t, err)
		for _, l := range w.Launches {
			kernels = append(kernels, l.Kernel)
		}
	}
	for _, d := range factors {
		for _, s := range [][3]int{{4096, 4096, 4096}, {1000, 1001, 1003}, {1, 4096, 4096}, {64, 64, 16384}} {
			m, n, k := s[0], s[1], s[2]
			add(template.Product{M: m, N: n, K: k, A: whole(d, m, k), B: whole(d, k, n), Compute: compute[d], Out: []template.Operand{whole(compute[d], m, n)}}.Build(target))
		}
		for _, channels := range []int{64, 3} {
			add(template.Convolution{X: whole(d, 8, channels, 56, 56), W: whole(d, 64, channels, 3, 3), Stride: []int{1, 1}, Pad: []int{1, 1}, Dilation: []int{1, 1},
				InputDilation: []int{1, 1}, Groups: 1, Compute: compute[d], Out: []template.Operand{whole(compute[d], 8, 64, 56, 56)}}.Build(target))
		}
	}
	for _, dims := range [][3][]int{{{1024, 8, 26, 26}, {16, 8, 3, 3}, {1024, 16, 24, 24}}, {{8, 1024, 26, 26}, {16, 1024, 24, 24}, {8, 16, 3, 3}}} { // few channels, and their filters
		one := []int{1, 1}
		v := template.Convolution{X: whole(dtype.F32, dims[0]...), W: whole(dtype.F32, dims[1]...), Stride: one, Pad: []int{0, 0}, Dilation: one, InputDilation: one,
			Groups: 1, Compute: dtype.F32, Out: []template.Operand{whole(dtype.F32, dims[2]...)}}
		require.True(t, v.Direct(target))
		add(v.Build(target))
	}
	for _, d := range []dtype.DType{dtype.BF16, dtype.F32} {
		for _, width := range []int{64, 128} {
			x := whole(d, 8, 12, 1024, width)
			a := template.Attention{Batch: 8, Heads: 12, KeyHeads: 12, Queries: 1024, Keys: 1024, Width: width, ValueWidth: width, Scale: 0.125, Causal: true}
			add(template.Attend(target, a, []template.Operand{x, x, x}, x), nil)
			add(template.AttendBackward(target, a, []template.Operand{x, x, x, x, x}, []template.Operand{x, x, x}), nil)
		}
	}
	return kernels
}
