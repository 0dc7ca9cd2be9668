package nn_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/decorators/autodiff"
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/tensor"
)

// Layers with custom gradients have second derivatives on a device that is wrapped twice: the derivatives of the squared norm of
// the gradient of Σy³ are compared with finite differences.
func TestSecondDerivatives(t *testing.T) {
	d, err := core.OpenPlace("cpu", core.Config{Threads: 1})
	require.NoError(t, err)
	dev, err := tensor.On(t.Context(), autodiff.Device(autodiff.Device(d)))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, dev.Close()) })
	dev.Seed(9)
	norm := nn.NewBatchNorm(dev, 3, nn.BatchNormConfig{})
	lstm, gru, rnn := nn.NewLstm(dev, 3, 2, nn.RecurrentConfig{}), nn.NewGru(dev, 3, 2, nn.RecurrentConfig{}), nn.NewRnn(dev, 3, 2, nn.RecurrentConfig{})
	at, err := tensor.Data[float64](t.Context(), dev.Normal(dtype.F64, 0, 1, 2*3*3))
	require.NoError(t, err)
	for name, c := range map[string]struct {
		m any
		f func(x tt) tt
	}{
		"batch norm": {norm, func(x tt) tt { return norm.Forward(x.Reshape(6, 3)) }},
		"lstm":       {lstm, func(x tt) tt { y, _ := lstm.Forward(x, nn.LstmState{}); return y }},
		"gru":        {gru, func(x tt) tt { y, _ := gru.Forward(x, nil); return y }},
		"rnn":        {rnn, func(x tt) tt { y, _ := rnn.Forward(x, nil); return y }},
	} {
		t.Run(name, func(t *testing.T) {
			nn.Cast(c.m, dtype.F64)
			penalty := func(v []float64) (sum, x tt) {
				x = tensor.From(dev, v, 2, 3, 3).RequireGrad()
				g, err := c.f(x).PowScalar(3).Backward()
				require.NoError(t, err)
				return g.Of(x).Square().Sum(), x
			}
			number := func(v []float64) float64 {
				sum, _ := penalty(v)
				s, err := sum.Float64(t.Context())
				require.NoError(t, err)
				return s
			}
			sum, x := penalty(at)
			g, err := sum.Backward()
			require.NoError(t, err)
			got, err := tensor.Data[float64](t.Context(), g.Of(x))
			require.NoError(t, err)
			const h = 1e-5
			for i := range at {
				v := append([]float64{}, at...)
				v[i] += h
				up := number(v)
				v[i] -= 2 * h
				require.InDelta(t, (up-number(v))/(2*h), got[i], 1e-5*max(1, got[i], -got[i]))
			}
		})
	}
}

// In NoGrad nothing is recorded, even in layers with custom gradients, and running statistics are updated.
func TestNoGrad(t *testing.T) {
	dev := open(t)
	norm, gru := nn.NewBatchNorm(dev, 3, nn.BatchNormConfig{}), nn.NewGru(dev, 3, 2, nn.RecurrentConfig{Layers: 2, Dropout: 0.5})
	x := dev.Normal(dtype.F32, 1, 1, 2, 3, 3)
	for range 2 {
		tensor.NoGrad(dev, func(d *tensor.Device) []tt {
			y, h := gru.Forward(x.In(d), nil)
			require.False(t, norm.Forward(x.In(d)).Tracked() || y.Tracked() || h.Tracked())
			return nil
		})
	}
	require.NotEqual(t, []float32{0, 0, 0}, floats(t, norm.RunningMean.Value()))
	require.True(t, norm.Forward(x).Tracked())
	require.False(t, norm.RunningMean.Value().Tracked() || norm.RunningVar.Value().Tracked())
}

// Training in scopes frees its tensors: after the second step the memory does not grow.
func TestStepsFreeMemory(t *testing.T) {
	dev := open(t)
	m := nn.Sequential{nn.NewConv2d(dev, 1, 2, [2]int{3, 3}, nn.ConvConfig{}), nn.NewBatchNorm(dev, 2, nn.BatchNormConfig{}), &nn.Relu{}, nn.NewFlatten(),
		nn.NewLinear(dev, 8, 4, nn.LinearConfig{}), nn.Func(func(x tt) tt { return x.Unsqueeze(1) }),
		nn.NewTransformerEncoder(dev, 1, 4, 2, nn.TransformerConfig{FeedForward: 8, Dropout: 0.1})}
	x := dev.Normal(dtype.F32, 0, 1, 3, 1, 4, 4)
	var used []int
	for range 4 {
		tensor.Scope(dev, func(d *tensor.Device) []tt {
			g, err := m.Forward(x.In(d)).Backward()
			require.NoError(t, err)
			for _, p := range nn.Trained(m) {
				p.Set(p.Value().In(d).Sub(g.Of(p.Value()).MulScalar(0.01)))
			}
			return nil
		})
		require.NoError(t, dev.Sync(t.Context()))
		if u, ok := dev.Memory(); ok {
			used = append(used, int(u.InUse), int(u.Tensors))
		}
	}
	require.Len(t, used, 8)
	require.Equal(t, used[2:4], used[6:8])
}

// Checkpointing, which recomputes values instead of keeping them, does not change gradients, even with dropout and with layers that have
// custom gradients.
func TestCheckpointing(t *testing.T) {
	var want [][]float32
	for _, c := range []autodiff.Checkpointing{autodiff.KeepAll, autodiff.Balanced, autodiff.Budget(2000)} {
		d, err := core.OpenPlace("cpu", core.Config{Threads: 1})
		require.NoError(t, err)
		dev, err := tensor.On(t.Context(), autodiff.Device(d, autodiff.WithCheckpointing(c)))
		require.NoError(t, err)
		dev.Seed(4)
		lstm := nn.NewLstm(dev, 4, 4, nn.RecurrentConfig{Bidirectional: true, Dropout: 0.2, Layers: 2})
		m := nn.Sequential{nn.NewConv1d(dev, 4, 4, 3, nn.ConvConfig{Same: true}), nn.NewBatchNorm(dev, 4, nn.BatchNormConfig{}), &nn.Gelu{},
			nn.NewTransformerEncoder(dev, 2, 4, 2, nn.TransformerConfig{FeedForward: 8, Dropout: 0.2, NormFirst: true}),
			nn.Func(func(x tt) tt { y, _ := lstm.Forward(x, nn.LstmState{}); return y })}
		g, err := m.Forward(dev.Normal(dtype.F32, 0, 1, 3, 4, 4)).Square().Backward()
		require.NoError(t, err)
		var got [][]float32
		for _, p := range append(nn.Trained(m), nn.Trained(lstm)...) {
			got = append(got, floats(t, g.Of(p.Value())))
		}
		require.NoError(t, dev.Close())
		if want == nil {
			want = got
		}
		require.Equal(t, want, got)
	}
}
