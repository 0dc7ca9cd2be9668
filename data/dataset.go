package data

import (
	"fmt"

	"github.com/goburn/burn/core"
)

// Dataset is a list of examples with random access. Get is called by several goroutines at once and must give the same
// item for the same index, with 0 <= i < Len(). An index outside is an error that wraps core.ErrIndex.
type Dataset[T any] interface {
	Len() int
	Get(i int) (T, error)
}

// Epochs is implemented by datasets whose items differ from epoch to epoch, such as those with random augmentation. A
// Loader asks for the dataset of each epoch; a Dataset without it is the same in every epoch.
type Epochs[T any] interface {
	Epoch(epoch int) Dataset[T]
}

// At returns ds in the given epoch: what its Epoch says, or ds itself.
func At[T any](ds Dataset[T], epoch int) Dataset[T] {
	if e, ok := ds.(Epochs[T]); ok {
		return e.Epoch(epoch)
	}
	return ds
}

// Memory is a dataset of items that are held in memory. Items are given as they are, not copied.
type Memory[T any] []T

// Len returns the number of items.
func (m Memory[T]) Len() int { return len(m) }

// Get returns item i.
func (m Memory[T]) Get(i int) (T, error) {
	if err := Check(i, len(m)); err != nil {
		var none T
		return none, err
	}
	return m[i], nil
}

// Func returns a dataset of n items that are computed by get.
func Func[T any](n int, get func(i int) (T, error)) Dataset[T] { return computed[T]{n, get} }

type computed[T any] struct {
	n   int
	get func(i int) (T, error)
}

func (c computed[T]) Len() int { return c.n }

func (c computed[T]) Get(i int) (T, error) {
	if err := Check(i, c.n); err != nil {
		var none T
		return none, err
	}
	return c.get(i)
}

// Collect reads all items into memory, in order.
func Collect[T any](ds Dataset[T]) (Memory[T], error) {
	out := make(Memory[T], ds.Len())
	for i := range out {
		item, err := ds.Get(i)
		if err != nil {
			return nil, &ItemError{Index: i, Err: err}
		}
		out[i] = item
	}
	return out, nil
}

// Check returns the error of an index outside [0, n), for implementations of Get.
func Check(i, n int) error {
	if i < 0 || i >= n {
		return fmt.Errorf("data: item %d of a dataset of %d: %w", i, n, core.ErrIndex)
	}
	return nil
}
