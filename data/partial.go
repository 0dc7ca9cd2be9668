package data

import (
	"fmt"
	"math"
)

// partial is the range [lo, hi) of the items of in.
type partial[T any] struct {
	in     Dataset[T]
	lo, hi int
}

func (p partial[T]) Len() int               { return p.hi - p.lo }
func (p partial[T]) Epoch(e int) Dataset[T] { return partial[T]{At(p.in, e), p.lo, p.hi} }
func (p partial[T]) Get(i int) (item T, e error) {
	if err := Check(i, p.hi-p.lo); err != nil {
		return item, err
	}
	return p.in.Get(p.lo + i)
}

// Partial returns the items in [lo, hi).
func Partial[T any](ds Dataset[T], lo, hi int) (Dataset[T], error) {
	if n := ds.Len(); lo < 0 || hi < lo || hi > n {
		return nil, fmt.Errorf("partial: range [%d, %d), want 0 <= lo <= hi <= %d", lo, hi, n)
	}
	return partial[T]{ds, lo, hi}, nil
}

// Split cuts ds into n consecutive ranges. Their lengths differ by at most one, the longer ones first.
func Split[T any](ds Dataset[T], n int) ([]Dataset[T], error) {
	if n < 1 {
		return nil, fmt.Errorf("split: %d parts, want 1 or more", n)
	}
	out := make([]Dataset[T], n)
	size, more, lo := ds.Len()/n, ds.Len()%n, 0
	for k := range out {
		hi := lo + size
		if k < more {
			hi++
		}
		out[k] = partial[T]{ds, lo, hi}
		lo = hi
	}
	return out, nil
}

// RandomSplit divides ds, in an order that depends only on seed, into parts of the given shares, such as 0.9 and 0.1 for training
// and validation. Shares are positive and their sum is at most 1. Each part ends at the cumulative share of the length, rounded,
// so that shares with sum 1 use every item once.
func RandomSplit[T any](ds Dataset[T], seed uint64, shares ...float64) ([]Dataset[T], error) {
	sum := 0.0
	for _, s := range shares {
		if !(s > 0) {
			return nil, fmt.Errorf("random split: share %v, want more than 0", s)
		}
		sum += s
	}
	if sum > 1+1e-9 {
		return nil, fmt.Errorf("random split: shares are together %v, want at most 1", sum)
	}
	order := Permutation(ds.Len(), seed, 0)
	out := make([]Dataset[T], len(shares))
	end, lo := 0.0, 0
	for k, s := range shares {
		end += s
		hi := min(int(math.Round(end*float64(len(order)))), len(order))
		out[k] = selection[T]{ds, order[lo:hi:hi]}
		lo = hi
	}
	return out, nil
}
