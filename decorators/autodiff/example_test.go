package autodiff_test

import (
	"context"
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/decorators/autodiff"
	_ "github.com/goburn/burn/plugins/cpu"
	"github.com/goburn/burn/tensor"
)

// Device returns a place whose devices record what they compute. The example computes the derivative of x² at 3.
func ExampleDevice() {
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
	x := tensor.Scalar(dev, float32(3)).RequireGrad()
	grads, err := x.Square().Backward()
	if err != nil {
		fmt.Println(err)
		return
	}
	slope, err := grads.Of(x).Float64(ctx)
	fmt.Println(slope, err)
	// Output: 6 <nil>
}
