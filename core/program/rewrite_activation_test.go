package program_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// erf1 returns 1 + erf(x/√2).
func erf1(s *sketch, x op.Desc) op.Desc {
	return s.Do(op.Add, s.Do(op.Erf, s.Do(op.Div, x, s.n(math.Sqrt2))), s.n(1))
}

// k is the factor of the tanh approximation of Gelu.
var k = math.Sqrt(2 / math.Pi)

func TestRewriteGelu(t *testing.T) {
	found(t, []form{
		{"(x·F)·half", func(s *sketch) op.Desc {
			x := s.x(2, 5)
			return s.Do(op.Mul, s.Do(op.Mul, x, erf1(s, x)), s.n(0.5))
		}},
		{"(x·half)·F", func(s *sketch) op.Desc {
			x := s.x(2, 5)
			return s.Do(op.Mul, s.Do(op.Mul, s.n(0.5), x), erf1(s, x))
		}},
		{"x·(F·half)", func(s *sketch) op.Desc {
			x := s.x(2, 5)
			return s.Do(op.Mul, x, s.Do(op.Mul, erf1(s, x), s.n(0.5)))
		}},
		{"x·F/2", func(s *sketch) op.Desc {
			x := s.x(2, 5)
			return s.Do(op.Div, s.Do(op.Mul, erf1(s, x), x), s.n(2))
		}},
		{"x·(half·erf+half), factor inside", func(s *sketch) op.Desc {
			x := s.x(2, 5)
			e := s.Do(op.Erf, s.Do(op.Mul, s.n(math.Sqrt(0.5)), x))
			return s.Do(op.Mul, x, s.Do(op.Add, s.Do(op.Mul, e, s.n(0.5)), s.n(0.5)))
		}},
		{"tanh of a cube", func(s *sketch) op.Desc {
			x := s.x(3, 4)
			cube := s.Do(op.Mul, s.Do(op.Square, x), x)
			a := s.Do(op.Mul, s.n(k), s.Do(op.Add, x, s.Do(op.Mul, cube, s.n(0.044715))))
			return s.Do(op.Mul, s.Do(op.Mul, x, s.n(0.5)), s.Do(op.Add, s.n(1), s.Do(op.Tanh, a)))
		}},
		{"tanh of x·k·(1+c·x·x)", func(s *sketch) op.Desc {
			x := s.x(3, 4)
			in := s.Do(op.Add, s.n(1), s.Do(op.Mul, s.Do(op.Mul, s.n(0.044715), x), x))
			a := s.Do(op.Mul, s.Do(op.Mul, x, s.n(k)), in)
			return s.Do(op.Mul, s.n(0.5), s.Do(op.Mul, x, s.Do(op.Add, s.Do(op.Tanh, a), s.n(1))))
		}},
		{"tanh of a power", func(s *sketch) op.Desc {
			x := s.x(3, 4)
			a := s.Do(op.Mul, s.Do(op.Add, x, s.Do(op.Mul, s.n(0.044715), s.Do(op.Pow, x, s.n(3)))), s.n(k))
			return s.Do(op.Mul, s.Do(op.Mul, x, s.n(0.5)), s.Do(op.Add, s.Do(op.Tanh, a), s.n(1)))
		}},
	}, op.Gelu)
	missed(t, []form{
		{"another factor", func(s *sketch) op.Desc {
			x := s.x(5)
			return s.Do(op.Mul, s.Do(op.Mul, x, erf1(s, x)), s.n(0.51))
		}},
		{"root of 2 to three places", func(s *sketch) op.Desc {
			x := s.x(5)
			f := s.Do(op.Add, s.Do(op.Erf, s.Do(op.Div, x, s.n(1.414))), s.n(1))
			return s.Do(op.Mul, s.Do(op.Mul, x, f), s.n(0.5))
		}},
		{"erf of something else", func(s *sketch) op.Desc {
			return s.Do(op.Mul, s.Do(op.Mul, s.x(5), erf1(s, s.x(5))), s.n(0.5))
		}},
		{"minus erf", func(s *sketch) op.Desc {
			x := s.x(5)
			f := s.Do(op.Sub, s.n(1), s.Do(op.Erf, s.Do(op.Div, x, s.n(math.Sqrt2))))
			return s.Do(op.Mul, s.Do(op.Mul, x, f), s.n(0.5))
		}},
		{"tanh with another coefficient", func(s *sketch) op.Desc {
			x := s.x(5)
			a := s.Do(op.Mul, s.n(k), s.Do(op.Add, x, s.Do(op.Mul, s.Do(op.Mul, s.Do(op.Square, x), x), s.n(0.0447))))
			return s.Do(op.Mul, s.Do(op.Mul, x, s.n(0.5)), s.Do(op.Add, s.n(1), s.Do(op.Tanh, a)))
		}},
		{"a factor that is an input", func(s *sketch) op.Desc {
			x := s.x(5)
			return s.Do(op.Mul, s.Do(op.Mul, x, erf1(s, x)), s.x(1))
		}},
		{"erf is given too", func(s *sketch) op.Desc {
			x := s.x(5)
			f := erf1(s, x)
			s.give(f)
			return s.Do(op.Mul, s.Do(op.Mul, x, f), s.n(0.5))
		}},
		{"erf is used elsewhere", func(s *sketch) op.Desc {
			x := s.x(5)
			f := erf1(s, x)
			return s.Do(op.Sub, s.Do(op.Mul, s.Do(op.Mul, x, f), s.n(0.5)), s.Do(op.Exp, f))
		}},
	}, op.Gelu)
}

