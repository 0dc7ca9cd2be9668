package tensor_test

import (
	"context"
	"fmt"

	"github.com/goburn/burn/core/dtype"
	_ "github.com/goburn/burn/plugins/cpu"
	"github.com/goburn/burn/tensor"
)

func Example() {
	ctx := context.Background()
	dev, err := tensor.Open(ctx, "cpu")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = dev.Close() }()
	x := tensor.From(dev, []float32{1, 2, 3, 4, 5, 6}, 2, 3)
	y := x.SubScalar(1).MatMul(x.T()).Softmax(-1) // queued
	fmt.Println(y)                                // waits; e to the power -9 and -36
	// Output:
	// tensor([[1.2339e-04, 9.9988e-01],
	//         [2.3195e-16, 1.0000e+00]], shape=[2,2], dtype=f32, device=builtin:cpu:0)
}

func ExampleTensor_SliceRanges() {
	dev, err := tensor.Open(context.Background(), "cpu")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = dev.Close() }()
	x := dev.Iota(dtype.I32, 12).Reshape(3, 4)
	fmt.Println(x.SliceRanges(tensor.Range{Start: -2}, tensor.Range{Step: -2})) // x[-2:, ::-2]
	fmt.Println(x.SliceFill(0, tensor.Range{End: 1}, tensor.Range{Start: 1}))   // x[:1, 1:] = 0
	// Output:
	// tensor([[ 7,  5],
	//         [11,  9]], shape=[2,2], dtype=i32, device=builtin:cpu:0)
	// tensor([[ 0,  0,  0,  0],
	//         [ 4,  5,  6,  7],
	//         [ 8,  9, 10, 11]], shape=[3,4], dtype=i32, device=builtin:cpu:0)
}

func ExampleTransaction() {
	ctx := context.Background()
	dev, err := tensor.Open(ctx, "cpu")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = dev.Close() }()
	scores := tensor.From(dev, []float32{0.1, 0.7, 0.2})
	var tx tensor.Transaction
	var best []int64
	var sum []float32
	tensor.Fetch(&tx, scores.ArgMax(0), &best)
	tensor.Fetch(&tx, scores.Sum(), &sum)
	if err := tx.Execute(ctx); err != nil {
		fmt.Println(err)
	}
	fmt.Println(best, sum)
	// Output: [1] [1]
}

func ExampleTry() {
	dev, err := tensor.Open(context.Background(), "cpu")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = dev.Close() }()
	a, b := dev.Zeros(dtype.F32, 2, 3), dev.Zeros(dtype.F32, 2, 3)
	fmt.Println(tensor.Try(func() { a.MatMul(b) }))
	// Output: matmul: inner dimensions are 3 and 2 (f32[2,3], f32[2,3]) [C2]
}

func ExampleDevice_Seed() {
	dev, err := tensor.Open(context.Background(), "cpu")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = dev.Close() }()
	dev.Seed(42)
	first := dev.Permutation(5)
	state := dev.Random() // saved with a checkpoint
	next := dev.Permutation(5)
	dev.SetRandom(state)
	again, err := next.AllEqual(context.Background(), dev.Permutation(5))
	fmt.Println(first.Size(), state, again, err)
	// Output: 5 {42 3} true <nil>
}
