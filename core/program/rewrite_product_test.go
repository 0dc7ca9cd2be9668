package program_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

func TestRewriteLinear(t *testing.T) {
	found(t, []form{
		{"row after", func(s *sketch) op.Desc { return s.Do(op.Add, s.Do(op.MatMul, s.x(2, 3, 4), s.x(4, 5)), s.x(5)) }},
		{"row before, with leading ones", func(s *sketch) op.Desc {
			w := s.constant([]int{5, 4}, 1, 2, 3)
			y := s.With(op.MatMul, []op.Desc{s.x(3, 4), w}, op.Flag("transpose_b", true))
			return s.Do(op.Add, s.x(1, 5), y)
		}},
		{"one column", func(s *sketch) op.Desc { return s.Do(op.Add, s.Do(op.MatMul, s.x(3, 4), s.x(4, 1)), s.x(1)) }},
	}, op.Linear)
	missed(t, []form{
		{"a number", func(s *sketch) op.Desc { return s.Do(op.Add, s.Do(op.MatMul, s.x(3, 4), s.x(4, 5)), s.n(2)) }},
		{"a column", func(s *sketch) op.Desc { return s.Do(op.Add, s.Do(op.MatMul, s.x(5, 4), s.x(4, 5)), s.x(5, 1)) }},
		{"a batch of matrices", func(s *sketch) op.Desc {
			return s.Do(op.Add, s.Do(op.MatMul, s.x(2, 3, 4), s.x(2, 4, 5)), s.x(5))
		}},
		{"left transposed", func(s *sketch) op.Desc {
			y := s.With(op.MatMul, []op.Desc{s.x(4, 3), s.x(4, 5)}, op.Flag("transpose_a", true))
			return s.Do(op.Add, y, s.x(5))
		}},
		{"product is given too", func(s *sketch) op.Desc {
			y := s.Do(op.MatMul, s.x(3, 4), s.x(4, 5))
			s.give(y)
			return s.Do(op.Add, y, s.x(5))
		}},
		{"row that grows the result", func(s *sketch) op.Desc {
			return s.Do(op.Add, s.Do(op.MatMul, s.x(3, 4), s.x(4, 5)), s.x(1, 1, 5))
		}},
	}, op.Linear)
}

func soft(s *sketch, x op.Desc) op.Desc { return s.Un(op.Softmax, x, op.Int("axis", len(x.Shape)-1)) }

func product(s *sketch, q, k op.Desc) op.Desc {
	return s.With(op.MatMul, []op.Desc{q, k}, op.Flag("transpose_b", true))
}

// flags returns a constant of 3 by 3 flags.
func flags(s *sketch, v ...int64) op.Desc {
	s.last++
	t := ref.Tensor{Desc: op.Desc{ID: s.last, DType: dtype.Bool, Shape: []int{3, 3}}, I: v}
	s.values[s.last] = t
	s.p.Consts = append(s.p.Consts, t.Desc)
	return t.Desc
}

