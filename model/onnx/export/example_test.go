package export_test

import (
	"context"
	"fmt"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/model/onnx/export"
	"github.com/goburn/burn/nn"
	_ "github.com/goburn/burn/plugins/cpu"
	"github.com/goburn/burn/tensor"
)

// The example exports a layer as an ONNX model for any number of rows; export.Save writes it to a file.
func ExampleModule() {
	ctx := context.Background()
	dev, err := tensor.Open(ctx, "cpu")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer dev.Close()
	layer := nn.NewLinear(dev, 3, 2, nn.LinearConfig{})
	m, err := export.Module(ctx, layer, (*nn.Linear).Forward, export.Input{Name: "x", DType: dtype.F32, Shape: []int{export.Any, 3}}, export.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(m.Graph.Inputs[0].Name, len(m.Graph.Initializers) >= 2)
	// Output: x true
}
