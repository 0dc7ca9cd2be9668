package autodiff_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// From the second pass on, a backward pass of the same structure reuses a cached recipe. The gradients equal the analytic derivatives for
// other values and other tensors, for two operands and for one used twice, with one or both operands tracked. No tensor remains.
func TestGradientsFromMemory(t *testing.T) {
	r := device(t, 1, nil)
	type want struct{ a, b float64 } // derivatives; NaN where none is tracked
	none := math.NaN()
	greatest := func(a, b float64) want {
		if a > b {
			return want{1, 0}
		}
		return want{0, 1}
	}
	cases := []struct {
		name   string
		both   bool // both operands are tracked, else only the first
		same   bool // both operands are one tensor
		code   op.Code
		expect func(a, b float64) want
	}{
		{"square", true, true, op.Mul, func(a, _ float64) want { return want{2 * a, none} }},
		{"product of both", true, false, op.Mul, func(a, b float64) want { return want{b, a} }},
		{"product of one", false, false, op.Mul, func(a, b float64) want { return want{b, none} }},
		{"quotient of both", true, false, op.Div, func(a, b float64) want { return want{1 / b, -a / (b * b)} }},
		{"quotient of one", false, false, op.Div, func(a, b float64) want { return want{1 / b, none} }},
		{"quotient with itself", true, true, op.Div, func(float64, float64) want { return want{0, none} }},
		{"greatest of one", false, false, op.Max, greatest},
		{"greatest of both", true, false, op.Max, greatest},
		{"sum of one", false, false, op.Add, func(float64, float64) want { return want{1, none} }},
		{"sum of both", true, false, op.Add, func(float64, float64) want { return want{1, 1} }},
		{"power of one", false, false, op.Pow, func(a, b float64) want { return want{b * math.Pow(a, b-1), none} }},
		{"power of both", true, false, op.Pow, func(a, b float64) want { return want{b * math.Pow(a, b-1), math.Pow(a, b) * math.Log(a)} }},
	}
	before := r.tensors()
	for round := range 4 {
		for _, c := range cases {
			a, b := 1.5+float64(round), 3.25
			x := r.write(r.s, a)
			y := x
			if !c.same {
				y = r.write(r.s, b)
			}
			tracked := []op.TensorID{x.ID}
			if c.both && !c.same {
				tracked = append(tracked, y.ID)
			}
			require.NoError(t, r.Track(tracked))
			z := r.do(r.s, c.code, []op.Desc{x, y})
			root := r.do(r.s, op.Neg, []op.Desc{z}, z)
			one := r.write(r.s, 1)
			grads, err := r.Backward(r.s, []op.Desc{root}, []op.Desc{one}, tracked)
			require.NoError(t, err)
			w := c.expect(a, b)
			for i, g := range grads {
				require.InDelta(t, -[2]float64{w.a, w.b}[i], r.read(r.s, g.Desc)[0], 1e-12, "%s, round %d, operand %d", c.name, round, i)
				require.NoError(t, r.s.Submit(nil, ids(g.Desc)))
			}
			free := ids(x, root, one)
			if !c.same {
				free = append(free, y.ID)
			}
			require.NoError(t, r.s.Submit(nil, free))
		}
	}
	require.NoError(t, core.Sync(ctx, r.s))
	require.Equal(t, before, r.tensors())
}
