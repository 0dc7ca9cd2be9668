package libtorch

import (
	"fmt"
	"slices"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/libtorch/internal/torch"
)

// byDefinition computes the node by the decomposition of its op, as the host does for ops that the backend does not claim. It deletes
// intermediate tensors after their last use.
func (w *worker) byDefinition() {
	known := map[op.TensorID]val{}
	var in []op.Desc
	for i, x := range w.in {
		d := op.Desc{ID: op.TensorID(i + 1), DType: x.d, Shape: x.s}
		known[d.ID], in = x, append(in, d)
	}
	last := op.TensorID(len(w.in))
	next := func() op.TensorID { last++; return last }
	n := *w.n
	n.Outputs = slices.Clone(n.Outputs)
	n.Inputs = nil
	for _, d := range in {
		n.Inputs = append(n.Inputs, d.ID)
	}
	for i := range n.Outputs {
		n.Outputs[i].ID = next()
	}
	outer, operands, from, results, kept := w.n, slices.Clone(w.in), w.from, slices.Clone(w.out), slices.Clone(w.made)
	w.steps(&n, in, known, next, kept)
	for i, d := range n.Outputs {
		results[i] = known[d.ID]
	}
	w.n, w.in, w.from, w.out = outer, operands, from, results
}

// steps computes a node, whose operands are in known, by its decomposition, and adds its results to known. It does not delete handles in
// kept.
func (w *worker) steps(n *op.Node, in []op.Desc, known map[op.TensorID]val, next func() op.TensorID, kept []torch.Handle) {
	parts, ok, err := op.Decompose(n, in, next)
	if !ok && err == nil {
		err = fmt.Errorf("%v has no kernel: %w", n.Op, core.ErrUnsupported)
	}
	w.fail(err)
	uses := map[op.TensorID]int{}
	for i := range parts {
		for _, id := range parts[i].Inputs {
			uses[id]++
		}
	}
	for _, d := range slices.Concat(in, n.Outputs) {
		uses[d.ID]++ // the use by the caller
	}
	for i := range parts {
		if w.err != nil {
			return
		}
		p := &parts[i]
		var descs []op.Desc
		for _, id := range p.Inputs {
			descs = append(descs, op.Desc{ID: id, DType: known[id].d, Shape: known[id].s})
		}
		w.part(p, descs, known, next, slices.Concat(kept, w.made))
		for _, id := range p.Inputs {
			if uses[id]--; uses[id] == 0 {
				delete(known, id)
			}
		}
		w.sweep(known, kept)
	}
}

// part computes a node, whose operands are in known, by its kernel or, if the op has no kernel, by its decomposition. It adds the results
// to known.
func (w *worker) part(p *op.Node, in []op.Desc, known map[op.TensorID]val, next func() op.TensorID, kept []torch.Handle) {
	if w.err != nil {
		return
	}
	w.n, w.in, w.from, w.out = p, nil, nil, make([]val, len(p.Outputs))
	for _, d := range in {
		x := known[d.ID]
		w.in, w.from = append(w.in, x), append(w.from, &tensor{desc: d, h: x.h})
	}
	kind := p.Outputs[0].DType
	if len(w.in) > 0 {
		kind = w.in[0].d
	}
	k := w.dev.kernel(p.Op)
	if k.run == nil || !k.types.Has(kind) {
		w.steps(p, in, known, next, kept)
		return
	}
	k.run(w)
	w.aside = nil
	for i, d := range p.Outputs {
		known[d.ID] = w.out[i]
	}
}

// sweep deletes the tensors of the kernel that are neither in known nor in kept.
func (w *worker) sweep(known map[op.TensorID]val, kept []torch.Handle) {
	live := map[torch.Handle]bool{}
	for _, x := range known {
		live[x.h] = true
	}
	for _, h := range kept {
		live[h] = true
	}
	dead := slices.DeleteFunc(slices.Clone(w.made), func(h torch.Handle) bool { return live[h] })
	w.made = slices.DeleteFunc(w.made, func(h torch.Handle) bool { return !live[h] })
	w.thread.Delete(dead...)
}
