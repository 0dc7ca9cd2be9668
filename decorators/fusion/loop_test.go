package fusion_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/decorators/fusion"
)

// step submits a window of five nodes. It returns w - lr·(w·x + x) and the sum of x.
func (r *rig) step(w, x op.Desc, lr float64) (next, sum op.Desc) {
	t := r.do(op.Mul, 0, ds{w, x})
	g := r.do(op.Add, 1, ds{t, x})
	sum = r.do(op.Sum, 1, ds{x}, op.Ints("axes", 0), op.Flag("keep_dims", false))
	s := r.full(lr)
	g = r.do(op.Mul, 3, ds{g, s})
	return r.do(op.Sub, 3, ds{w, g}), sum
}

func TestLoopBecomesRuns(t *testing.T) {
	for name, b := range map[string]core.Backend{"cpu": processor(t), "reference": reference()} {
		t.Run(name, func(t *testing.T) {
			r := over(t, b)
			w, want := r.write(1, 2, 3), []float32{1, 2, 3}
			const rounds = 10
			for i := range rounds {
				x := r.write(float32(i), 1, 2)
				next, sum := r.step(w, x, 0.5)
				require.Equal(t, []float32{float32(i) + 3}, r.read(sum))
				for k, xk := range []float32{float32(i), 1, 2} {
					want[k] -= 0.5 * (want[k]*xk + xk)
				}
				r.free(sum)
				w = next
			}
			require.Equal(t, want, r.read(w))
			s := r.stats()
			require.EqualValues(t, rounds-2, s.Hits, "%+v", s)
			require.EqualValues(t, 1, s.Compiled)
			m, ok := core.Extension[core.MemoryStats](r.Device)
			if ok {
				require.EqualValues(t, 1, m.Memory().Tensors)
			}
		})
	}
}

// In a loop without reads and events, only the limits end a window. After some rounds, windows end at the same positions of every round,
// for every length of a round and every division of the nodes among calls.
func TestLoopsWithoutBoundaries(t *testing.T) {
	for _, c := range []struct{ length, batch, rounds int }{{7, 1, 3600}, {100, 32, 240}, {2800, 128, 16}, {2800, 5, 16}, {4096, 128, 12}, {4100, 128, 12}, {6000, 128, 12}, {12001, 7, 10}} {
		t.Run(fmt.Sprintf("%d by %d", c.length, c.batch), func(t *testing.T) {
			r := over(t, reference(), fusion.Idle(time.Hour))
			var batch []op.Node
			var dead []op.TensorID
			x := r.write(0.5, 0.25)
			half := func(rounds int) fusion.Stats {
				for range rounds {
					for i := range c.length {
						code := []op.Code{op.Neg, op.Abs, op.Tanh, op.Relu}[(i*i+i/3)%4]
						n := r.node(code, 0, ds{x})
						batch = append(batch, n)
						if !drop(batch, x.ID) { // its user was submitted earlier
							dead = append(dead, x.ID)
						}
						x = n.Outputs[0]
						if len(batch) >= c.batch {
							require.NoError(t, r.Submit(batch, dead))
							batch, dead = nil, nil
						}
					}
				}
				return r.stats()
			}
			half(c.rounds - c.rounds/4)
			before := r.stats()
			after := half(c.rounds / 4)
			require.Equal(t, before.Compiled, after.Compiled, "no new programs")
			require.Equal(t, before.Misses, after.Misses, "all windows run: %+v", after)
			require.Greater(t, after.Hits, before.Hits)
			require.LessOrEqual(t, after.Compiled, int64(c.length/4096+3))
		})
	}
}

// In a stream in which nothing repeats, no window runs as a program.
func TestNothingRepeats(t *testing.T) {
	r := over(t, reference())
	x := r.write(1, 2)
	for i := range 3000 {
		y := r.do(op.Mul, 0, ds{x, r.full(float64(i))})
		r.free(y)
		if i%50 == 0 {
			r.full(1, i+1)
			r.Signal()
		}
	}
	s := r.stats()
	require.Zero(t, s.Hits, "%+v", s)
	require.Positive(t, s.Misses)
}
