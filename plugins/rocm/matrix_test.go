package rocm

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
)

// TestMatrices compares products, convolutions and attention of 16-bit floats with the reference, on each family of architectures with matrix
// instructions. The library of the tests computes these instructions on the processor. With the planted fault their results are NaN, which
// shows that the kernels use them.
func TestMatrices(t *testing.T) {
	for _, c := range []struct {
		arch, fault string
		types       []dtype.DType
	}{
		{"gfx90a:sramecc+:xnack-", "", []dtype.DType{dtype.F16, dtype.BF16}}, {"gfx1100", "", []dtype.DType{dtype.F16, dtype.BF16}},
		{"gfx1201", "", []dtype.DType{dtype.BF16}}, {"gfx942", "matrix", []dtype.DType{dtype.F16}}, {"gfx1100", "matrix", []dtype.DType{dtype.BF16}},
	} {
		t.Run(c.arch+"/"+c.fault, func(t *testing.T) {
			root := shim(t, "BURN_HIPSHIM_ARCH="+c.arch, "BURN_HIPSHIM_FAULT="+c.fault)
			compiles(t)
			_, wrong := counts(t, root)
			before := wrong()
			b, err := open(t)
			require.NoError(t, err)
			defer b.Close()
			d, err := b.Open(t.Context(), 0)
			require.NoError(t, err)
			s, err := d.OpenStream(t.Context())
			require.NoError(t, err)
			for _, typ := range c.types {
				for _, x := range []struct {
					name   string
					shapes [][]int
					attrs  []op.Attr
				}{
					{"matmul", [][]int{{33, 40}, {40, 24}}, nil},
					{"conv", [][]int{{1, 16, 6, 5}, {16, 16, 3, 3}}, []op.Attr{op.Ints("strides", 1, 1), op.Ints("pad_lo", 1, 1), op.Ints("pad_hi", 1, 1), op.Ints("kernel_dilation", 1, 1),
						op.Ints("input_dilation", 1, 1)}},
					{"attention", [][]int{{1, 2, 70, 32}, {1, 1, 33, 32}, {1, 1, 33, 16}}, []op.Attr{op.Flag("causal", true)}},
				} {
					got, want := evaluate(t, d, s, x.name, typ, x.shapes, x.attrs)
					if c.fault != "" {
						require.True(t, slices.ContainsFunc(got, math.IsNaN), "%s: no instruction was used", x.name)
						continue
					}
					require.InDeltaSlice(t, want, got, map[dtype.DType]float64{dtype.F16: 0.01, dtype.BF16: 0.08}[typ], "%s %v", x.name, typ)
				}
			}
			require.Equal(t, before, wrong())
		})
	}
}

// evaluate runs an op on random operands, on the device and by the reference.
func evaluate(t *testing.T, d core.Device, s core.Stream, name string, typ dtype.DType, shapes [][]int, attrs []op.Attr) (got, want []float64) {
	t.Helper()
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
	all, err := ref.Eval(&n, in)
	require.NoError(t, err)
	n.Outputs[0].ID = d.NewIDs(1)
	require.NoError(t, s.Submit([]op.Node{n}, nil))
	data := make([]byte, len(all[0].Bytes()))
	require.NoError(t, core.Read(t.Context(), s, n.Outputs[0].ID, data))
	result, err := ref.FromBytes(n.Outputs[0], data)
	require.NoError(t, err)
	return result.F, all[0].F
}
