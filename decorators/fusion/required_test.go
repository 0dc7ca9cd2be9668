package fusion_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/decorators/fusion"
	"github.com/goburn/burn/plugins/cpu"
)

// This file tests some required edge cases of fusion: the memory of models, tensors that are freed or read in the middle of a window, and
// attributes with very many values. edge_test.go tests the others: aliases (TestAliases), ids of other generations (TestUnknownTensors), a
// number that changes in each step (TestNumberThatChanges) and panics in rewrites (TestRefusedPrograms).

// model runs five steps of a random network of large tensors: chains with residuals, products with weights that outlive the steps, and
// results that are freed by drop bits, by separate frees or only at the end of a step.
func model(r *rig, seed uint64) error {
	const side = 64
	size := side * side * 4
	fresh := func() (op.Desc, error) {
		d := op.Desc{ID: r.NewIDs(1), DType: dtype.F32, Shape: []int{side, side}}
		return d, r.Write(ctx, d, make([]byte, size))
	}
	var weights ds
	for range 2 {
		w, err := fresh()
		if err != nil {
			return err
		}
		weights = append(weights, w)
	}
	for range 5 {
		g := rand.New(rand.NewPCG(seed, 5)) // each step is the same
		x, err := fresh()
		if err != nil {
			return err
		}
		kept := ds{}
		for range 4 + g.IntN(8) {
			drop := uint64(g.IntN(2)) // 0: the operand is freed after the node
			old := x
			switch g.IntN(5) {
			case 0:
				x = r.do(op.MatMul, drop, ds{x, weights[g.IntN(len(weights))]})
			case 1:
				x = r.do(op.CumSum, drop, ds{x}, op.Int("axis", g.IntN(2)))
			case 2:
				kept = append(kept, x) // for a residual
				x, drop = r.do(op.Tanh, 0, ds{x}), 1
			case 3:
				if k := len(kept); k > 0 {
					x = r.do(op.Add, drop|2, ds{x, kept[k-1]})
					kept = kept[:k-1]
				} else {
					x = r.do(op.Neg, drop, ds{x})
				}
			default:
				x = r.do(op.Flip, drop, ds{x}, op.Ints("axes", g.IntN(2)))
			}
			if drop == 0 {
				r.free(old)
			}
		}
		if err := r.fetch(x); err != nil {
			return err
		}
		r.free(append(kept, x)...)
	}
	r.free(weights...)
	return core.Sync(ctx, r.Stream)
}

// H2: fused, models run within the least memory limit that suffices unfused.
func TestPeakOfModels(t *testing.T) {
	open := func(limit int64) core.Backend {
		b, err := cpu.New(core.Config{Threads: 1, Options: map[string]string{"memory_limit": fmt.Sprint(limit)}})
		require.NoError(t, err)
		return b
	}
	const part = 4 << 10
	for seed := range uint64(20) {
		low, high := int64(0), int64(1<<10) // limits in units of part: too low and high enough
		for high-low > 1 {
			if middle := (low + high) / 2; model(bare(t, open(middle*part)), seed) == nil {
				high = middle
			} else {
				low = middle
			}
		}
		r := over(t, open(high*part))
		require.NoError(t, model(r, seed), "seed %d: within %d KiB", seed, high*part>>10)
		require.Positive(t, r.stats().Hits, "seed %d", seed)
		require.Zero(t, r.tensors())
	}
}

// H3: a tensor that is freed between two nodes of a window does not outlive the window, and its id is unknown afterwards.
func TestFreedInTheMiddle(t *testing.T) {
	r := over(t, processor(t))
	for i := range 8 {
		x := r.write(1, 2, 3)
		y := r.do(op.Exp, 0, ds{x})
		z := r.do(op.Neg, 0, ds{x})
		r.free(x)
		w := r.do(op.Add, 3, ds{y, z})
		v := r.do(op.Abs, 0, ds{w})
		r.free(w)
		require.InDeltaSlice(t, []float32{1.718282, 5.389056, 17.085537}, r.read(v), 1e-4, "round %d", i)
		for _, gone := range (ds{x, w, y, z}) {
			require.ErrorIs(t, r.fetch(gone), core.ErrUnknownTensor)
		}
		r.free(v)
		require.Zero(t, r.tensors())
	}
	require.Positive(t, r.stats().Hits)
}

// H3: a read in the middle of a window ends the window and returns the right values; the following nodes form a window of their own. After
// a round with such a read, later rounds still run as programs.
func TestReadInTheMiddle(t *testing.T) {
	r := over(t, processor(t))
	for i := range 12 {
		x := r.write(1, 2)
		y := r.do(op.Exp, 0, ds{x})
		z := r.do(op.Neg, 0, ds{y})
		if i%4 == 3 {
			require.InDeltaSlice(t, []float32{-2.718282, -7.389056}, r.read(z), 1e-4)
			require.InDeltaSlice(t, []float32{2.718282, 7.389056}, r.read(y), 1e-4, "earlier results exist too")
		}
		w := r.do(op.Mul, 3, ds{y, z})
		u := r.do(op.Abs, 1, ds{w})
		require.InDeltaSlice(t, []float32{7.389056, 54.59815}, r.read(u), 1e-3, "round %d", i)
		r.free(x, u)
		require.Zero(t, r.tensors())
	}
	require.GreaterOrEqual(t, r.stats().Hits, int64(6), "%+v", r.stats())
}

// H4: with ten thousand values of an attribute, of a node or of a source, the cache stays within its limits.
func TestTenThousandValues(t *testing.T) {
	for name, node := range map[string]func(r *rig, x op.Desc, i int) op.Desc{
		"node": func(r *rig, x op.Desc, i int) op.Desc {
			return r.do(op.LeakyRelu, 0, ds{x}, op.Float("alpha", float64(i)))
		},
		"source": func(r *rig, x op.Desc, i int) op.Desc { return r.do(op.Mul, 2, ds{x, r.full(float64(i))}) },
	} {
		t.Run(name, func(t *testing.T) {
			const programs, bytes = 16, 1 << 20
			r := over(t, reference(), fusion.Cache(programs, bytes))
			x := r.write(1, 2)
			for i := range 10000 {
				y := r.do(op.Neg, 1, ds{node(r, x, i)})
				r.Signal()
				r.free(y)
			}
			s := r.stats()
			require.LessOrEqual(t, s.Programs, programs)
			require.LessOrEqual(t, s.Bytes, int64(bytes))
			require.LessOrEqual(t, s.Compiled, int64(8), "attributes of many values make at most eight programs")
		})
	}
}
