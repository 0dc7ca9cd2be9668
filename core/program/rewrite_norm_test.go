package program_test

import (
	"testing"

	"github.com/goburn/burn/core/op"
)

// centre returns x minus its mean over the last axis.
func centre(s *sketch, x op.Desc) op.Desc {
	return s.Do(op.Sub, x, s.Reduce(op.Mean, x, true, len(x.Shape)-1))
}

// meanSquare returns the mean of the squares of d over the last axis.
func meanSquare(s *sketch, d op.Desc) op.Desc {
	return s.Reduce(op.Mean, s.Do(op.Mul, d, d), true, len(d.Shape)-1)
}

func withEpsilon(s *sketch, v op.Desc) op.Desc { return s.Do(op.Add, v, s.n(1e-5)) }

func TestRewriteLayerNorm(t *testing.T) {
	found(t, []form{
		{"div by sqrt, pow", func(s *sketch) op.Desc {
			d := centre(s, s.x(2, 3, 5))
			v := s.Reduce(op.Mean, s.Do(op.Pow, d, s.n(2)), true, 2)
			y := s.Do(op.Div, d, s.Do(op.Sqrt, withEpsilon(s, v)))
			return s.Do(op.Add, s.Do(op.Mul, y, s.constant([]int{5}, 1, 2, 3)), s.x(5))
		}},
		{"times rsqrt, square, operands turned", func(s *sketch) op.Desc {
			d := centre(s, s.x(2, 3, 5))
			v := s.Reduce(op.Mean, s.Do(op.Square, d), true, 2)
			y := s.Do(op.Mul, s.Do(op.Rsqrt, s.Do(op.Add, s.n(1e-3), v)), d)
			return s.Do(op.Add, s.x(1, 1, 5), s.Do(op.Mul, s.x(1, 5), y))
		}},
		{"centred twice", func(s *sketch) op.Desc {
			x := s.x(2, 5)
			return s.Do(op.Div, centre(s, x), s.Do(op.Sqrt, withEpsilon(s, meanSquare(s, centre(s, x)))))
		}},
		{"reciprocal", func(s *sketch) op.Desc {
			d := centre(s, s.x(2, 5))
			return s.Do(op.Mul, d, s.Do(op.Reciprocal, s.Do(op.Sqrt, withEpsilon(s, meanSquare(s, d)))))
		}},
		{"one over", func(s *sketch) op.Desc {
			d := centre(s, s.x(2, 5))
			return s.Do(op.Mul, d, s.Do(op.Div, s.n(1), s.Do(op.Pow, withEpsilon(s, meanSquare(s, d)), s.n(0.5))))
		}},
		{"variance, two axes", func(s *sketch) op.Desc {
			x := s.x(2, 3, 5)
			d := s.Do(op.Sub, x, s.Reduce(op.Mean, x, true, 2, 1))
			return s.Do(op.Mul, s.Do(op.Div, d, s.Do(op.Sqrt, withEpsilon(s, s.Reduce(op.Variance, x, true, 1, 2)))), s.x(3, 5))
		}},
		{"sums", func(s *sketch) op.Desc {
			x := s.x(4, 4)
			d := s.Do(op.Sub, x, s.Do(op.Div, s.Reduce(op.Sum, x, true, 1), s.n(4)))
			v := s.Do(op.Mul, s.Reduce(op.Sum, s.Do(op.Square, d), true, 1), s.n(0.25))
			return s.Do(op.Div, d, s.Do(op.Sqrt, withEpsilon(s, v)))
		}},
	}, op.LayerNorm)
	missed(t, []form{
		{"epsilon outside the root", func(s *sketch) op.Desc {
			d := centre(s, s.x(2, 5))
			return s.Do(op.Div, d, withEpsilon(s, s.Do(op.Sqrt, meanSquare(s, d))))
		}},
		{"another tensor's variance", func(s *sketch) op.Desc {
			return s.Do(op.Div, centre(s, s.x(2, 5)), s.Do(op.Sqrt, withEpsilon(s, meanSquare(s, centre(s, s.x(2, 5))))))
		}},
		{"first axis", func(s *sketch) op.Desc {
			x := s.x(4, 5)
			d := s.Do(op.Sub, x, s.Reduce(op.Mean, x, true, 0))
			return s.Do(op.Div, d, s.Do(op.Sqrt, withEpsilon(s, s.Reduce(op.Mean, s.Do(op.Square, d), true, 0))))
		}},
		{"unbiased", func(s *sketch) op.Desc {
			x := s.x(4, 5)
			v := s.Un(op.Variance, x, op.Ints("axes", 1), op.Flag("keep_dims", true), op.Float("correction", 1))
			return s.Do(op.Div, centre(s, x), s.Do(op.Sqrt, withEpsilon(s, v)))
		}},
		{"the distance is given too", func(s *sketch) op.Desc {
			d := centre(s, s.x(2, 5))
			s.give(d)
			return s.Do(op.Div, d, s.Do(op.Sqrt, withEpsilon(s, meanSquare(s, d))))
		}},
		{"sum over another count", func(s *sketch) op.Desc {
			x := s.x(4, 4)
			d := s.Do(op.Sub, x, s.Do(op.Div, s.Reduce(op.Sum, x, true, 1), s.n(3)))
			return s.Do(op.Div, d, s.Do(op.Sqrt, withEpsilon(s, meanSquare(s, d))))
		}},
	}, op.LayerNorm)
}

