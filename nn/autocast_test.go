package nn_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/tensor"
)

// Every kind of layer trains in bf16: its gradients are f32, and nearly have the direction and the norm of gradients computed in f32.
func TestAutocast(t *testing.T) {
	dev := open(t)
	dev.Seed(8)
	embedding := nn.NewEmbedding(dev, 10, 8, nn.EmbeddingConfig{})
	lstm, gru := nn.NewLstm(dev, 8, 6, nn.RecurrentConfig{}), nn.NewGru(dev, 8, 6, nn.RecurrentConfig{})
	ids := tensor.From(dev, []int64{1, 2, 3, 4, 5, 6}, 2, 3)
	for name, c := range map[string]struct {
		m    any
		dims []int
		f    func(x tt) tt
	}{
		"convolutional": {dims: []int{3, 1, 8, 8}, m: nn.Sequential{nn.NewConv2d(dev, 1, 4, [2]int{3, 3}, nn.ConvConfig{}), nn.NewBatchNorm(dev, 4, nn.BatchNormConfig{}), &nn.Gelu{},
			nn.NewFlatten(), nn.NewLinear(dev, 4*6*6, 5, nn.LinearConfig{})}},
		"transformer": {dims: []int{2, 5, 8}, m: nn.Sequential{nn.NewTransformerEncoder(dev, 1, 8, 2, nn.TransformerConfig{FeedForward: 16})}},
		"lstm":        {m: lstm, dims: []int{4, 2, 8}, f: func(x tt) tt { y, _ := lstm.Forward(x, nn.LstmState{}); return y }},
		"gru":         {m: gru, dims: []int{4, 2, 8}, f: func(x tt) tt { y, _ := gru.Forward(x, nil); return y }},
		"embedding":   {m: embedding, dims: []int{2, 3, 8}, f: func(x tt) tt { return x.Mul(embedding.Forward(ids.In(dev))) }},
	} {
		t.Run(name, func(t *testing.T) {
			if c.f == nil {
				c.f = c.m.(nn.Sequential).Forward
			}
			x := dev.Normal(dtype.F32, 0, 1, c.dims...)
			gradients := func(narrow dtype.DType) (all []float32) {
				tensor.Autocast(dev, narrow, func(d *tensor.Device) []tt {
					y := c.f(x.In(d))
					g, err := y.Mul(y).Mean().Backward()
					require.NoError(t, err)
					for _, p := range nn.Trained(c.m) {
						require.Equal(t, dtype.F32, g.Of(p.Value()).DType(), p.Name)
						all = append(all, floats(t, g.Of(p.Value()))...)
					}
					return nil
				})
				return all
			}
			full, half := gradients(dtype.F32), gradients(dtype.BF16)
			dot, a, b := 0.0, 0.0, 0.0
			for i, f := range full {
				dot += float64(f) * float64(half[i])
				a += float64(f) * float64(f)
				b += float64(half[i]) * float64(half[i])
			}
			require.Greater(t, a, 0.0)
			require.InDelta(t, 1, dot/math.Sqrt(a*b), 0.01)
			require.InDelta(t, 1, math.Sqrt(b/a), 0.05)
			if name == "convolutional" || name == "transformer" { // the others have no product, or a custom gradient
				require.False(t, slices.Equal(full, half))
			}
		})
	}
}
