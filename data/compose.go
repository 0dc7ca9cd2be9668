package data

import (
	"fmt"
	"sort"
)

// Compose returns the concatenation of the datasets.
func Compose[T any](sets ...Dataset[T]) Dataset[T] { return compose(sets) }

func compose[T any](sets []Dataset[T]) composed[T] {
	c := composed[T]{sets: sets, ends: make([]int, len(sets))}
	end := 0
	for k, s := range sets {
		end += s.Len()
		c.ends[k] = end
	}
	return c
}

type composed[T any] struct {
	sets []Dataset[T]
	ends []int // end index of each set in the composition
}

func (c composed[T]) Len() int {
	if len(c.ends) == 0 {
		return 0
	}
	return c.ends[len(c.ends)-1]
}

func (c composed[T]) Epoch(e int) Dataset[T] {
	sets := make([]Dataset[T], len(c.sets))
	for k, s := range c.sets {
		sets[k] = At(s, e)
	}
	return compose(sets)
}

func (c composed[T]) Get(i int) (item T, e error) {
	if err := Check(i, c.Len()); err != nil {
		return item, err
	}
	k := sort.SearchInts(c.ends, i+1)
	if k > 0 {
		i -= c.ends[k-1]
	}
	return c.sets[k].Get(i)
}

// Windows returns a dataset of windows of size consecutive items; window k starts at item k*step. No window extends beyond the last item. A
// size or step below 1 is an error.
func Windows[T any](ds Dataset[T], size, step int) (Dataset[[]T], error) {
	if size < 1 || step < 1 {
		return nil, fmt.Errorf("windows: size %d and step %d, want 1 or more", size, step)
	}
	return windows[T]{ds, size, step}, nil
}

type windows[T any] struct {
	in         Dataset[T]
	size, step int
}

func (w windows[T]) Epoch(e int) Dataset[[]T] { return windows[T]{At(w.in, e), w.size, w.step} }

func (w windows[T]) Len() int {
	if n := w.in.Len(); n >= w.size {
		return (n-w.size)/w.step + 1
	}
	return 0
}

func (w windows[T]) Get(i int) ([]T, error) {
	if err := Check(i, w.Len()); err != nil {
		return nil, err
	}
	out := make([]T, w.size)
	for k := range out {
		item, err := w.in.Get(i*w.step + k)
		if err != nil {
			return nil, err
		}
		out[k] = item
	}
	return out, nil
}
