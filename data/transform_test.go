package data_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/data"
	"github.com/stretchr/testify/require"
)

// upTo returns the dataset 0, 1, ..., n-1.
func upTo(n int) data.Memory[int] {
	m := make(data.Memory[int], n)
	for i := range m {
		m[i] = i
	}
	return m
}

// all returns the items of ds, after checking that Get refuses indices outside.
func all[T any](t testing.TB, ds data.Dataset[T], err ...error) []T {
	t.Helper()
	for _, e := range err {
		require.NoError(t, e)
	}
	for _, i := range []int{-1, ds.Len()} {
		_, err := ds.Get(i)
		require.ErrorIs(t, err, core.ErrIndex)
	}
	out, e := data.Collect(ds)
	require.NoError(t, e)
	return out
}

func must[T any](ds data.Dataset[T], err error) func(testing.TB) data.Dataset[T] {
	return func(t testing.TB) data.Dataset[T] {
		t.Helper()
		require.NoError(t, err)
		return ds
	}
}

func TestTransforms(t *testing.T) {
	ten := upTo(10)
	double := func(i int) (int, error) { return 2 * i, nil }
	for _, c := range []struct {
		name string
		ds   func(testing.TB) data.Dataset[int]
		want []int
	}{
		{"memory", must[int](upTo(3), nil), []int{0, 1, 2}},
		{"func", must(data.Func(3, double), nil), []int{0, 2, 4}},
		{"map", must(data.Map(upTo(3), double), nil), []int{0, 2, 4}},
		{"map of a map", must(data.Map(data.Map(upTo(3), double), double), nil), []int{0, 4, 8}},
		{"select", must(data.Select(ten, []int{7, 0, 7})), []int{7, 0, 7}},
		{"select nothing", must(data.Select(ten, nil)), []int{}},
		{"partial", must(data.Partial(ten, 2, 5)), []int{2, 3, 4}},
		{"partial, empty", must(data.Partial(ten, 10, 10)), []int{}},
		{"compose", must(data.Compose[int](upTo(2), upTo(0), upTo(3)), nil), []int{0, 1, 0, 1, 2}},
		{"compose nothing", must(data.Compose[int](), nil), []int{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.ElementsMatch(t, c.want, all(t, c.ds(t)))
			require.Equal(t, c.want, append([]int{}, all(t, c.ds(t))...))
		})
	}
}

func TestArguments(t *testing.T) {
	three := upTo(3)
	for name, err := range map[string]error{
		"select above":      second(data.Select(three, []int{0, 3})),
		"select below":      second(data.Select(three, []int{-1})),
		"partial reversed":  second(data.Partial(three, 2, 1)),
		"partial above":     second(data.Partial(three, 0, 4)),
		"partial below":     second(data.Partial(three, -1, 2)),
		"sample too many":   second(data.Sample(three, 4, false, 0)),
		"sample negative":   second(data.Sample(three, -1, true, 0)),
		"sample of nothing": second(data.Sample(upTo(0), 1, true, 0)),
		"split 0":           second(data.Split(three, 0)),
		"windows of 0":      second(data.Windows(three, 0, 1)),
		"windows step 0":    second(data.Windows(three, 1, 0)),
		"shares above 1":    second(data.RandomSplit(three, 0, 0.7, 0.4)),
		"share of 0":        second(data.RandomSplit(three, 0, 0.7, 0)),
	} {
		require.Error(t, err, name)
	}
	failing := data.Func(3, func(i int) (int, error) {
		if i == 2 {
			return 0, errors.ErrUnsupported
		}
		return i, nil
	})
	_, err := data.Collect(failing)
	var item *data.ItemError
	require.ErrorAs(t, err, &item)
	require.Equal(t, 2, item.Index)
	require.ErrorIs(t, err, errors.ErrUnsupported)
}

func second[T any](_ T, err error) error { return err }

func TestWindows(t *testing.T) {
	for _, c := range []struct {
		n, size, step int
		want          [][]int
	}{
		{4, 2, 1, [][]int{{0, 1}, {1, 2}, {2, 3}}},
		{5, 2, 2, [][]int{{0, 1}, {2, 3}}},
		{3, 3, 7, [][]int{{0, 1, 2}}},
		{2, 3, 1, nil},
	} {
		ds, err := data.Windows(upTo(c.n), c.size, c.step)
		got := all(t, ds, err)
		require.Equal(t, len(c.want), len(got))
		for i := range c.want {
			require.Equal(t, c.want[i], got[i])
		}
	}
}

