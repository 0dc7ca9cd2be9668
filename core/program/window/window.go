package window

import (
	"fmt"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// Window records nodes as a Structure, with their ids. Call Init before use. It is not safe for concurrent use.
type Window struct {
	Structure
	IDs     []op.TensorID // by number
	Prefix  []uint64      // hash of each prefix of the nodes, without attributes of sources
	Values  uint64        // hash of the attributes of sources
	Begin   State         // state of the first draw
	Invalid string        // reason why the nodes cannot be a program; empty if they can

	AttrBytes int   // bytes of attributes in memory
	LiveBytes int64 // bytes of results that are not freed

	hasDraw bool // a node draws random numbers
	table   idTable
	find    func(op.TensorID) (op.Desc, bool)
	faults  *Faults
}

// Faults omits parts of a structure from its hashes. Tests use it to show that the complete comparison is needed and works.
type Faults struct{ Attrs, Operands, Types bool }

// Init empties the window. find returns the type of a live tensor that no node of the window creates. faults may be nil.
func (w *Window) Init(find func(op.TensorID) (op.Desc, bool), faults *Faults) {
	if w.find, w.faults = find, faults; faults == nil {
		w.faults = &Faults{}
	}
	w.Reset()
}

// Reset removes all nodes.
func (w *Window) Reset() {
	clear(w.Nodes)
	clear(w.Types)
	w.Nodes, w.from, w.args, w.First, w.Types = w.Nodes[:0], w.from[:0], w.args[:0], w.First[:0], w.Types[:0]
	w.Maker, w.dead, w.IDs, w.Prefix = w.Maker[:0], w.dead[:0], w.IDs[:0], w.Prefix[:0]
	w.Values, w.hasDraw, w.AttrBytes, w.LiveBytes, w.Invalid = 0, false, 0, 0, ""
	w.table.clear()
}

// Knows reports whether a node of the window reads or creates a tensor.
func (w *Window) Knows(id op.TensorID) bool {
	_, ok := w.table.get(id)
	return ok
}

// number assigns the next number to a tensor and returns it.
func (w *Window) number(id op.TensorID, d *op.Desc, maker int) int32 {
	local := int32(len(w.IDs))
	w.IDs = append(w.IDs, id)
	w.Types = append(w.Types, *d)
	w.Maker = append(w.Maker, int32(maker))
	if local&63 == 0 {
		w.dead = append(w.dead, 0)
	}
	w.table.put(id, local)
	return local
}

// Add appends a node, with the hashes kind and values that Hash returns for it. Operands that it drops are freed.
func (w *Window) Add(n *op.Node, kind, values uint64) {
	at := len(w.Nodes)
	w.Nodes = append(w.Nodes, *n)
	w.from = append(w.from, int32(len(w.args)))
	h := kind
	if at > 0 {
		h = mix(w.Prefix[at-1], kind)
	}
	if draws(n) {
		if !w.hasDraw {
			w.hasDraw, w.Begin = true, stateOf(n)
		}
		if s := stateOf(n).past(w.Begin); !w.faults.Attrs {
			h = mix(mix(h, uint64(s.seed)), uint64(s.counter))
		}
	}
	for _, id := range n.Inputs {
		local, ok := w.table.get(id)
		if !ok {
			d, known := w.find(id)
			if !known {
				w.Invalid = "a tensor that is not known"
			}
			local = w.number(id, &d, Outside)
			if !w.faults.Types {
				h = hashType(h, &d)
			}
		} else if w.IsDead(local) {
			w.Invalid = "a tensor is used after it was freed"
		}
		w.args = append(w.args, local)
		if !w.faults.Operands {
			h = mix(h, uint64(local)+1)
		}
	}
	w.First = append(w.First, int32(len(w.IDs)))
	for i := range n.Outputs {
		d := &n.Outputs[i]
		if _, ok := w.table.get(d.ID); ok {
			w.Invalid = "a tensor is made twice"
		}
		w.number(d.ID, d, at)
		w.LiveBytes += int64(d.Bytes())
	}
	if values != 0 {
		w.Values = mix(w.Values, values)
	}
	w.Prefix = append(w.Prefix, h)
	if n.Drop != 0 {
		for k, id := range n.Inputs {
			if k < 64 && n.Drop>>k&1 != 0 {
				w.Free(id)
			}
		}
	}
	if len(n.Attrs) > 0 {
		w.AttrBytes += sizeOf(n.Attrs)
	}
}

// Free records that a tensor was freed, and reports whether the window contains it.
func (w *Window) Free(id op.TensorID) bool {
	local, ok := w.table.get(id)
	if !ok {
		return false
	}
	if w.IsDead(local) {
		w.Invalid = "a tensor is freed twice"
	}
	w.dead[local>>6] |= 1 << (local & 63)
	if w.Maker[local] != Outside {
		w.LiveBytes -= int64(w.Types[local].Bytes())
	}
	return true
}

// Key returns the hash of the structure without the attributes of sources. It depends on which tensors outlive the window.
func (w *Window) Key() uint64 {
	h := w.Prefix[len(w.Prefix)-1]
	for _, word := range w.dead {
		h = mix(h, word)
	}
	return h
}

// Exact returns the hash of the structure with all attributes.
func (w *Window) Exact() uint64 { return mix(w.Key(), w.Values) }

// Record returns the window of a program without constants, as a stream would record it: the tensors of p.Outputs outlive the window, and
// so do inputs, except those in given, which are freed.
func Record(p *program.Program, given []op.TensorID) (*Window, error) {
	types, alive := map[op.TensorID]op.Desc{}, map[op.TensorID]bool{}
	for _, d := range p.Inputs {
		types[d.ID], alive[d.ID] = d, true
	}
	for _, id := range p.Outputs {
		alive[id] = true
	}
	for _, id := range given {
		if _, ok := types[id]; !ok {
			return nil, fmt.Errorf("window: %v is given away, want an input: %w", id, op.ErrAttr)
		}
		alive[id] = false
	}
	w := &Window{}
	w.Init(func(id op.TensorID) (op.Desc, bool) {
		d, ok := types[id]
		return d, ok
	}, nil)
	for i := range p.Nodes {
		n := p.Nodes[i]
		n.Drop = 0
		kind, values := Hash(&n, w.faults)
		w.Add(&n, kind, values)
	}
	for _, id := range w.IDs {
		if !alive[id] {
			w.Free(id)
		}
	}
	if w.Invalid != "" {
		return nil, fmt.Errorf("window: %s: %w", w.Invalid, op.ErrAttr)
	}
	return w, nil
}
