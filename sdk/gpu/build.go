package gpu

import (
	"errors"
	"fmt"
	"slices"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/core/program/group"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/sdk/gpu/ir"
	"github.com/goburn/burn/sdk/gpu/lower"
	"github.com/goburn/burn/sdk/gpu/narrow"
	"github.com/goburn/burn/sdk/gpu/template"
)

// builder creates a plan of a program in which all nodes have kernels.
type builder struct {
	d       *device
	g       *group.Graph
	of      []*group.Group // by node: its group
	at      map[op.TensorID]tensor
	buffers []buffer
	steps   []step
	kernels []*ir.Kernel // by step; nil for steps that launch none
	pairs   []pair
	copies  map[packing]tensor
	placed  map[op.TensorID]tensor  // places of results that are parts of a concatenation
	joined  map[*group.Group]tensor // concatenations whose parts are written in place
	own     bool                    // libraries are not asked
	lasts   bool                    // convolutions write their results with channels last, where a library accepts that
	draft   *draft                  // not nil: no plan is made; only the kernels and libraries that a plan needs are found
	zeros   map[int]int             // the distance between lines, by buffer, for buffers whose lines are padded with zeros
	folds   bool                    // groups that depend on constants alone are computed once
}

// kind is the owner of a buffer's memory.
type kind uint8

const (
	isTemp     kind = iota // part of the queue's scratch memory
	isInput                // bound by each run
	isOutput               // allocated by each run
	isConstant             // owned by the plan
	isEarly                // computed from constants, then a constant itself
	isWord                 // word in which a run reports indices out of range
)

// buffer is memory that steps read or write.
type buffer struct {
	kind  kind
	index int    // index of the input or output
	block *block // block of a constant
	bytes int64
	// first and last are the first and last step of the buffer's lifetime, none if no step uses it.
	first, last int
	offset      int64 // offset of a temporary in the scratch memory
	root        int   // the buffer whose memory it uses: itself, if it has memory of its own
}

// pair is an operand of a step and a result that may reuse its memory.
type pair struct{ step, in, out int }

// step is one piece of work of a plan.
type step struct {
	fn   Function
	grid [3]int
	args []arg
	copy *copyStep
	call *callStep
	// early reports whether the step computes constants.
	early bool
	// starts is the first block of each member of a batched kernel.
	starts []int32
	// group is the group that the step computes, alone or with other steps. node is the node after which errors name the step.
	group *group.Group
	node  *op.Node
}

// arg is an argument of a launch: a place in a buffer, or the bits of a scalar where buffer is none.
type arg struct {
	buffer int
	offset int64
	bits   uint64
}

// none is no buffer.
const none = -1

// copyStep copies bytes between buffers.
type copyStep struct {
	dst, src arg
	bytes    int64
}

// each calls f with every argument of a step.
func (st *step) each(f func(a *arg)) {
	for k := range st.args {
		f(&st.args[k])
	}
	if c := st.copy; c != nil {
		f(&c.dst)
		f(&c.src)
	}
	if c := st.call; c != nil {
		for k := range c.args {
			f(&c.args[k])
		}
		f(&c.workspace)
	}
}

// newBuilder returns a builder for a program, and its groups.
func newBuilder(d *device, p *program.Program) (*builder, []*group.Group) {
	g := group.NewGraph(p)
	b := &builder{d: d, g: g, of: make([]*group.Group, len(p.Nodes)), at: make(map[op.TensorID]tensor, len(p.Nodes))}
	groups := g.Decide(d.policy)
	for _, x := range groups {
		for _, k := range x.Nodes() {
			b.of[k] = x
		}
	}
	for i, desc := range p.Inputs {
		b.at[desc.ID] = contiguous(b.add(buffer{kind: isInput, index: i, bytes: int64(desc.Bytes())}), desc)
	}
	b.place(groups)
	return b, groups
}

func (b *builder) add(x buffer) int {
	x.first, x.last, x.root = none, none, len(b.buffers)
	b.buffers = append(b.buffers, x)
	return x.root
}

// constant makes tensor d a constant whose elements are in block x. The plan becomes a holder of x.
func (b *builder) constant(d op.Desc, x *block) {
	b.d.pool.fix(x)
	b.at[d.ID] = contiguous(b.add(buffer{kind: isConstant, block: x, bytes: int64(d.Bytes())}), d)
}

// groups creates the steps of all groups, which are in an order of execution.
func (b *builder) groups(all []*group.Group) error {
	for _, x := range all {
		if err := b.group(x); err != nil {
			return err
		}
	}
	return nil
}

// group creates the steps of a group.
func (b *builder) group(x *group.Group) error {
	if b.asView(x) || b.asNumber(x) {
		return nil
	}
	if t, joined := b.joined[x]; joined && b.anyPlaced(x, t) {
		return b.join(x, t)
	}
	done, err := b.call(x)
	if !done && err == nil && b.lasts {
		done, err = b.channelsLast(x)
	}
	if !done && err == nil {
		if err = b.lower(x); err != nil {
			return b.divided(x, err)
		}
	}
	if err != nil {
		return nodeError(b.node(x), err)
	}
	return nil
}

