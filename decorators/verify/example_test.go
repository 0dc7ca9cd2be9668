package verify_test

import (
	"context"
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/decorators/verify"
	_ "github.com/goburn/burn/plugins/cpu"
	"github.com/goburn/burn/tensor"
)

// NotFinite reports each non-finite result, with the command that computed it.
func ExampleNotFinite() {
	ctx := context.Background()
	place, err := core.OpenPlace("cpu", core.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer place.Close()
	faults := 0
	dev, err := tensor.On(ctx, verify.Device(place, verify.NotFinite(), verify.PassOn(), verify.OnFault(func(*verify.Fault) { faults++ })))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer dev.Close()
	y, err := tensor.Data[float32](ctx, tensor.From(dev, []float32{1, 0}, 2).Log())
	fmt.Println(y, err, faults > 0)
	// Output: [0 -Inf] <nil> true
}