func TestShuffle(t *testing.T) {
	a := all(t, data.Shuffle(upTo(100), 1))
	require.Equal(t, a, all(t, data.Shuffle(upTo(100), 1)))
	require.NotEqual(t, a, all(t, data.Shuffle(upTo(100), 2)))
	require.ElementsMatch(t, upTo(100), a)
	// Saved positions depend on this order: it must never change. The values come from an implementation of the definitions in
	// Python.
	require.Equal(t, []int{8, 0, 1, 3, 9, 5, 2, 6, 7, 4}, data.Permutation(10, 42, 0))
	require.Equal(t, []int{3, 4, 1, 0, 9, 8, 7, 6, 2, 5}, data.Permutation(10, 42, 3))
}

// Every item reaches every position equally often: chi-square over the 64 cells of 8 items has 49 degrees of freedom, and exceeds 94.6
// once in ten thousand (tables).
func TestPermutationIsUniform(t *testing.T) {
	const n, rounds = 8, 8000
	var count [n][n]float64
	for e := range rounds {
		for at, item := range data.Permutation(n, 7, e) {
			count[at][item]++
		}
	}
	chi := 0.0
	for _, row := range count {
		for _, c := range row {
			chi += (c - rounds/n) * (c - rounds/n) / (rounds / n)
		}
	}
	require.Less(t, chi, 94.6)
	require.Greater(t, chi, 15.0, "too even to be random")
}

func TestSample(t *testing.T) {
	ds, err := data.Sample(upTo(50), 20, false, 3)
	a := all(t, ds, err)
	slices.Sort(a)
	require.Len(t, slices.Compact(slices.Clone(a)), 20)
	require.NotEqual(t, a, all(t, data.At(ds, 1)), "another draw in another epoch")
	require.Equal(t, all(t, data.At(ds, 1)), all(t, data.At(data.At(ds, 5), 1)))

	ds, err = data.Sample(upTo(5), 100, true, 3)
	b := all(t, ds, err)
	require.Len(t, b, 100)
	slices.Sort(b)
	require.Equal(t, []int{0, 1, 2, 3, 4}, slices.Compact(b))
}

func TestSplits(t *testing.T) {
	parts, err := data.Split(upTo(10), 3)
	require.NoError(t, err)
	require.Equal(t, [][]int{{0, 1, 2, 3}, {4, 5, 6}, {7, 8, 9}}, [][]int{all(t, parts[0]), all(t, parts[1]), all(t, parts[2])})

	parts, err = data.RandomSplit(upTo(101), 5, 0.8, 0.1, 0.1)
	require.NoError(t, err)
	require.Equal(t, []int{81, 10, 10}, []int{parts[0].Len(), parts[1].Len(), parts[2].Len()})
	require.ElementsMatch(t, upTo(101), slices.Concat(all(t, parts[0]), all(t, parts[1]), all(t, parts[2])))
}

// An augmentation receives the epoch through every transform above it.
func TestEpochs(t *testing.T) {
	noisy := data.Augment(upTo(6), 9, func(r *rand.Rand, i int) (uint64, error) { return r.Uint64(), nil })
	same := func(v uint64) (uint64, error) { return v, nil }
	one := all(t, data.At(noisy, 1))
	require.Equal(t, one, all(t, data.At(noisy, 1)))
	require.NotEqual(t, one, all(t, noisy))
	part, err := data.Partial(noisy, 0, 6)
	require.NoError(t, err)
	for name, ds := range map[string]data.Dataset[uint64]{
		"map": data.Map(noisy, same), "compose": data.Compose(noisy), "partial": part, "augment": data.Augment(noisy, 0, func(_ *rand.Rand, v uint64) (uint64, error) { return v, nil }),
	} {
		require.Equal(t, one, all(t, data.At(ds, 1)), name)
	}
	require.ElementsMatch(t, one, all(t, data.At(data.Shuffle(noisy, 4), 1)))
	w, err := data.Windows(noisy, 6, 1)
	require.NoError(t, err)
	require.Equal(t, []uint64(one), all(t, data.At(w, 1))[0])
}

// growing has e items in epoch e, all of value e.
type growing int

func (g growing) Len() int                      { return int(g) }
func (g growing) Get(int) (int, error)          { return int(g), nil }
func (g growing) Epoch(e int) data.Dataset[int] { return growing(e) }

// A composition follows the lengths that its sets have in an epoch.
func TestComposeLengths(t *testing.T) {
	ds := data.Compose[int](growing(0), upTo(1), growing(0))
	require.Equal(t, []int{0}, []int(all(t, ds)))
	require.Equal(t, []int{2, 2, 0, 2, 2}, []int(all(t, data.At(ds, 2))))
	require.Equal(t, []int{1, 0, 1}, []int(all(t, data.At(data.At(ds, 2), 1))))
}