func TestRewriteAttention(t *testing.T) {
	found(t, []form{
		{"k permuted from heads last, score divided", func(s *sketch) op.Desc {
			q, k := s.Permute(s.x(2, 3, 4, 5), 0, 2, 1, 3), s.Permute(s.x(2, 6, 4, 5), 0, 2, 3, 1)
			v := s.Permute(s.x(2, 6, 4, 7), 0, 2, 1, 3)
			return s.Do(op.MatMul, soft(s, s.Do(op.Div, s.Do(op.MatMul, q, k), s.n(math.Sqrt(5)))), v)
		}},
		{"k transposed, both scaled", func(s *sketch) op.Desc {
			q, k := s.Do(op.Mul, s.x(2, 4, 3, 5), s.n(0.7)), s.Do(op.Mul, s.Permute(s.x(2, 4, 6, 5), 0, 1, 3, 2), s.n(0.7))
			return s.Do(op.MatMul, soft(s, s.Do(op.MatMul, q, k)), s.x(2, 4, 6, 2))
		}},
		{"scale below the permutation", func(s *sketch) op.Desc {
			k := s.Permute(s.Do(op.Mul, s.n(0.3), s.x(2, 4, 6, 5)), 0, 1, 3, 2)
			return s.Do(op.MatMul, soft(s, s.Do(op.MatMul, s.x(2, 4, 3, 5), k)), s.x(2, 4, 6, 2))
		}},
		{"k as it comes", func(s *sketch) op.Desc {
			return s.Do(op.MatMul, soft(s, s.Do(op.MatMul, s.x(1, 4, 3, 5), s.x(1, 4, 5, 6))), s.x(1, 4, 6, 2))
		}},
		{"transposed by the product, softmax written out", func(s *sketch) op.Desc {
			return s.Do(op.MatMul, written(s, product(s, s.x(1, 2, 3, 5), s.x(1, 2, 6, 5)), 3, 3), s.x(1, 2, 6, 2))
		}},
		{"rank 3", func(s *sketch) op.Desc {
			y := s.Do(op.Mul, s.Do(op.MatMul, s.x(8, 3, 5), s.Permute(s.x(8, 6, 5), 0, 2, 1)), s.n(0.4))
			return s.Do(op.MatMul, soft(s, y), s.x(8, 6, 2))
		}},
		{"constant mask", func(s *sketch) op.Desc {
			inf := math.Inf(-1)
			m := s.constant([]int{3, 3}, 0, inf, inf, 0, 0, inf, 0, 0, 0)
			y := s.Do(op.Div, product(s, s.x(2, 2, 3, 5), s.x(2, 2, 3, 5)), s.n(2))
			return s.Do(op.MatMul, soft(s, s.Do(op.Add, m, y)), s.x(2, 2, 3, 4))
		}},
		{"constant flags", func(s *sketch) op.Desc {
			y := s.Do(op.Div, product(s, s.x(2, 2, 3, 5), s.x(2, 2, 3, 5)), s.n(2))
			return s.Do(op.MatMul, soft(s, s.Do(op.Where, flags(s, 1, 0, 0, 1, 1, 0, 1, 1, 1), y, s.n(math.Inf(-1)))), s.x(2, 2, 3, 4))
		}},
	}, op.Attention)
	found(t, []form{
		{"mask of flags, (1-m)·-10000", func(s *sketch) op.Desc {
			given := s.input(dtype.Bool, 2, 3)
			s.values[given.ID].I[0], s.values[given.ID].I[4] = 1, 1 // scores near -10000 alone have few digits
			m := s.Cast(s.Reshape(given, []int{2, 1, 1, 3}), s.d)
			m = s.Do(op.Mul, s.Do(op.Sub, s.n(1), m), s.n(-10000))
			return s.Do(op.MatMul, soft(s, s.Do(op.Add, product(s, s.x(2, 2, 3, 5), s.x(2, 2, 3, 5)), m)), s.x(2, 2, 3, 4))
		}},
	}, op.Cast, op.Sub, op.Mul, op.Attention)
	plain := func(s *sketch) (scores, v op.Desc) {
		return product(s, s.x(2, 2, 3, 5), s.x(2, 2, 6, 5)), s.x(2, 2, 6, 4)
	}
	missed(t, []form{
		{"softmax over another axis", func(s *sketch) op.Desc {
			y, v := plain(s)
			return s.Do(op.MatMul, s.Un(op.Softmax, y, op.Int("axis", 2)), v)
		}},
		{"mask from outside, which may be -Inf", func(s *sketch) op.Desc {
			y, v := plain(s)
			return s.Do(op.MatMul, soft(s, s.Do(op.Add, y, s.x(3, 6))), v)
		}},
		{"mask of flags that is -Inf where sums round up", func(s *sketch) op.Desc {
			top, half := 0x1p127, 0x1p103 // the distance between numbers from top on is 2·half
			if s.d == dtype.F64 {
				top, half = 0x1p1023, 0x1p970
			}
			// -(top + 3·half) lies between two numbers and becomes the one further from 0. With the last term the exact sum is the least
			// finite number, and the rounded one is -Inf.
			m := s.Do(op.Mul, s.Cast(s.input(dtype.Bool, 3, 6), s.d), s.n(-half))
			m = s.Do(op.Add, s.Do(op.Add, m, s.n(-top-2*half)), s.n(-top+5*half))
			y, v := plain(s)
			return s.Do(op.MatMul, soft(s, s.Do(op.Add, y, m)), v)
		}},
		{"mask that hides all keys of a query", func(s *sketch) op.Desc {
			inf := math.Inf(-1)
			return s.Do(op.MatMul, soft(s, s.Do(op.Add, product(s, s.x(1, 1, 2, 5), s.x(1, 1, 2, 5)), s.constant([]int{2, 2}, inf, inf, 0, 0))),
				s.x(1, 1, 2, 4))
		}},
		{"flags that hide all keys of a query", func(s *sketch) op.Desc {
			y := product(s, s.x(1, 1, 3, 5), s.x(1, 1, 3, 5))
			return s.Do(op.MatMul, soft(s, s.Do(op.Where, flags(s, 1, 0, 0, 0, 0, 0, 1, 1, 1), y, s.n(math.Inf(-1)))), s.x(1, 1, 3, 4))
		}},
		{"flags with a bound that scores may reach", func(s *sketch) op.Desc {
			y := product(s, s.x(1, 1, 3, 5), s.x(1, 1, 3, 5))
			return s.Do(op.MatMul, soft(s, s.Do(op.Where, flags(s, 1, 0, 0, 1, 1, 0, 1, 1, 1), y, s.n(-4))), s.x(1, 1, 3, 4))
		}},
		{"scale after the mask", func(s *sketch) op.Desc {
			y, v := plain(s)
			return s.Do(op.MatMul, soft(s, s.Do(op.Mul, s.Do(op.Add, y, s.constant([]int{6}, 1, 2)), s.n(2))), v)
		}},
		{"weights are given too", func(s *sketch) op.Desc {
			y, v := plain(s)
			w := soft(s, y)
			s.give(w)
			return s.Do(op.MatMul, w, v)
		}},
		{"scale from outside", func(s *sketch) op.Desc {
			y, v := plain(s)
			return s.Do(op.MatMul, soft(s, s.Do(op.Mul, y, s.x(1))), v)
		}},
		{"one head of keys for all", func(s *sketch) op.Desc {
			return s.Do(op.MatMul, soft(s, product(s, s.x(2, 2, 3, 5), s.x(2, 1, 6, 5))), s.x(2, 1, 6, 4))
		}},
		{"rank 2", func(s *sketch) op.Desc { return s.Do(op.MatMul, soft(s, product(s, s.x(3, 5), s.x(6, 5))), s.x(6, 4)) }},
	}, op.Attention)
}

