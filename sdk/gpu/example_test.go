package gpu_test

import (
	"context"
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/sdk/gpu"
	"github.com/goburn/burn/sdk/gpu/emulated"
)

// A backend of a driver, here one that emulates the hardware, adds two tensors. It compiles one kernel.
func ExampleNew() {
	ctx := context.Background()
	backend := gpu.New(emulated.New(emulated.Options{}), gpu.Options{NoCache: true})
	defer backend.Close()
	device, err := backend.Open(ctx, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	stream, err := device.OpenStream(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	desc := op.DescOf(dtype.F32, 4)
	ids := device.NewIDs(3)
	for i, v := range [][]float32{{1, 2, 3, 4}, {10, 20, 30, 40}} {
		d := desc
		d.ID = ids + op.TensorID(i)
		if err := stream.Write(ctx, d, dtype.Bytes(v)); err != nil {
			fmt.Println(err)
			return
		}
	}
	node, err := op.New(op.Add, []op.Desc{desc, desc})
	if err != nil {
		fmt.Println(err)
		return
	}
	node.Inputs, node.Outputs[0].ID = []op.TensorID{ids, ids + 1}, ids+2
	if err := stream.Submit([]op.Node{node}, nil); err != nil {
		fmt.Println(err)
		return
	}
	sum := make([]float32, 4)
	if err := stream.Read(ids+2, dtype.Bytes(sum)).Wait(ctx); err != nil {
		fmt.Println(err)
		return
	}
	statistics, _ := core.Extension[gpu.Statistics](device)
	fmt.Println(sum, statistics.Stats().Kernels.Compiled)
	// Output: [11 22 33 44] 1
}
