package burn_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/decorators/autodiff"
	"github.com/goburn/burn/decorators/fusion"
	"github.com/goburn/burn/decorators/verify"
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/optim"
	"github.com/goburn/burn/tensor"
)

// small is the network of the Burn Book's guide.
type small struct {
	Conv1, Conv2     *nn.Conv2d
	Linear1, Linear2 *nn.Linear
	Dropout          *nn.Dropout
}

func newSmall(d *tensor.Device, dropout float64) *small {
	return &small{
		Conv1: nn.NewConv2d(d, 1, 8, [2]int{3, 3}, nn.ConvConfig{}), Conv2: nn.NewConv2d(d, 8, 16, [2]int{3, 3}, nn.ConvConfig{}),
		Linear1: nn.NewLinear(d, 16*8*8, 512, nn.LinearConfig{}), Linear2: nn.NewLinear(d, 512, 10, nn.LinearConfig{}), Dropout: nn.NewDropout(dropout),
	}
}

func (m *small) loss(x, y *tensor.Tensor) *tensor.Tensor {
	x = m.Dropout.Forward(m.Conv1.Forward(x))
	x = m.Dropout.Forward(m.Conv2.Forward(x)).Relu().AdaptiveAvgPool(8, 8).FlattenFrom(1, -1)
	x = m.Dropout.Forward(m.Linear1.Forward(x)).Relu()
	return m.Linear2.Forward(x).CrossEntropyLoss(y, tensor.ClassOptions{})
}

// trainee is a model in training, with its batch and optimizer.
type trainee struct {
	dev    *tensor.Device
	model  *small
	x, y   *tensor.Tensor
	opt    *optim.Adam
	params []nn.Named
	report fusion.Report
}

func newTrainee(t testing.TB, batch int, dropout float64, fused bool) *trainee {
	t.Helper()
	r := &trainee{opt: optim.NewAdam(optim.AdamConfig{})}
	options := []burn.Option{burn.WithGradients()}
	if fused {
		options = append(options, burn.WithFusion(fusion.With(&r.report), fusion.Idle(time.Minute)))
	} else {
		options = append(options, burn.WithoutFusion())
	}
	dev, err := burn.Open(context.Background(), "builtin:cpu", options...)
	require.NoError(t, err)
	return r.on(t, dev, batch, dropout)
}

// on creates the model and the batch on dev, and closes dev at the end of the test.
func (r *trainee) on(t testing.TB, dev *tensor.Device, batch int, dropout float64) *trainee {
	r.dev = dev
	t.Cleanup(func() { require.NoError(t, r.dev.Close()) })
	r.dev.Seed(1)
	r.model = newSmall(r.dev, dropout)
	r.x, r.y = r.dev.Uniform(dtype.F32, 0, 1, batch, 1, 28, 28), r.dev.RandomInt(dtype.I64, 0, 10, batch)
	r.params = nn.Trained(r.model)
	return r
}

// step runs one training step, op by op, and returns the loss.
func (r *trainee) step(t testing.TB) float64 {
	var grads *tensor.Gradients
	var mean *tensor.Tensor
	tensor.Scope(r.dev, func(d *tensor.Device) []*tensor.Tensor {
		l := r.model.loss(r.x.In(d), r.y.In(d))
		var err error
		grads, err = l.Backward()
		require.NoError(t, err)
		for _, p := range r.params {
			grads.Of(p.Value()).Keep()
		}
		mean = l.Detach().Keep()
		return nil
	})
	defer mean.Release()
	defer grads.GiveUp().Release()
	require.NoError(t, r.opt.Step(1e-3, r.params, grads))
	loss, err := mean.Float64(context.Background())
	require.NoError(t, err)
	return loss
}

// The losses of a training with fusion equal those without it, and most nodes run in programs. Both devices hold equally many tensors.
func TestFusionTrains(t *testing.T) {
	for _, dropout := range []float64{0, 0.5} {
		plain, fused := newTrainee(t, 4, dropout, false), newTrainee(t, 4, dropout, true)
		for i := range 20 {
			require.InDelta(t, plain.step(t), fused.step(t), 1e-3, "step %d", i)
		}
		s := fused.report.Stats()[0]
		require.Greater(t, s.Fused, s.Passed, "%+v", s)
		m, ok := plain.dev.Memory()
		require.True(t, ok)
		n, _ := fused.dev.Memory()
		require.Equal(t, m.Tensors, n.Tensors)
	}
}

// The calls of fusion to the device below comply with the contract: verify, between fusion and the device, finds no fault.
func TestFusionOverVerify(t *testing.T) {
	p, err := core.OpenPlace("cpu", core.Config{Threads: 1})
	require.NoError(t, err)
	var log verify.Log
	r := &trainee{opt: optim.NewAdam(optim.AdamConfig{})}
	dev, err := tensor.Own(context.Background(), autodiff.Device(fusion.Device(verify.Device(p, verify.OnFault(log.Add)), fusion.With(&r.report), fusion.Idle(time.Minute))))
	require.NoError(t, err)
	r.on(t, dev, 2, 0.5)
	for range 10 {
		r.step(t)
	}
	require.Positive(t, r.report.Stats()[0].Hits)
	faults, _ := log.Report()
	require.Empty(t, faults)
}

// BenchmarkFusion measures a training step written op by op, with and without fusion.
func BenchmarkFusion(b *testing.B) {
	for name, dropout := range map[string]float64{"cnn": 0, "dropout": 0.5} {
		for mode, fused := range map[string]bool{"eager": false, "fused": true} {
			b.Run(name+"/"+mode, func(b *testing.B) {
				r := newTrainee(b, 64, dropout, fused)
				for range 6 {
					r.step(b)
				}
				for b.Loop() {
					r.step(b)
				}
			})
		}
	}
}

// BenchmarkFusionChain measures ten elementwise ops over 4 Mi elements, with and without fusion.
func BenchmarkFusionChain(b *testing.B) {
	for mode, options := range map[string][]burn.Option{"eager": {burn.WithoutFusion()}, "fused": nil} {
		b.Run(mode, func(b *testing.B) {
			dev, err := burn.Open(context.Background(), "builtin:cpu", options...)
			require.NoError(b, err)
			defer dev.Close()
			x := dev.Uniform(dtype.F32, 0, 1, 4<<20)
			run := func() {
				y := tensor.Scope(dev, func(d *tensor.Device) []*tensor.Tensor {
					return []*tensor.Tensor{x.In(d).MulScalar(2).AddScalar(1).Abs().Sqrt().Neg().Relu().AddScalar(3).MulScalar(0.5).Square().SubScalar(1)}
				})
				require.NoError(b, dev.Sync(context.Background()))
				y[0].Release()
			}
			for range 4 {
				run()
			}
			for b.Loop() {
				run()
			}
		})
	}
}
