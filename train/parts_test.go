package train_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/data"
	"github.com/goburn/burn/decorators/autodiff"
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/optim"
	"github.com/goburn/burn/optim/schedule"
	"github.com/goburn/burn/tensor"
	"github.com/goburn/burn/train"
	"github.com/goburn/burn/train/checkpoint"
	"github.com/goburn/burn/train/metric"
)

// lower is a network whose fields are not exported.
type lower struct {
	in  *nn.Linear
	Out *nn.Linear
}

// fit trains a model for an epoch.
func fit[M any](t *testing.T, make func(d *tensor.Device) M, forward func(m M, x *tensor.Tensor) *tensor.Tensor) error {
	t.Helper()
	l := &train.Learner[M, batch]{
		Epochs: 1,
		Open: func(ctx context.Context) (*train.Parts[M, batch], error) {
			c, err := cpu()
			if err != nil {
				return nil, err
			}
			d, err := tensor.On(ctx, autodiff.Device(c))
			if err != nil {
				return nil, err
			}
			p := &train.Parts[M, batch]{Device: d, Model: make(d), Optimizer: optim.NewSGD(optim.SGDConfig{}), Rate: schedule.Constant(0.1), Close: func() error {
				err := d.Close()
				_ = c.Close()
				return err
			}}
			p.Train, err = data.NewLoader(points(32, 1), batcher, d, data.Options{Batch: 16})
			return p, err
		},
		TrainStep: func(_ context.Context, m M, b batch) (train.Output, error) {
			return train.Output{Loss: forward(m, b.X).CrossEntropyLoss(b.Y, tensor.ClassOptions{})}, nil
		},
	}
	r, err := l.Run(context.Background())
	if err == nil {
		require.NoError(t, r.Close())
	}
	return err
}

func TestNothingToTrain(t *testing.T) {
	linear := func(d *tensor.Device) *nn.Linear { return nn.NewLinear(d, 4, 4, nn.LinearConfig{}) }
	err := fit(t, func(d *tensor.Device) *lower { return &lower{linear(d), linear(d)} },
		func(m *lower, x *tensor.Tensor) *tensor.Tensor { return m.Out.Forward(m.in.Forward(x)) })
	require.ErrorIs(t, err, core.ErrAttr)
	require.ErrorContains(t, err, "*train_test.lower has parameters that training cannot see, in in:")
	frozen := func(d *tensor.Device) *nn.Linear {
		m := linear(d)
		m.Weight.SetTrainable(false)
		m.Bias.SetTrainable(false)
		return m
	}
	require.ErrorContains(t, fit(t, frozen, (*nn.Linear).Forward), "no trained parameters")
	outside := func(m *nn.Linear, x *tensor.Tensor) *tensor.Tensor {
		return m.Forward(x).Detach().Add(x.Device().Zeros(x.DType(), 4).RequireGrad())
	}
	require.ErrorContains(t, fit(t, linear, outside), "no trained parameter has a gradient")
	require.ErrorContains(t, fit(t, func(*tensor.Device) *nn.Linear { return nil }, (*nn.Linear).Forward), "without Device, Model")
}

func TestNil(t *testing.T) {
	ctx := context.Background()
	var none *learner
	_, err := none.Run(ctx)
	require.ErrorIs(t, err, core.ErrAttr)
	for name, change := range map[string]func(*learner){
		"listener": func(l *learner) { l.Listeners = []train.Listener{nil} },
		"metric":   func(l *learner) { l.Metrics = []metric.Metric{nil} },
		"step":     func(l *learner) { l.TrainStep = nil },
		"parts":    func(l *learner) { l.Open = func(context.Context) (*parts, error) { return nil, nil } },
	} {
		l := newLearner("", 1)
		change(l)
		_, err := l.Run(ctx)
		require.ErrorIs(t, err, core.ErrAttr, name)
	}
	l := newLearner("", 1)
	_, err = l.Run(nil) //nolint:staticcheck // as a caller may do
	require.ErrorIs(t, err, core.ErrAttr)
	_, err = l.Evaluate(ctx, nil, nil)
	require.ErrorIs(t, err, core.ErrAttr)
	_, err = l.LoadBest(ctx, nil)
	require.ErrorIs(t, err, core.ErrAttr)
	_, r := run(t, ctx, l)
	_, err = l.LoadBest(ctx, r.Parts)
	require.ErrorIs(t, err, checkpoint.ErrNone)
	_, err = l.Evaluate(ctx, r.Parts, nil)
	require.ErrorIs(t, err, core.ErrAttr)
}
