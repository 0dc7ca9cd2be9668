package verify

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/decorators/internal/order"
)

// findNonFinite returns the index and the name of the first NaN or infinity among elements of a float type of any width. If there is none,
// the index is negative.
func findNonFinite(d dtype.DType, data []byte) (at int, name string) {
	if !dtype.AnyFloats.Has(d) {
		return -1, ""
	}
	for i := range len(data) / d.Size() {
		if v := dtype.FloatAt(d, data, i); v-v != 0 {
			return i, strconv.FormatFloat(v, 'g', -1, 64)
		}
	}
	return -1, ""
}

// wantsNonFinite reports whether an attribute of a node is a NaN or an infinity: then such results are intended.
func wantsNonFinite(n *op.Node) bool {
	out := func(f float64) bool { return math.IsNaN(f) || math.IsInf(f, 0) }
	return slices.ContainsFunc(n.Attrs, func(a op.Attr) bool {
		switch a.Value.Kind() {
		case op.KindFloat, op.KindScalar:
			return out(a.Value.Float())
		case op.KindFloats:
			return slices.ContainsFunc(a.Value.Floats(), out)
		}
		return false
	})
}

// maxRead bounds the size in bytes of a result that is read back.
const maxRead = 1 << 30

// probe reads results back and returns which may contain a NaN or an infinity. The first one that does is a fault, unless excused is set.
// Results that cannot be read (poisoned or large tensors) count as containing one.
func (s *stream) probe(cmd order.Command, outs []op.Desc, excused bool) []bool {
	found := make([]bool, len(outs))
	if !s.notFinite {
		return found
	}
	for i, o := range outs {
		if !dtype.AnyFloats.Has(o.DType) {
			continue
		}
		data := s.fetch(o)
		if data == nil {
			found[i], excused = true, true
			continue
		}
		at, name := findNonFinite(o.DType, data)
		if found[i] = at >= 0; !found[i] || excused {
			continue
		}
		excused = true
		s.later(&Fault{Kind: Value, Tensor: o.ID, Command: cmd.String(), Err: fmt.Errorf("%v %v is made of finite operands, got %s at element %d, want finite results: %w",
			o.ID, o, name, at, core.ErrKernel)}, cmd)
	}
	return found
}

// touched returns the tensors that a change uses or creates.
func (x *change) touched() map[op.TensorID]*tensor {
	x.s.mu.Lock()
	defer x.s.mu.Unlock()
	m := make(map[op.TensorID]*tensor, len(x.used)+len(x.made))
	for _, u := range x.used {
		m[u.t.desc.ID] = u.t
	}
	for _, id := range x.made {
		if t := x.s.dev.tensors[id]; t != nil {
			m[id] = t
		}
	}
	return m
}

// tainted reports whether one of ids may hold a NaN or an infinity.
func (s *stream) tainted(m map[op.TensorID]*tensor, ids []op.TensorID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(ids, func(id op.TensorID) bool { return m[id] == nil || m[id].nonFinite })
}

// learn records which results may contain a NaN or an infinity.
func (s *stream) learn(m map[op.TensorID]*tensor, outs []op.Desc, found []bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, o := range outs {
		if t := m[o.ID]; t != nil {
			t.nonFinite = found[i]
		}
	}
}

// submitEach submits nodes one by one and reads their results.
func (s *stream) submitEach(x *change, nodes []op.Node, free []op.TensorID) error {
	m := x.touched()
	for i := range nodes {
		n := &nodes[i]
		in := make([]op.Desc, len(n.Inputs))
		for k, id := range n.Inputs {
			in[k] = m[id].desc
		}
		cmd := x.cmd
		cmd.What = n.Op.String()
		found, err := s.one(cmd, n, in, s.tainted(m, n.Inputs) || wantsNonFinite(n))
		if err != nil {
			return err
		}
		s.learn(m, n.Outputs, found)
	}
	return s.inner.Submit(nil, free)
}

// one submits a node with operands in, compares its results, and returns which may contain a NaN or an infinity.
func (s *stream) one(cmd order.Command, n *op.Node, in []op.Desc, excused bool) (found []bool, err error) {
	data, compared := s.operands(n, in)
	if err := s.inner.Submit([]op.Node{*n}, nil); err != nil {
		return nil, err
	}
	if compared {
		s.compare(cmd, n, in, data)
	}
	return s.probe(cmd, n.Outputs, excused), nil
}

// replay contains the data to run a program node by node.
type replay struct {
	mu        sync.RWMutex // held for reading during a run
	consts    []op.Desc    // copies, under ids of the device below
	nonFinite []bool
	last      [][]op.TensorID
}

// copyOf returns a node that copies desc, or nil if the device does not support that.
func (d *device) copyOf(desc op.Desc) *op.Node {
	n, err := op.New(op.Copy, []op.Desc{desc})
	if err != nil || d.target.Supports(&n, []op.Desc{desc}) != nil {
		return nil
	}
	n.Outputs[0].ID = d.inner.NewIDs(1)
	return &n
}

