package data

import (
	"fmt"
	"runtime"

	"github.com/goburn/burn/tensor"
)

// Batcher creates a batch on dev from items, which are in the order of the epoch. Several goroutines call it concurrently, ahead of
// the loop that consumes the batches. It may keep the elements of items but not the slice. If B has a method Release(), the loader
// calls it for batches that were created but not consumed.
type Batcher[T, B any] func(items []T, dev *tensor.Device) (B, error)

// Options configures a Loader.
type Options struct {
	Batch    int    // items per batch; 0 means 1
	Shuffle  bool   // a different order in each epoch, by Seed; false keeps the order of the dataset
	Seed     uint64 // seed of the order
	DropLast bool   // omit a short last batch of an epoch and, in sharded loaders, the batches that not every shard has
	Workers  int    // goroutines that read and batch; 0 means one per CPU, at most 8
	Prefetch int    // batches that are created ahead of the loop; 0 means 2 per worker
}

func (o Options) check() (Options, error) {
	if o.Batch < 0 || o.Workers < 0 || o.Prefetch < 0 {
		return o, fmt.Errorf("data: loader of batch %d, %d workers, prefetch %d, want 0 (the default) or more", o.Batch, o.Workers, o.Prefetch)
	}
	if o.Batch == 0 {
		o.Batch = 1
	}
	if o.Workers == 0 {
		o.Workers = min(runtime.GOMAXPROCS(0), 8)
	}
	if o.Prefetch == 0 {
		o.Prefetch = 2 * o.Workers
	}
	return o, nil
}
