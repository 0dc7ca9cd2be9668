package webgpu_test

import (
	"context"
	"fmt"

	"github.com/goburn/burn/sdk/gpu/webgpu"
)

// A driver needs an implementation of the calls: the plugin wgpu uses wgpu-native, and this example a fake.
func ExampleNew() {
	var api webgpu.API = newFake()
	driver, err := webgpu.New(context.Background(), api, webgpu.Options{Name: "wgpu", Version: "1.0.0"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, d := range driver.Info().Devices {
		fmt.Println(d.Index, d.Name)
	}
	// Output: 0 fake
}
