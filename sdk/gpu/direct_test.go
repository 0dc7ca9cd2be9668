package gpu

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/decorators/autodiff"
	"github.com/goburn/burn/decorators/fusion"
	"github.com/goburn/burn/nn"
	tensors "github.com/goburn/burn/tensor"
)

// digitGradients returns a loss and the gradients of two convolutions of few channels, and of their input.
func digitGradients(t *testing.T, b core.Backend) (values [][]float32) {
	ctx := context.Background()
	dev, err := tensors.On(ctx, autodiff.Device(&core.Place{Backend: fusion.Wrap(b), Spec: "trained"}))
	require.NoError(t, err)
	defer dev.Close()
	dev.Seed(3)
	first := nn.NewConv2d(dev, 1, 4, [2]int{3, 3}, nn.ConvConfig{})
	second := nn.NewConv2d(dev, 4, 6, [2]int{3, 3}, nn.ConvConfig{Padding: []int{1, 1}, Stride: []int{1, 1}})
	v := make([]float32, 60*14*14)
	for i := range v {
		v[i] = float32(i%19)/8 - 1
	}
	for range 3 {
		x := tensors.From(dev, v, 60, 1, 14, 14).RequireGrad()
		loss := second.Forward(first.Forward(x).Relu()).Relu().Mean()
		grads, err := loss.Backward()
		require.NoError(t, err)
		values = nil
		for _, g := range []*tensors.Tensor{loss, grads.Of(first.Weight.Value()), grads.Of(second.Weight.Value()), grads.Of(first.Bias.Value()), grads.Of(x)} {
			h, err := tensors.Data[float32](ctx, g)
			require.NoError(t, err)
			values = append(values, h)
		}
		grads.Release()
	}
	return values
}

// TestDirectConvolutions compares gradients of the kernels for few channels, with and without a library, with the reference. Libraries
// compute these convolutions only with the option NoDirect.
func TestDirectConvolutions(t *testing.T) {
	want := digitGradients(t, ref.New())
	for name, o := range map[string]Options{"direct": {NoCache: true}, "library": {NoCache: true, NoDirect: true}, "own": {NoCache: true, NoLibraries: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fakeDriver{setup: func(d *fakeDevice) { d.libraries = []Library{&convolutions{}} }}
			var device Statistics
			b := &spied{New(f, o), &device}
			got := digitGradients(t, b)
			for i := range want {
				require.InDeltaSlice(t, want[i], got[i], 1e-5, "value %d", i)
			}
			if s := device.Stats(); o.NoDirect {
				require.Positive(t, s.LibraryCalls)
			} else {
				require.Zero(t, s.LibraryCalls)
			}
			require.NoError(t, b.Close())
		})
	}
}