// divided creates the steps of a group without a kernel, part by part. err says why there is no kernel.
func (b *builder) divided(x *group.Group, err error) error {
	if errors.Is(err, core.ErrUnsupported) {
		if parts := b.parts(x); len(parts) > 0 {
			return b.groups(parts)
		}
	}
	return nodeError(b.node(x), err)
}

// nodeError adds the name of node n to err, unless err names a node already.
func nodeError(n *op.Node, err error) error {
	if named := (*core.NodeError)(nil); errors.As(err, &named) {
		return err
	}
	return &core.NodeError{Op: n.Op.String(), Outputs: n.Outputs, Err: err}
}

// node returns the node after which a group is named.
func (b *builder) node(x *group.Group) *op.Node {
	if x.Anchor != group.None {
		return &b.g.Nodes[x.Anchor]
	}
	return &b.g.Nodes[x.Epilogue[len(x.Epilogue)-1]]
}

// lower creates the steps of a group with generated kernels.
func (b *builder) lower(x *group.Group) error {
	l, err := b.lowered(x)
	if err != nil {
		return err
	}
	return b.work(x, l.work, l.slots, l.early)
}

// lowered is a group whose kernels are built, with the memory that they read and write.
type lowered struct {
	group *group.Group
	work  ir.Work
	slots []arg
	early bool
}

// lowered builds the kernels of a group and assigns memory to its results.
func (b *builder) lowered(x *group.Group) (l lowered, err error) {
	empty := true
	for _, d := range x.Outputs {
		empty = empty && d.Shape.Size() == 0
	}
	k := isTemp
	if b.early(x) {
		k = isEarly
	}
	var in, out []template.Operand
	var slots []arg
	var work ir.Work
	if !empty {
		for i, id := range x.Inputs {
			t := b.at[id]
			if t.buffer != none && !b.takes(x, i, b.g.Desc(id), t) {
				if t, err = b.packed(x, b.g.Desc(id), t, nil); err != nil {
					return l, err
				}
			}
			in = append(in, template.Operand{Type: b.g.Desc(id).DType, View: t.view})
			slots = append(slots, arg{buffer: t.buffer})
		}
		for _, d := range x.Outputs {
			out = append(out, template.Operand{Type: d.DType, View: b.written(x, d, k).view})
		}
		if work, err = lower.Group(b.d.target, b.g, x, in, out); err != nil {
			return l, err
		}
		if err = b.fits(work); err != nil {
			return l, err
		}
	}
	for _, d := range x.Outputs {
		t, placed := b.placed[d.ID]
		if !placed || k == isEarly || empty {
			if t = b.written(x, d, k); t.view.IsContiguous() {
				t.buffer = b.add(buffer{kind: k, bytes: int64(d.Bytes())})
			} else if t, err = b.zeroed(x, d, t.view); err != nil {
				return l, err
			}
		}
		b.at[d.ID] = t
		slots = append(slots, b.argOf(t, d.DType))
	}
	return lowered{x, work, slots, k == isEarly}, nil
}

// fits returns an error that wraps ErrUnsupported if a kernel has more buffers than the hardware binds.
func (b *builder) fits(w ir.Work) error {
	most := b.d.target.Buffers
	for i := range w.Launches {
		n, k := 0, w.Launches[i].Kernel
		for _, p := range k.Params {
			if p.IsBuffer() {
				n++
			}
		}
		if most > 0 && n > most {
			return fmt.Errorf("kernel %s: %d buffers, at most %d: %w", k.Name, n, most, core.ErrUnsupported)
		}
	}
	return nil
}

// packed returns a copy of t for group x. The elements of the copy are in row-major order after a permutation of the axes; nil axes keep
// their order. A copy that was made before is returned again. Constants of a program are copied when the program is compiled.
func (b *builder) packed(x *group.Group, d op.Desc, t tensor, axes []int) (tensor, error) {
	if axes == nil {
		for i := range d.Shape {
			axes = append(axes, i)
		}
	}
	key := packing{t.buffer, fmt.Sprint(d.DType, t.view, axes)}
	if p, done := b.copies[key]; done {
		return p, nil
	}
	from := t.view.Permute(axes)
	k := isTemp
	if from := b.buffers[t.buffer].kind; b.folds && (from == isConstant || from == isEarly) {
		k = isEarly
	}
	v := shape.Contiguous(from.Shape)
	buffer := b.add(buffer{kind: k, bytes: int64(d.Bytes())})
	if err := b.copyTo(x, d, tensor{t.buffer, from}, tensor{buffer, v}); err != nil {
		return t, err
	}
	if b.copies == nil {
		b.copies = map[packing]tensor{}
	}
	to := tensor{buffer, v.Permute(inverse(axes))}
	b.copies[key] = to
	return to, nil
}

