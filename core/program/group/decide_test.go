package group_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/core/program/group"
	"github.com/goburn/burn/core/shape"
)

// sketch builds the program of a test.
type sketch struct {
	*op.Builder
	p    program.Program
	last op.TensorID
}

func newSketch() *sketch {
	s := &sketch{p: program.Program{Name: "sketch"}}
	s.Builder = op.NewBuilder(s.id)
	return s
}

func (s *sketch) id() op.TensorID { s.last++; return s.last }

func (s *sketch) input(dims ...int) op.Desc {
	d := op.Desc{ID: s.id(), DType: dtype.F32, Shape: dims}
	s.p.Inputs = append(s.p.Inputs, d)
	return d
}

func (s *sketch) graph(t testing.TB, outs ...op.Desc) *group.Graph {
	t.Helper()
	require.NoError(t, s.Err())
	s.p.Nodes = s.Nodes
	for _, o := range outs {
		s.p.Outputs = append(s.p.Outputs, o.ID)
	}
	require.NoError(t, s.p.Check())
	require.Len(t, s.p.Live().Nodes, len(s.p.Nodes), "no dead nodes in a sketch")
	return group.NewGraph(&s.p)
}

// write returns the text of a group: its kind and position, its nodes with the anchor in brackets, and the numbers of results and inputs.
func write(x *group.Group) string {
	var nodes []string
	for _, k := range x.Nodes() {
		if k == x.Anchor {
			nodes = append(nodes, fmt.Sprintf("[%d]", k))
		} else {
			nodes = append(nodes, fmt.Sprint(k))
		}
	}
	return fmt.Sprintf("%v@%d %s %d<-%d", x.Kind, x.At, strings.Join(nodes, " "), len(x.Outputs), len(x.Inputs))
}

var all = group.Policy{Kinds: group.Of(group.Elementwise, group.Reduction, group.Norm, group.Product, group.Convolution)}

var absorbing = group.Policy{Kinds: all.Kinds, Absorb: all.Kinds}

var repeating = group.Policy{Kinds: all.Kinds, Absorb: all.Kinds, Repeat: func(*group.Graph, int, shape.Shape) bool { return true }}

func limited(p group.Policy, l group.Limits) group.Policy {
	p.Limits = l
	return p
}

