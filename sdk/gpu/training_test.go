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
	"github.com/goburn/burn/optim"
	tensors "github.com/goburn/burn/tensor"
)

// network is a small image classifier.
type network struct {
	A, B *nn.Conv2d
	C    *nn.Linear
}

// train runs steps of AdamW on a batch and returns the loss of each. It calls after at the end of each step.
func train(t *testing.T, b core.Backend, steps int, after func(step int)) []float64 {
	ctx := context.Background()
	dev, err := tensors.On(ctx, autodiff.Device(&core.Place{Backend: fusion.Wrap(b), Spec: "trained"}))
	require.NoError(t, err)
	defer dev.Close()
	dev.Seed(7)
	m := &network{nn.NewConv2d(dev, 1, 4, [2]int{3, 3}, nn.ConvConfig{Padding: []int{1, 1}}),
		nn.NewConv2d(dev, 4, 8, [2]int{3, 3}, nn.ConvConfig{Padding: []int{1, 1}, Stride: []int{2, 2}}), nn.NewLinear(dev, 8*3*3, 5, nn.LinearConfig{})}
	v, labels := make([]float32, 6*6*6), make([]int64, 6)
	for i := range v {
		v[i] = float32(i%17)/8 - 1
	}
	for i := range labels {
		labels[i] = int64(i % 5)
	}
	x, y := tensors.From(dev, v, 6, 1, 6, 6), tensors.From(dev, labels, 6)
	opt, params := optim.NewAdamW(optim.AdamWConfig{}), nn.Trained(m)
	var losses []float64
	for i := range steps {
		h := m.B.Forward(m.A.Forward(x).Relu()).Relu()
		loss := nn.CrossEntropyLoss{}.Forward(m.C.Forward(h.FlattenFrom(1, -1)), y)
		grads, err := loss.Backward()
		require.NoError(t, err)
		require.NoError(t, opt.Step(0.01, params, grads.GiveUp()))
		l, err := loss.Float64(ctx)
		require.NoError(t, err)
		losses = append(losses, l)
		after(i)
	}
	return losses
}

// TestTraining compares training with the reference, by generated kernels and with libraries. After the fourth step nothing is compiled,
// and no memory is requested from the driver.
func TestTraining(t *testing.T) {
	const steps = 12
	want := train(t, ref.New(), steps, func(int) {})
	require.Less(t, want[steps-1], want[0]/2)
	for name, libraries := range map[string][]Library{
		"own":       nil,
		"libraries": {&convolutions{}, &fakeLibrary{names: []string{"a"}}},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fakeDriver{setup: func(d *fakeDevice) { d.libraries, d.jitter = libraries, true }}
			var device Statistics
			b := &spied{New(f, Options{NoCache: true}), &device}
			var early Stats
			got := train(t, b, steps, func(i int) {
				if i == 3 {
					early = device.Stats()
				}
			})
			require.InDeltaSlice(t, want, got, 1e-3)
			late := device.Stats()
			require.Equal(t, early.Kernels.Compiled, late.Kernels.Compiled)
			require.Equal(t, early.Pool.DriverAllocs, late.Pool.DriverAllocs)
			require.Greater(t, late.GraphRuns, int64(steps/3))
			require.NoError(t, b.Close())
		})
	}
}

// spied stores the statistics of the device that it opens, which decorators do not pass on.
type spied struct {
	core.Backend
	device *Statistics
}

func (s *spied) Open(ctx context.Context, index int) (core.Device, error) {
	d, err := s.Backend.Open(ctx, index)
	if err == nil {
		*s.device, _ = core.Extension[Statistics](d)
	}
	return d, err
}
