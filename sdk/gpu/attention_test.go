package gpu

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/decorators/autodiff"
	"github.com/goburn/burn/decorators/fusion"
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/optim"
	tensors "github.com/goburn/burn/tensor"
)

// attend trains self-attention in bf16 and returns the losses.
func attend(t *testing.T, b core.Backend, steps int) []float64 {
	ctx := context.Background()
	dev, err := tensors.On(ctx, autodiff.Device(&core.Place{Backend: fusion.Wrap(b), Spec: "trained"}))
	require.NoError(t, err)
	defer dev.Close()
	v := make([]float32, 2*20*32)
	for i := range v {
		v[i] = float32(i*i%37)/18 - 1
	}
	m := nn.NewMultiHeadAttention(dev, 32, 2, nn.AttentionConfig{})
	for k, p := range nn.Trained(m) {
		w := make([]float32, p.Size())
		for i := range w {
			w[i] = float32((i*7+k)%29)/100 - 0.14
		}
		p.Set(tensors.From(dev, w, p.Shape()...))
	}
	x := tensors.From(dev, v, 2, 20, 32)
	opt, params := optim.NewAdamW(optim.AdamWConfig{}), nn.Trained(m)
	var losses []float64
	for range steps {
		loss := tensors.Autocast(dev, dtype.BF16, func(d *tensors.Device) []*tensors.Tensor {
			in := x.In(d)
			loss := m.Attend(in, in, in, nn.AttendOptions{Causal: true}).Sub(in).Square().Mean()
			grads, err := loss.Backward()
			require.NoError(t, err)
			require.NoError(t, opt.Step(0.01, params, grads.GiveUp()))
			return []*tensors.Tensor{loss.Detach()} // nothing else of the step is left
		})[0]
		l, err := loss.Float64(ctx)
		require.NoError(t, err)
		losses = append(losses, l)
	}
	return losses
}

// TestAttentionTrains compares the losses of training attention with those on the reference backend.
func TestAttentionTrains(t *testing.T) {
	const steps = 6
	want := attend(t, ref.New(), steps)
	require.Less(t, want[steps-1], 0.9*want[0])
	got := attend(t, New(&fakeDriver{}, Options{NoCache: true}), steps)
	require.InDeltaSlice(t, want, got, 5e-3)
}
