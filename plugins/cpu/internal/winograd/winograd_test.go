package winograd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
	"github.com/goburn/burn/plugins/cpu/internal/par"
)

// problem is a convolution with its operands.
type problem struct {
	Shape
	batch, groups int
	x, w          []float32
}

func (p *problem) String() string {
	return fmt.Sprintf("%d images, %d groups, %+v", p.batch, p.groups, p.Shape)
}

func random(rng *rand.Rand, n int) []float32 {
	s := make([]float32, n)
	for i := range s {
		s[i] = float32(rng.NormFloat64())
	}
	return s
}

func newProblem(rng *rand.Rand, s Shape, batch, groups int) *problem {
	return &problem{s, batch, groups, random(rng, batch*groups*s.Channels*s.Height*s.Width), random(rng, groups*s.Outputs*s.Channels*9)}
}

// exact returns the convolution in float64 and, for each output, the sum of the
// magnitudes of its products.
func (p *problem) exact() (sum, size []float64) {
	for b := range p.batch {
		for o := range p.groups * p.Outputs {
			for y := range p.OutHeight {
				for x := range p.OutWidth {
					s, m := 0.0, 0.0
					for c := range p.Channels {
						from := p.x[((b*p.groups+o/p.Outputs)*p.Channels+c)*p.Height*p.Width:][:p.Height*p.Width]
						kernel := p.w[(o*p.Channels+c)*9:][:9]
						for k, g := range kernel {
							i, j := y+k/3-p.Top, x+k%3-p.Left
							if i >= 0 && i < p.Height && j >= 0 && j < p.Width {
								v := float64(g) * float64(from[i*p.Width+j])
								s, m = s+v, m+math.Abs(v)
							}
						}
					}
					sum, size = append(sum, s), append(size, m)
				}
			}
		}
	}
	return sum, size
}

// weights packs the weights of each group.
func (p *problem) weights(t testing.TB, pool *par.Pool) (list []*Weights) {
	for g := range p.groups {
		w := newPlan(p.Shape).Pack(pool, p.w[g*p.Outputs*p.Channels*9:])
		require.NotNil(t, w)
		list = append(list, w)
	}
	return list
}

// tolerance is the permitted error of an output, relative to its sum of magnitudes plus the average of these sums.
const tolerance = 2e-6

// check compares the outputs of the plan with exact sums. It returns the greatest
// error of an output, relative to the sum of the magnitudes of its products.
func (p *problem) check(t *testing.T, threads int, accumulate bool, e *micro.Epilogue[float32]) float64 {
	t.Helper()
	pool := par.New(threads)
	defer pool.Close()
	plan := newPlan(p.Shape)
	want, size := p.exact()
	weights := p.weights(t, pool)
	rng := rand.New(rand.NewPCG(9, 9))
	most := 0.0
	average := 0.0
	for _, s := range size {
		average += s / float64(len(size))
	}
	for range 2 { // the second run reuses the workspace of the first
		const guard = 40
		memory := random(rng, len(want)+2*guard)
		held := append([]float32(nil), memory...)
		out := memory[guard:][:len(want):len(want)]
		require.True(t, plan.Run(pool, &Call{Batch: p.batch, X: p.x, Out: out, Weights: weights, Accumulate: accumulate, Epilogue: e}))
		require.Equal(t, held[:guard], memory[:guard], p.String())
		require.Equal(t, held[len(held)-guard:], memory[len(memory)-guard:], p.String())
		for i, v := range out {
			w := want[i]
			if accumulate {
				w += float64(held[guard+i])
			}
			if e != nil && e.BiasRow != nil {
				w += float64(e.BiasRow[i/(p.OutHeight*p.OutWidth)%(p.groups*p.Outputs)])
			}
			if e != nil && e.HasClamp {
				w = min(max(w, float64(e.Lo)), float64(e.Hi))
			}
			off := math.Abs(float64(v) - w)
			if !(off <= tolerance*(size[i]+average)+1e-6) {
				t.Fatalf("%v, %d threads: element %d, got %v, want %v", p, threads, i, v, w)
			}
			most = max(most, off/size[i])
		}
	}
	return most
}

// shape returns a Shape with the output size that the padding implies.
func shape(channels, outputs, height, width, top, left, bottom, right int) Shape {
	return Shape{channels, outputs, height, width, top, left, height + top + bottom - 2, width + left + right - 2}
}

func need(t testing.TB) {
	if active == nil {
		t.Skip("the processor, or the level set by BURN_CPU, has no such kernels")
	}
}

func TestShapes(t *testing.T) {
	need(t)
	rng := rand.New(rand.NewPCG(1, 2))
	for n := 1; n <= 70; n += 1 + n/12 {
		for pads := range 3 {
			h, w := n, 1+(n*7+pads)%41
			s := shape(1+n%5, 1+n%17, h, w, pads, (pads+n)%3, (n+1)%3, (pads+2*n)%3)
			if s.OutHeight < 1 || s.OutWidth < 1 {
				continue
			}
			newProblem(rng, s, 1+n%2, 1+n%3).check(t, 1+n%3, false, nil)
		}
	}
}

func TestWidths(t *testing.T) {
	need(t)
	rng := rand.New(rand.NewPCG(2, 3))
	for n := 1; n <= 70; n++ {
		newProblem(rng, shape(2, 3, 11+n%9, n, 1, 1, 1, 1), 1, 1).check(t, 1+n%2, false, nil)
		newProblem(rng, shape(2, 3, n, 11+n%6, 1, 1, 1, 1), 1, 1).check(t, 1+n%2, true, nil)
	}
}