func TestDecide(t *testing.T) {
	oneResult := limited(all, group.Limits{Outputs: 1})
	for name, c := range map[string]struct {
		policy group.Policy
		build  func(s *sketch) []op.Desc
		want   []string
	}{
		"a chain": {all, func(s *sketch) []op.Desc {
			x := s.input(4)
			return []op.Desc{s.Do(op.Exp, s.Do(op.Neg, x))}
		}, []string{"elementwise@1 0 1 1<-1"}},
		"nothing wanted": {group.Policy{}, func(s *sketch) []op.Desc {
			return []op.Desc{s.Do(op.Exp, s.Do(op.Neg, s.input(4)))}
		}, []string{"single@0 [0] 1<-1", "single@1 [1] 1<-1"}},
		"a result used twice inside": {oneResult, func(s *sketch) []op.Desc {
			y := s.Do(op.Tanh, s.input(4))
			return []op.Desc{s.Do(op.Mul, y, s.Do(op.Exp, y))}
		}, []string{"elementwise@2 0 1 2 1<-1"}},
		"an extra result is written": {all, func(s *sketch) []op.Desc {
			y := s.Do(op.Tanh, s.input(4))
			return []op.Desc{y, s.Do(op.Exp, y)}
		}, []string{"elementwise@1 0 1 2<-1"}},
		"no extra result allowed": {oneResult, func(s *sketch) []op.Desc {
			y := s.Do(op.Tanh, s.input(4))
			return []op.Desc{y, s.Do(op.Exp, y)}
		}, []string{"single@0 [0] 1<-1", "single@1 [1] 1<-1"}},
		"a chain ends where its last result is needed": {oneResult, func(s *sketch) []op.Desc {
			y := s.Do(op.Neg, s.Do(op.Tanh, s.input(4)))
			return []op.Desc{s.Do(op.Exp, y), s.Do(op.Log, y)}
		}, []string{"elementwise@1 0 1 1<-1", "single@2 [2] 1<-1", "single@3 [3] 1<-1"}},
		"two results of one operand": {all, func(s *sketch) []op.Desc {
			y := s.Do(op.Neg, s.Do(op.Tanh, s.input(4)))
			return []op.Desc{s.Do(op.Exp, y), s.Do(op.Log, y)}
		}, []string{"elementwise@3 0 1 2 3 2<-1"}},
		"another space": {all, func(s *sketch) []op.Desc { // the sum is 3 x 4, its operand 4
			return []op.Desc{s.Do(op.Exp, s.Do(op.Add, s.Do(op.Neg, s.input(4)), s.input(3, 4)))}
		}, []string{"single@0 [0] 1<-1", "elementwise@2 1 2 1<-2"}},
		"a producer is absorbed if the policy absorbs its kind": {group.Policy{Kinds: group.Of(group.Elementwise), Absorb: group.Of(group.Elementwise)}, func(s *sketch) []op.Desc {
			a := s.Do(op.Exp, s.input(4))
			b := s.Do(op.Neg, s.Do(op.Sin, s.input(4)))
			return []op.Desc{s.Do(op.Add, a, b)}
		}, []string{"elementwise@3 0 1 2 3 1<-2"}},
		"a producer is left alone otherwise": {all, func(s *sketch) []op.Desc {
			a := s.Do(op.Exp, s.input(4))
			b := s.Do(op.Neg, s.Do(op.Sin, s.input(4)))
			return []op.Desc{s.Do(op.Add, a, b)}
		}, []string{"elementwise@2 1 2 1<-1", "elementwise@3 0 3 1<-2"}},
		"a broadcast operand is computed for each element if Repeat allows it": {repeating, func(s *sketch) []op.Desc {
			x := s.input(3, 4)
			return []op.Desc{s.Do(op.Mul, s.Do(op.Exp, x), s.Do(op.Neg, s.input(4)))}
		}, []string{"elementwise@2 0 1 2 1<-2"}},
		"a broadcast operand that is used elsewhere is not": {repeating, func(s *sketch) []op.Desc {
			x, y := s.input(3, 4), s.Do(op.Neg, s.input(4))
			return []op.Desc{s.Do(op.Mul, s.Do(op.Exp, x), y), y}
		}, []string{"single@0 [0] 1<-1", "elementwise@2 1 2 1<-2"}},
		"the weights of a norm": {repeating, func(s *sketch) []op.Desc {
			x, w := s.input(3, 4), s.Do(op.Neg, s.input(4))
			return []op.Desc{s.Do(op.Mul, s.Do(op.Div, x, s.Reduce(op.Sum, x, true, 1)), w)}
		}, []string{"norm@3 0 [1] 2 3 1<-2"}},
		"an operand that may be one element per row is not": {repeating, func(s *sketch) []op.Desc { // 4 rows of 4
			x, w := s.input(4, 4), s.Do(op.Neg, s.input(4))
			return []op.Desc{s.Do(op.Mul, s.Do(op.Div, x, s.Reduce(op.Sum, x, true, 1)), w)}
		}, []string{"single@0 [0] 1<-1", "norm@3 [1] 2 3 1<-2"}},
		"a node outside between two": {all, func(s *sketch) []op.Desc { // 3 needs 2, which needs 0: 0 and 3 cannot be one
			y := s.Do(op.Neg, s.input(4, 4))
			z := s.Do(op.MatMul, s.input(4, 4), s.input(4, 4))
			return []op.Desc{s.Do(op.Add, y, s.Do(op.MatMul, z, y))}
		}, []string{"single@0 [0] 1<-1", "single@1 [1] 1<-2", "product@3 [2] 3 1<-2"}},
		"results before the last node": {all, func(s *sketch) []op.Desc {
			// 0 is needed by 1, outside; 2 needs nothing of 1, so the group can run at 0.
			y := s.Do(op.Neg, s.input(4, 4))
			return []op.Desc{s.Un(op.CumSum, y, op.Int("axis", 0)), s.Do(op.Exp, y)}
		}, []string{"elementwise@0 0 2 2<-1", "single@1 [1] 1<-1"}},
		"most nodes": {limited(all, group.Limits{Nodes: 2}), func(s *sketch) []op.Desc {
			x := s.input(4)
			for range 5 {
				x = s.Do(op.Sin, x)
			}
			return []op.Desc{x}
		}, []string{"elementwise@1 0 1 1<-1", "elementwise@3 2 3 1<-1", "single@4 [4] 1<-1"}},
		"most tensors": {limited(all, group.Limits{Tensors: 3}), func(s *sketch) []op.Desc {
			// Three operands and a result are one too many; two and a result are not.
			return []op.Desc{s.Do(op.Neg, s.Do(op.Add, s.Do(op.Exp, s.Do(op.Add, s.input(4), s.input(4))), s.input(4)))}
		}, []string{"elementwise@1 0 1 1<-2", "elementwise@3 2 3 1<-2"}},
		"most inputs": {limited(all, group.Limits{Inputs: 2}), func(s *sketch) []op.Desc {
			return []op.Desc{s.Do(op.Add, s.Do(op.Exp, s.Do(op.Add, s.input(4), s.input(4))), s.input(4))}
		}, []string{"elementwise@1 0 1 1<-2", "single@2 [2] 1<-2"}},

		"reduction with prologue and epilogue": {all, func(s *sketch) []op.Desc {
			x := s.input(3, 4)
			return []op.Desc{s.Do(op.Sqrt, s.Reduce(op.Sum, s.Do(op.Mul, x, x), false, 1))}
		}, []string{"reduction@2 0 [1] 2 1<-1"}},
		"a prologue that is needed elsewhere": {all, func(s *sketch) []op.Desc {
			y := s.Do(op.Exp, s.input(3, 4))
			return []op.Desc{y, s.Reduce(op.Sum, y, false, 1)}
		}, []string{"single@0 [0] 1<-1", "single@1 [1] 1<-1"}},
		"softmax": {all, func(s *sketch) []op.Desc {
			x := s.input(3, 4)
			e := s.Do(op.Exp, s.Do(op.Sub, x, s.Reduce(op.ReduceMax, x, true, 1)))
			return []op.Desc{s.Do(op.Div, e, s.Reduce(op.Sum, e, true, 1))}
		}, []string{"norm@4 0 1 2 [3] 4 1<-1"}},
		"a node that is needed elsewhere is an extra result": {limited(absorbing, group.Limits{Outputs: 2}), func(s *sketch) []op.Desc {
			y := s.Do(op.Neg, s.input(3, 4))
			m := s.Do(op.Exp, s.input(3, 4))
			return []op.Desc{s.Do(op.Add, y, m), m}
		}, []string{"elementwise@2 0 1 2 2<-2"}},
		"unless the limit forbids an extra result": {limited(absorbing, group.Limits{Outputs: 1}), func(s *sketch) []op.Desc {
			y := s.Do(op.Neg, s.input(3, 4))
			m := s.Do(op.Exp, s.input(3, 4))
			return []op.Desc{s.Do(op.Add, y, m), m}
		}, []string{"single@1 [1] 1<-1", "elementwise@2 0 2 1<-2"}},
		"softmax without norms": {group.Policy{Kinds: group.Of(group.Reduction, group.Elementwise)}, func(s *sketch) []op.Desc {
			x := s.input(3, 4)
			e := s.Do(op.Exp, s.Do(op.Sub, x, s.Reduce(op.ReduceMax, x, true, 1)))
			return []op.Desc{s.Do(op.Div, e, s.Reduce(op.Sum, e, true, 1))}
		}, []string{"single@0 [0] 1<-1", "elementwise@2 1 2 1<-2", "single@3 [3] 1<-1", "single@4 [4] 1<-2"}},
		"layer norm of a scaled operand": {all, func(s *sketch) []op.Desc {
			x := s.Do(op.Mul, s.input(3, 4), s.input(4))
			n := s.Scalar(dtype.F32, 4)                                             // 1
			m := s.Do(op.Div, s.Reduce(op.Sum, x, true, 1), n)                      // 2, 3
			d := s.Do(op.Sub, x, m)                                                 // 4
			v := s.Do(op.Div, s.Reduce(op.Sum, s.Do(op.Mul, d, d), true, 1), n)     // 5, 6, 7
			y := s.Do(op.Div, d, s.Do(op.Sqrt, s.Do(op.Add, v, s.input(1))))        // 8, 9, 10
			return []op.Desc{s.Do(op.Add, s.Do(op.Mul, y, s.input(4)), s.input(4))} // 11, 12
		}, []string{"single@1 [1] 1<-0", "norm@12 0 2 3 4 5 [6] 7 8 9 10 11 12 1<-6"}},
		"two reductions of the same rows meet": {all, func(s *sketch) []op.Desc {
			x := s.input(3, 4)
			a := s.Reduce(op.Sum, x, true, 1)
			b := s.Reduce(op.Sum, s.Do(op.Mul, x, x), true, 1)
			return []op.Desc{s.Do(op.Mul, x, s.Do(op.Sub, b, s.Do(op.Mul, a, a)))}
		}, []string{"norm@5 0 1 [2] 3 4 5 1<-1"}},
		"broadcast along another axis": {all, func(s *sketch) []op.Desc { // sums of rows, added to columns
			x := s.input(4, 4)
			return []op.Desc{s.Do(op.Add, x, s.Reduce(op.Sum, x, false, 1))}
		}, []string{"single@0 [0] 1<-1", "single@1 [1] 1<-2"}},
		"sums of columns go back without their axis": {all, func(s *sketch) []op.Desc {
			x := s.input(4, 4)
			return []op.Desc{s.Do(op.Add, x, s.Reduce(op.Sum, x, false, 0))}
		}, []string{"norm@1 [0] 1 1<-1"}},
		"back by reshape and expand": {all, func(s *sketch) []op.Desc {
			x := s.input(3, 4)
			r := s.Expand(s.Reshape(s.Reduce(op.Sum, x, false, 1), []int{3, 1}), []int{3, 4})
			return []op.Desc{s.Do(op.Div, x, r)}
		}, []string{"norm@3 [0] 1 2 3 1<-1"}},

		"product with bias, activation and residual": {oneResult, func(s *sketch) []op.Desc {
			x := s.input(4, 4)
			y := s.Do(op.Add, s.Do(op.MatMul, x, s.input(4, 4)), s.input(4))
			return []op.Desc{s.Do(op.Add, s.Do(op.Relu, y), x)}
		}, []string{"product@3 [0] 1 2 3 1<-3"}},
		"a node that reads a product is left to it": {oneResult, func(s *sketch) []op.Desc {
			y := s.Do(op.Exp, s.input(4, 4))
			return []op.Desc{s.Do(op.Relu, s.Do(op.Add, y, s.Do(op.MatMul, s.input(4, 4), s.input(4, 4))))}
		}, []string{"single@0 [0] 1<-1", "product@3 [1] 2 3 1<-3"}},
		"convolution": {oneResult, func(s *sketch) []op.Desc {
			y := s.With(op.Conv, []op.Desc{s.input(1, 2, 5, 5), s.input(3, 2, 3, 3)}, op.Ints("strides", 1, 1), op.Ints("pad_lo", 0, 0),
				op.Ints("pad_hi", 0, 0), op.Ints("kernel_dilation", 1, 1), op.Ints("input_dilation", 1, 1), op.Int("groups", 1))
			return []op.Desc{s.Do(op.Relu, s.Do(op.Add, y, s.input(3, 1, 1)))}
		}, []string{"convolution@2 [0] 1 2 1<-3"}},
		"a reduction leaves the bias to the product": {all, func(s *sketch) []op.Desc {
			y := s.Do(op.Add, s.Do(op.MatMul, s.input(4, 4), s.input(4, 4)), s.input(4))
			return []op.Desc{s.Reduce(op.Sum, y, false, 1)}
		}, []string{"product@1 [0] 1 1<-3", "single@2 [2] 1<-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSketch()
			outs := c.build(s)
			groups := s.graph(t, outs...).Decide(c.policy)
			var got []string
			for _, x := range groups {
				got = append(got, write(x))
			}
			require.Equal(t, c.want, got)
		})
	}
}

