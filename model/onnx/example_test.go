package onnx_test

import (
	"context"
	"fmt"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/model/onnx"
	_ "github.com/goburn/burn/plugins/cpu"
	"github.com/goburn/burn/tensor"
)

// The example runs a digit classifier on an empty picture and prints the shapes of its input and output.
func Example() {
	ctx := context.Background()
	dev, err := tensor.Open(ctx, "cpu")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer dev.Close()
	model, err := onnx.Load("../../examples/digits/digits.onnx", onnx.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	session, err := model.Open(dev)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer session.Close()
	in, out := model.Inputs()[0].Name, model.Outputs()[0].Name
	results, err := session.Run(ctx, map[string]onnx.Value{in: onnx.TensorValue(dev.Zeros(dtype.F32, 2, 1, 28, 28))})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(in, out, results[out].Tensor().Shape())
	// Output: image probabilities [2,10]
}
