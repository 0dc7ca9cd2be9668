package op_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// specials returns the numbers on which a decomposition may overflow, lose the sign of zero, or drop NaN, though it is right on others.
func specials(d dtype.DType) []float64 {
	big, small := 3e38, 1e-45
	switch d {
	case dtype.F16:
		big, small = 65504, 0x1p-24
	case dtype.F64:
		big, small = math.MaxFloat64, 5e-324
	}
	inf := math.Inf(1)
	v := []float64{0, math.Copysign(0, -1), 1, -1, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 3, -3, 6, 20, -20, 88, -88, 90, -104, 710, -746, big, -big, small, -small, inf, -inf, math.NaN()}
	for k := range v {
		v[k] = ref.Round(d, v[k])
	}
	return v
}

// evaluate decomposes a node by one level and returns the results that the reference computes from it.
func evaluate(t *testing.T, n op.Node, in []ref.Tensor) []ref.Tensor {
	t.Helper()
	descs := make([]op.Desc, len(in))
	values := map[op.TensorID]ref.Tensor{}
	last := op.TensorID(0)
	next := func() op.TensorID { last++; return last }
	for k, x := range in {
		descs[k] = x.Desc
		descs[k].ID = next()
		values[last] = x
	}
	n.Outputs = append([]op.Desc(nil), n.Outputs...)
	for k := range n.Outputs {
		n.Outputs[k].ID = next()
	}
	nodes, ok, err := op.Decompose(&n, descs, next)
	require.NoError(t, err)
	require.True(t, ok)
	for k := range nodes {
		m := &nodes[k]
		var args []ref.Tensor
		for _, id := range m.Inputs {
			args = append(args, values[id])
		}
		outs, err := ref.Eval(m, args)
		require.NoError(t, err, "%v", m)
		for e, d := range m.Outputs {
			values[d.ID] = outs[e]
		}
	}
	outs := make([]ref.Tensor, len(n.Outputs))
	for k, d := range n.Outputs {
		outs[k] = values[d.ID]
	}
	return outs
}

// same requires equal integers, floats that differ by at most rel·|want| + abs, and infinities and NaN at the same elements.
func same(t *testing.T, want, got ref.Tensor, rel, abs float64, at func(k int) string) {
	t.Helper()
	require.Equal(t, want.I, got.I)
	for k, w := range want.F {
		g := got.F[k]
		switch {
		case math.IsNaN(w) || math.IsInf(w, 0):
			require.True(t, g == w || math.IsNaN(w) && math.IsNaN(g), "%s: %v, want %v", at(k), g, w)
		case g != w:
			require.LessOrEqual(t, math.Abs(g-w), rel*math.Abs(w)+abs, "%s: %v, want %v", at(k), g, w)
		}
	}
}

// Decompositions of elementwise composites agree with the reference on special numbers, and on all pairs of them.
func TestDecompositionsOfSpecials(t *testing.T) {
	tried := 0
	for _, c := range builtin() {
		row := op.Lookup(c)
		least, _ := row.Arity()
		if row.Class != op.Composite || !row.Traits.Has(op.Elementwise) || least > 2 || len(row.Operands) > 2 {
			continue
		}
		for _, d := range []dtype.DType{dtype.F32, dtype.F64} {
			if !row.Operands[0].Types.Has(d) || least == 2 && !row.Operands[1].Types.Has(d) {
				continue
			}
			v := specials(d)
			in := []ref.Tensor{{Desc: op.DescOf(d, len(v)), F: v}}
			if least == 2 {
				in = append(in, ref.Tensor{Desc: op.DescOf(d, len(v), 1), F: v})
			}
			descs := make([]op.Desc, len(in))
			for k := range in {
				descs[k] = in[k].Desc
			}
			n, err := op.New(c, descs)
			if err != nil {
				continue // attributes without defaults
			}
			tried++
			t.Run(fmt.Sprintf("%v/%v", c, d), func(t *testing.T) {
				want, err := ref.Eval(&n, in)
				require.NoError(t, err)
				got := evaluate(t, n, in)
				rel, abs := row.Tolerance.Bounds(n.Outputs[0].DType, 2)
				if len(row.Domain) > 0 { // no promise for great numbers, where roundings of the operand are magnified
					rel = max(rel, 1e-5)
				}
				same(t, want[0], got[0], rel, abs, func(k int) string {
					if least == 2 {
						return fmt.Sprintf("%v of %v and %v", c, v[k%len(v)], v[k/len(v)])
					}
					return fmt.Sprintf("%v of %v", c, v[k])
				})
			})
		}
	}
	require.Greater(t, tried, 60, "ops times types")
}

// Integer composites agree with the reference at the ends of every type, for all pairs.
func TestDecompositionsOfExtremes(t *testing.T) {
	tried := 0
	for _, c := range builtin() {
		row := op.Lookup(c)
		if row.Class != op.Composite || !row.Traits.Has(op.Elementwise) || len(row.Operands) > 2 {
			continue
		}
		for _, d := range dtype.Ints.List() {
			if !row.Operands[0].Types.Has(d) || len(row.Operands) == 2 && !row.Operands[1].Types.Has(d) {
				continue
			}
			var v []int64
			for _, x := range []int64{0, 1, 2, 3, 7, -1, -2, -7, 1 << 7, 1<<7 - 1, 1 << 15, 1<<15 - 1, 1 << 31, 1<<31 - 1, math.MaxInt64, math.MinInt64} {
				v = append(v, ref.Wrap(d, x))
			}
			in := []ref.Tensor{{Desc: op.DescOf(d, len(v)), I: v}}
			descs := []op.Desc{in[0].Desc}
			if len(row.Operands) == 2 {
				in = append(in, ref.Tensor{Desc: op.DescOf(d, len(v), 1), I: v})
				descs = append(descs, in[1].Desc)
			}
			n, err := op.New(c, descs)
			if err != nil {
				continue
			}
			tried++
			t.Run(fmt.Sprintf("%v/%v", c, d), func(t *testing.T) {
				want, err := ref.Eval(&n, in)
				require.NoError(t, err)
				got := evaluate(t, n, in)
				for k := range want[0].I {
					require.Equal(t, want[0].I[k], got[0].I[k], "%v of %d and %d", c, v[k%len(v)], v[k/len(v)])
				}
			})
		}
	}
	require.Greater(t, tried, 60, "ops times types")
}
