package onnxtest_test

import (
	"fmt"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/model/onnx/onnxtest"
)

func ExampleCompareValues() {
	value := func(v ...float32) onnxtest.Value {
		return onnxtest.Value{Tensor: onnxtest.Array{DType: dtype.F32, Shape: shape.Of(len(v)), Data: dtype.Bytes(v)}}
	}
	fmt.Println(onnxtest.CompareValues("y", value(1, 2), value(1, 2.0000001), nil) == nil)
	m := onnxtest.CompareValues("y", value(1, 2), value(1, 3), nil)
	fmt.Println(m.Index, m.MaxAbs, m.Count)
	// Output:
	// true
	// [1] 1 1
}
