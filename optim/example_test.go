package optim_test

import (
	"context"
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/decorators/autodiff"
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/optim"
	"github.com/goburn/burn/optim/schedule"
	_ "github.com/goburn/burn/plugins/cpu"
	"github.com/goburn/burn/tensor"
)

// The least of (p - 3)² is found, by steps that become shorter.
func Example() {
	ctx := context.Background()
	place, err := core.OpenPlace("cpu", core.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer place.Close()
	dev, err := tensor.On(ctx, autodiff.Device(place))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer dev.Close()
	model := &struct{ P *nn.Param }{nn.NewParam(tensor.From(dev, []float32{0}, 1))}
	opt, rate, params := optim.NewAdam(optim.AdamConfig{}), schedule.Cosine(0.3, 0, 200), nn.Trained(model)
	for range 200 {
		grads, err := model.P.Value().SubScalar(3).Square().Backward()
		if err != nil {
			fmt.Println(err)
			return
		}
		if err := opt.Step(schedule.Next(rate), params, grads.GiveUp()); err != nil {
			fmt.Println(err)
			return
		}
	}
	p, err := model.P.Value().Float64(ctx)
	fmt.Printf("%.2f %v\n", p, err)
	// Output: 3.00 <nil>
}
