package data

import (
	"fmt"
	"slices"
)

// selection is a dataset of selected indices of in.
type selection[T any] struct {
	in      Dataset[T]
	indices []int
}

func (s selection[T]) Len() int               { return len(s.indices) }
func (s selection[T]) Epoch(e int) Dataset[T] { return selection[T]{At(s.in, e), s.indices} }
func (s selection[T]) Get(i int) (item T, e error) {
	if err := Check(i, len(s.indices)); err != nil {
		return item, err
	}
	return s.in.Get(s.indices[i])
}

// Select returns the items at indices, in that order; an index may occur more than once. indices is copied.
func Select[T any](ds Dataset[T], indices []int) (Dataset[T], error) {
	n := ds.Len()
	for k, i := range indices {
		if err := Check(i, n); err != nil {
			return nil, fmt.Errorf("select: index %d: %w", k, err)
		}
	}
	return selection[T]{ds, slices.Clone(indices)}, nil
}

// Shuffle returns all items in an order that depends only on seed. A Loader shuffles by itself, in a different order each epoch;
// Shuffle is for one fixed order, for example before Partial.
func Shuffle[T any](ds Dataset[T], seed uint64) Dataset[T] {
	return selection[T]{ds, Permutation(ds.Len(), seed, 0)}
}

// Sample returns size items drawn at random, with or without replacement. The draw depends on the seed, and differs between
// epochs of a Loader.
func Sample[T any](ds Dataset[T], size int, replacement bool, seed uint64) (Dataset[T], error) {
	n := ds.Len()
	switch {
	case size < 0:
		return nil, fmt.Errorf("sample: size %d, want 0 or more", size)
	case size > n && !replacement:
		return nil, fmt.Errorf("sample: %d of %d items without replacement, want at most %d; draw with replacement for more", size, n, n)
	case size > 0 && n == 0:
		return nil, fmt.Errorf("sample: %d items of an empty dataset", size)
	}
	return drawn[T]{ds, size, replacement, seed}.Epoch(0), nil
}

// drawn contains the parameters of a sample; sample is the draw for one epoch.
type drawn[T any] struct {
	in          Dataset[T]
	size        int
	replacement bool
	seed        uint64
}

type sample[T any] struct {
	selection[T]
	how drawn[T]
}

func (d drawn[T]) Epoch(e int) Dataset[T] {
	var indices []int
	if d.replacement {
		g, n := generator(d.seed, e), d.in.Len()
		indices = make([]int, d.size)
		for i := range indices {
			indices[i] = below(g, n)
		}
	} else {
		indices = Permutation(d.in.Len(), d.seed, e)[:d.size:d.size]
	}
	return sample[T]{selection[T]{At(d.in, e), indices}, d}
}

func (s sample[T]) Epoch(e int) Dataset[T] { return s.how.Epoch(e) }
