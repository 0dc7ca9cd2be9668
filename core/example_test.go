package core_test

import (
	"context"
	"fmt"
	"log"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	_ "github.com/goburn/burn/plugins/cpu"
)

// The example opens a backend by its name, a device and a stream, submits one node and reads its result. Applications use package tensor
// instead.
func Example() {
	ctx := context.Background()
	backend, err := core.Open("cpu", core.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer backend.Close()
	device, err := backend.Open(ctx, 0)
	if err != nil {
		log.Fatal(err)
	}
	defer device.Close()
	stream, err := device.OpenStream(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer stream.Close()

	x := op.Desc{ID: device.NewIDs(1), DType: dtype.F32, Shape: []int{3}}
	if err := stream.Write(ctx, x, dtype.Bytes([]float32{1, -2, 3})); err != nil {
		log.Fatal(err)
	}
	abs, err := op.New(op.Abs, []op.Desc{x})
	if err != nil {
		log.Fatal(err)
	}
	abs.Outputs[0].ID = device.NewIDs(1)
	if err := stream.Submit([]op.Node{abs}, []op.TensorID{x.ID}); err != nil { // x is freed after the node has used it
		log.Fatal(err)
	}

	y := make([]float32, 3)
	if err := core.Read(ctx, stream, abs.Outputs[0].ID, dtype.Bytes(y)); err != nil {
		log.Fatal(err)
	}
	fmt.Println(y)
	// Output: [1 2 3]
}
