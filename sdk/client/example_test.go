package client_test

import (
	"context"
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/plugins/cpu"
	"github.com/goburn/burn/sdk/client"
	"github.com/goburn/burn/sdk/serve"
	"github.com/goburn/burn/tensor"
)

// A plugin is a core.Backend like any other. Here it runs in this process; client.Start starts one by its path.
func ExampleAttach() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	at, _, err := serve.Attachable(ctx, serve.Options{Name: "cpu", Open: cpu.New})
	if err != nil {
		fmt.Println(err)
		return
	}
	b, err := client.Attach(ctx, at, client.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer b.Close()
	dev, err := tensor.On(ctx, &core.Place{Backend: b, Spec: "process:cpu:0"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer dev.Close()
	sum, err := tensor.From(dev, []float32{1, 2, 3}, 3).Sum().Float64(ctx)
	fmt.Println(sum, err)
	// Output: 6 <nil>
}
