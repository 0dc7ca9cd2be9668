package gpu

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/core/program/group"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/sdk/gpu/lower"
)

// callStep is a step that a library computes, with the first candidate that accepts the addresses of the operands. If none does, generated
// kernels compute it.
type callStep struct {
	candidates []Candidate
	args       []arg
	result     int // index of the argument that the call writes
	workspace  arg
	fallback   *fallback
}

// fallback replaces a library call: it computes the same result with generated kernels, which are built when they are first needed. The
// program of the fallback has the inputs and the one output of the call.
type fallback struct {
	device  *device
	program *program.Program
	in      []tensor // places of the inputs in the buffers of the call's plan
	out     tensor   // the place of the output
	at      int64    // the first byte of the output

	once sync.Once
	plan *plan
	err  error
}

// get returns the plan of the fallback. The inputs of the plan are views, as in the call.
func (s *fallback) get() (*plan, error) {
	s.once.Do(func() {
		b, groups := newBuilder(s.device, s.program)
		b.own = true
		for i, d := range s.program.Inputs {
			t := b.at[d.ID]
			t.view = s.in[i].view
			b.at[d.ID] = t
		}
		if s.err = b.groups(groups); s.err != nil {
			return
		}
		out := s.program.Outputs[0]
		p := &plan{device: b.d, name: b.g.Name, graph: b.g, inputs: b.g.Inputs}
		t := b.at[out]
		if !slices.Equal(t.view.Strides, s.out.view.Strides) {
			if t, s.err = b.packed(groups[len(groups)-1], b.g.Desc(out), t, order(s.out.view)); s.err != nil {
				return
			}
		}
		if want := s.out.view; !slices.Equal(t.view.Strides, want.Strides) { // padded lines
			to := tensor{b.add(buffer{bytes: extent(want) * int64(b.g.Desc(out).DType.Size())}), shape.View{Shape: want.Shape, Strides: want.Strides}}
			if s.err = b.copyTo(groups[len(groups)-1], b.g.Desc(out), t, to); s.err != nil {
				return
			}
			t = to
		}
		p.outputs = []output{{t.buffer, b.g.Desc(out)}}
		s.plan, s.err = p, b.finish(context.Background(), p)
	})
	return s.plan, s.err
}

// maxWorkspace is the largest workspace that a candidate may need, in bytes.
const maxWorkspace = 1 << 30

// answer holds the candidates of the libraries for a problem, once the libraries were queried.
type answer struct {
	once sync.Once
	all  []Candidate
}

// key returns a comparable value that is equal for equal problems.
func (o *offered) key() any {
	switch {
	case o.product != nil:
		return *o.product
	case o.convolution != nil:
		return fmt.Sprintf("%+v", *o.convolution)
	}
	return *o.attention
}

// candidates returns the candidates of the libraries, best first, and caches them. Queries for different problems run at the same
// time.
func (d *device) candidates(o *offered) []Candidate {
	key := o.key()
	d.asking.Lock()
	a := d.asked[key]
	if a == nil {
		a = new(answer)
		d.asked[key] = a
	}
	d.asking.Unlock()
	a.once.Do(func() { a.all = d.ask(o) })
	d.asking.Lock()
	defer d.asking.Unlock()
	return slices.DeleteFunc(slices.Clone(a.all), func(c Candidate) bool { return d.faulty[c] })
}

// ask queries the libraries.
func (d *device) ask(o *offered) (all []Candidate) {
	for _, l := range d.libraries {
		var cs []Candidate
		var err error
		switch {
		case o.product != nil:
			cs, err = l.Product(*o.product)
		case o.convolution != nil:
			cs, err = l.Convolution(*o.convolution)
		default:
			cs, err = l.Attention(*o.attention)
		}
		if err != nil {
			d.count(func(s *Stats) { s.Refusals++ })
			continue
		}
		for _, c := range cs {
			if c.Workspace() <= maxWorkspace {
				all = append(all, c)
				continue
			}
			c.Close()
		}
	}
	return all
}

// blame excludes a candidate from further use after a call of it failed.
func (d *device) blame(c Candidate) {
	d.asking.Lock()
	d.faulty[c] = true
	d.asking.Unlock()
}

// closeCandidates closes all candidates.
func (d *device) closeCandidates() {
	d.asking.Lock()
	defer d.asking.Unlock()
	for _, a := range d.asked {
		for _, c := range a.all {
			c.Close()
		}
	}
	d.asked = nil
}