func TestChannels(t *testing.T) {
	need(t)
	rng := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{1, 2, 5, 6, 7, 13, 14, 15, 29, 64} {
		for _, threads := range []int{1, 2, 3} {
			newProblem(rng, shape(n, 65-n, 9, 13, 1, 1, 1, 1), 1, 2).check(t, threads, false, nil)
		}
	}
	for _, outputs := range []int{1, 27, 28, 29, 31, 57} { // one vector of tiles
		newProblem(rng, shape(33, outputs, 14, 13, 1, 1, 1, 1), 1, 1).check(t, 2, false, nil)
	}
	newProblem(rng, shape(maxDepth+70, 15, 8, 9, 1, 1, 1, 1), 1, 1).check(t, 2, false, nil)
}

func TestEpilogues(t *testing.T) {
	need(t)
	rng := rand.New(rand.NewPCG(5, 6))
	for _, s := range []Shape{shape(5, 9, 17, 30, 1, 1, 1, 1), shape(20, 33, 6, 70, 0, 1, 2, 0), shape(3, 4, 3, 3, 0, 0, 0, 0)} {
		for _, accumulate := range []bool{false, true} {
			for _, threads := range []int{1, 2} {
				p := newProblem(rng, s, 2, 2)
				bias := random(rng, 2*s.Outputs)
				p.check(t, threads, accumulate, nil)
				p.check(t, threads, accumulate, &micro.Epilogue[float32]{BiasRow: bias})
				p.check(t, threads, accumulate, &micro.Epilogue[float32]{HasClamp: true, Lo: 0, Hi: 6})
				p.check(t, threads, accumulate, &micro.Epilogue[float32]{BiasRow: bias, HasClamp: true, Lo: -1, Hi: 1})
			}
		}
	}
}

// TestError bounds the error, relative to the sum of the magnitudes of the products.
func TestError(t *testing.T) {
	need(t)
	rng := rand.New(rand.NewPCG(7, 8))
	for _, channels := range []int{16, 64, 256, 512} {
		most := newProblem(rng, shape(channels, 16, 22, 22, 1, 1, 1, 1), 1, 1).check(t, 1, false, nil)
		t.Logf("%d channels: error %.2g of the sum of magnitudes", channels, most)
		require.Less(t, most, 1.5e-6)
	}
}

// TestOtherPlan runs plans with weights that were packed for another input size.
func TestOtherPlan(t *testing.T) {
	need(t)
	pool := par.New(2)
	defer pool.Close()
	small, large := newProblem(rand.New(rand.NewPCG(1, 1)), shape(5, 50, 13, 13, 1, 1, 1, 1), 1, 1), newProblem(rand.New(rand.NewPCG(1, 2)), shape(5, 50, 21, 30, 1, 1, 1, 1), 1, 1)
	large.w = small.w
	for _, run := range []struct{ packed, used *problem }{{small, large}, {large, small}} {
		out := make([]float32, run.used.Outputs*run.used.OutHeight*run.used.OutWidth)
		call := &Call{Batch: 1, X: run.used.x, Out: out, Weights: run.packed.weights(t, pool)}
		require.True(t, newPlan(run.used.Shape).Run(pool, call))
		want, _ := run.used.exact()
		for i := range want {
			require.InDelta(t, want[i], out[i], 1e-4)
		}
	}
}

func TestSameBitsForThreads(t *testing.T) {
	need(t)
	p := newProblem(rand.New(rand.NewPCG(1, 1)), shape(20, 50, 30, 29, 1, 1, 1, 1), 1, 1)
	var first []float32
	for _, threads := range []int{1, 2, 3, 5} {
		pool := par.New(threads)
		out := make([]float32, p.Outputs*p.OutHeight*p.OutWidth)
		require.True(t, newPlan(p.Shape).Run(pool, &Call{Batch: 1, X: p.x, Out: out, Weights: p.weights(t, pool)}))
		pool.Close()
		if first == nil {
			first = out
		}
		require.Equal(t, first, out)
	}
}

func TestRefused(t *testing.T) {
	need(t)
	pool := par.New(2)
	defer pool.Close()
	p := newProblem(rand.New(rand.NewPCG(1, 1)), shape(3, 5, 67, 29, 1, 1, 1, 1), 1, 1)
	good := p.weights(t, pool)
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, bad := range []float32{nan, inf, -inf, math.MaxFloat32, -math.MaxFloat32} {
		for _, at := range []int{0, 1, 100, len(p.x) / 2, len(p.x) - 1} {
			held := p.x[at]
			p.x[at] = bad
			out := random(rand.New(rand.NewPCG(1, 3)), p.Outputs*p.OutHeight*p.OutWidth)
			want := append([]float32(nil), out...)
			require.False(t, newPlan(p.Shape).Run(pool, &Call{Batch: 1, X: p.x, Out: out, Weights: good}))
			require.Equal(t, want, out)
			p.x[at] = held
		}
		for _, at := range []int{0, len(p.w) / 2, len(p.w) - 1} {
			held := p.w[at]
			p.w[at] = bad
			require.True(t, newPlan(p.Shape).Pack(pool, p.w) == nil)
			p.w[at] = held
		}
	}
}
