package group_test

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/core/program/group"
	"github.com/goburn/burn/core/shape"
)

// draw draws a program of about 40 nodes at most, in few shapes, so that many nodes can form groups.
func draw(r *rand.Rand) *program.Program {
	s := newSketch()
	pool := []op.Desc{s.input(4, 4), s.input(4, 4), s.input(4), s.input(4, 1), s.input(1, 4), s.input()}
	pick := func() op.Desc { // prefers new tensors
		return pool[len(pool)-1-min(r.IntN(len(pool)), r.IntN(len(pool)))]
	}
	for range 3 + r.IntN(38) {
		x := pick()
		var y op.Desc
		switch k := r.IntN(12); {
		case k < 3:
			y = s.Do([]op.Code{op.Neg, op.Exp, op.Tanh, op.Relu}[r.IntN(4)], x)
		case k < 7:
			y = s.Do([]op.Code{op.Add, op.Sub, op.Mul, op.Max}[r.IntN(4)], x, pick())
		case k < 9 && len(x.Shape) > 0:
			y = s.Reduce([]op.Code{op.Sum, op.ReduceMax}[r.IntN(2)], x, r.IntN(2) == 0, r.IntN(len(x.Shape)))
		case k == 9 && len(x.Shape) == 2 && x.Shape[1] == 4:
			y = s.Do(op.MatMul, x, pool[0])
		case k == 10 && len(x.Shape) > 0:
			outs := s.All(op.Sort, []op.Desc{x}, op.Int("axis", 0))
			pool = append(pool, s.Cast(outs[1], dtype.F32))
			y = outs[0]
		case len(x.Shape) == 2 && x.Shape[1] == 1:
			y = s.Expand(x, []int{x.Shape[0], 4})
		default:
			y = s.Do(op.Sin, x)
		}
		pool = append(pool, y)
	}
	s.p.Nodes = s.Nodes
	for range 1 + r.IntN(4) {
		s.p.Outputs = append(s.p.Outputs, pick().ID)
	}
	return s.p.Live()
}

// drawPolicy draws a policy, and the op that its elementwise kernels lack.
func drawPolicy(r *rand.Rand) (group.Policy, op.Code) {
	lacks := []op.Code{op.NoOp, op.Tanh, op.Add}[r.IntN(3)]
	p := group.Policy{Kinds: group.Kinds(r.Uint32()), Absorb: group.Kinds(r.Uint32()), HoldPeak: r.IntN(3) == 0}
	if r.IntN(2) == 0 {
		p.Limits = group.Limits{Nodes: 2 + r.IntN(5), Inputs: 1 + r.IntN(4), Outputs: 1 + r.IntN(3), Tensors: r.IntN(6)}
	}
	p.Elementwise = func(g *group.Graph, k int) bool {
		return op.Lookup(g.Nodes[k].Op).Traits.Has(op.Elementwise) && g.Nodes[k].Op != lacks
	}
	if r.IntN(2) == 0 {
		p.Repeat = func(g *group.Graph, k int, space shape.Shape) bool { return g.Nodes[k].Op != op.Exp && len(space) > 1 }
	}
	if r.IntN(3) == 0 {
		p.Accept = func(_ *group.Graph, x *group.Group) bool { return len(x.Nodes())%3 != 0 }
	}
	if r.IntN(2) == 0 {
		p.Anchor = func(g *group.Graph, i int) group.Taker {
			if g.Nodes[i].Op != op.MatMul {
				return nil
			}
			return taking{g, []op.Code{op.Relu, op.Add, op.Mul}, i%4 != 0}
		}
	}
	return p, lacks
}

