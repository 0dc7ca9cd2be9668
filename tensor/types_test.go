package tensor_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/tensor"
)

// TestFixturesInNarrowTypes runs the f64 cases in narrower floats: a method returns the type of its operand, and values within
// the precision of the type, with tolerance for badly conditioned cases.
func TestFixturesInNarrowTypes(t *testing.T) {
	d := open(t)
	all, file := calls(t), load(t)
	for _, c := range []struct {
		dt  dtype.DType
		tol float64 // relative to 1 and the value
	}{{dtype.F32, 2e-4}, {dtype.F16, math.Inf(1)}, {dtype.BF16, math.Inf(1)}} {
		t.Run(c.dt.String(), func(t *testing.T) {
			checked := 0
			for _, f := range file.Cases {
				in, wide := make(ts, len(f.In)), f.Name == "Cast" || f.Name == "Hypot" // squares of 1e200 are the purpose of the case
				has := false
				for i, k := range f.In {
					if in[i] = file.Values[k].tensor(t, d); in[i].DType() == dtype.F64 {
						in[i], has = in[i].Cast(c.dt), true
					}
				}
				if wide || !has || c.dt != dtype.F32 && f.Name == "FakeQuantize" {
					continue
				}
				checked++
				var outs ts
				require.NoError(t, tensor.Try(func() { outs = all[f.Name](t, d, in) }), f.Name)
				for i, o := range outs {
					want := file.Values[f.Out[i]]
					b, err := o.Bytes(ctx)
					require.NoError(t, err, f.Name)
					if want.DType != "f64" {
						require.Equal(t, want.DType, o.DType().String(), f.Name)
						continue
					}
					require.Equal(t, c.dt, o.DType(), f.Name)
					require.Equal(t, want.Shape.String(), o.Shape().String(), f.Name)
					for k, w := range want.floats() {
						g := tensor.Float64s(c.dt, b)[k]
						if !math.IsNaN(w) && !math.IsInf(w, 0) {
							require.InDelta(t, w, g, c.tol*(1+math.Abs(w)), "%s: element %d", f.Name, k)
						}
					}
				}
			}
			require.Greater(t, checked, 300)
		})
	}
}

// A seed produces the same numbers on a backend that has every op natively and on the reference: bitwise equal if the op is
// exact, and within the row's tolerance otherwise.
func TestSeedsAreEqualOnEveryBackend(t *testing.T) {
	d := open(t)
	other, err := tensor.On(ctx, &core.Place{Backend: ref.New(), Spec: "ref"})
	require.NoError(t, err)
	defer func() { require.NoError(t, other.Close()) }()
	d.Seed(42)
	other.Seed(42)
	for name, draw := range map[string]func(d *tensor.Device) *tensor.Tensor{
		"bits":        func(d *tensor.Device) *tensor.Tensor { return (&tensor.Random{Seed: 42, Counter: 9}).Bits(d, 5) },
		"int":         func(d *tensor.Device) *tensor.Tensor { d.Seed(1); return d.RandomInt(dtype.I64, -1000, 1<<40, 7) },
		"permutation": func(d *tensor.Device) *tensor.Tensor { d.Seed(2); return d.Permutation(31) },
		"uniform":     func(d *tensor.Device) *tensor.Tensor { d.Seed(3); return d.Uniform(dtype.F32, 0, 1, 3, 5) },
		"uniform f64": func(d *tensor.Device) *tensor.Tensor { d.Seed(4); return d.Uniform(dtype.F64, 0, 1, 3, 5) },
		"bernoulli":   func(d *tensor.Device) *tensor.Tensor { d.Seed(5); return d.Bernoulli(dtype.Bool, 0.3, 64) },
		"dropout":     func(d *tensor.Device) *tensor.Tensor { d.Seed(6); return d.Ones(dtype.F32, 64).Dropout(0.5) },
		"multinomial": func(d *tensor.Device) *tensor.Tensor { d.Seed(7); return d.Ones(dtype.F32, 9).Multinomial(64, true) },
		"sample":      func(d *tensor.Device) *tensor.Tensor { d.Seed(8); return d.Ones(dtype.F64, 64).Multinomial(8, false) },
	} {
		require.Equal(t, widened(t, draw(d)), widened(t, draw(other)), name)
	}
	d.Seed(9)
	other.Seed(9)
	require.InDeltaSlice(t, widened(t, d.Normal(dtype.F64, 0, 1, 64)), widened(t, other.Normal(dtype.F64, 0, 1, 64)), 1e-12)
	require.Equal(t, d.Random(), other.Random())
}
