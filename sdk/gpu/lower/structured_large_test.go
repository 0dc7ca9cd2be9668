package lower

import (
	"testing"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/sdk/gpu/dialect"
	"github.com/goburn/burn/sdk/gpu/ir"
	"github.com/goburn/burn/sdk/gpu/template"
	"github.com/stretchr/testify/require"
)

// TestLargeIndices proves kernels for tensors with more elements than 32-bit indices reach. It does not run them.
func TestLargeIndices(t *testing.T) {
	desc := op.DescOf
	index := desc(dtype.I64, 1<<21)
	deep := desc(dtype.BF16, 64, 64, 8192, 128)
	for _, c := range []struct {
		code  op.Code
		in    []op.Desc
		attrs []op.Attr
	}{
		{op.Gather, []op.Desc{desc(dtype.F32, 1<<20, 4099), index}, []op.Attr{op.Int("axis", 0)}},
		{op.Gather, []op.Desc{desc(dtype.U8, 5, 1<<30), index}, []op.Attr{op.Int("axis", 1)}},
		{op.Scatter, []op.Desc{desc(dtype.F32, 1<<20, 4099), index, desc(dtype.F32, 1<<21, 4099)}, []op.Attr{op.Int("axis", 0)}},
		{op.Scatter, []op.Desc{desc(dtype.F32, 1<<20, 4099), index, desc(dtype.F32, 1<<21, 4099)}, []op.Attr{op.Int("axis", 0), op.Str("mode", "add")}},
		{op.Scatter, []op.Desc{desc(dtype.I32, 1<<20, 4099), index, desc(dtype.I32, 1<<21, 4099)}, []op.Attr{op.Int("axis", 0), op.Str("mode", "max")}},
		{op.Embedding, []op.Desc{desc(dtype.BF16, 1<<19, 8200), index}, nil},
		{op.GatherElements, []op.Desc{desc(dtype.F16, 3<<30), index}, []op.Attr{op.Int("axis", 0)}},
		{op.CumSum, []op.Desc{desc(dtype.F32, 1<<31+1)}, []op.Attr{op.Int("axis", 0)}},
		{op.CumSum, []op.Desc{desc(dtype.F32, 1<<17, 1<<15)}, []op.Attr{op.Int("axis", 0), op.Flag("reverse", true)}},
		{op.CumArgMax, []op.Desc{desc(dtype.F32, 1<<17, 1<<15)}, []op.Attr{op.Int("axis", 1)}},
		{op.Sort, []op.Desc{desc(dtype.F32, 1<<15, 1<<17)}, []op.Attr{op.Int("axis", 1)}},
		{op.Sort, []op.Desc{desc(dtype.F64, 1<<26, 100)}, []op.Attr{op.Int("axis", 1)}},
		{op.TopK, []op.Desc{desc(dtype.F16, 1<<15, 1<<17)}, []op.Attr{op.Int("axis", 0), op.Int("k", 50)}},
		{op.WindowReduce, []op.Desc{desc(dtype.F32, 1<<11, 1<<10, 1<<11)}, []op.Attr{op.Ints("window", 3, 3), op.Ints("strides", 1, 1), op.Ints("dilation", 1, 1),
			op.Ints("pad_lo", 1, 1), op.Ints("pad_hi", 1, 1), op.Str("reduce", "max"), op.Flag("indices", true)}},
		{op.Concat, []op.Desc{desc(dtype.U8, 7, 1<<29), desc(dtype.U8, 7, 3)}, []op.Attr{op.Int("axis", 1)}},
		{op.Pad, []op.Desc{desc(dtype.F32, 1<<11, 1<<20)}, []op.Attr{op.Ints("lo", 3, -1), op.Ints("hi", 5, 2)}},
		{op.CacheWrite, []op.Desc{desc(dtype.F32, 1<<11, 1<<20), desc(dtype.I64, 1<<11), desc(dtype.F32, 1<<11, 5)}, []op.Attr{op.Int("axis", 1)}},
		{op.Attention, []op.Desc{deep, deep, deep}, []op.Attr{op.Flag("causal", true)}},
		{op.Attention, []op.Desc{desc(dtype.F32, 64, 64, 8192, 100), desc(dtype.F32, 64, 8, 8191, 100), desc(dtype.F32, 64, 8, 8191, 200)}, []op.Attr{op.Int("window", 99)}},
		{op.AttentionGradient, []op.Desc{deep, deep, deep, deep, deep}, []op.Attr{op.Flag("causal", true)}},
		{op.AttentionGradient, []op.Desc{desc(dtype.F32, 64, 64, 8192, 100), desc(dtype.F32, 64, 8, 8191, 100), desc(dtype.F32, 64, 8, 8191, 200),
			desc(dtype.F32, 64, 64, 8192, 200), desc(dtype.F32, 64, 64, 8192, 200)}, []op.Attr{op.Int("window", 99)}},
	} {
		n, err := op.New(c.code, c.in, c.attrs...)
		require.NoError(t, err)
		for _, target := range structuredTargets {
			target.Grid = [3]int{65535, 65535, 65535}
			checkNode(t, target, &n, c.in)
		}
	}
}

// TestTooLarge checks that kernels which keep positions in 32 bits refuse axes that are too long for these.
func TestTooLarge(t *testing.T) {
	for _, c := range []struct {
		code  op.Code
		in    []op.Desc
		attrs []op.Attr
	}{
		{op.Sort, []op.Desc{op.DescOf(dtype.U8, 1<<31)}, []op.Attr{op.Int("axis", 0)}},
		{op.Scatter, []op.Desc{op.DescOf(dtype.U8, 5), op.DescOf(dtype.I32, 1<<31), op.DescOf(dtype.U8, 1<<31)}, []op.Attr{op.Int("axis", 0)}},
	} {
		n, err := op.New(c.code, c.in, c.attrs...)
		require.NoError(t, err)
		in, out := make([]template.Operand, len(c.in)), make([]template.Operand, len(n.Outputs))
		for i, d := range n.Outputs {
			out[i] = template.Operand{Type: d.DType, View: shape.Contiguous(d.Shape)}
		}
		for i, d := range c.in {
			in[i] = template.Operand{Type: d.DType, View: shape.Contiguous(d.Shape)}
		}
		_, err = structured[c.code](structuredTargets[0], &n, in, out)
		require.ErrorIs(t, err, core.ErrUnsupported)
	}
}

// checkNode proves all launches of a node, and for targets with subgroups of 32 prints the kernels as CUDA.
func checkNode(t *testing.T, target template.Target, n *op.Node, descs []op.Desc) {
	t.Helper()
	var in, out []template.Operand
	var sizes []int64
	for _, d := range descs {
		in, sizes = append(in, template.Operand{Type: d.DType, View: shape.Contiguous(d.Shape)}), append(sizes, int64(d.Bytes()))
	}
	for _, d := range n.Outputs {
		out, sizes = append(out, template.Operand{Type: d.DType, View: shape.Contiguous(d.Shape)}), append(sizes, int64(d.Bytes()))
	}
	w, err := structured[n.Op](target, n, in, out)
	require.NoError(t, err)
	sizes = append(sizes, w.Temps...)
	var kernels []*ir.Kernel
	for _, l := range w.Launches {
		if err := ir.Check(l, sizes, limitsOf(target)); err != nil {
			t.Fatalf("%v %v on subgroups of %d: %v\n%v", n, descs, target.Subgroup, err, l.Kernel)
		}
		kernels = append(kernels, l.Kernel)
	}
	if target.Subgroup == 32 {
		_, err = dialect.CUDA.Print(kernels)
		require.NoError(t, err)
	}
}