// verify checks the properties that the package documents for groups.
func verify(t *testing.T, p *program.Program, policy group.Policy, lacks op.Code, groups []*group.Group) {
	of := make([]*group.Group, len(p.Nodes)) // by node
	for _, x := range groups {
		for _, k := range x.Nodes() {
			require.Nil(t, of[k], "node %d is in two groups", k)
			of[k] = x
		}
	}
	descs := map[op.TensorID]op.Desc{}
	there := map[op.TensorID]bool{} // outside of groups
	for _, ds := range [][]op.Desc{p.Inputs, p.Consts} {
		for _, d := range ds {
			there[d.ID], descs[d.ID] = true, d
		}
	}
	for k := range p.Nodes {
		require.NotNil(t, of[k], "node %d is in no group", k)
		for _, d := range p.Nodes[k].Outputs {
			descs[d.ID] = d
		}
	}
	at := -1
	for _, x := range groups {
		nodes := x.Nodes()
		require.Greater(t, x.At, at, "groups are in order")
		at = x.At
		require.Contains(t, nodes, x.At)
		require.True(t, slices.IsSorted(x.Prologue) && slices.IsSorted(x.Epilogue))
		inside := map[op.TensorID]bool{}
		for _, id := range x.Inputs {
			require.True(t, there[id], "%v reads %v before it exists, or what nobody writes", x, id)
			inside[id] = true
		}
		for _, k := range slices.Sorted(slices.Values(nodes)) {
			for _, id := range p.Nodes[k].Inputs {
				require.True(t, inside[id], "%v: node %d reads %v", x, k, id)
			}
			for _, d := range p.Nodes[k].Outputs {
				inside[d.ID] = true
			}
		}
		for _, d := range x.Outputs {
			require.True(t, inside[d.ID] && !there[d.ID])
			there[d.ID] = true
		}
		if len(nodes) == 1 {
			require.Equal(t, group.Single, x.Kind)
			continue
		}
		require.Equal(t, x.Kind == group.Elementwise, x.Anchor == group.None)
		if policy.Anchor != nil && (x.Kind == group.Product || x.Kind == group.Elementwise && !policy.Kinds.Has(group.Elementwise)) {
			continue // a taker may have decided on the group in place of Kinds
		}
		require.True(t, policy.Kinds.Has(x.Kind), "%v", x)
		l := policy.Limits
		require.LessOrEqual(t, len(x.Outputs), max(l.Outputs, group.MaxOutputs*btoi(l.Outputs == 0)))
		require.True(t, l.Nodes == 0 || len(nodes) <= l.Nodes)
		require.True(t, l.Inputs == 0 || len(x.Inputs) <= l.Inputs)
		require.True(t, l.Tensors == 0 || len(x.Inputs)+len(x.Outputs) <= l.Tensors)
		for _, k := range nodes {
			require.NotEqual(t, lacks, p.Nodes[k].Op)
		}
		if x.Kind == group.Elementwise {
			for _, k := range nodes {
				s := p.Nodes[k].Outputs[0].Shape
				repeated := policy.Repeat != nil && p.Nodes[k].Op != op.Exp && !slices.ContainsFunc(x.Outputs, func(d op.Desc) bool { return d.ID == p.Nodes[k].Outputs[0].ID })
				require.True(t, s.Equal(x.Outputs[0].Shape) || repeated && s.Size() <= x.Outputs[0].Shape.Size())
			}
		}
		if x.Kind == group.Reduction || x.Kind == group.Norm {
			require.True(t, byRows(p, x, descs), "%v mixes rows in\n%v", x, p)
		}
	}
	for _, id := range p.Outputs {
		require.True(t, there[id], "result %v is lost", id)
	}
	if policy.HoldPeak {
		require.LessOrEqual(t, peak(p, groups), peak(p, singles(p)))
	}
}