func TestAcceptRefuses(t *testing.T) {
	s := newSketch()
	x := s.input(3, 4)
	e := s.Do(op.Exp, s.Do(op.Sub, x, s.Reduce(op.ReduceMax, x, true, 1)))
	g := s.graph(t, s.Do(op.Div, e, s.Reduce(op.Sum, e, true, 1)))
	p := all
	var asked []group.Kind
	p.Accept = func(_ *group.Graph, x *group.Group) bool {
		asked = append(asked, x.Kind)
		return x.Kind != group.Norm
	}
	var got []string
	for _, x := range g.Decide(p) {
		got = append(got, write(x))
	}
	require.Contains(t, asked, group.Norm)
	require.Equal(t, []string{"single@0 [0] 1<-1", "elementwise@2 1 2 1<-2", "single@3 [3] 1<-1", "single@4 [4] 1<-2"}, got)
}

// taking is a Taker that takes nodes of some ops and, with an Add, the casts that compute its operands.
type taking struct {
	g      *group.Graph
	ops    []op.Code
	accept bool
}

func (k taking) Take(i int) (also []int, ok bool) {
	n := &k.g.Nodes[i]
	if n.Op == op.Add {
		for _, id := range n.Inputs {
			if m, made := k.g.Maker(id); made && k.g.Nodes[m].Op == op.Cast {
				also = append(also, m)
			}
		}
	}
	return also, slices.Contains(k.ops, n.Op)
}

