package router_test

import (
	"context"
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/decorators/router"
	"github.com/goburn/burn/plugins/cpu"
	"github.com/goburn/burn/tensor"
)

// A router presents two devices as one. Nodes run on the first device, and on the second if the first lacks the op.
func ExampleNew() {
	var places []*core.Place
	for _, name := range []string{"first", "second"} {
		b, err := cpu.New(core.Config{Threads: 1})
		if err != nil {
			fmt.Println(err)
			return
		}
		places = append(places, &core.Place{Backend: b, Spec: name})
	}
	r, err := router.New(places, router.OnFallback(func(f router.Fallback) { fmt.Println(f) }))
	if err != nil {
		fmt.Println(err)
		return
	}
	both := &core.Place{Backend: r, Spec: "router"}
	defer both.Close()
	dev, err := tensor.On(context.Background(), both)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer dev.Close()
	sum, err := tensor.Scalar(dev, float32(3)).Square().Float64(context.Background())
	fmt.Println(sum, err)
	fmt.Println(r.Info().Name, r.Stats().Members[1].Fallbacks)
	// Output:
	// 9 <nil>
	// router<cpu,cpu> 0
}
