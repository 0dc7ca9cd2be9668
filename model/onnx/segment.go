package onnx

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/model/onnx/pb"
)

// segment is a program under construction.
type segment struct {
	nodes  []op.Node
	owners []*pb.Node // the ONNX node that each node comes from
	inputs []op.Desc
	refs   []ref // slot or constant of each program input
	consts []op.Desc
	bound  []*data // data of each program constant
	ids    map[*data]op.TensorID
	fills  map[string]op.TensorID
	last   op.TensorID
}

func newSegment() *segment {
	return &segment{ids: map[*data]op.TensorID{}, fills: map[string]op.TensorID{}}
}

func (s *segment) next() op.TensorID {
	s.last++
	return s.last
}

// splitAt is the least number of nodes for which a segment ends before the next node of the graph. Longer programs are possible, but a
// program starts only after all of its nodes were added.
const splitAt = 4096

// use returns the id of d in the segment, after adding d to the inputs or constants if needed.
func (t *tracer) use(d *data) op.TensorID {
	s := t.seg
	if d.seg == s {
		return d.id
	}
	if id, ok := s.ids[d]; ok {
		return id
	}
	desc := d.desc()
	switch {
	case d.constant && d.host == nil && d.dev == nil:
		return t.useFill(d)
	case d.constant:
		desc.ID = s.next()
		s.consts, s.bound = append(s.consts, desc), append(s.bound, d)
	case d.bound:
		desc.ID = s.next()
		s.inputs, s.refs = append(s.inputs, desc), append(s.refs, ref{constant: d})
	case d.slot >= 0 && t.slots[d.slot] == d:
		desc.ID = s.next()
		s.inputs, s.refs = append(s.inputs, desc), append(s.refs, ref{slot: d.slot})
	default:
		t.throw(fmt.Errorf("internal: a value of %v was released before its last use", desc))
	}
	s.ids[d] = desc.ID
	return desc.ID
}

// useFill emits a constant that is one repeated number as a node, which a backend can optimise better than a constant.
func (t *tracer) useFill(d *data) op.TensorID {
	s := t.seg
	attrs := op.Attrs{{Name: "value", Value: d.fill}, op.Type("dtype", d.dtype), op.Dims("shape", d.shape)}
	key := attrs.String()
	id, ok := s.fills[key]
	if !ok {
		n, err := op.New(op.Full, nil, attrs...)
		if err != nil {
			t.throw(err)
		}
		id = s.next()
		n.Outputs[0].ID = id
		t.append(n)
		s.fills[key] = id
		t.report.count(t.s, &n, nil)
	}
	s.ids[d] = id
	return id
}

// record appends a node to the segment.
func (t *tracer) record(n op.Node) []value {
	if t.report != nil {
		in := make([]op.Desc, len(n.Inputs))
		for i, id := range n.Inputs {
			in[i] = t.seg.desc(id)
		}
		t.report.count(t.s, &n, in)
	}
	out := make([]value, len(n.Outputs))
	for i := range n.Outputs {
		n.Outputs[i].ID = t.seg.next()
		d := t.newData(n.Outputs[i].DType, n.Outputs[i].Shape)
		d.seg, d.id = t.seg, n.Outputs[i].ID
		out[i] = tensorOf(d)
	}
	t.append(n)
	t.hold(out...)
	return out
}

func (t *tracer) append(n op.Node) {
	t.take(nodeBytes)
	t.stays += nodeBytes
	var owner *pb.Node
	if len(t.frames) > 0 {
		owner = t.frames[len(t.frames)-1].node
	}
	t.seg.nodes, t.seg.owners = append(t.seg.nodes, n), append(t.seg.owners, owner)
}

// refused wraps the error of a program that could not be compiled, and adds the name of the ONNX node whose op the device cannot execute.
func (t *tracer) refused(s *segment, err error) error {
	if !errors.Is(err, core.ErrUnsupported) {
		return err
	}
	last := s.last
	for i := range s.nodes {
		n := s.nodes[i]
		in := make([]op.Desc, len(n.Inputs))
		for k, id := range n.Inputs {
			in[k] = s.desc(id)
		}
		_, _, cause := program.LowerNode(t.s.dev.Target(), &n, in, func() op.TensorID { last++; return last })
		if o := s.owners[i]; cause != nil && o != nil {
			return &NodeError{Op: opKey{canonical(o.Domain), o.OpType}.String(), Node: nameOf(o), Err: cause}
		}
	}
	return err
}

