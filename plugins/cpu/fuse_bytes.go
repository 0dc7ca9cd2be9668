package cpu

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program/group"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
	"github.com/goburn/burn/plugins/cpu/internal/requantize"
)

// byteSum collects the nodes of a sum of two dequantizations, an optional clamp, and the quantization that follows.
type byteSum struct {
	epilogueBuilder
	graph  *group.Graph
	first  *op.Node
	inputs []op.TensorID
	terms  []requantize.Quantization
}

// byteSum returns a byteSum that begins with node i, a dequantization, or nil unless its scale and zero point are constants.
func (b *builder) byteSum(g *group.Graph, i int) *byteSum {
	n := &b.nodes[i]
	q, ok := b.quantization(n)
	if !ok {
		return nil
	}
	return &byteSum{epilogueBuilder{builder: b, desc: n.Outputs, axis: -1, floats: true}, g, n, []op.TensorID{n.Inputs[0]}, []requantize.Quantization{q}}
}

// Take implements group.Taker.
func (a *byteSum) Take(k int) (also []int, ok bool) {
	n := &a.nodes[k]
	switch {
	case a.epilogue.Quantize:
		return nil, false
	case n.Op == op.Add:
		j, q, ok := a.other(n)
		if !ok || len(a.terms) > 1 || a.epilogue.Clamp {
			return nil, false
		}
		a.terms, a.inputs, also = append(a.terms, q), append(a.inputs, a.nodes[j].Inputs[0]), []int{j}
	case n.Op != op.Relu && n.Op != op.Clamp && n.Op != op.Quantize || !a.takes(n):
		return nil, false
	}
	a.desc = n.Outputs
	return also, true
}

// unit returns no kernel if another node needs an intermediate result.
func (a *byteSum) unit(*group.Group) unit {
	if !a.epilogue.Quantize {
		return unit{}
	}
	return unit{node: a.first, inputs: a.inputs, desc: a.desc, run: requantize.Add(a.terms, &a.epilogue)}
}

// quantization returns the scale and zero point of n if it dequantizes bytes to f32 with a single constant scale.
func (b *builder) quantization(n *op.Node) (requantize.Quantization, bool) {
	d := b.descs[n.Inputs[0]].DType
	v, ok := b.floats(n.Inputs[1])
	zero, okZero := b.consts[n.Inputs[2]]
	if d != dtype.U8 && d != dtype.I8 || n.Attrs.Int("axis") != -1 || n.Attrs.Int("block") != 0 || !ok || !okZero {
		return requantize.Quantization{}, false
	}
	z := make([]byte, 1)
	kernel.Read(b.env.Pool, z, zero)
	return requantize.Quantization{Scale: v[0], Zero: kernel.ByteValue(d, z[0])}, true
}

// other returns the dequantization that n adds to the sum so far, if n is the only user of this dequantization.
func (a *byteSum) other(n *op.Node) (k int, q requantize.Quantization, ok bool) {
	id := n.Inputs[0]
	if id == a.desc[0].ID {
		id = n.Inputs[1]
	}
	if len(a.graph.Users(id)) != 1 || !a.descs[id].SameType(a.desc[0]) {
		return 0, q, false
	}
	if k, ok = a.graph.Maker(id); !ok || a.nodes[k].Op != op.Dequantize {
		return 0, q, false
	}
	q, ok = a.quantization(&a.nodes[k])
	return k, q, ok
}
