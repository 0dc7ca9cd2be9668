package gpu_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/sdk/gpu"
	"github.com/goburn/burn/sdk/gpu/emulated"
	"github.com/goburn/burn/sdk/gpu/ir"
	"github.com/goburn/burn/tensor"
)

// web returns a backend like WebGPU after change has edited its options.
func web(change func(o *emulated.Options)) core.Backend {
	o := emulated.Options{Target: emulated.Targets()["webgpu"]}
	change(&o)
	return gpu.New(emulated.New(o), gpu.Options{NoCache: true, Poison: 255})
}

// TestWordsLimits runs the conformance cases of limits on hardware whose largest tensor is small enough to be allocated.
func TestWordsLimits(t *testing.T) {
	open := func() (core.Backend, error) {
		return web(func(o *emulated.Options) { o.Target.Bytes = 1 << 16 }), nil
	}
	conformance.Run(t, open, conformance.Options{Run: "^limits/", Sample: 1, Shrink: -1})
}

// TestWordsTooLarge checks that a node is refused before it runs if it, or a node of its decomposition, has a tensor that no buffer can
// hold.
func TestWordsTooLarge(t *testing.T) {
	ctx := context.Background()
	b := web(func(o *emulated.Options) { o.Target.Bytes = 1 << 16 })
	defer b.Close()
	d, err := b.Open(ctx, 0)
	require.NoError(t, err)
	defer d.Close()
	target := core.TargetOf("webgpu", d)
	ask := func(c op.Code, in []op.Desc, attrs ...op.Attr) error {
		n, err := op.New(c, in, attrs...)
		require.NoError(t, err)
		return target.Supports(&n, in)
	}
	x := func(d dtype.DType, dims ...int) op.Desc { return op.Desc{DType: d, Shape: dims} }
	require.NoError(t, ask(op.Neg, []op.Desc{x(dtype.F32, 1<<14)}))
	err = ask(op.Neg, []op.Desc{x(dtype.F32, 1<<14+1)})
	require.ErrorIs(t, err, core.ErrUnsupported)
	require.ErrorContains(t, err, "65536")
	// An intermediate tensor without memory may have any size: products that are summed at once.
	require.NoError(t, ask(op.CosineSimilarity, []op.Desc{x(dtype.F32, 1, 100, 64), x(dtype.F32, 100, 1, 64)}, op.Int("axis", 2)))
	for range 2 { // the answer is kept
		err = ask(op.Histogram, []op.Desc{x(dtype.F32, 1<<13), x(dtype.F32, 65)})
		require.ErrorIs(t, err, core.ErrUnsupported)
		require.ErrorContains(t, err, "bool[64,8192]: a tensor of 524288 bytes, and a buffer has at most 65536")
	}
}

// TestWordsClaims checks that all required types are claimed, and that types without hardware arithmetic are named as emulated.
func TestWordsClaims(t *testing.T) {
	b := web(func(*emulated.Options) {})
	defer b.Close()
	d, err := b.Open(context.Background(), 0)
	require.NoError(t, err)
	defer d.Close()
	c := d.Capabilities()
	require.Equal(t, dtype.Required, c.Types&dtype.Required)
	require.False(t, c.Types.Has(dtype.F64))
	require.Equal(t, dtype.SetOf(dtype.I64, dtype.U64, dtype.I16, dtype.U16, dtype.I8, dtype.U8), c.Emulated)
	require.Equal(t, int64(128<<20), c.Limits.Bytes)
}

// TestWordsWithoutSubgroups checks that kernels for hardware without subgroups contain no subgroup operation.
func TestWordsWithoutSubgroups(t *testing.T) {
	var mu sync.Mutex
	kernels := 0
	open := func() (core.Backend, error) {
		return web(func(o *emulated.Options) {
			o.Target.Subgroup = 1
			o.Launched = func(l ir.Launch) error {
				text := l.Kernel.String()
				mu.Lock()
				defer mu.Unlock()
				kernels++
				for _, word := range []string{"shuffle", "lane", "ballot", "subgroup.barrier"} {
					if strings.Contains(text, " = "+word) || strings.Contains(text, "  "+word) {
						t.Errorf("%s in\n%s", word, text)
					}
				}
				return nil
			}
		}), nil
	}
	conformance.Run(t, open, conformance.Options{Run: "^(sum|argmax|softmax|layer_norm|sort|cumsum|matmul|attention|prod)/(f32|i64|u8)/", Sample: 40, Shrink: -1})
	require.Greater(t, kernels, 20)
}

// TestWordsDonate checks results when operands are released while their consumers run, on hardware that may refuse to write a donated
// operand in place.
func TestWordsDonate(t *testing.T) {
	ctx := context.Background()
	b := web(func(*emulated.Options) {})
	dev, err := tensor.On(ctx, &core.Place{Backend: b, Spec: "web"})
	require.NoError(t, err)
	defer b.Close()
	defer dev.Close()
	x := tensor.From(dev, []int64{1, -2, 1 << 40, -1 << 62}, 4)
	for range 5 {
		y := x.Add(x)
		x.Release()
		x = y
	}
	v, err := tensor.Data[int64](ctx, x)
	require.NoError(t, err)
	require.Equal(t, []int64{32, -64, 1 << 45, 0}, v)
}
