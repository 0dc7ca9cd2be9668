package tensor_test

import (
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/tensor"
)

// Philox 4x32-10 with key and counter 0 produces 6627e8d5 e169c58d bc57ac4c 9b00dbd8 (Random123); the upper 24 bits are divided
// by 2^24.
func TestUniformIsPhilox(t *testing.T) {
	d := open(t)
	d.Seed(0)
	v := data[float32](t, d.Uniform(dtype.F32, 0, 1, 4))
	for i, bits := range []uint32{0x6627e8, 0xe169c5, 0xbc57ac, 0x9b00db} {
		require.Equal(t, float32(bits)/(1<<24), v[i])
	}
	require.Equal(t, v, data[float32](t, (&tensor.Random{}).Uniform(d, dtype.F32, 0, 1, 4)))
}

func TestDrawsDoNotOverlap(t *testing.T) {
	d := open(t)
	d.Seed(7)
	first, second := data[int32](t, (&tensor.Random{Seed: 7}).Bits(d, 5)), d.Uniform(dtype.F32, 0, 1, 5)
	_ = second
	require.Equal(t, tensor.Random{Seed: 7, Counter: 2}, d.Random(), "5 words are 2 blocks of 4")
	d.Normal(dtype.F32, 0, 1, 3) // 6 words
	require.Equal(t, 4, d.Random().Counter)
	d.Uniform(dtype.F64, 0, 1, 2) // 4 words
	require.Equal(t, 5, d.Random().Counter)
	d.Zeros(dtype.F32, 8).Dropout(0.5)
	require.Equal(t, 7, d.Random().Counter)
	d.SetRandom(tensor.Random{Seed: 7})
	require.Equal(t, first, data[int32](t, (&tensor.Random{Seed: 7}).Bits(d, 5)))
	r := &tensor.Random{Seed: 7}
	all := data[int32](t, (&tensor.Random{Seed: 7}).Bits(d, 8))
	require.Equal(t, all[:4], data[int32](t, r.Bits(d, 4)))
	require.Equal(t, all[4:], data[int32](t, r.Bits(d, 4)), "draws follow each other")
}

// Moments of large samples are compared with those of the distributions, within 5 standard errors.
func TestDistributions(t *testing.T) {
	d := open(t)
	d.Seed(1)
	const n = 1 << 16
	moments := func(x *tensor.Tensor) (mean, variance float64) {
		x = x.Cast(dtype.F64)
		m, err := x.Mean().Float64(ctx)
		require.NoError(t, err)
		v, err := x.Variance(0).Float64(ctx)
		require.NoError(t, err)
		return m, v
	}
	for _, c := range []struct {
		name           string
		x              *tensor.Tensor
		mean, variance float64
	}{
		{"uniform f32", d.Uniform(dtype.F32, -1, 3, n), 1, 16.0 / 12},
		{"uniform f64", d.Uniform(dtype.F64, 0, 1, n), 0.5, 1.0 / 12},
		{"normal f32", d.Normal(dtype.F32, 2, 3, n), 2, 9},
		{"normal f64", d.Normal(dtype.F64, 0, 1, n), 0, 1},
		{"bernoulli", d.Bernoulli(dtype.F32, 0.3, n), 0.3, 0.21},
		{"int", d.RandomInt(dtype.I32, -2, 5, n), 1, 4},
		{"dropout", d.Ones(dtype.F32, n).Dropout(0.25), 1, 1.0 / 3},
		{"like uniform", d.Zeros(dtype.F32, n).UniformLike(0, 2), 1, 1.0 / 3},
		{"like normal", d.Zeros(dtype.F32, n).NormalLike(0, 2), 0, 4},
		{"categorical", tensor.From(d, []float32{1, 2, 1}).Multinomial(n, true), 1, 0.5},
	} {
		mean, variance := moments(c.x)
		require.InDelta(t, c.mean, mean, 5*math.Sqrt(c.variance/n), c.name)
		require.InDelta(t, c.variance, variance, 0.05*c.variance, c.name)
	}
	require.Equal(t, []int32{-2, -1, 0, 1, 2, 3, 4}, unique(data[int32](t, d.RandomInt(dtype.I32, -2, 5, n))))
	require.Equal(t, []int64{1 << 40}, data[int64](t, d.RandomInt(dtype.I64, 1<<40, 1<<40+1, 1)))
}

func unique[T int32 | int64](v []T) []T {
	slices.Sort(v)
	return slices.Compact(v)
}

func TestPermutationAndSamplesWithoutReplacement(t *testing.T) {
	d := open(t)
	d.Seed(3)
	p := data[int64](t, d.Permutation(100))
	require.False(t, slices.IsSorted(p))
	require.Len(t, unique(slices.Clone(p)), 100)
	require.NotEqual(t, p, data[int64](t, d.Permutation(100)))
	require.Empty(t, data[int64](t, d.Permutation(0)))
	w := tensor.From(d, []float32{0, 1, 5, 0, 2})
	for range 20 {
		require.Equal(t, []int64{1, 2, 4}, unique(data[int64](t, w.Multinomial(3, false))))
	}
	// The first index of a sample without replacement is distributed as one with replacement.
	firsts := d.Uniform(dtype.F32, 0, 1, 4096, 1).ZerosLike().Add(tensor.From(d, []float32{1, 3})).Multinomial(1, false)
	mean, err := firsts.Cast(dtype.F64).Mean().Float64(ctx)
	require.NoError(t, err)
	require.InDelta(t, 0.75, mean, 5*math.Sqrt(0.75*0.25/4096))
}

func TestGeneratorIsSafeForConcurrentUse(t *testing.T) {
	d := open(t)
	d.Seed(1)
	var wg sync.WaitGroup
	draws := make([]*tensor.Tensor, 16)
	for i := range draws {
		wg.Go(func() { draws[i] = d.Uniform(dtype.F64, 0, 1, 64) })
	}
	wg.Wait()
	seen := map[float64]bool{}
	for _, x := range draws {
		for _, v := range data[float64](t, x) {
			require.False(t, seen[v])
			seen[v] = true
		}
	}
	require.Equal(t, 16*32, d.Random().Counter)
}

func TestUnseededDevicesDiffer(t *testing.T) {
	a, b := open(t), open(t)
	require.NotEqual(t, data[float64](t, a.Uniform(dtype.F64, 0, 1, 4)), data[float64](t, b.Uniform(dtype.F64, 0, 1, 4)))
}

func TestRandomMistakes(t *testing.T) {
	d := open(t)
	for name, f := range map[string]func(){
		"empty range": func() { d.RandomInt(dtype.I32, 3, 3, 1) },
		"wide range":  func() { d.RandomInt(dtype.I64, math.MinInt64, math.MaxInt64, 1) },
		"float":       func() { d.RandomInt(dtype.F32, 0, 3, 1) },
		"deviation":   func() { d.Normal(dtype.F32, 0, -1, 1) },
		"p":           func() { d.Ones(dtype.F32, 1).Dropout(2) },
	} {
		require.ErrorIs(t, tensor.Try(f), core.ErrAttr, name)
	}
	require.ErrorIs(t, tensor.Try(func() { d.Uniform(dtype.F32, 0, 1, -1) }), core.ErrShape)
	require.ErrorIs(t, tensor.Try(func() { d.Uniform(dtype.I32, 0, 1, 1) }), core.ErrDType)
}
