package burn_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/decorators/fusion"
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

// trainee is a model in training, with a batch.
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
		options = append(options, burn.WithFusion(fusion.With(&r.report)))
	}
	var err error
	r.dev, err = burn.Open(context.Background(), "builtin:cpu", options...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.dev.Close()) })
	r.dev.Seed(1)
	r.model = newSmall(r.dev, dropout)
	r.x, r.y = r.dev.Uniform(dtype.F32, 0, 1, batch, 1, 28, 28), r.dev.RandomInt(dtype.I64, 0, 10, batch)
	r.params = nn.Trained(r.model)
	return r
}

// step trains one step, op by op, and returns the loss.
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

// A model learns over fusion what it learns without, and most of its nodes run in programs.
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

// A training step that is written op by op, with and without fusion.
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
