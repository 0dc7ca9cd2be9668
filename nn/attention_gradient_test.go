package nn_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/decorators/autodiff"
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/tensor"
)

// Attention trains alike on a device that computes the gradient of attention, and on one where the parts are differentiated.
func TestAttentionGradient(t *testing.T) {
	var got [2][][]float64
	for i, b := range []core.Backend{ref.New(), nil} {
		p := &core.Place{Backend: b, Spec: "ref"}
		if b == nil {
			var err error
			p, err = core.OpenPlace("cpu", core.Config{Threads: 1})
			require.NoError(t, err)
		}
		dev, err := tensor.On(t.Context(), autodiff.Device(p))
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, dev.Close()) })
		require.Equal(t, i == 0, dev.Claims(op.AttentionGradient, dtype.F64))
		dev.Seed(3)
		self := nn.NewMultiHeadAttention(dev, 8, 2, nn.AttentionConfig{})
		cross := nn.NewCrossAttention(dev, 8, 6, 4, nn.AttentionConfig{KVHeads: 2})
		nn.Cast(self, dtype.F64)
		nn.Cast(cross, dtype.F64)
		x, context := dev.Normal(dtype.F64, 0, 1, 2, 5, 8), dev.Normal(dtype.F64, 0, 1, 2, 3, 6)
		bias := dev.Normal(dtype.F64, 0, 1, 5, 3).RequireGrad()
		keys := tensor.From(dev, []bool{true, false, true, false, false, false}, 2, 3)
		y := self.Attend(x, x, x, nn.AttendOptions{Causal: true})
		z := cross.Attend(y, context, nn.AttendOptions{KeyMask: keys}).Add(cross.Attend(y, context, nn.AttendOptions{Mask: bias}))
		g, err := z.Square().Sum().Backward()
		require.NoError(t, err)
		all := append(nn.Trained(self), nn.Trained(cross)...)
		for _, p := range all {
			values, err := tensor.Data[float64](t.Context(), g.Of(p.Value()))
			require.NoError(t, err)
			got[i] = append(got[i], values)
		}
		values, err := tensor.Data[float64](t.Context(), g.Of(bias))
		require.NoError(t, err)
		got[i] = append(got[i], values)
	}
	require.NotEmpty(t, got[0])
	for k := range got[0] {
		require.InDeltaSlice(t, got[1][k], got[0][k], 1e-4) // the random numbers differ in the last bits of f32
	}
}
