package cpu

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program/group"
	"github.com/goburn/burn/plugins/cpu/internal/contraction"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
)

// adder is a sum of two dequantizations, with a clamp and the quantization that follows, while it takes these in.
type adder struct {
	finisher
	graph  *group.Graph
	first  *op.Node
	inputs []op.TensorID
	grids  []contraction.Grid
}

// adder begins with node i, a dequantization. It is nil where that is by no grid of constants.
func (b *builder) adder(g *group.Graph, i int) *adder {
	n := &b.nodes[i]
	grid, ok := b.grid(n)
	if !ok {
		return nil
	}
	return &adder{finisher{builder: b, desc: n.Outputs, axis: -1, floats: true}, g, n, []op.TensorID{n.Inputs[0]}, []contraction.Grid{grid}}
}

// Take implements group.Taker.
func (a *adder) Take(k int) (also []int, ok bool) {
	n := &a.nodes[k]
	switch {
	case a.finish.Quantize:
		return nil, false
	case n.Op == op.Add:
		j, grid, ok := a.other(n)
		if !ok || len(a.grids) > 1 || a.finish.Clamp {
			return nil, false
		}
		a.grids, a.inputs, also = append(a.grids, grid), append(a.inputs, a.nodes[j].Inputs[0]), []int{j}
	case n.Op != op.Relu && n.Op != op.Clamp && n.Op != op.Quantize || !a.finishes(n):
		return nil, false
	}
	a.desc = n.Outputs
	return also, true
}

// unit returns no kernel if another node needs an intermediate result.
func (a *adder) unit(*group.Group) unit {
	if !a.finish.Quantize {
		return unit{}
	}
	return unit{node: a.first, inputs: a.inputs, desc: a.desc, run: contraction.AddBytes(a.grids, &a.finish)}
}

// grid is the constants of a dequantization from bytes to f32 by one scale.
func (b *builder) grid(n *op.Node) (contraction.Grid, bool) {
	d := b.descs[n.Inputs[0]].DType
	v, ok := b.floats(n.Inputs[1])
	zero, okZero := b.consts[n.Inputs[2]]
	if d != dtype.U8 && d != dtype.I8 || n.Attrs.Int("axis") != -1 || n.Attrs.Int("block") != 0 || !ok || !okZero {
		return contraction.Grid{}, false
	}
	z := make([]byte, 1)
	kernel.Read(b.env.Pool, z, zero)
	g := contraction.Grid{Scale: v[0], Zero: int32(z[0])}
	if d == dtype.I8 {
		g.Zero = int32(int8(z[0]))
	}
	return g, true
}

// other is the dequantization that n alone adds to the sum so far.
func (a *adder) other(n *op.Node) (k int, grid contraction.Grid, ok bool) {
	id := n.Inputs[0]
	if id == a.desc[0].ID {
		id = n.Inputs[1]
	}
	if len(a.graph.Users(id)) != 1 || !a.descs[id].SameType(a.desc[0]) {
		return 0, grid, false
	}
	if k, ok = a.graph.Maker(id); !ok || a.nodes[k].Op != op.Dequantize {
		return 0, grid, false
	}
	grid, ok = a.grid(&a.nodes[k])
	return k, grid, ok
}
