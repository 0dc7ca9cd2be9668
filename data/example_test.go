package data_test

import (
	"context"
	"fmt"
	"log"

	"github.com/goburn/burn/data"
	"github.com/goburn/burn/tensor"
)

// The example reads two epochs of a small dataset, each in its own order, and saves a position from which another run continues.
func ExampleLoader() {
	squares := data.Func(7, func(i int) (float32, error) { return float32(i * i), nil })
	large := data.Map(squares, func(v float32) (float32, error) { return 10 * v, nil })
	sum := func(items []float32, _ *tensor.Device) (float32, error) {
		var s float32
		for _, v := range items {
			s += v
		}
		return s, nil
	}
	loader, err := data.NewLoader(large, sum, nil, data.Options{Batch: 3, Shuffle: true, Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	for range 2 {
		var total float32
		for batch, err := range loader.Batches(context.Background()) {
			if err != nil {
				log.Fatal(err)
			}
			total += batch
		}
		fmt.Println(total, loader.Position())
	}
	// Output:
	// 910 {1 0}
	// 910 {2 0}
}
