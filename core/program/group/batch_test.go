package group_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/core/program/group"
)

var both = group.Of(group.Elementwise, group.Reduction)

// sizes returns the number of groups of each batch that has more than one.
func sizes(batches []*group.Batch) (all []int) {
	for _, b := range batches {
		if len(b.Groups) > 1 {
			all = append(all, len(b.Groups))
		}
	}
	return all
}

func TestBatches(t *testing.T) {
	with := func(f func(h *group.Batching)) group.Batching {
		h := group.Batching{Kinds: both, Slack: -1}
		f(&h)
		return h
	}
	as := with(func(*group.Batching) {})
	shapes := [][]int{{3}, {4, 2}, {1}, {5, 5}}
	for name, c := range map[string]struct {
		how   group.Batching
		build func(s *sketch) []op.Desc
		want  []int
	}{
		"off": {group.Batching{}, func(s *sketch) (outs []op.Desc) {
			for _, d := range shapes {
				outs = append(outs, s.Do(op.Neg, s.input(d...)))
			}
			return outs
		}, nil},
		"one body, many sizes": {as, func(s *sketch) (outs []op.Desc) {
			for _, d := range shapes {
				outs = append(outs, s.Do(op.Add, s.Do(op.Neg, s.input(d...)), s.input(d...)))
			}
			return outs
		}, []int{4}},
		"a limit": {with(func(h *group.Batching) { h.Most = 3 }), func(s *sketch) (outs []op.Desc) {
			for _, d := range shapes {
				outs = append(outs, s.Do(op.Neg, s.input(d...)))
			}
			return outs
		}, []int{3}},
		"some are not able": {with(func(h *group.Batching) {
			h.Able = func(_ *group.Graph, x *group.Group) bool { return x.Outputs[0].Shape.Size() > 3 }
		}), func(s *sketch) (outs []op.Desc) {
			for _, d := range shapes {
				outs = append(outs, s.Do(op.Neg, s.input(d...)))
			}
			return outs
		}, []int{2}},
		"other ops": {as, func(s *sketch) []op.Desc {
			return []op.Desc{s.Do(op.Neg, s.input(3)), s.Do(op.Exp, s.input(3))}
		}, nil},
		"other attributes": {as, func(s *sketch) []op.Desc {
			return []op.Desc{s.Un(op.Clamp, s.input(3), op.ScalarFloat("min", 0), op.ScalarFloat("max", 1)),
				s.Un(op.Clamp, s.input(3), op.ScalarFloat("min", 0), op.ScalarFloat("max", 2))}
		}, nil},
		"other types": {as, func(s *sketch) []op.Desc {
			return []op.Desc{s.Cast(s.input(3), dtype.F16), s.Cast(s.input(3), dtype.BF16)}
		}, nil},
		"other connections": {as, func(s *sketch) []op.Desc {
			x, y := s.input(3), s.input(3)
			return []op.Desc{s.Do(op.Sub, s.Do(op.Neg, x), x), s.Do(op.Sub, s.Do(op.Neg, x), y)}
		}, nil},
		"other results": {as, func(s *sketch) []op.Desc {
			a := s.Do(op.Neg, s.input(3))
			return []op.Desc{a, s.Do(op.Exp, a), s.Do(op.Exp, s.Do(op.Neg, s.input(4)))}
		}, nil},
		"numbers": {as, func(s *sketch) (outs []op.Desc) {
			for i, d := range shapes {
				outs = append(outs, s.Do(op.Mul, s.input(d...), s.Scalar(dtype.F32, float64(i/2))))
			}
			return outs
		}, []int{2, 2}},
		"one element, and as many": {as, func(s *sketch) []op.Desc {
			n := s.input()
			return []op.Desc{s.Do(op.Mul, s.input(3), n), s.Do(op.Mul, s.input(4, 2), n), s.Do(op.Mul, s.input(3), s.input(3))}
		}, []int{2}},
		"broadcast alike, and otherwise": {as, func(s *sketch) []op.Desc {
			return []op.Desc{s.Do(op.Add, s.input(3, 2), s.input(2)), s.Do(op.Add, s.input(3, 2), s.input(2)), s.Do(op.Add, s.input(3, 2), s.input(3, 1)),
				s.Do(op.Add, s.input(4, 2), s.input(2))}
		}, []int{2}},
		"one after the other": {as, func(s *sketch) []op.Desc {
			return []op.Desc{s.Do(op.MatMul, s.Do(op.Neg, s.Do(op.MatMul, s.Do(op.Neg, s.input(2, 2)), s.input(2, 2))), s.input(2, 2))}
		}, nil},
		"either way round is a circle": {as, func(s *sketch) []op.Desc { // neg, sum, exp and exp, sum, neg: either the negs or the exps are a batch
			a := s.Do(op.Exp, s.Un(op.CumSum, s.Do(op.Neg, s.input(2)), op.Int("axis", 0)))
			b := s.Do(op.Neg, s.Un(op.CumSum, s.Do(op.Exp, s.input(2)), op.Int("axis", 0)))
			return []op.Desc{a, b}
		}, []int{2}},
		"casts before products go ahead": {as, func(s *sketch) []op.Desc {
			x := s.input(2, 2)
			for range 5 {
				x = s.Do(op.MatMul, x, s.Cast(s.Cast(s.input(2, 2), dtype.F16), dtype.F32))
			}
			return []op.Desc{x}
		}, []int{5}},
		"reshaped sums": {as, func(s *sketch) []op.Desc {
			var parts []op.Desc
			for _, d := range shapes[:3] {
				x := s.input(d...)
				parts = append(parts, s.Reshape(s.Reduce(op.ReduceMax, s.Do(op.Abs, x), false, []int{0, 1}[:len(d)]...), []int{1}))
			}
			return []op.Desc{s.Concat(0, parts...)}
		}, []int{3, 3}},
		"sums of everything": {as, func(s *sketch) []op.Desc {
			x, y, z := s.input(3), s.input(4, 2), s.input(4, 2)
			return []op.Desc{s.Reduce(op.Sum, s.Do(op.Mul, x, x), false, 0), s.Reduce(op.Sum, s.Do(op.Mul, y, y), true, 0, 1),
				s.Reduce(op.Sum, s.Do(op.Mul, z, z), false, 0)}
		}, []int{2}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSketch()
			g := s.graph(t, c.build(s)...)
			groups := g.Decide(all)
			batches := g.Batches(groups, c.how)
			require.Equal(t, c.want, sizes(batches))
			legal(t, g, groups, batches)
		})
	}
}

