package op_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// primitives decomposes a node down to primitives and returns the results that the reference computes from them, with each intermediate
// result rounded to its type.
func primitives(t *testing.T, n op.Node, in []ref.Tensor) []ref.Tensor {
	t.Helper()
	if op.Lookup(n.Op).Class == op.Primitive {
		outs, err := ref.Eval(&n, in)
		require.NoError(t, err, "%v", &n)
		return outs
	}
	last := op.TensorID(0)
	next := func() op.TensorID { last++; return last }
	values, descs := map[op.TensorID]ref.Tensor{}, make([]op.Desc, len(in))
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
		var args []ref.Tensor
		for _, id := range nodes[k].Inputs {
			args = append(args, values[id])
		}
		for e, x := range primitives(t, nodes[k], args) {
			values[nodes[k].Outputs[e].ID] = x
		}
	}
	outs := make([]ref.Tensor, len(n.Outputs))
	for k, d := range n.Outputs {
		outs[k] = values[d.ID]
	}
	return outs
}

// Factorisations follow the magnitude of a matrix: if it is scaled by a power of two, the results are scaled too, even if the squares of
// the elements are beyond the range of the type. Each matrix of a batch has its own scale.
func TestFactorisationsOfExtremeMagnitudes(t *testing.T) {
	r := rand.New(rand.NewPCG(41, 42))
	for _, d := range []struct {
		t         dtype.DType
		exponents []int
	}{{dtype.F32, []int{-110, -75, -41, 0, 51, 90, 120}}, {dtype.F64, []int{-980, -600, 0, 402, 1000}}, {dtype.BF16, []int{-100, 0, 100}}} {
		for _, s := range [][2]int{{3, 3}, {4, 2}, {2, 5}} {
			one := ref.Matrix(r, op.AnyMatrix, op.DescOf(d.t, s[0], s[1]))
			size := s[0] * s[1]
			batch := ref.Zeros(op.DescOf(d.t, len(d.exponents), s[0], s[1]))
			for k, e := range d.exponents {
				for i, v := range one.F {
					batch.F[k*size+i] = math.Ldexp(v, e)
				}
			}
			for _, c := range []struct {
				op     op.Code
				scaled []int // the power of the scale in each result
			}{{op.SVD, []int{0, 1, 0}}, {op.QR, []int{0, 1}}, {op.PInv, []int{-1}}} {
				t.Run(fmt.Sprintf("%v of %v %v", c.op, d.t, s), func(t *testing.T) {
					n, err := op.New(c.op, []op.Desc{one.Desc})
					require.NoError(t, err)
					want, err := ref.Eval(&n, []ref.Tensor{one})
					require.NoError(t, err)
					n, err = op.New(c.op, []op.Desc{batch.Desc})
					require.NoError(t, err)
					exact, err := ref.Eval(&n, []ref.Tensor{batch})
					require.NoError(t, err)
					got := primitives(t, n, []ref.Tensor{batch})
					rel, abs := op.Lookup(c.op).Tolerance.Bounds(d.t, 8)
					for k := range want {
						part := want[k].Desc.Shape.Size()
						for m, e := range d.exponents {
							if e *= c.scaled[k]; e < -120 && d.t != dtype.F64 || e > 120 {
								continue // the result itself is beyond the range
							}
							for i, w := range want[k].F {
								w = math.Ldexp(w, e)
								bound := rel*math.Abs(w) + math.Ldexp(abs+rel, e)
								require.InDelta(t, w, exact[k].F[m*part+i], bound, "reference: result %d, scale %d", k, d.exponents[m])
								require.InDelta(t, w, got[k].F[m*part+i], bound, "decomposition: result %d, scale %d", k, d.exponents[m])
							}
						}
					}
				})
			}
		}
	}
}