func (k taking) Accept(x *group.Group) bool { return k.accept }

func TestTaker(t *testing.T) {
	every := []op.Code{op.Neg, op.Add, op.Exp}
	for name, c := range map[string]struct {
		takes  []op.Code
		accept bool
		want   []string
	}{
		"all":          {every, true, []string{"single@1 [1] 1<-1", "elementwise@4 0 2 3 4 1<-2"}},
		"a part":       {every[:2], true, []string{"single@1 [1] 1<-1", "elementwise@3 0 2 3 1<-2", "single@4 [4] 1<-1"}},
		"nothing else": {nil, true, []string{"single@0 [0] 1<-1", "single@1 [1] 1<-1", "single@2 [2] 1<-1", "single@3 [3] 1<-2", "single@4 [4] 1<-1"}},
		"refused":      {every, false, []string{"single@0 [0] 1<-1", "single@1 [1] 1<-1", "single@2 [2] 1<-1", "single@3 [3] 1<-2", "single@4 [4] 1<-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSketch()
			y := s.Do(op.Neg, s.input(4))
			z := s.Cast(s.Cast(s.input(4), dtype.F64), dtype.F32)
			g := s.graph(t, s.Do(op.Exp, s.Do(op.Add, y, z)))
			asked := 0
			groups := g.Decide(group.Policy{Anchor: func(g *group.Graph, i int) group.Taker {
				if g.Nodes[i].Op != op.Neg {
					return nil
				}
				asked++
				return taking{g, c.takes, c.accept}
			}})
			var got []string
			for _, x := range groups {
				got = append(got, write(x))
			}
			require.Equal(t, c.want, got)
			require.Equal(t, 1, asked)
		})
	}
}