func (s *segment) desc(id op.TensorID) op.Desc {
	for _, ds := range [][]op.Desc{s.inputs, s.consts} {
		for _, d := range ds {
			if d.ID == id {
				return d
			}
		}
	}
	for i := len(s.nodes) - 1; i >= 0; i-- {
		for _, d := range s.nodes[i].Outputs {
			if d.ID == id {
				return d
			}
		}
	}
	return op.Desc{}
}

// end closes the segment: extra and the values that are still needed are assigned slots, and the program becomes a step and runs.
func (t *tracer) end(extra ...*data) {
	keep := t.needed()
	for _, d := range extra {
		keep[d] = true
	}
	var outs []*data
	for d := range keep {
		if d.seg == t.seg {
			outs = append(outs, d)
		}
	}
	s := t.seg
	t.seg = newSegment()
	if len(outs) == 0 {
		return
	}
	sort.Slice(outs, func(i, k int) bool { return outs[i].id < outs[k].id })
	want := &step{kind: stepRun}
	still := t.open[:0]
	for _, i := range t.open {
		if keep[t.slots[i]] {
			still = append(still, i)
		} else {
			want.release = append(want.release, i)
		}
	}
	t.open = still
	for _, d := range outs {
		d.seg = nil
		want.out = append(want.out, t.place(d))
	}
	st := t.follow(want, func() error { return t.compile(s, want, outs) })
	for _, i := range st.release {
		t.slots[i] = nil
	}
	t.advance(st)
}

// place assigns the next slot of the run to d.
func (t *tracer) place(d *data) int {
	d.slot = len(t.slots)
	t.slots = append(t.slots, d)
	t.open = append(t.open, d.slot)
	return d.slot
}

// compile builds and compiles the program of a step.
func (t *tracer) compile(s *segment, st *step, outs []*data) error {
	p := &program.Program{Name: t.s.model.Name(), Inputs: s.inputs, Consts: s.consts, Nodes: s.nodes}
	for _, d := range outs {
		p.Outputs = append(p.Outputs, d.id)
	}
	p = p.Live()
	used := map[op.TensorID]bool{}
	for i := range p.Nodes {
		for _, id := range p.Nodes[i].Inputs {
			used[id] = true
		}
	}
	p.Inputs, p.Consts = nil, nil
	for i, d := range s.inputs {
		if !used[d.ID] {
			continue
		}
		p.Inputs, st.in = append(p.Inputs, d), append(st.in, s.refs[i])
		if c := s.refs[i].constant; c != nil {
			t.keep(c, st)
		}
	}
	var consts []*data
	for i, d := range s.consts {
		if used[d.ID] {
			p.Consts, consts = append(p.Consts, d), append(consts, s.bound[i])
		}
	}
	st.donate()
	c, err := t.s.compile(t, p, consts)
	if err != nil {
		return t.refused(s, err)
	}
	st.program = c
	return nil
}

// keyOf returns a key that identifies a program with its constants.
func keyOf(p *program.Program, consts []*data) string {
	var b strings.Builder
	b.WriteString(p.String())
	for _, c := range consts {
		if c.host != nil && len(c.host) <= 64 && !c.shared {
			fmt.Fprintf(&b, "%x\n", c.host)
		} else {
			fmt.Fprintf(&b, "#%d\n", c.serial)
		}
	}
	sum := sha256.Sum256([]byte(b.String()))
	return string(sum[:])
}

// needed returns the live data that may still be used: values with a name in scope, and values held by conversions in progress.
func (t *tracer) needed() map[*data]bool {
	keep := map[*data]bool{}
	add := func(d *data) {
		if !d.constant {
			keep[d] = true
		}
	}
	for _, s := range t.scopes {
		for _, v := range s.env {
			v.leaves(add)
		}
	}
	for _, f := range t.frames {
		for _, vs := range append([][]value{f.in, f.held}, f.pinned...) {
			for _, v := range vs {
				v.leaves(add)
			}
		}
	}
	return keep
}

// hold keeps values alive until the conversion of the current node ends.
func (t *tracer) hold(vs ...value) {
	if len(t.frames) == 0 {
		return
	}
	if f := t.frames[len(t.frames)-1]; !f.manual {
		f.held = append(f.held, vs...)
	}
}

// pin replaces the values held by the conversion of the current node. Control flow uses it, because it would otherwise hold every value of
// every iteration. The lists must not change before the next call.
func (t *tracer) pin(vs ...[]value) {
	f := t.frames[len(t.frames)-1]
	f.manual, f.held, f.pinned = true, nil, vs
}