// call computes x with a library call, if a library has a candidate for it, and computes the nodes that the library does not cover with
// generated kernels.
func (b *builder) call(x *group.Group) (done bool, err error) {
	if b.own || len(b.d.libraries) == 0 || !b.lasts && b.ahead(x) {
		return false, nil
	}
	var o *offered
	var cs []Candidate
	for most := len(x.Epilogue); len(cs) == 0; most = len(x.Epilogue) - len(o.rest) - 1 { // with a shorter epilogue, if the library lacks the present epilogue
		if most < 0 {
			return false, nil
		}
		if o = b.offer(x, most); o == nil {
			return false, nil
		}
		if o.convolution != nil && b.lasts {
			if cs, err = b.offerLast(x, o); err != nil {
				return false, err
			}
		}
		if o.product != nil {
			if cs, err = b.offerPadded(x, o); err != nil {
				return false, err
			}
		}
		if len(cs) == 0 {
			cs = b.candidates(o)
		}
	}
	if t, placed := b.placed[o.out.ID]; placed && o.view.IsContiguous() {
		b.at[o.out.ID] = t
	} else {
		b.at[o.out.ID] = tensor{b.add(buffer{bytes: o.bytes()}), o.view}
	}
	c := &callStep{candidates: cs, workspace: arg{buffer: none}}
	for _, t := range o.from {
		c.args = append(c.args, b.argOf(t, o.out.DType))
	}
	c.result = len(c.args)
	c.args = append(c.args, b.argOf(b.at[o.out.ID], o.out.DType))
	for _, id := range []op.TensorID{o.bias, o.residual} {
		if id != 0 {
			c.args = append(c.args, b.argOf(b.at[id], b.g.Desc(id).DType))
		}
	}
	size := int64(0)
	for _, k := range cs {
		size = max(size, k.Workspace())
	}
	if size > 0 {
		c.workspace.buffer = b.add(buffer{bytes: size})
	}
	part := b.part(x, o)
	c.fallback = b.fallback(part, o.out)
	if b.draft == nil {
		b.d.count(func(s *Stats) { s.LibraryCalls++ })
	}
	b.steps = append(b.steps, step{call: c, group: part, node: b.node(x)})
	b.kernels = append(b.kernels, nil)
	if len(o.rest) > 0 {
		return true, b.group(b.following(o))
	}
	return true, nil
}

// ahead reports whether the anchor of x is a convolution with kernels that are faster than libraries, with its operands in their present
// layout.
func (b *builder) ahead(x *group.Group) bool {
	if x.Anchor == group.None || b.g.Nodes[x.Anchor].Op != op.Conv {
		return false
	}
	in := b.g.Nodes[x.Anchor].Inputs
	return lower.Direct(b.d.target, b.g, x.Anchor, b.at[in[0]].view, b.at[in[1]].view)
}

// argOf returns the place at which a tensor begins.
func (b *builder) argOf(t tensor, d dtype.DType) arg {
	return arg{buffer: t.buffer, offset: int64(t.view.Offset * d.Size())}
}

// part returns the group of the nodes of x that a library computes.
func (b *builder) part(x *group.Group, o *offered) *group.Group {
	p := &group.Group{Kind: x.Kind, Anchor: x.Anchor, Epilogue: x.Epilogue[:len(x.Epilogue)-len(o.rest)], Outputs: []op.Desc{o.out}, At: x.At}
	if len(p.Epilogue) == 0 {
		p.Kind = group.Single
	}
	p.Inputs = b.reads(p.Nodes())
	return p
}

// following returns the group of the nodes of an offer that a library does not compute.
func (b *builder) following(o *offered) *group.Group {
	r := b.subset(o.rest)
	for _, k := range o.rest {
		b.of[k] = r
	}
	return r
}

// reads returns the tensors that nodes read and do not compute, each once.
func (b *builder) reads(nodes []int) []op.TensorID {
	var all []op.TensorID
	made := map[op.TensorID]bool{}
	for _, k := range nodes {
		n := &b.g.Nodes[k]
		for _, id := range n.Inputs {
			if !made[id] && !slices.Contains(all, id) {
				all = append(all, id)
			}
		}
		for _, d := range n.Outputs {
			made[d.ID] = true
		}
	}
	return all
}

// fallback returns the fallback for part x.
func (b *builder) fallback(x *group.Group, out op.Desc) *fallback {
	p := &program.Program{Name: b.g.Name, Outputs: []op.TensorID{out.ID}}
	s := &fallback{device: b.d, program: p, out: b.at[out.ID], at: b.argOf(b.at[out.ID], out.DType).offset}
	for _, id := range x.Inputs {
		p.Inputs = append(p.Inputs, b.g.Desc(id))
		s.in = append(s.in, b.at[id])
	}
	for _, k := range x.Nodes() {
		p.Nodes = append(p.Nodes, b.g.Nodes[k])
	}
	return s
}

// ready chooses a candidate for a call whose operands changed: the first candidate that accepts them, beginning with the present candidate.
// It returns false when no candidate is left.
func (f *frame) ready(q *queue, i int) bool {
	c := f.steps[i].Call
	all := f.plan.steps[f.from[i]].call.candidates
	for k := f.choice[f.from[i]]; k < len(all); k++ {
		if all[k].Ready(c.Args) == nil {
			if c.Candidate != all[k] {
				c.Candidate = all[k]
				f.drop(q)
			}
			f.choice[f.from[i]] = k
			return true
		}
		q.device.count(func(s *Stats) { s.Refusals++ })
	}
	return false
}

// failedCall replaces a candidate that failed by the next candidate, or by generated kernels.
func (f *frame) failedCall(q *queue, i int) {
	q.device.blame(f.steps[i].Call.Candidate)
	q.device.count(func(s *Stats) { s.Refusals++ })
	f.choice[f.from[i]]++
	f.changed = append(f.changed, i)
	f.drop(q)
}