// Rewrite finds all forms in two blocks of a transformer as exporters write them.
func TestRewriteBlock(t *testing.T) {
	s := newSketch(dtype.F64, 9)
	x := s.x(2, 6, 8)
	linear := func(x op.Desc, n int) op.Desc {
		return s.Do(op.Add, s.Do(op.MatMul, x, s.x(x.Shape[2], n)), s.x(n))
	}
	heads := func(x op.Desc, axes ...int) op.Desc { return s.Permute(s.Reshape(x, []int{2, 6, 2, 4}), axes...) }
	norm := func(x op.Desc) op.Desc {
		d := centre(s, x)
		y := s.Do(op.Div, d, s.Do(op.Sqrt, withEpsilon(s, meanSquare(s, d))))
		return s.Do(op.Add, s.Do(op.Mul, y, s.x(8)), s.x(8))
	}
	for range 2 {
		q, k, v := heads(linear(x, 8), 0, 2, 1, 3), heads(linear(x, 8), 0, 2, 3, 1), heads(linear(x, 8), 0, 2, 1, 3)
		a := s.Do(op.MatMul, soft(s, s.Do(op.Div, s.Do(op.MatMul, q, k), s.n(2))), v)
		x = norm(s.Do(op.Add, x, linear(s.Reshape(s.Permute(a, 0, 2, 1, 3), []int{2, 6, 8}), 8)))
		u := linear(x, 16)
		u = s.Do(op.Mul, s.Do(op.Mul, u, erf1(s, u)), s.n(0.5))
		x = norm(s.Do(op.Add, linear(u, 8), x))
	}
	s.give(x)
	q := s.rewrite(t, nil)
	require.Equal(t, map[op.Code]int{op.Linear: 12, op.Attention: 2, op.Gelu: 2, op.LayerNorm: 4, op.Add: 4}, ops(q), "%v", q)
}