// Two additions that run together keep four operands instead of two, which Slack has to allow.
func TestBatchesHoldMemory(t *testing.T) {
	build := func() (*group.Graph, []*group.Group) {
		s := newSketch()
		var outs []op.Desc
		for range 2 {
			x := s.input(100)
			a, b := s.Un(op.CumSum, x, op.Int("axis", 0)), s.Un(op.CumProd, x, op.Int("axis", 0))
			outs = append(outs, s.Do(op.Add, a, b))
		}
		g := s.graph(t, outs...)
		return g, g.Decide(all)
	}
	// 300 elements while an addition runs, and the first result beside the second: 400. With both at one time: 600.
	for slack, want := range map[int64][]int{0: nil, 799: nil, 800: {2}, -1: {2}} {
		g, groups := build()
		batches := g.Batches(groups, group.Batching{Kinds: both, Slack: slack})
		require.Equal(t, want, sizes(batches), "slack %d", slack)
	}
}

func TestSole(t *testing.T) {
	s := newSketch()
	x, y, n := s.input(3), s.input(4), s.input()
	g := s.graph(t, s.Do(op.Mul, x, n), s.Do(op.Mul, y, n))
	b := g.Batches(g.Decide(all), group.Batching{Kinds: both})
	require.Len(t, b, 1)
	at, ok := b[0].Sole(y.ID)
	require.True(t, ok)
	require.Equal(t, y.ID, b[0].Groups[at].Inputs[0])
	_, ok = b[0].Sole(n.ID)
	require.False(t, ok)
	_, ok = b[0].Sole(99)
	require.False(t, ok)
}