// prepare returns the data for running p node by node, or nil if the device cannot copy tensors.
func (s *stream) prepare(p *defined, consts []op.TensorID) *replay {
	r := &replay{last: p.p.LastUse()}
	for _, o := range p.outs {
		if s.dev.copyOf(o) == nil {
			return nil
		}
	}
	var nodes []op.Node
	for i, d := range p.p.Consts {
		d.ID = consts[i]
		n := s.dev.copyOf(d)
		if n == nil {
			return nil
		}
		nodes = append(nodes, *n)
		r.consts = append(r.consts, n.Outputs[0])
	}
	if s.inner.Submit(nodes, nil) != nil {
		return nil
	}
	r.nonFinite = s.probe(order.Command{}, r.consts, true)
	return r
}

// drop frees the copies of constants, when no run uses them.
func (d *device) drop(r *replay) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, err := d.inner.OpenStream(context.Background())
	if err != nil || len(r.consts) == 0 {
		return // a closed or lost device has freed them
	}
	free := make([]op.TensorID, len(r.consts))
	for i, c := range r.consts {
		free[i] = c.ID
	}
	_ = s.Submit(nil, free)
	_ = s.Close() // frees the rest
}

// runEach runs a program and reads its results. It runs node by node if that was prepared.
func (s *stream) runEach(inner core.Programs, x *change, p *defined, r core.Run) error {
	m := x.touched()
	if p.replay == nil {
		if err := inner.Run(s.inner, r); err != nil {
			return err
		}
		outs := slices.Clone(p.outs)
		for i := range outs {
			outs[i].ID = r.Outputs[i]
		}
		s.learn(m, outs, s.probe(x.cmd, outs, s.tainted(m, r.Inputs)))
		return nil
	}
	p.replay.mu.RLock()
	defer p.replay.mu.RUnlock()
	at, nonFinite := map[op.TensorID]op.Desc{}, map[op.TensorID]bool{}
	for i, d := range p.p.Inputs {
		id := d.ID
		d.ID = r.Inputs[i]
		at[id], nonFinite[id] = d, s.tainted(m, r.Inputs[i:i+1])
	}
	for i, d := range p.p.Consts {
		at[d.ID], nonFinite[d.ID] = p.replay.consts[i], p.replay.nonFinite[i]
	}
	for i := range p.p.Nodes {
		if err := s.step(x.cmd, p, i, at, nonFinite); err != nil {
			return err
		}
	}
	return s.results(m, p, r, at, nonFinite)
}

// step runs node i of a program. at maps ids of the program to tensors.
func (s *stream) step(cmd order.Command, p *defined, i int, at map[op.TensorID]op.Desc, nonFinite map[op.TensorID]bool) error {
	n := p.p.Nodes[i]
	n.Drop = 0
	n.Inputs, n.Outputs = slices.Clone(n.Inputs), slices.Clone(n.Outputs)
	excused, in := wantsNonFinite(&n), make([]op.Desc, len(n.Inputs))
	for k, id := range n.Inputs {
		excused = excused || nonFinite[id]
		in[k], n.Inputs[k] = at[id], at[id].ID
	}
	for k := range n.Outputs {
		o := &n.Outputs[k]
		id := o.ID
		o.ID = s.dev.inner.NewIDs(1)
		at[id] = *o
	}
	cmd.What = n.Op.String() + " in " + cmd.What
	found, err := s.one(cmd, &n, in, excused)
	if err != nil {
		return err
	}
	for k, w := range found {
		nonFinite[p.p.Nodes[i].Outputs[k].ID] = w
	}
	free := make([]op.TensorID, 0, len(p.replay.last[i]))
	for _, id := range p.replay.last[i] {
		free = append(free, at[id].ID)
	}
	return s.inner.Submit(nil, free)
}

// results copies the outputs of a run, frees donated inputs and intermediate tensors, and waits for completion.
func (s *stream) results(m map[op.TensorID]*tensor, p *defined, r core.Run, at map[op.TensorID]op.Desc, nonFinite map[op.TensorID]bool) error {
	var nodes []op.Node
	var free []op.TensorID
	kept := map[op.TensorID]bool{} // inputs of the caller, and constants
	for _, d := range slices.Concat(p.p.Inputs, p.p.Consts) {
		kept[d.ID] = true
	}
	outs, found := slices.Clone(p.outs), make([]bool, len(p.outs))
	for i, id := range p.p.Outputs {
		d := p.outs[i]
		d.ID = at[id].ID
		n := s.dev.copyOf(d)
		n.Outputs[0].ID = r.Outputs[i]
		nodes = append(nodes, *n)
		outs[i].ID, found[i] = r.Outputs[i], nonFinite[id]
		if !kept[id] {
			kept[id] = true
			free = append(free, at[id].ID)
		}
	}
	for i, given := range r.Donated {
		if given {
			free = append(free, r.Inputs[i])
		}
	}
	if err := s.inner.Submit(nodes, free); err != nil {
		return err
	}
	s.learn(m, outs, found)
	if k := len(outs) - 1; k >= 0 {
		_ = s.fetch(outs[k]) // the read only ensures that the constants are no longer in use
	}
	return nil
}
