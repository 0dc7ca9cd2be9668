package program_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/graphs"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// numbers lists numbers that patterns look for, and others.
var numbers = []float64{0.5, 1, 2, 3, 6, -1, 1.0 / 6, math.Sqrt2, math.Sqrt2 / 2, k, 0.044715, 1e-5, 0.25, 1.702}

// scrambled returns random arithmetic on few tensors with the ops and numbers of the patterns, so that much of it resembles a pattern.
func scrambled(seed uint64) *sketch {
	s := newSketch(dtype.F64, seed)
	pool := []op.Desc{s.x(2, 4)}
	pick := func() op.Desc {
		if s.r.IntN(3) > 0 {
			return pool[len(pool)-1]
		}
		return pool[s.r.IntN(len(pool))]
	}
	number := func() op.Desc { return s.n(numbers[s.r.IntN(len(numbers))]) }
	for range 4 + s.r.IntN(14) {
		x := pick()
		other := pick
		if s.r.IntN(2) == 0 {
			other = number
		}
		var y op.Desc
		switch s.r.IntN(14) {
		case 0, 1, 2, 3:
			y = s.Do(op.Mul, x, other())
		case 4, 5:
			y = s.Do(op.Add, other(), x)
		case 6:
			y = s.Do(op.Sub, x, other())
		case 7:
			y = s.Do(op.Div, x, number())
		case 8:
			y = s.Do([]op.Code{op.Erf, op.Tanh, op.Sigmoid}[s.r.IntN(3)], x)
		case 9:
			y = erf1(s, x)
		case 10:
			y = s.Un(op.Clamp, x, op.ScalarFloat("min", 0), op.ScalarFloat("max", []float64{1, 6}[s.r.IntN(2)]))
		case 11:
			d := s.Do(op.Sub, x, s.Reduce(op.Mean, pick(), true, 1))
			v := s.Reduce(op.Mean, s.Do(op.Square, d), true, 1)
			y = s.Do(op.Div, []op.Desc{d, x}[s.r.IntN(2)], s.Do(op.Sqrt, s.Do(op.Add, v, s.n(0.25))))
		case 12:
			y = written(s, x, 1, 1)
		case 13:
			w := s.constant([]int{4}, 1, -2, 0.5)
			y = s.Do([]op.Code{op.Add, op.Mul}[s.r.IntN(2)], s.Un(op.Tanh, x), w)
		}
		if s.r.IntN(3) == 0 { // so that chains of multiplications stay small
			y = s.Do(op.Tanh, y)
		}
		pool = append(pool, y)
	}
	s.give(pool[len(pool)-1])
	if s.r.IntN(3) == 0 {
		s.give(pick())
	}
	return s
}

func compareScrambled(t *testing.T, seed uint64) map[op.Code]int {
	s := scrambled(seed)
	p := s.program(t)
	q := p.Rewrite(s.known, nil)
	require.NoError(t, q.Check())
	want, got := s.run(t, p), s.run(t, q)
	for i := range want {
		for n, w := range want[i].F {
			g := got[i].F[n]
			if math.IsNaN(w) || math.Abs(w) > 1e6 { // too large to compare
				continue
			}
			require.InDelta(t, w, g, 1e-7*(1+math.Abs(w)), "seed %d\n%v\n%v", seed, p, q)
		}
	}
	return ops(q)
}

func TestRewriteScrambled(t *testing.T) {
	found := map[op.Code]int{}
	n := uint64(20000)
	if testing.Short() {
		n = 2000
	}
	for seed := range n {
		for c, k := range compareScrambled(t, seed) {
			found[c] += k
		}
	}
	for _, c := range []op.Code{op.Silu, op.LayerNorm, op.Softmax} {
		require.NotZero(t, found[c], "%v was never found", c)
	}
}

func FuzzRewrite(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { compareScrambled(t, seed) })
}

// Rewritten random graphs of ops of the whole table compute the same results.
func TestRewriteRandomGraphs(t *testing.T) {
	for seed := range uint64(500) {
		g := graphs.Random(rand.New(rand.NewPCG(seed, 77)))
		p := g.Program.Rewrite(nil, nil)
		require.NoError(t, p.Check())
		want, err := g.Expect(rand.New(rand.NewPCG(1, 1)))
		require.NoError(t, err)
		h := graphs.Graph{Program: p, Inputs: g.Inputs, Consts: g.Consts}
		got, err := h.Expect(rand.New(rand.NewPCG(1, 1)))
		require.NoError(t, err)
		require.NoError(t, want.Check(got.Want), "seed %d\n%v\n%v", seed, g.Program, p)
	}
}

// Rewrite clears the Drop bits, because a tensor may be used later than before.
func TestRewriteDropsNothing(t *testing.T) {
	s := newSketch(dtype.F32, 3)
	x := s.Do(op.Exp, s.x(3))
	y := s.Do(op.Sigmoid, x)
	s.give(s.Do(op.Mul, x, y))
	p := s.program(t)
	p.Nodes[2].Drop = 3
	q := p.Rewrite(nil, nil)
	require.NoError(t, q.Check())
	require.Equal(t, []op.Code{op.Exp, op.Silu}, []op.Code{q.Nodes[0].Op, q.Nodes[1].Op})
	require.Zero(t, q.Nodes[1].Drop)
}
