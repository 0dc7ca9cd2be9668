package data

import (
	"fmt"

	"github.com/goburn/burn/core"
)

// Dataset is a list of examples with random access. Several goroutines may call Get concurrently. For an index with 0 <= i < Len(), Get
// must always return the same item. For any other index, Get returns an error that wraps core.ErrIndex.
type Dataset[T any] interface {
	Len() int
	Get(i int) (T, error)
}

// Epochs is implemented by datasets whose items differ from epoch to epoch, such as those with random augmentation. A Loader
// requests the dataset of each epoch; a Dataset without this method is the same in every epoch.
type Epochs[T any] interface {
	Epoch(epoch int) Dataset[T]
}

// At returns ds in the given epoch: the result of the method Epoch if ds has this method, else ds itself.
func At[T any](ds Dataset[T], epoch int) Dataset[T] {
	if e, ok := ds.(Epochs[T]); ok {
		return e.Epoch(epoch)
	}
	return ds
}

// Memory is a dataset of items held in memory. Get does not copy items.
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

// Func returns a dataset of n items that get computes.
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

// Collect reads all items into memory, in order. An error of Get is returned as an *ItemError.
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

// Check returns an error that wraps core.ErrIndex if i is outside [0, n), else nil. Implementations of Get call it.
func Check(i, n int) error {
	if i < 0 || i >= n {
		return fmt.Errorf("data: item %d of a dataset of %d: %w", i, n, core.ErrIndex)
	}
	return nil
}