// HoldPeak prevents a group that needs more memory than its nodes alone. Here two operands of a sum would be kept until the end of the
// chain, in place of the sum, while large tensors are computed in between.
func TestHoldPeak(t *testing.T) {
	build := func() *group.Graph {
		s := newSketch()
		x := s.input(100)
		a, b := s.Un(op.CumSum, x, op.Int("axis", 0)), s.Un(op.CumProd, x, op.Int("axis", 0))                                                    // 0, 1
		y := s.Do(op.Add, a, b)                                                                                                                  // 2
		l := s.Reduce(op.Sum, s.Un(op.CumSum, s.Un(op.CumMax, s.Expand(s.input(1), []int{120}), op.Int("axis", 0)), op.Int("axis", 0)), true, 0) // 3 to 6
		return s.graph(t, s.Do(op.Exp, y), l)                                                                                                    // 7
	}
	elementwise := group.Policy{Kinds: group.Of(group.Elementwise), Elementwise: func(g *group.Graph, k int) bool { return op.Lookup(g.Nodes[k].Op).Traits.Has(op.Elementwise) }}
	joined := func(groups []*group.Group) bool {
		return slices.ContainsFunc(groups, func(x *group.Group) bool { return x.Kind == group.Elementwise })
	}
	// Node by node: 100 elements of y and two tensors of 120 while 4 and 5 run, 340 in all; with the chain at 7, a and b instead: 440.
	require.True(t, joined(build().Decide(elementwise)))
	elementwise.HoldPeak = true
	require.False(t, joined(build().Decide(elementwise)))
}

func TestPlacements(t *testing.T) {
	s := newSketch()
	x := s.input(4, 4)
	a := s.Do(op.MatMul, x, s.input(4, 4)) // 0
	b := s.Do(op.Exp, x)                   // 1
	c := s.Do(op.MatMul, b, x)             // 2
	y := s.With(op.Concat, []op.Desc{a, b, c, a}, op.Int("axis", 0))
	z := s.With(op.Concat, []op.Desc{b, a}, op.Int("axis", 0)) // a is written elsewhere already
	w := s.With(op.Concat, []op.Desc{c, c}, op.Int("axis", 1)) // parts are not contiguous
	g := s.graph(t, y, z, w)
	groups := g.Decide(group.Policy{})
	products := func(x *group.Group) bool { return g.Nodes[x.Anchor].Op == op.MatMul }
	p := g.Placements(groups, products)
	require.Len(t, p, 1)
	require.Equal(t, 3, p[0].Concat)
	require.Equal(t, 0, p[0].First)
	var writers, offsets []int
	for _, part := range p[0].Parts {
		writers, offsets = append(writers, part.Writer), append(offsets, part.View.Offset)
		require.Equal(t, []int{4, 1}, part.View.Strides)
	}
	require.Equal(t, []int{0, group.None, 2, group.None}, writers)
	require.Equal(t, []int{0, 16, 32, 48}, offsets)

	s.p.Outputs = append(s.p.Outputs, a.ID, c.ID) // outputs of the program are separate tensors
	require.Empty(t, group.NewGraph(&s.p).Placements(groups, products))
	require.Empty(t, g.Placements(groups, func(*group.Group) bool { return false }))
}