// drawMany draws a program in which a few bodies occur many times, in several sizes, and depend on each other.
func drawMany(r *rand.Rand) *program.Program {
	s := newSketch()
	shapes := [][]int{{4}, {4, 4}, {4, 1}, {}}
	pool := make([][]op.Desc, len(shapes))
	for i, d := range shapes {
		pool[i] = []op.Desc{s.input(d...), s.input(d...)}
	}
	pick := func(i int) op.Desc { return pool[i][r.IntN(len(pool[i]))] }
	one := s.Scalar(dtype.F32, 1)
	for range 5 + r.IntN(40) {
		i := r.IntN(len(shapes))
		x := pick(i)
		switch k := r.IntN(8); {
		case k < 2:
			pool[i] = append(pool[i], s.Do(op.Exp, s.Do(op.Mul, x, pick(3))))
		case k < 4:
			m := s.Do(op.Add, x, pick(i))
			pool[i] = append(pool[i], m, s.Do(op.Sub, m, s.Do(op.Mul, m, one)))
		case k == 4 && i == 1:
			pool[i] = append(pool[i], s.Do(op.MatMul, x, pick(1)))
		case k == 5 && i < 3:
			axes := []int{0, 1}[:len(shapes[i])]
			pool[3] = append(pool[3], s.Reduce(op.Sum, s.Do(op.Mul, x, x), false, axes...))
		case k == 6 && i == 1:
			pool[i] = append(pool[i], s.Do(op.Add, x, pick(r.IntN(3))))
		default:
			pool[i] = append(pool[i], s.Do(op.Neg, x))
		}
	}
	s.p.Nodes = s.Nodes
	for range 1 + r.IntN(6) {
		s.p.Outputs = append(s.p.Outputs, pick(r.IntN(len(shapes))).ID)
	}
	return s.p.Live()
}

// evaluator evaluates a program symbolically: the value of a tensor is the text of its expression in the inputs of the program.
type evaluator struct {
	*group.Graph
	of map[op.TensorID]string
}

// node returns the expression of the result of n. read returns the expression of an operand. Full reductions have the same expression
// for all shapes.
func (e *evaluator) node(n *op.Node, read func(id op.TensorID) string) string {
	s := fmt.Sprintf("%v.%d:%v%v(", n.Op, n.Version, n.Outputs[0].DType, n.Attrs)
	if n.Op == op.Reshape {
		return read(n.Inputs[0])
	}
	if group.KindOf(n.Op) == group.Reduction && len(n.Attrs.Ints("axes")) == len(e.Desc(n.Inputs[0]).Shape) {
		s = fmt.Sprintf("%v.%d:%v all(", n.Op, n.Version, n.Outputs[0].DType)
	}
	for _, id := range n.Inputs {
		s += read(id) + ","
	}
	return s + ")"
}

func evaluate(g *group.Graph) *evaluator {
	e := &evaluator{g, map[op.TensorID]string{}}
	for i, d := range g.Inputs {
		e.of[d.ID] = fmt.Sprintf("in%d", i)
	}
	for k := range g.Nodes {
		n := &g.Nodes[k]
		x := e.node(n, func(id op.TensorID) string { return e.of[id] })
		if len(x) > 200 { // long expressions by their number
			x = fmt.Sprintf("node%d", k)
		}
		e.of[n.Outputs[0].ID] = x
	}
	return e
}

