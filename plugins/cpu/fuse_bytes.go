package cpu

import (
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/cpu/internal/contraction"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
)

// byteSum makes the unit of node i, a dequantization, of another one that is added, of a clamp, and of the quantization that
// follows, and says at which node it runs. It gives no kernel where something else needs what is between.
func (b *builder) byteSum(i int, users map[op.TensorID][]int, taken []bool) (unit, int) {
	first := &b.nodes[i]
	grid, ok := b.grid(first)
	if !ok {
		return unit{}, 0
	}
	u := unit{node: first, inputs: []op.TensorID{first.Inputs[0]}}
	grids, joined := []contraction.Grid{grid}, []int{i}
	s := &summer{desc: first.Outputs, axis: -1, floats: true}
	for !s.finish.Quantize {
		id := s.desc[0].ID
		next := users[id]
		if len(next) != 1 || next[0] < 0 || taken[next[0]] {
			return unit{}, 0
		}
		n := &b.nodes[next[0]]
		switch n.Op {
		case op.Add:
			k := b.otherBytes(n, id, users, taken)
			if k < 0 || len(grids) > 1 || s.finish.Clamp {
				return unit{}, 0
			}
			other, _ := b.grid(&b.nodes[k])
			grids, joined, u.inputs = append(grids, other), append(joined, k), append(u.inputs, b.nodes[k].Inputs[0])
		case op.Relu, op.Clamp, op.Quantize:
			if !b.finishes(s, n) {
				return unit{}, 0
			}
		default:
			return unit{}, 0
		}
		joined = append(joined, next[0])
		s.desc = n.Outputs
	}
	for _, k := range joined {
		taken[k] = true
	}
	u.desc, u.run = s.desc, contraction.AddBytes(grids, &s.finish)
	return u, joined[len(joined)-1]
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
	kernel.Read(b.s.env.Pool, z, zero)
	g := contraction.Grid{Scale: v[0], Zero: int32(z[0])}
	if d == dtype.I8 {
		g.Zero = int32(int8(z[0]))
	}
	return g, true
}

// otherBytes is the place of the dequantization that n alone adds to tensor id, -1 for none.
func (b *builder) otherBytes(n *op.Node, id op.TensorID, users map[op.TensorID][]int, taken []bool) int {
	other := n.Inputs[0]
	if other == id {
		other = n.Inputs[1]
	}
	if other == id || len(users[other]) != 1 || !b.descs[other].SameType(b.descs[id]) {
		return -1
	}
	k := slices.IndexFunc(b.nodes, func(m op.Node) bool { return m.Op == op.Dequantize && m.Outputs[0].ID == other })
	if k < 0 || taken[k] {
		return -1
	}
	if _, ok := b.grid(&b.nodes[k]); !ok {
		return -1
	}
	return k
}
