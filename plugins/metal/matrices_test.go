//go:build linux

package metal

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/metal/internal/calls"
	"github.com/goburn/burn/plugins/metal/internal/processor"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// other is a device of the processor that reports other families.
type other struct {
	calls.Device
	families []string
}

func (o other) Facts() calls.Facts {
	f := o.Device.Facts()
	f.Families = o.families
	return f
}

// TestMatrices checks that simdgroup matrices are used only on families that have them, and only if they have the order on which kernels rely
// and multiply in f32; otherwise the error contains the reason.
func TestMatrices(t *testing.T) {
	one := func(options ...string) calls.Device {
		all, err := onProcessor(t, processor.Options{Compiler: options}).Devices()
		require.NoError(t, err)
		return all[0]
	}
	plain := one()
	for name, c := range map[string]struct {
		device calls.Device
		hide   string
		reason string // none: there are matrices
	}{
		"Apple7":            {plain, "", ""},
		"a later family":    {other{plain, []string{"Mac2", "Apple10", "Metal3"}}, "mps", ""},
		"an earlier family": {other{plain, []string{"Apple6", "Mac2"}}, "", "the family has none"},
		"not of Apple's":    {other{plain, []string{"Mac2", "Metal3"}}, "", "the family has none"},
		"hidden":            {plain, "mps,matrices", "BURN_METAL_HIDE"},
		"another order":     {one("-DBURN_MATRIX_FAULT=1"), "", "holds"},
		"rounded factors":   {one("-DBURN_MATRIX_FAULT=2"), "", "holds"},
		"compiler without":  {one("-DBURN_MATRIX_FAULT=3"), "", "error"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("BURN_METAL_HIDE", c.hide)
			m, err := matrices(c.device)
			if c.reason != "" {
				require.Empty(t, m)
				require.ErrorContains(t, err, c.reason)
				return
			}
			require.NoError(t, err)
			for _, d := range []dtype.DType{dtype.F16, dtype.BF16} {
				require.True(t, slices.ContainsFunc(m, func(x ir.MMA) bool { return x.Type == d && x.Order == ir.Quarters }), "%v", d)
			}
		})
	}
}

// TestKernelsWithMatrices checks that products, convolutions and attention of 16-bit floats use simdgroup matrices and agree with the reference.
// With a planted fault of the matrices, results contain NaN unless the matrices are hidden.
func TestKernelsWithMatrices(t *testing.T) {
	square := []op.Attr{op.Ints("strides", 1, 1), op.Ints("pad_lo", 1, 1), op.Ints("pad_hi", 1, 1), op.Ints("kernel_dilation", 1, 1), op.Ints("input_dilation", 1, 1)}
	causal := []op.Attr{op.Flag("causal", true)}
	all := map[string]struct {
		shapes [][]int
		attrs  []op.Attr
	}{
		"matmul": {[][]int{{33, 40}, {40, 24}}, nil}, "conv": {[][]int{{1, 16, 6, 5}, {16, 16, 3, 3}}, square},
		"attention":          {[][]int{{1, 2, 70, 32}, {1, 1, 33, 32}, {1, 1, 33, 16}}, causal},
		"attention_gradient": {[][]int{{1, 2, 40, 16}, {1, 1, 33, 16}, {1, 1, 33, 32}, {1, 2, 40, 32}, {1, 2, 40, 32}}, causal},
	}
	for _, c := range []struct {
		fault, hide string
		typ         dtype.DType
		ops         []string
	}{
		{"0", "", dtype.F16, []string{"matmul", "conv", "attention", "attention_gradient"}}, {"0", "", dtype.BF16, []string{"matmul", "attention"}},
		{"4", "", dtype.F16, []string{"matmul", "conv", "attention", "attention_gradient"}}, {"4", "matrices", dtype.BF16, []string{"matmul"}},
	} {
		t.Run(c.fault+c.hide+"/"+c.typ.String(), func(t *testing.T) {
			t.Setenv("BURN_METAL_HIDE", c.hide)
			b, err := Over(onProcessor(t, processor.Options{Compiler: []string{"-DBURN_MATRIX_FAULT=" + c.fault}}), nil)(quiet)
			require.NoError(t, err)
			defer b.Close()
			d, err := b.Open(t.Context(), 0)
			require.NoError(t, err)
			for _, name := range c.ops {
				got, want := evaluate(t, d, name, c.typ, all[name].shapes, all[name].attrs)
				if c.fault == "4" && c.hide == "" {
					require.True(t, slices.ContainsFunc(got, math.IsNaN), "%s: no matrix was used", name)
					continue
				}
				require.InDeltaSlice(t, want, got, map[dtype.DType]float64{dtype.F16: 0.01, dtype.BF16: 0.08}[c.typ], name)
			}
		})
	}
}

// evaluate runs an op on random operands, on the device and by the reference, and returns the elements of all results.
func evaluate(t *testing.T, d core.Device, name string, typ dtype.DType, shapes [][]int, attrs []op.Attr) (got, want []float64) {
	t.Helper()
	s, err := d.OpenStream(t.Context())
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(5, 6))
	var descs []op.Desc
	var in []ref.Tensor
	for _, dims := range shapes {
		x := ref.Zeros(op.DescOf(typ, dims...))
		for i := range x.F {
			x.F[i] = ref.Round(typ, r.NormFloat64()/2)
		}
		x.Desc.ID = d.NewIDs(1)
		require.NoError(t, s.Write(t.Context(), x.Desc, x.Bytes()))
		descs, in = append(descs, x.Desc), append(in, x)
	}
	code, ok := op.ByName(name)
	require.True(t, ok)
	n, err := op.New(code, descs, attrs...)
	require.NoError(t, err)
	results, err := ref.Eval(&n, in)
	require.NoError(t, err)
	for i := range n.Outputs {
		n.Outputs[i].ID = d.NewIDs(1)
	}
	require.NoError(t, s.Submit([]op.Node{n}, nil))
	for i, x := range results {
		data := make([]byte, len(x.Bytes()))
		require.NoError(t, core.Read(t.Context(), s, n.Outputs[i].ID, data))
		y, err := ref.FromBytes(n.Outputs[i], data)
		require.NoError(t, err)
		got, want = append(got, y.F...), append(want, x.F...)
	}
	return got, want
}
