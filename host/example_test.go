package host_test

import (
	"context"
	"fmt"

	"github.com/goburn/burn/host"
	_ "github.com/goburn/burn/plugins/cpu"
	"github.com/goburn/burn/tensor"
)

// Open opens a device by its name. It searches the plugin folders for backends that are not built in.
func ExampleOpen() {
	ctx := context.Background()
	place, err := host.Open(ctx, "builtin:cpu", host.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer place.Close()
	dev, err := tensor.On(ctx, place)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer dev.Close()
	sum, err := tensor.From(dev, []float32{1, 2, 3}, 3).Sum().Float64(ctx)
	fmt.Println(dev, sum, err)
	// Output: builtin:cpu:0 6 <nil>
}

func ExampleParseSpec() {
	s, err := host.ParseSpec("process:npu:1")
	fmt.Println(s.Transport, s.Name, s.Index, err)
	// Output: process npu 1 <nil>
}
