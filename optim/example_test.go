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

// The example minimises (p - 3)² with decreasing steps.
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

// A factor that is too large overflows in the gradient: these steps are skipped, and the factor is halved until the gradient is
// finite.
func ExampleScaler() {
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
	p := nn.NewParam(tensor.From(dev, []float32{4}, 1))
	params := []nn.Named{{Name: "p", Param: p}}
	opt := optim.NewSGD(optim.SGDConfig{})
	scaler, err := optim.NewScaler(dev, optim.ScalerConfig{Initial: 0x1p127})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 5 {
		grads, err := scaler.Scale(p.Value().Square()).Backward()
		if err == nil {
			err = scaler.Step(opt, 0.25, params, grads.GiveUp())
		}
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	at, err := scaler.Scaling(ctx)
	fmt.Println(at.Skipped, err)
	last, err := p.Value().Float64(ctx)
	fmt.Println(last, err)
	// Output:
	// 3 <nil>
	// 1 <nil>
}
