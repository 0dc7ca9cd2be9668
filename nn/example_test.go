package nn_test

import (
	"context"
	"fmt"
	"log"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/decorators/autodiff"
	"github.com/goburn/burn/nn"
	_ "github.com/goburn/burn/plugins/cpu"
	"github.com/goburn/burn/tensor"
)

// The example fits a line by plain gradient descent.
func Example() {
	ctx := context.Background()
	d, err := core.OpenPlace("cpu", core.Config{})
	if err != nil {
		log.Fatal(err)
	}
	dev, err := tensor.On(ctx, autodiff.Device(d))
	if err != nil {
		log.Fatal(err)
	}
	defer dev.Close()
	dev.Seed(1)
	model := nn.NewLinear(dev, 1, 1, nn.LinearConfig{})
	x := tensor.From(dev, []float32{0, 1, 2, 3}, 4, 1)
	y := tensor.From(dev, []float32{1, 3, 5, 7}, 4, 1)
	for range 200 {
		tensor.Scope(dev, func(d *tensor.Device) []*tensor.Tensor {
			loss := nn.MSELoss{}.Forward(model.Forward(x.In(d)), y)
			grads, err := loss.Backward()
			if err != nil {
				log.Fatal(err)
			}
			for _, p := range nn.Trained(model) {
				p.Set(p.Value().Sub(grads.Of(p.Value()).MulScalar(0.1)))
			}
			return nil
		})
	}
	w, err := tensor.Item[float32](ctx, model.Weight.Value())
	if err != nil {
		log.Fatal(err)
	}
	b, err := tensor.Item[float32](ctx, model.Bias.Value())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.3f x + %.3f\n", w, b)
	fmt.Println(nn.Format(model))
	// Output:
	// 2.000 x + 1.000
	// Linear {weight: f32[1,1], bias: f32[1], params: 2}
}
