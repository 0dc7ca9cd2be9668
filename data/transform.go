package data

import "math/rand/v2"

// Map applies f to each item when it is read. Several goroutines may call f concurrently.
func Map[A, B any](ds Dataset[A], f func(A) (B, error)) Dataset[B] { return mapped[A, B]{ds, f} }

type mapped[A, B any] struct {
	in Dataset[A]
	f  func(A) (B, error)
}

func (m mapped[A, B]) Len() int               { return m.in.Len() }
func (m mapped[A, B]) Epoch(e int) Dataset[B] { return mapped[A, B]{At(m.in, e), m.f} }
func (m mapped[A, B]) Get(i int) (out B, e error) {
	item, err := m.in.Get(i)
	if err != nil {
		return out, err
	}
	return m.f(item)
}

// Augment applies f with a generator that depends only on seed, epoch and index: the item is the same in each run and with any
// number of workers, but differs between epochs of a Loader. Several goroutines may call f concurrently.
func Augment[A, B any](ds Dataset[A], seed uint64, f func(*rand.Rand, A) (B, error)) Dataset[B] {
	return augmented[A, B]{ds, seed, 0, f}
}

type augmented[A, B any] struct {
	in    Dataset[A]
	seed  uint64
	epoch int
	f     func(*rand.Rand, A) (B, error)
}

func (a augmented[A, B]) Len() int { return a.in.Len() }

func (a augmented[A, B]) Epoch(e int) Dataset[B] {
	return augmented[A, B]{At(a.in, e), a.seed, e, a.f}
}

func (a augmented[A, B]) Get(i int) (out B, e error) {
	item, err := a.in.Get(i)
	if err != nil {
		return out, err
	}
	return a.f(Random(a.seed, a.epoch, i), item)
}
