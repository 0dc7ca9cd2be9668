package library

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu"
	"github.com/goburn/burn/sdk/gpu/lt"
	"github.com/goburn/burn/sdk/gpu/streams"
	"github.com/goburn/burn/sdk/gpu/vendor"
)

// plainProduct returns a product of row-major matrices.
func plainProduct(t dtype.DType, m, n, k int) gpu.Product {
	return gpu.Product{Batch: 1, M: m, N: n, K: k, A: gpu.Matrix{Type: t, Row: k, Col: 1}, B: gpu.Matrix{Type: t, Row: n, Col: 1}, D: gpu.Matrix{Type: t, Row: n, Col: 1}}
}

// TestProductSpec compares addresses by the formulas of both sides: element (r, c) of a matrix of cuBLASLt is at c*LD + r, and element
// (r, c) of a gpu.Matrix at r*Row + c*Col. cuBLASLt computes the transposed result from exchanged factors.
func TestProductSpec(t *testing.T) {
	const m, n, k, batch = 5, 7, 3, 2
	for _, a := range []gpu.Matrix{{Row: k, Col: 1}, {Row: k + 2, Col: 1}, {Row: 1, Col: m}, {Row: 1, Col: m + 4}} {
		for _, b := range []gpu.Matrix{{Row: n, Col: 1}, {Row: 1, Col: k}, {Row: 1, Col: k + 1}} {
			p := plainProduct(dtype.F16, m, n, k)
			p.Batch, p.A, p.B = batch, a, b
			p.A.Type, p.B.Type, p.A.Batch, p.B.Batch, p.D.Batch = dtype.F16, dtype.F16, 1000, 0, 99
			s, err := Spec(&p)
			require.NoError(t, err)
			at := func(l lt.Layout, transposed bool, r, c int64) int64 {
				if transposed {
					r, c = c, r
				}
				require.True(t, r < l.Rows && c < l.Cols && l.LD >= l.Rows)
				return c*l.LD + r
			}
			for i := range int64(m) {
				for j := range int64(n) {
					require.Equal(t, i*n+j, at(s.D, false, j, i))
					for l := range int64(k) {
						require.Equal(t, i*int64(a.Row)+l*int64(a.Col), at(s.B, s.TransB, l, i))
						require.Equal(t, l*int64(b.Row)+j*int64(b.Col), at(s.A, s.TransA, j, l))
					}
				}
			}
			require.Equal(t, [3]int64{0, 1000, 99}, [3]int64{s.A.Stride, s.B.Stride, s.D.Stride})
			require.Equal(t, [4]int{2, 2, 2, 2}, [4]int{s.A.Batch, s.B.Batch, s.C.Batch, s.D.Batch})
		}
	}
}

func TestProductPrecision(t *testing.T) {
	for _, c := range []struct {
		factors, result dtype.DType
		tf32            bool
		compute         lt.Compute
	}{
		{dtype.F32, dtype.F32, false, lt.ComputeF32}, {dtype.F32, dtype.F32, true, lt.ComputeTF32}, {dtype.BF16, dtype.BF16, true, lt.ComputeF32},
		{dtype.F16, dtype.F32, false, lt.ComputeF32}, {dtype.F64, dtype.F64, true, lt.ComputeF64},
	} {
		p := plainProduct(c.factors, 4, 4, 4)
		p.D.Type, p.TF32 = c.result, c.tf32
		s, err := Spec(&p)
		require.NoError(t, err)
		require.Equal(t, c.compute, s.Compute)
	}
	for _, x := range [][2]dtype.DType{{dtype.I32, dtype.I32}, {dtype.F32, dtype.F16}, {dtype.I8, dtype.I8}, {dtype.I8, dtype.I32}} {
		p := plainProduct(x[0], 4, 4, 4)
		p.D.Type = x[1]
		_, err := Spec(&p)
		require.ErrorIs(t, err, vendor.ErrUnsupported)
	}
}

func TestProductEpilogue(t *testing.T) {
	for _, c := range []struct {
		t, bias dtype.DType
		a       gpu.Activation
		want    lt.Epilogue // 0: refused
	}{
		{dtype.F32, 0, gpu.None, lt.EpilogueNone}, {dtype.F32, dtype.F32, gpu.None, lt.EpilogueBias}, {dtype.F32, dtype.F32, gpu.ReLU, lt.EpilogueReluBias},
		{dtype.BF16, dtype.BF16, gpu.GELUTanh, lt.EpilogueGeluBias}, {dtype.F16, 0, gpu.GELUTanh, lt.EpilogueGelu}, {dtype.F32, 0, gpu.ReLU, lt.EpilogueRelu},
		{dtype.F32, 0, gpu.GELUTanh, 0}, {dtype.BF16, 0, gpu.GELU, 0}, {dtype.F32, dtype.I32, gpu.None, 0},
	} {
		p := plainProduct(c.t, 4, 4, 4)
		p.Bias, p.Activation = c.bias, c.a
		s, err := Spec(&p)
		if c.want == 0 {
			require.ErrorIs(t, err, vendor.ErrUnsupported)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.want, s.Epilogue)
	}
}

// TestMatmulReady checks that Ready considers the alignment of every operand: factors, result, bias and residual.
func TestMatmulReady(t *testing.T) {
	p := plainProduct(dtype.F32, 4, 4, 4)
	p.Bias, p.Residual = dtype.F32, true
	block := streams.NewMemory(1<<20, 1<<20)
	args := func(offsets ...int64) (refs []gpu.Ref) {
		for _, o := range offsets {
			refs = append(refs, gpu.Ref{Memory: block, Offset: o})
		}
		return refs
	}
	x := &product{library: NewProducts(ProductOptions{}), p: p}
	wide, narrow := &matmul{product: x, align: 256}, &matmul{product: x, align: 4}
	require.NoError(t, wide.Ready(args(0, 256, 512, 16, 768)))
	for i := range 5 {
		offsets := []int64{0, 256, 512, 1024, 768}
		offsets[i] += 8
		require.ErrorIs(t, wide.Ready(args(offsets...)), vendor.ErrUnsupported, "operand %d", i)
		if i == 3 {
			require.ErrorIs(t, narrow.Ready(args(offsets...)), vendor.ErrUnsupported, "no alignment of a bias but 16 is known to work")
			continue
		}
		require.NoError(t, narrow.Ready(args(offsets...)))
		offsets[i]++
		require.Error(t, narrow.Ready(args(offsets...)))
	}
}
