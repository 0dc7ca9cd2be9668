package train_test

import (
	"context"
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/data"
	"github.com/goburn/burn/decorators/autodiff"
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/optim"
	"github.com/goburn/burn/optim/schedule"
	_ "github.com/goburn/burn/plugins/cpu"
	"github.com/goburn/burn/tensor"
	"github.com/goburn/burn/train"
)

// The example fits a line to points: y = 3x + 1.
func Example() {
	type pairs struct{ X, Y *tensor.Tensor }
	learner := &train.Learner[*nn.Linear, pairs]{
		Epochs: 30,
		Open: func(ctx context.Context) (*train.Parts[*nn.Linear, pairs], error) {
			device, err := core.OpenPlace("cpu", core.Config{})
			if err != nil {
				return nil, err
			}
			dev, err := tensor.On(ctx, autodiff.Device(device))
			if err != nil {
				return nil, err
			}
			points := data.Func(64, func(i int) (float32, error) { return float32(i) / 32, nil })
			loader, err := data.NewLoader(points, func(x []float32, dev *tensor.Device) (pairs, error) {
				y := make([]float32, len(x))
				for i, v := range x {
					y[i] = 3*v + 1
				}
				return pairs{tensor.From(dev, x, len(x), 1), tensor.From(dev, y, len(y), 1)}, nil
			}, dev, data.Options{Batch: 16, Shuffle: true})
			if err != nil {
				return nil, err
			}
			return &train.Parts[*nn.Linear, pairs]{Device: dev, Model: nn.NewLinear(dev, 1, 1, nn.LinearConfig{}),
				Optimizer: optim.NewSGD(optim.SGDConfig{Momentum: 0.9}), Rate: schedule.Constant(0.1), Train: loader}, nil
		},
		TrainStep: func(_ context.Context, m *nn.Linear, b pairs) (train.Output, error) {
			e := m.Forward(b.X).Sub(b.Y)
			return train.Output{Loss: e.Mul(e).Mean(), Items: b.X.Shape()[0]}, nil
		},
	}
	ctx := context.Background()
	result, err := learner.Run(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer result.Close()
	weight, _ := result.Model.Weight.Value().Float64(ctx)
	bias, _ := result.Model.Bias.Value().Float64(ctx)
	fmt.Printf("%s: y = %.1fx + %.1f\n", result.Reason, weight, bias)
	// Output: completed: y = 3.0x + 1.0
}
