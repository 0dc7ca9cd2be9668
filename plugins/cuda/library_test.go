package cuda

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/plugins/cuda/internal/nv"
	"github.com/goburn/burn/sdk/gpu"
	"github.com/goburn/burn/sdk/gpu/library"
	"github.com/goburn/burn/sdk/gpu/streams"
)

// TestPlannedReady checks that Ready refuses a call if any address is not aligned to 16 bytes or is missing.
func TestPlannedReady(t *testing.T) {
	block := streams.NewMemory(1<<20, 1<<20)
	args := func(offsets ...int64) (refs []gpu.Ref) {
		for _, o := range offsets {
			refs = append(refs, gpu.Ref{Memory: block, Offset: o})
		}
		return refs
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
		s := nv.ChannelsLastStrides(library.Int64s(d))
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

// TestSentinels checks that named maps the errors of libraries to the errors of package core and adds the name of the call.
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