func TestRewriteNormLeavesOthersAlone(t *testing.T) {
	norm := func(s *sketch, x op.Desc) op.Desc {
		d := centre(s, x)
		return s.Do(op.Div, d, s.Do(op.Sqrt, withEpsilon(s, meanSquare(s, d))))
	}
	found(t, []form{
		{"factor by row", func(s *sketch) op.Desc { return s.Do(op.Mul, norm(s, s.x(4, 5)), s.x(4, 1)) }},
		{"factor of the whole shape", func(s *sketch) op.Desc { return s.Do(op.Mul, norm(s, s.x(4, 5)), s.x(4, 5)) }},
		{"factor that grows", func(s *sketch) op.Desc { return s.Do(op.Mul, norm(s, s.x(4, 5)), s.x(2, 4, 5)) }},
	}, op.LayerNorm, op.Mul)
	found(t, []form{
		{"summand without a factor", func(s *sketch) op.Desc { return s.Do(op.Add, norm(s, s.x(4, 5)), s.x(5)) }},
	}, op.LayerNorm, op.Add)
	found(t, []form{
		{"norm is given too", func(s *sketch) op.Desc {
			y := norm(s, s.x(4, 5))
			s.give(y)
			return s.Do(op.Mul, y, s.x(5))
		}},
	}, op.LayerNorm, op.Mul)
}

func TestRewriteRMSNorm(t *testing.T) {
	found(t, []form{
		{"times rsqrt", func(s *sketch) op.Desc {
			x := s.x(2, 3, 5)
			return s.Do(op.Mul, s.x(5), s.Do(op.Mul, x, s.Do(op.Rsqrt, withEpsilon(s, meanSquare(s, x)))))
		}},
		{"div by sqrt", func(s *sketch) op.Desc {
			x := s.x(2, 5)
			v := s.Reduce(op.Mean, s.Do(op.Pow, x, s.n(2)), true, 1)
			return s.Do(op.Mul, s.Do(op.Div, x, s.Do(op.Sqrt, withEpsilon(s, v))), s.constant([]int{5}, 2))
		}},
		{"one over", func(s *sketch) op.Desc {
			x := s.x(2, 5)
			return s.Do(op.Mul, x, s.Do(op.Div, s.n(1), s.Do(op.Sqrt, withEpsilon(s, meanSquare(s, x)))))
		}},
	}, op.RMSNorm)
	missed(t, []form{
		{"another tensor", func(s *sketch) op.Desc {
			return s.Do(op.Mul, s.x(2, 5), s.Do(op.Rsqrt, withEpsilon(s, meanSquare(s, s.x(2, 5)))))
		}},
		{"epsilon by row", func(s *sketch) op.Desc {
			x := s.x(2, 5)
			return s.Do(op.Mul, x, s.Do(op.Rsqrt, s.Do(op.Add, meanSquare(s, x), s.Do(op.Abs, s.x(2, 1)))))
		}},
		{"sum of squares", func(s *sketch) op.Desc {
			x := s.x(2, 5)
			return s.Do(op.Mul, x, s.Do(op.Rsqrt, withEpsilon(s, s.Reduce(op.Sum, s.Do(op.Square, x), true, 1))))
		}},
	}, op.RMSNorm)
}

// written returns the nodes of a softmax of x over axis, with the maximum over maxAxis.
func written(s *sketch, x op.Desc, maxAxis, axis int) op.Desc {
	e := s.Do(op.Exp, s.Do(op.Sub, x, s.Reduce(op.ReduceMax, x, true, maxAxis)))
	return s.Do(op.Div, e, s.Reduce(op.Sum, e, true, axis))
}

func TestRewriteSoftmax(t *testing.T) {
	found(t, []form{
		{"last axis", func(s *sketch) op.Desc { return written(s, s.x(2, 5), 1, 1) }},
		{"first axis", func(s *sketch) op.Desc { return written(s, s.x(2, 5), 0, 0) }},
	}, op.Softmax)
	missed(t, []form{
		{"axes differ", func(s *sketch) op.Desc { return written(s, s.x(2, 5), 0, 1) }},
		{"without the shift", func(s *sketch) op.Desc {
			e := s.Do(op.Exp, s.x(2, 5))
			return s.Do(op.Div, e, s.Reduce(op.Sum, e, true, 1))
		}},
	}, op.Softmax)
}
