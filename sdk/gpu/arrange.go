package gpu

import (
	"cmp"
	"context"
	"slices"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program/group"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// plan assigns memory to all buffers and has the kernels compiled.
func (b *builder) plan(ctx context.Context) (*plan, error) {
	p := &plan{device: b.d, name: b.g.Name, graph: b.g, inputs: b.g.Inputs}
	for _, id := range b.g.Outputs {
		if err := b.straight(id); err != nil {
			return nil, err
		}
		p.outputs = append(p.outputs, output{b.at[id].buffer, b.g.Desc(id)})
	}
	return p, b.finish(ctx, p)
}

// straight ensures that the elements of a result are in row-major order, by a copy if needed.
func (b *builder) straight(id op.TensorID) error {
	t, d := b.at[id], b.g.Desc(id)
	if t.whole() && b.buffers[t.buffer].bytes == int64(d.Bytes()) {
		return nil
	}
	k, _ := b.g.Maker(id)
	t, err := b.packed(b.of[k], d, t, nil)
	b.at[id] = t
	return err
}

// finish completes a plan whose outputs are known.
func (b *builder) finish(ctx context.Context, p *plan) error {
	b.outputs(p)
	b.lives()
	b.merge(p)
	p.scratch = b.arrange()
	if err := b.functions(ctx); err != nil {
		return err
	}
	for i := range b.steps {
		b.steps[i].each(func(a *arg) {
			if a.buffer != none {
				a.buffer = b.root(a.buffer)
			}
		})
		if c := b.steps[i].call; c != nil {
			for k := range c.fallback.in {
				c.fallback.in[k].buffer = b.root(c.fallback.in[k].buffer)
			}
			c.fallback.out.buffer = b.root(c.fallback.out.buffer)
		}
	}
	for i := range b.buffers {
		x := &b.buffers[i]
		if x.kind == isConstant && (x.last != none || b.returned(p, i)) {
			p.consts = append(p.consts, x.block.retain())
		}
		p.faults = p.faults || x.kind == isWord && x.last != none
	}
	p.buffers, p.steps = b.buffers, b.steps
	return nil
}

// maxApart is the largest workspace, in bytes, that shares no memory with the workspaces of neighbouring calls.
const maxApart = 64 << 20

// lives finds the lifetime of each buffer in steps. Buffers that a group reads and writes live during all its steps.
func (b *builder) lives() {
	for from := 0; from < len(b.steps); {
		to := from
		for to+1 < len(b.steps) && b.steps[to+1].group == b.steps[from].group {
			to++
		}
		for i := from; i <= to; i++ {
			b.steps[i].each(func(a *arg) {
				if a.buffer != none {
					b.buffers[a.buffer].live(from, to)
				}
			})
			if c := b.steps[i].call; c != nil {
				for _, t := range c.fallback.in {
					b.buffers[t.buffer].live(from, to)
				}
				if w := c.workspace.buffer; w != none && b.buffers[w].bytes <= maxApart { // calls nearby may run at the same time
					b.buffers[w].live(from, min(to+2, len(b.steps)-1))
				}
			}
		}
		from = to + 1
	}
}

func (x *buffer) live(first, last int) {
	if x.first == none {
		x.first = first
	}
	x.last = max(x.last, last)
}

// root returns the buffer whose memory buffer i uses.
func (b *builder) root(i int) int {
	for b.buffers[i].root != i {
		i = b.buffers[i].root
	}
	return i
}

// outputs turns the buffers that are returned into buffers that each run allocates.
func (b *builder) outputs(p *plan) {
	for k, o := range p.outputs {
		if x := &b.buffers[o.buffer]; x.kind == isTemp {
			x.kind, x.index = isOutput, k
			p.made = append(p.made, o.buffer)
		}
	}
}

func (b *builder) returned(p *plan, buffer int) bool {
	return slices.ContainsFunc(p.outputs, func(o output) bool { return o.buffer == buffer })
}

// merge lets results reuse the memory of operands that no later step reads: temporaries in the scratch memory, and donated inputs. An
// output may also reuse an input that is read for the last time before the output is written.
func (b *builder) merge(p *plan) {
	for _, x := range b.pairs {
		in, out := b.root(x.in), b.root(x.out)
		i, o := &b.buffers[in], &b.buffers[out]
		if in == out || i.kind != isTemp || i.last != x.step || o.first != x.step || i.bytes != o.bytes || o.kind != isTemp && o.kind != isOutput {
			continue
		}
		if o.kind == isOutput {
			i.kind, i.index = isOutput, o.index
			for k := range p.made {
				if p.made[k] == out {
					p.made[k] = in
				}
			}
		}
		o.root, i.last = in, max(i.last, o.last)
	}
	for k := range p.outputs {
		p.outputs[k].buffer = b.root(p.outputs[k].buffer)
	}
	b.donations(p)
}

// donations pairs each output with an input whose memory the output reuses if the input is donated. Preferred is an input of the same type
// that the step of the output reads, then any input of the same type, then an input of the same size. So a parameter and its optimiser
// state keep their addresses. Input i is buffer i.
func (b *builder) donations(p *plan) {
	used := make([]bool, len(p.inputs))
	for i := range p.inputs {
		used[i] = b.returned(p, i)
	}
	p.donors = make([]int, len(p.made))
	for k := range p.donors {
		p.donors[k] = none
	}
	paired := map[[2]int]bool{} // by input and output: the step that writes the output reads the input element by element
	for _, x := range b.pairs {
		if out := b.root(x.out); b.buffers[out].first == x.step {
			paired[[2]int{x.in, out}] = true
		}
	}
	for pass := range 3 {
		for k, out := range p.made {
			if p.donors[k] != none {
				continue
			}
			desc := p.outputs[b.buffers[out].index].desc
			for i, in := range p.inputs {
				if !used[i] && (in.SameType(desc) || pass == 2 && in.Bytes() == desc.Bytes()) && b.mayReuse(i, out, pass == 0, paired) {
					p.donors[k], used[i] = i, true
					break
				}
			}
		}
	}
	if b.folds {
		return // the addresses of a program's tensors should not depend on which inputs are donated
	}
	p.further = make([][]int, len(p.made))
	for k, out := range p.made {
		for i, in := range p.inputs {
			if i != p.donors[k] && !b.returned(p, i) && in.Bytes() == p.outputs[b.buffers[out].index].desc.Bytes() && b.mayReuse(i, out, false, paired) {
				p.further[k] = append(p.further[k], i)
			}
		}
	}
}

// mayReuse reports whether an output may reuse the memory of an input, in place where inPlace demands it.
func (b *builder) mayReuse(in, out int, inPlace bool, paired map[[2]int]bool) bool {
	i, o := &b.buffers[in], &b.buffers[out]
	if i.bytes != o.bytes || o.first == none {
		return false
	}
	if i.last < o.first {
		return !inPlace
	}
	return i.last == o.first && paired[[2]int{in, out}]
}

// arrange places the temporaries in the scratch memory: the largest first, each in the smallest gap that is free during its
// lifetime. It returns the size of the memory in bytes.
func (b *builder) arrange() int64 {
	var temps []int
	for i := range b.buffers {
		if x := &b.buffers[i]; x.kind == isTemp && x.root == i && x.last != none {
			temps = append(temps, i)
		}
	}
	slices.SortStableFunc(temps, func(i, k int) int {
		return cmp.Or(cmp.Compare(b.buffers[k].bytes, b.buffers[i].bytes), cmp.Compare(b.buffers[i].first, b.buffers[k].first))
	})
	var placed []int // by offset
	total := int64(0)
	for _, i := range temps {
		x := &b.buffers[i]
		size := roundUp(max(x.bytes, 1), grain)
		end, at, gap := int64(0), int64(-1), int64(0)
		for _, k := range placed {
			y := &b.buffers[k]
			if y.last < x.first || x.last < y.first {
				continue
			}
			if room := y.offset - end; room >= size && (at < 0 || room < gap) {
				at, gap = end, room
			}
			end = max(end, y.offset+roundUp(max(y.bytes, 1), grain))
		}
		if at < 0 {
			at = end
		}
		x.offset = at
		total = max(total, at+size)
		n, _ := slices.BinarySearchFunc(placed, at, func(k int, at int64) int { return cmp.Compare(b.buffers[k].offset, at) })
		placed = slices.Insert(placed, n, i)
	}
	return total
}

// functions has the kernels of all steps compiled.
func (b *builder) functions(ctx context.Context) error {
	var ks []*ir.Kernel
	for _, k := range b.kernels {
		if k != nil {
			ks = append(ks, k)
		}
	}
	if len(ks) == 0 {
		return nil
	}
	fns, err := b.d.kernels.get(ctx, ks)
	if err != nil {
		return err
	}
	for i, k := range b.kernels {
		if k != nil {
			b.steps[i].fn, fns = fns[0], fns[1:]
		}
	}
	return nil
}

// nodes returns the nodes of a group in order, for names.
func nodes(g *group.Graph, x *group.Group) []*op.Node {
	var all []*op.Node
	for _, k := range x.Nodes() {
		all = append(all, &g.Nodes[k])
	}
	return all
}
