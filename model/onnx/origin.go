package onnx

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// origin is the op that computed a constant from others: a dequantization of bytes, a cast of bytes to i32, a subtraction of a zero point,
// or a movement op on such a constant.
type origin struct {
	node op.Node // without its tensors
	in   []*data
}

// originOf returns the origin of the constant that n computes from constants, or nil.
func originOf(n *op.Node, in []value) *origin {
	switch n.Op {
	case op.Dequantize, op.Cast:
		if d := in[0].data.dtype; d != dtype.U8 && d != dtype.I8 || n.Op == op.Cast && n.Outputs[0].DType != dtype.I32 {
			return nil
		}
	case op.Sub:
		if in[0].data.origin == nil || in[1].data.origin == nil || n.Outputs[0].DType != dtype.I32 {
			return nil
		}
	case op.Permute, op.Reshape:
		if in[0].data.origin == nil {
			return nil
		}
	default:
		return nil
	}
	o := &origin{node: *n}
	for _, v := range in {
		o.in = append(o.in, v.data)
	}
	return o
}

// traced is a program being rewritten, with its constants in order.
type traced struct {
	p      program.Program
	consts []*data
	ids    map[*data]op.TensorID
	last   op.TensorID
}

// withOrigins returns p with constants replaced by the nodes that computed them, so that rewrite patterns can match these nodes.
func withOrigins(p *program.Program, consts []*data) *traced {
	w := &traced{p: *p, ids: map[*data]op.TensorID{}}
	w.p.Consts, w.p.Nodes = nil, nil
	for _, ds := range [][]op.Desc{p.Inputs, p.Consts} {
		for _, d := range ds {
			w.last = max(w.last, d.ID)
		}
	}
	for _, n := range p.Nodes {
		for _, d := range n.Outputs {
			w.last = max(w.last, d.ID)
		}
	}
	for i, c := range consts {
		w.ids[c] = p.Consts[i].ID
	}
	for i, c := range consts {
		if c.origin == nil {
			w.p.Consts, w.consts = append(w.p.Consts, p.Consts[i]), append(w.consts, c)
			continue
		}
		w.record(c)
	}
	w.p.Nodes = append(w.p.Nodes, p.Nodes...)
	return w
}

// tensor returns the id of a constant, after adding it to the program if needed.
func (w *traced) tensor(d *data) op.TensorID {
	if id, ok := w.ids[d]; ok && d.origin == nil {
		return id
	}
	if d.origin != nil {
		return w.record(d)
	}
	desc := d.desc()
	w.last++
	desc.ID = w.last
	w.ids[d] = desc.ID
	w.p.Consts, w.consts = append(w.p.Consts, desc), append(w.consts, d)
	return desc.ID
}

// record appends the node that computed d, once, and returns the id of d.
func (w *traced) record(d *data) op.TensorID {
	id, ok := w.ids[d]
	if !ok {
		w.last++
		id = w.last
		w.ids[d] = id
	}
	for i := range w.p.Nodes {
		if w.p.Nodes[i].Outputs[0].ID == id {
			return id
		}
	}
	n := d.origin.node
	n.Inputs, n.Outputs = make([]op.TensorID, len(d.origin.in)), []op.Desc{d.desc()}
	for i, in := range d.origin.in {
		n.Inputs[i] = w.tensor(in)
	}
	n.Outputs[0].ID = id
	w.p.Nodes = append(w.p.Nodes, n)
	return id
}

// settle undoes withOrigins for q, the result of rewriting: origins that are still needed become constants again, and unused
// constants are removed.
func (w *traced) settle(q *program.Program) (*program.Program, []*data) {
	made := map[op.TensorID]*data{}
	for d, id := range w.ids {
		if d.origin != nil {
			made[id] = d
		}
	}
	r := *q
	r.Nodes, r.Consts = nil, nil
	used := map[op.TensorID]bool{}
	for _, n := range q.Nodes {
		if len(n.Outputs) == 1 && made[n.Outputs[0].ID] != nil {
			continue
		}
		for _, id := range n.Inputs {
			used[id] = true
		}
		r.Nodes = append(r.Nodes, n)
	}
	for _, id := range q.Outputs {
		used[id] = true
	}
	var consts []*data
	for i, d := range w.p.Consts {
		if used[d.ID] {
			r.Consts, consts = append(r.Consts, d), append(consts, w.consts[i])
		}
	}
	for _, n := range w.p.Nodes { // in order
		if id := n.Outputs[0].ID; made[id] != nil && used[id] {
			r.Consts, consts = append(r.Consts, n.Outputs[0]), append(consts, made[id])
		}
	}
	return &r, consts
}