// byRows reports whether each element that the group computes depends on values of one row alone: one index along the axes that its
// anchor does not reduce.
func byRows(p *program.Program, x *group.Group, descs map[op.TensorID]op.Desc) bool {
	anchor := &p.Nodes[x.Anchor]
	full, axes := descs[anchor.Inputs[0]].Shape, anchor.Attrs.Ints("axes")
	row := func(at []int) uint64 {
		r := 0
		for i, v := range at {
			if !slices.Contains(axes, i) {
				r = r*full[i] + v
			}
		}
		return 1 << r
	}
	of := map[op.TensorID][]uint64{} // rows that each element depends on
	for _, k := range slices.Sorted(slices.Values(x.Nodes())) {
		n := &p.Nodes[k]
		y := n.Outputs[0]
		rows := make([]uint64, y.Shape.Size())
		for _, id := range n.Inputs {
			in := descs[id].Shape
			space := y.Shape // the indices at which the operand is read
			reduces := group.KindOf(n.Op) == group.Reduction
			if reduces {
				space = in
			}
			each(space, func(i int, at []int) {
				to := i
				switch {
				case reduces:
					out := []int{}
					for a, v := range at {
						switch reduced := slices.Contains(n.Attrs.Ints("axes"), a); {
						case !reduced:
							out = append(out, v)
						case n.Attrs.Bool("keep_dims"):
							out = append(out, 0)
						}
					}
					to = offset(y.Shape, out)
					rows[to] |= row(at)
				case y.Shape.Equal(full):
					rows[to] |= row(at)
				}
				if deps := of[id]; deps != nil {
					from := i
					if n.Op != op.Reshape {
						from = offset(in, at[len(at)-len(in):])
					}
					rows[to] |= deps[from]
				}
			})
		}
		for _, m := range rows {
			if bits.OnesCount64(m) > 1 {
				return false
			}
		}
		of[y.ID] = rows
	}
	return true
}

// each calls visit with the number and the index of each element of s, in row-major order.
func each(s shape.Shape, visit func(i int, at []int)) {
	at := make([]int, len(s))
	for i := range s.Size() {
		r := i
		for a := len(s) - 1; a >= 0; a-- {
			at[a] = r % s[a]
			r /= s[a]
		}
		visit(i, at)
	}
}

// offset returns the number of the element at an index, with dimensions of length 1 broadcast.
func offset(s shape.Shape, at []int) int {
	o := 0
	for i, n := range s {
		o = o*n + min(at[i], n-1)
	}
	return o
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func singles(p *program.Program) []*group.Group {
	return group.NewGraph(p).Decide(group.Policy{})
}

// peak returns the greatest number of bytes of computed tensors that are alive while a group runs.
func peak(p *program.Program, groups []*group.Group) int {
	left := map[op.TensorID]int{} // groups that still read it
	for _, x := range groups {
		for _, id := range x.Inputs {
			left[id]++
		}
	}
	for _, id := range p.Outputs {
		left[id]++
	}
	sizes := map[op.TensorID]int{}
	live, most := 0, 0
	for _, x := range groups {
		for _, d := range x.Outputs {
			sizes[d.ID] = d.Bytes()
			live += d.Bytes()
		}
		most = max(most, live)
		for _, d := range x.Outputs {
			if left[d.ID] == 0 {
				live -= d.Bytes()
			}
		}
		for _, id := range x.Inputs {
			if left[id]--; left[id] == 0 {
				live -= sizes[id] // 0 for inputs and constants
			}
		}
	}
	return most
}

func TestRandomPrograms(t *testing.T) {
	met := map[group.Kind]int{}
	for seed := range uint64(4000) {
		r := rand.New(rand.NewPCG(seed, 9))
		p := draw(r)
		require.NoError(t, p.Check(), "seed %d", seed)
		policy, lacks := drawPolicy(r)
		groups := group.NewGraph(p).Decide(policy)
		verify(t, p, policy, lacks, groups)
		require.False(t, t.Failed(), "seed %d", seed)
		for _, x := range groups {
			met[x.Kind]++
		}
	}
	for _, k := range []group.Kind{group.Single, group.Elementwise, group.Reduction, group.Norm, group.Product} {
		require.Greater(t, met[k], 100, "%v", k)
	}
}

func FuzzDecide(f *testing.F) {
	f.Add(uint64(1), uint64(2))
	f.Fuzz(func(t *testing.T, a, b uint64) {
		r := rand.New(rand.NewPCG(a, b))
		p := draw(r)
		policy, lacks := drawPolicy(r)
		verify(t, p, policy, lacks, group.NewGraph(p).Decide(policy))
	})
}