// copying returns a program of one copy, and its group.
func copying(d op.Desc) (*group.Graph, *group.Group, error) {
	d.ID = 1
	n, err := op.New(op.Copy, []op.Desc{d})
	if err != nil {
		return nil, nil, err
	}
	n.Inputs, n.Outputs[0].ID = []op.TensorID{1}, 2
	g := group.NewGraph(&program.Program{Inputs: []op.Desc{d}, Nodes: []op.Node{n}, Outputs: []op.TensorID{2}})
	return g, g.Decide(group.Policy{})[0], nil
}

// packing identifies a copy that was made: its source, and the type, view and order of axes.
type packing struct {
	buffer int
	how    string
}

// work appends the launches of w. slots are the places of its operands and results, in order.
func (b *builder) work(x *group.Group, w ir.Work, slots []arg, early bool) error {
	for i, n := range w.Temps {
		k := isTemp
		if i == 0 && w.Fault {
			k = isWord
		}
		slots = append(slots, arg{buffer: b.add(buffer{kind: k, bytes: n})})
	}
	for i := range w.Launches {
		l, err := b.placedAt(w.Launches[i], slots)
		if err != nil {
			return err
		}
		st := step{grid: l.Grid, group: x, node: b.node(x), early: early, args: make([]arg, len(l.Args))}
		for k, a := range l.Args {
			st.args[k] = arg{buffer: none, bits: a.Bits}
			if l.Kernel.Params[k].IsBuffer() {
				st.args[k] = arg{buffer: slots[a.Slot].buffer, offset: a.Offset}
			}
		}
		b.steps, b.kernels = append(b.steps, st), append(b.kernels, l.Kernel)
	}
	if len(w.Launches) == 1 {
		b.inPlace(x, len(b.steps)-1, nil)
	}
	return nil
}

// placedAt returns a launch in the form that the hardware runs. Its offsets count from the beginnings of the buffers in slots.
func (b *builder) placedAt(l ir.Launch, slots []arg) (ir.Launch, error) {
	if len(l.Args) != len(l.Kernel.Params) {
		return l, fmt.Errorf("kernel %s: %d arguments, want %d: %w", l.Kernel.Name, len(l.Args), len(l.Kernel.Params), core.ErrKernel)
	}
	l.Args = slices.Clone(l.Args)
	for k := range l.Args {
		if l.Kernel.Params[k].IsBuffer() {
			l.Args[k].Offset += slots[l.Args[k].Slot].offset
		}
	}
	return narrow.Launch(b.d.words, l)
}

// inPlace pairs the results of an elementwise group with operands of the same shape and element size: a thread reads an element of the
// operand before it writes the element of the result at the same address. taken, if set, reports whether other works of the same step read
// a buffer.
func (b *builder) inPlace(x *group.Group, at int, taken func(buffer int) bool) {
	switch {
	case b.d.target.Apart:
		return
	case x.Kind == group.Elementwise:
	case x.Kind == group.Single && op.Lookup(b.g.Nodes[x.Anchor].Op).Traits.Has(op.Elementwise):
	default:
		return
	}
	for _, d := range x.Outputs {
		for _, id := range x.Inputs {
			in := b.g.Desc(id)
			t := b.at[id]
			if _, made := b.at[d.ID]; !made {
				continue // this step is a copy of an operand, and the result of the group has no place yet
			}
			to := b.at[d.ID]
			if b.d.words.Words && d.DType.Size() < 4 {
				continue // a thread would read a word of which another thread writes a part
			}
			if t.buffer == none || in.DType.Size() != d.DType.Size() || !in.Shape.Equal(d.Shape) || t.view.Offset != 0 || !slices.Equal(t.view.Strides, to.view.Strides) ||
				b.buffers[t.buffer].bytes != int64(d.Bytes()) || b.seenTwice(x, id) || taken != nil && taken(t.buffer) {
				continue
			}
			b.alias(at, t.buffer)
			b.pairs = append(b.pairs, pair{at, t.buffer, to.buffer})
		}
	}
}

// alias records that the kernel of a step writes a buffer that the kernel also reads. A kernel with one result needs no mark, because a
// thread reads each element at the address where it writes.
func (b *builder) alias(at, buffer int) {
	k := *b.kernels[at]
	results, read := 0, map[string]bool{}
	for _, p := range k.Params {
		if p.Access&ir.Write != 0 {
			results++
		}
	}
	for i, p := range k.Arguments() { // for a batched kernel: the arguments of all members
		if p.IsBuffer() && p.Access&ir.Write == 0 && b.steps[at].args[i].buffer == buffer {
			read[p.Name] = true
		}
	}
	if results < 2 {
		return
	}
	k.Params = slices.Clone(k.Params)
	for i := range k.Params {
		k.Params[i].Aliased = k.Params[i].Aliased || read[k.Params[i].Name]
	}
	b.kernels[at] = &k
}

// seenTwice reports whether a group reads the buffer of id under another view too.
func (b *builder) seenTwice(x *group.Group, id op.TensorID) bool {
	for _, other := range x.Inputs {
		if other != id && b.at[other].buffer == b.at[id].buffer {
			return true
		}
	}
	return false
}
