package gpu

import (
	"context"
	"errors"
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/core/program/group"
	"github.com/goburn/burn/sdk/gpu/ir"
	"github.com/goburn/burn/sdk/gpu/lower"
	"github.com/goburn/burn/sdk/gpu/template"
)

// builder makes a plan of a program that has only nodes with kernels.
type builder struct {
	d       *device
	g       *group.Graph
	of      []*group.Group // by node: the group that it is in
	at      map[op.TensorID]tensor
	buffers []buffer
	steps   []step
	kernels []*ir.Kernel // by step; nil for steps that launch none
	pairs   []pair
}

// kind says whose memory a buffer is.
type kind uint8

const (
	isTemp     kind = iota // of the queue's scratch memory
	isInput                // bound by each run
	isOutput               // made by each run
	isConstant             // of the plan
	isWord                 // by which a run reports indices out of range
)

// buffer is memory that steps use.
type buffer struct {
	kind  kind
	index int    // of the input or output
	block *block // of a constant
	bytes int64
	// first and last are the steps between which the contents matter; last is -1 where no step uses it.
	first, last int
	offset      int64 // of a temporary in the scratch memory
	root        int   // the buffer whose memory it takes, itself if it has its own
}

// pair is an operand of a step and a result that may take its memory.
type pair struct{ step, in, out int }

// step is one piece of work of a plan.
type step struct {
	fn   Function
	grid [3]int
	args []arg
	copy *copyStep
	fill *fillStep
	// group is what the step computes, with others perhaps, and node the first node of it.
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

// fillStep fills a buffer with a pattern of four bytes.
type fillStep struct {
	dst     arg
	bytes   int64
	pattern uint32
}

// newBuilder decides about groups.
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
	return b, groups
}

func (b *builder) add(x buffer) int {
	x.first, x.last, x.root = none, none, len(b.buffers)
	b.buffers = append(b.buffers, x)
	return x.root
}

// constant makes id a constant, whose block the plan will hold.
func (b *builder) constant(d op.Desc, x *block) {
	b.at[d.ID] = contiguous(b.add(buffer{kind: isConstant, block: x, bytes: int64(d.Bytes())}), d)
}

// group makes the steps of a group.
func (b *builder) group(x *group.Group) error {
	if b.asView(x) || b.asNumber(x) {
		return nil
	}
	err := b.lower(x)
	if nodes := x.Nodes(); errors.Is(err, core.ErrUnsupported) && len(nodes) > 1 {
		for _, k := range nodes {
			single := b.single(k)
			b.of[k] = single
		}
		for _, k := range nodes {
			if err := b.group(b.of[k]); err != nil {
				return err
			}
		}
		return nil
	}
	if err != nil {
		return &core.NodeError{Op: b.node(x).Op.String(), Outputs: x.Outputs, Err: err}
	}
	return nil
}

// single is the group of one node.
func (b *builder) single(k int) *group.Group {
	n := &b.g.Nodes[k]
	x := &group.Group{Anchor: k, Outputs: n.Outputs, At: k}
	seen := map[op.TensorID]bool{}
	for _, id := range n.Inputs {
		if !seen[id] {
			seen[id] = true
			x.Inputs = append(x.Inputs, id)
		}
	}
	return x
}

// node is what a group is named by.
func (b *builder) node(x *group.Group) *op.Node {
	if x.Anchor != group.None {
		return &b.g.Nodes[x.Anchor]
	}
	return &b.g.Nodes[x.Epilogue[len(x.Epilogue)-1]]
}

// lower makes the steps of a group by kernels of our own.
func (b *builder) lower(x *group.Group) error {
	empty := true
	for _, d := range x.Outputs {
		empty = empty && d.Shape.Size() == 0
	}
	var in, out []template.Operand
	var slots []int
	for _, id := range x.Inputs {
		t := b.at[id]
		in = append(in, template.Operand{Type: b.g.Desc(id).DType, View: t.view})
		slots = append(slots, t.buffer)
	}
	var work ir.Work
	if !empty {
		for _, d := range x.Outputs {
			out = append(out, template.Operand{Type: d.DType, View: contiguous(0, d).view})
		}
		var err error
		if work, err = lower.Group(b.d.target, b.g, x, in, out); err != nil {
			return err
		}
	}
	for _, d := range x.Outputs {
		t := contiguous(b.add(buffer{bytes: int64(d.Bytes())}), d)
		b.at[d.ID] = t
		slots = append(slots, t.buffer)
	}
	return b.work(x, work, slots)
}

// work appends the launches of work, whose first slots are given.
func (b *builder) work(x *group.Group, w ir.Work, slots []int) error {
	for i, n := range w.Temps {
		k := isTemp
		if i == 0 && w.Fault {
			k = isWord
		}
		slots = append(slots, b.add(buffer{kind: k, bytes: n}))
	}
	first := len(b.steps)
	for i := range w.Launches {
		l := &w.Launches[i]
		st := step{grid: l.Grid, group: x, node: b.node(x), args: make([]arg, len(l.Args))}
		if len(l.Args) != len(l.Kernel.Params) {
			return fmt.Errorf("kernel %s: %d arguments, want %d: %w", l.Kernel.Name, len(l.Args), len(l.Kernel.Params), core.ErrKernel)
		}
		for k, a := range l.Args {
			st.args[k] = arg{buffer: none, bits: a.Bits}
			if l.Kernel.Params[k].IsBuffer() {
				st.args[k] = arg{buffer: slots[a.Slot], offset: a.Offset}
			}
		}
		b.steps, b.kernels = append(b.steps, st), append(b.kernels, l.Kernel)
	}
	if len(w.Launches) == 0 {
		return nil
	}
	for _, s := range slots {
		b.live(s, first, len(b.steps)-1)
	}
	if len(w.Launches) == 1 {
		b.inPlace(x, first)
	}
	return nil
}

// live says that the contents of a buffer matter in steps first to last.
func (b *builder) live(s, first, last int) {
	if s == none {
		return
	}
	x := &b.buffers[s]
	if x.first == none {
		x.first = first
	}
	x.last = max(x.last, last)
}

// inPlace pairs the results of an elementwise group with operands of the same type and shape: a thread reads an element before it
// writes the one in its place.
func (b *builder) inPlace(x *group.Group, at int) {
	switch {
	case x.Kind == group.Elementwise:
	case x.Kind == group.Single && op.Lookup(b.g.Nodes[x.Anchor].Op).Traits.Has(op.Elementwise):
	default:
		return
	}
	for _, d := range x.Outputs {
		for _, id := range x.Inputs {
			in := b.g.Desc(id)
			t := b.at[id]
			if t.buffer == none || in.DType.Size() != d.DType.Size() || !in.Shape.Equal(d.Shape) || !t.whole() || b.buffers[t.buffer].bytes != int64(d.Bytes()) || b.seenTwice(x, id) {
				continue
			}
			b.pairs = append(b.pairs, pair{at, t.buffer, b.at[d.ID].buffer})
		}
	}
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

// build makes the plan of a program, whose constants have the given blocks, in order; the plan takes a holder of each that it
// needs.
func (d *device) build(ctx context.Context, p *program.Program, consts []*block) (*plan, error) {
	b, groups := newBuilder(d, p)
	for i, desc := range p.Consts {
		b.constant(desc, consts[i])
	}
	for _, x := range groups {
		if err := b.group(x); err != nil {
			return nil, err
		}
	}
	return b.plan(ctx)
}