// legal checks that batches can run: the nodes of the first group of a batch compute, on the inputs of each of its groups, the values of
// the program, from the first group to the last and in reverse, also where results reuse the memory of inputs as Sole allows.
func legal(t *testing.T, g *group.Graph, groups []*group.Group, batches []*group.Batch) {
	t.Helper()
	want := evaluate(g)
	var flat []*group.Group
	for _, b := range batches {
		flat = append(flat, b.Groups...)
	}
	require.ElementsMatch(t, groups, flat, "each group is in one batch")
	for _, backwards := range []bool{false, true} {
		left := map[op.TensorID]int{} // groups that still read a tensor
		for _, x := range groups {
			for _, id := range x.Inputs {
				left[id]++
			}
		}
		for _, id := range g.Outputs {
			left[id]++
		}
		memory := map[op.TensorID]*string{} // two tensors may share memory
		for _, d := range g.Inputs {
			v := want.of[d.ID]
			memory[d.ID] = &v
		}
		for _, b := range batches {
			order := slices.Clone(b.Groups)
			if backwards {
				slices.Reverse(order)
			}
			for _, x := range b.Groups {
				for _, id := range x.Inputs {
					require.Contains(t, memory, id, "%v reads %v before its batch runs", x, id)
				}
			}
			ran := map[op.TensorID]*string{}
			for _, x := range order {
				outs := run(want, g, b.Groups[0], x, memory)
				for i, d := range x.Outputs {
					require.Equal(t, want.of[d.ID], outs[i], "%v in a batch of %v", x, b.Groups[0])
					to := new(string)
					for _, id := range x.Inputs {
						if _, sole := b.Sole(id); sole && left[id] == 1 && slices.ContainsFunc(x.Outputs, func(o op.Desc) bool { return o.SameType(g.Desc(id)) }) {
							to, left[id] = memory[id], 0
							break
						}
					}
					*to = outs[i]
					ran[d.ID] = to
				}
			}
			for id, v := range ran {
				memory[id] = v
			}
			for _, x := range b.Groups {
				for _, id := range x.Inputs {
					left[id]--
				}
			}
		}
		for _, id := range g.Outputs {
			require.Equal(t, want.of[id], *memory[id])
		}
	}
}

// run evaluates the nodes of group body on the inputs of group x, each at the same position, and returns the outputs. Full nodes have
// the values of body.
func run(e *evaluator, g *group.Graph, body, x *group.Group, memory map[op.TensorID]*string) []string {
	inner := map[op.TensorID]string{}
	nodes, own := slices.Sorted(slices.Values(body.Nodes())), slices.Sorted(slices.Values(x.Nodes()))
	for at, k := range nodes {
		n := &g.Nodes[k]
		v := e.node(n, func(id op.TensorID) string {
			if v, ok := inner[id]; ok {
				return v
			}
			if m, made := g.Maker(id); made && g.Nodes[m].Op == op.Full {
				return e.of[id]
			}
			return *memory[x.Inputs[slices.Index(body.Inputs, id)]]
		})
		if len(v) > 200 {
			v = fmt.Sprintf("node%d", own[at])
		}
		inner[n.Outputs[0].ID] = v
	}
	var outs []string
	for _, d := range body.Outputs {
		outs = append(outs, inner[d.ID])
	}
	return outs
}

func TestRandomBatches(t *testing.T) {
	met, groups := 0, 0
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 21))
		p := drawMany(r)
		require.NoError(t, p.Check())
		g := group.NewGraph(p)
		policy := group.Policy{Kinds: group.Kinds(r.Uint32()), Limits: group.Limits{Outputs: r.IntN(3)}}
		how := group.Batching{Kinds: both, Slack: []int64{-1, 0, 100}[r.IntN(3)], Most: []int{0, 0, 2}[r.IntN(3)]}
		list := g.Decide(policy)
		batches := g.Batches(list, how)
		legal(t, g, list, batches)
		if how.Slack == 0 {
			var flat []*group.Group
			for _, b := range batches {
				flat = append(flat, b.Groups...)
			}
			require.LessOrEqual(t, peak(p, flat), peak(p, list), "seed %d", seed)
		}
		require.False(t, t.Failed(), "seed %d", seed)
		for _, n := range sizes(batches) {
			met++
			groups += n
			require.True(t, how.Most == 0 || n <= how.Most)
		}
	}
	require.Greater(t, met, 2000)
	require.Greater(t, groups, 2*met)
}
