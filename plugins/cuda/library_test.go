package cuda

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/plugins/cuda/internal/nv"
	"github.com/goburn/burn/sdk/gpu"
	"github.com/goburn/burn/sdk/gpu/streams"
)

// plainProduct returns a product of row-major matrices.
func plainProduct(t dtype.DType, m, n, k int) gpu.Product {
	return gpu.Product{Batch: 1, M: m, N: n, K: k, A: gpu.Matrix{Type: t, Row: k, Col: 1}, B: gpu.Matrix{Type: t, Row: n, Col: 1}, D: gpu.Matrix{Type: t, Row: n, Col: 1}}
}

// TestProductSpec compares with the addresses that the formulas of both sides give: element (r, c) of a matrix of cuBLASLt is at
// c*LD + r, that of gpu.Matrix at r*Row + c*Col, and cuBLASLt computes the transposed result of exchanged factors.
func TestProductSpec(t *testing.T) {
	const m, n, k, batch = 5, 7, 3, 2
	for _, a := range []gpu.Matrix{{Row: k, Col: 1}, {Row: k + 2, Col: 1}, {Row: 1, Col: m}, {Row: 1, Col: m + 4}} {
		for _, b := range []gpu.Matrix{{Row: n, Col: 1}, {Row: 1, Col: k}, {Row: 1, Col: k + 1}} {
			p := plainProduct(dtype.F16, m, n, k)
			p.Batch, p.A, p.B = batch, a, b
			p.A.Type, p.B.Type, p.A.Batch, p.B.Batch, p.D.Batch = dtype.F16, dtype.F16, 1000, 0, 99
			s, err := productSpec(&p)
			require.NoError(t, err)
			at := func(l nv.Layout, transposed bool, r, c int64) int64 {
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
		compute         nv.Compute
	}{
		{dtype.F32, dtype.F32, false, nv.ComputeF32}, {dtype.F32, dtype.F32, true, nv.ComputeTF32}, {dtype.BF16, dtype.BF16, true, nv.ComputeF32},
		{dtype.F16, dtype.F32, false, nv.ComputeF32}, {dtype.F64, dtype.F64, true, nv.ComputeF64}, {dtype.I8, dtype.I32, false, nv.ComputeI32},
	} {
		p := plainProduct(c.factors, 4, 4, 4)
		p.D.Type, p.TF32 = c.result, c.tf32
		s, err := productSpec(&p)
		require.NoError(t, err)
		require.Equal(t, c.compute, s.Compute)
	}
	for _, x := range [][2]dtype.DType{{dtype.I32, dtype.I32}, {dtype.F32, dtype.F16}, {dtype.I8, dtype.I8}} {
		p := plainProduct(x[0], 4, 4, 4)
		p.D.Type = x[1]
		_, err := productSpec(&p)
		require.ErrorIs(t, err, nv.ErrUnsupported)
	}
}

func TestProductEpilogue(t *testing.T) {
	for _, c := range []struct {
		t, bias dtype.DType
		a       gpu.Activation
		want    nv.Epilogue // 0: refused
	}{
		{dtype.F32, 0, gpu.None, nv.EpilogueNone}, {dtype.F32, dtype.F32, gpu.None, nv.EpilogueBias}, {dtype.F32, dtype.F32, gpu.ReLU, nv.EpilogueReluBias},
		{dtype.BF16, dtype.BF16, gpu.GELUTanh, nv.EpilogueGeluBias}, {dtype.F16, 0, gpu.GELUTanh, nv.EpilogueGelu}, {dtype.F32, 0, gpu.ReLU, nv.EpilogueRelu},
		{dtype.F32, 0, gpu.GELUTanh, 0}, {dtype.BF16, 0, gpu.GELU, 0}, {dtype.F32, dtype.I32, gpu.None, 0},
	} {
		p := plainProduct(c.t, 4, 4, 4)
		p.Bias, p.Activation = c.bias, c.a
		s, err := productSpec(&p)
		if c.want == 0 {
			require.ErrorIs(t, err, nv.ErrUnsupported)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.want, s.Epilogue)
	}
}

// Each address counts: factors, result, bias and residual.
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
	wide, narrow := &matmul{product: &product{p: p}, align: 256}, &matmul{product: &product{p: p}, align: 4}
	require.NoError(t, wide.Ready(args(0, 256, 512, 16, 768)))
	for i := range 5 {
		offsets := []int64{0, 256, 512, 1024, 768}
		offsets[i] += 8
		require.ErrorIs(t, wide.Ready(args(offsets...)), nv.ErrUnsupported, "operand %d", i)
		if i == 3 {
			require.ErrorIs(t, narrow.Ready(args(offsets...)), nv.ErrUnsupported, "no alignment of a bias but 16 is known to work")
			continue
		}
		require.NoError(t, narrow.Ready(args(offsets...)))
		offsets[i]++
		require.Error(t, narrow.Ready(args(offsets...)))
	}
	c := &planned{tensors: make([]nv.Tensor, 2)}
	require.NoError(t, c.Ready(args(16, 32)))
	require.ErrorIs(t, c.Ready(args(16, 36)), nv.ErrUnsupported)
	require.ErrorIs(t, c.Ready(args(16)), nv.ErrUnsupported)
}

func TestForbiddenEngines(t *testing.T) {
	require.Contains(t, forbidden(dtype.F32, false), nv.NoteTensorCore)
	require.NotContains(t, forbidden(dtype.F32, true), nv.NoteTensorCore)
	require.NotContains(t, forbidden(dtype.BF16, false), nv.NoteTensorCore)
	for _, d := range []dtype.DType{dtype.F32, dtype.F16} {
		require.Subset(t, forbidden(d, true), []nv.Note{nv.NoteDownConvert, nv.NoteNondeterministic})
	}
}

func image(dims ...int) gpu.Convolution {
	last := func(d []int) []int {
		s := nv.ChannelsLastStrides(int64s(d))
		v := make([]int, len(s))
		for i := range s {
			v[i] = int(s[i])
		}
		return v
	}
	n := len(dims) - 2
	ones := make([]int, n)
	filter := append([]int{6, dims[1]}, ones...)
	result := append([]int{dims[0], 6}, dims[2:]...)
	for i := range ones {
		ones[i], filter[2+i] = 1, 3
	}
	return gpu.Convolution{Type: dtype.BF16, Compute: dtype.F32, Image: dims, Filter: filter, Result: result, ImageStrides: last(dims), FilterStrides: last(filter),
		OutStrides: last(result), Stride: ones, Dilation: ones, PadBefore: ones, PadAfter: ones, Groups: 1}
}

func TestConvolutionSpec(t *testing.T) {
	c := image(2, 4, 9)
	p, err := newConvolution(&c)
	require.NoError(t, err)
	require.Equal(t, []int64{2, 4, 1, 9}, p.image.Dims, "one dimension becomes two")
	require.Equal(t, []int64{36, 1, 36, 4}, p.image.Strides)
	require.Equal(t, []int64{6, 4, 1, 3}, p.filter.Dims)
	require.Equal(t, []int64{0, 1}, p.spec.Pre)
	require.Equal(t, []int64{1, 1}, p.spec.Stride)
	c = image(1, 4, 5, 6, 7)
	c.ImageStrides[0] = 0 // of one element, so that it means nothing
	p, err = newConvolution(&c)
	require.NoError(t, err)
	require.Equal(t, []int64{840, 1, 168, 28, 4}, p.image.Strides)

	for what, change := range map[string]func(c *gpu.Convolution){
		"i32":         func(c *gpu.Convolution) { c.Type = dtype.I32 },
		"4 dimension": func(c *gpu.Convolution) { *c = image(1, 2, 3, 4, 5, 6) },
		"epilogue":    func(c *gpu.Convolution) { c.Kind, c.Residual = gpu.BackwardImage, true },
		"bias of i64": func(c *gpu.Convolution) { c.Bias = dtype.I64 },
		"strides":     func(c *gpu.Convolution) { c.ImageStrides[2] = 0 },
	} {
		c := image(2, 4, 5, 6)
		change(&c)
		_, err := newConvolution(&c)
		require.ErrorIs(t, err, nv.ErrUnsupported)
		require.ErrorContains(t, err, what)
	}
}

func TestAttentionSpec(t *testing.T) {
	good := func() gpu.Attention {
		q := [4]int{4 * 10 * 64, 64, 4 * 64, 1} // batch, length, heads, width in memory
		return gpu.Attention{Type: dtype.F16, Batch: 2, Heads: 4, KeyHeads: 2, Queries: 10, Keys: 12, Width: 64, ValueWidth: 32, QStrides: q,
			KStrides: [4]int{2 * 12 * 64, 12 * 64, 64, 1}, VStrides: [4]int{2 * 12 * 32, 12 * 32, 32, 1}, OutStrides: [4]int{4 * 10 * 32, 10 * 32, 32, 1}, Scale: 0.125}
	}
	a := good()
	s, err := attentionSpec(&a)
	require.NoError(t, err)
	require.Equal(t, []int64{2, 4, 10, 64}, s.Q.Dims)
	require.Equal(t, []int64{2560, 64, 256, 1}, s.Q.Strides)
	require.Equal(t, []int64{2, 2, 12, 32}, s.V.Dims)
	require.Nil(t, s.Mask)
	a.Mask, a.MaskStrides = dtype.F32, [4]int{120, 0, 12, 1}
	s, err = attentionSpec(&a)
	require.NoError(t, err)
	require.Equal(t, []int64{2, 1, 10, 12}, s.Mask.Dims)
	require.Equal(t, []int64{120, 120, 12, 1}, s.Mask.Strides)
	for what, change := range map[string]func(a *gpu.Attention){
		"f32":          func(a *gpu.Attention) { a.Type = dtype.F32 },
		"60":           func(a *gpu.Attention) { a.Width = 60 },
		"264":          func(a *gpu.Attention) { a.ValueWidth = 264 },
		"heads":        func(a *gpu.Attention) { a.KeyHeads = 3 },
		"strides":      func(a *gpu.Attention) { a.KStrides[3] = 2 },
		"multiples":    func(a *gpu.Attention) { a.QStrides[1] = 60 },
		"mask of bool": func(a *gpu.Attention) { a.Mask = dtype.Bool },
	} {
		a := good()
		change(&a)
		_, err := attentionSpec(&a)
		require.ErrorIs(t, err, nv.ErrUnsupported, what)
		require.ErrorContains(t, err, what)
	}
}

func TestErrata(t *testing.T) {
	one := &gpu.Attention{Queries: 1, Keys: 128}
	require.Error(t, attentionFault(92500, 90, one))
	require.Error(t, attentionFault(92601, 80, one))
	require.NoError(t, attentionFault(92700, 90, one))
	require.NoError(t, attentionFault(91400, 90, one))
	masked := &gpu.Attention{Queries: 192, Keys: 256, Mask: dtype.F16}
	require.ErrorContains(t, attentionFault(92000, 90, masked), "pytorch#196678")
	require.NoError(t, attentionFault(92000, 80, masked))
	masked.Mask = dtype.Invalid
	require.NoError(t, attentionFault(92000, 90, masked))
}

// Errors of the libraries have the meaning that burn gives them, and keep their own.
func TestSentinels(t *testing.T) {
	for kind, want := range map[error]error{nv.ErrFault: core.ErrBackendLost, nv.ErrOutOfMemory: core.ErrOutOfMemory, nv.ErrUnsupported: core.ErrUnsupported,
		nv.ErrMissing: core.ErrUnsupported, nv.ErrNoDevice: core.ErrNotFound, nil: core.ErrKernel, core.ErrAttr: core.ErrAttr} {
		err := errors.New("a failure")
		if kind != nil {
			err = &nv.Error{Kind: kind}
		}
		got := named("launch of kernel add", err)
		require.ErrorIs(t, got, want)
		require.ErrorContains(t, got, "launch of kernel add")
	}
	require.NoError(t, named("event", nil))
}