func TestRewriteSilu(t *testing.T) {
	one := func(s *sketch, x op.Desc) op.Desc { return s.Do(op.Add, s.Do(op.Exp, s.Do(op.Neg, x)), s.n(1)) }
	found(t, []form{
		{"x·sigmoid", func(s *sketch) op.Desc { x := s.x(2, 3); return s.Do(op.Mul, s.Do(op.Sigmoid, x), x) }},
		{"x·sigmoid(1.702·x)", func(s *sketch) op.Desc {
			x := s.x(2, 3)
			return s.Do(op.Mul, x, s.Do(op.Sigmoid, s.Do(op.Mul, x, s.n(1.702))))
		}},
		{"x/(1+exp(-x))", func(s *sketch) op.Desc { x := s.x(2, 3); return s.Do(op.Div, x, one(s, x)) }},
		{"x·(1/(1+exp(-x)))", func(s *sketch) op.Desc {
			x := s.x(2, 3)
			return s.Do(op.Mul, x, s.Do(op.Div, s.n(1), one(s, x)))
		}},
		{"x·reciprocal", func(s *sketch) op.Desc { x := s.x(2, 3); return s.Do(op.Mul, x, s.Do(op.Reciprocal, one(s, x))) }},
	}, op.Silu)
	missed(t, []form{
		{"gate of another", func(s *sketch) op.Desc { return s.Do(op.Mul, s.Do(op.Sigmoid, s.x(3)), s.x(3)) }},
		{"twice", func(s *sketch) op.Desc {
			x := s.x(3)
			return s.Do(op.Mul, x, s.Do(op.Mul, s.Do(op.Sigmoid, x), s.n(2)))
		}},
		{"shifted", func(s *sketch) op.Desc {
			x := s.x(3)
			return s.Do(op.Mul, x, s.Do(op.Sigmoid, s.Do(op.Add, x, s.n(0.5))))
		}},
		{"quotient without one", func(s *sketch) op.Desc {
			x := s.x(3)
			return s.Do(op.Div, x, s.Do(op.Add, s.Do(op.Exp, s.Do(op.Neg, x)), s.n(1.5)))
		}},
	}, op.Silu)
}

func TestRewriteHardSwish(t *testing.T) {
	clip := func(s *sketch, x op.Desc, hi float64) op.Desc {
		return s.Un(op.Clamp, x, op.ScalarFloat("min", 0), op.ScalarFloat("max", hi))
	}
	found(t, []form{
		{"x·clip(x+3)/6", func(s *sketch) op.Desc {
			x := s.x(9)
			return s.Do(op.Div, s.Do(op.Mul, x, clip(s, s.Do(op.Add, x, s.n(3)), 6)), s.n(6))
		}},
		{"x·(clip(x+3)/6)", func(s *sketch) op.Desc {
			x := s.x(9)
			return s.Do(op.Mul, s.Do(op.Div, clip(s, s.Do(op.Add, s.n(3), x), 6), s.n(6)), x)
		}},
		{"x·clip(x/6+half)", func(s *sketch) op.Desc {
			x := s.x(9)
			return s.Do(op.Mul, x, clip(s, s.Do(op.Add, s.Do(op.Div, x, s.n(6)), s.n(0.5)), 1))
		}},
		{"hard sigmoid", func(s *sketch) op.Desc {
			x := s.x(9)
			return s.Do(op.Mul, x, s.Un(op.HardSigmoid, x, op.Float("alpha", 1.0/6), op.Float("beta", 0.5)))
		}},
		{"relu6", func(s *sketch) op.Desc {
			x := s.x(9)
			return s.Do(op.Mul, s.Do(op.Mul, x, s.Un(op.Relu6, s.Do(op.Add, x, s.n(3)))), s.n(1.0/6))
		}},
	}, op.HardSwish)
	missed(t, []form{
		{"hard sigmoid's own slope", func(s *sketch) op.Desc {
			x := s.x(9)
			return s.Do(op.Mul, x, s.Un(op.HardSigmoid, x))
		}},
		{"clip below zero", func(s *sketch) op.Desc {
			x := s.x(9)
			y := s.Un(op.Clamp, s.Do(op.Add, x, s.n(3)), op.ScalarFloat("min", -1), op.ScalarFloat("max", 6))
			return s.Do(op.Div, s.Do(op.Mul, x, y), s.n(6))
		}},
		{"not divided", func(s *sketch) op.Desc {
			x := s.x(9)
			return s.Do(op.Mul, x, clip(s, s.Do(op.Add, x, s.n(3)), 6))
		}},
	}, op.HardSwish)
}

// Rewrite leaves a form as it is if the device does not support the op that replaces it.
func TestRewriteAsksForSupport(t *testing.T) {
	s := newSketch(dtype.F32, 1)
	x := s.x(4)
	s.give(s.Do(op.Mul, x, s.Do(op.Sigmoid, x)))
	q := s.rewrite(t, func(n *op.Node, in []op.Desc) bool {
		require.Equal(t, op.Silu, n.Op)
		require.Equal(t, []op.Desc{x}, in)
		return false
	})
	require.Equal(t, map[op.Code]int{op.Mul: 1, op.Sigmoid: 1}, ops(q))
	require.Same(t, s.p, q)
}
