package gpu

import (
	"cmp"
	"context"

	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/core/program/group"
)

const (
	maxFolded    = 64 << 20 // bytes of the results of a group that is computed once
	maxGenerated = 1 << 20  // the same limit for a group without operands
)

// early reports whether a group is to be computed once: it depends only on constants, and its results are not much larger than those
// constants.
func (b *builder) early(x *group.Group) bool {
	if !b.folds {
		return false
	}
	read, made := int64(0), int64(0)
	for _, id := range x.Inputs {
		t := b.at[id]
		if t.buffer == none {
			continue
		}
		if k := b.buffers[t.buffer].kind; k != isConstant && k != isEarly {
			return false
		}
		read += int64(b.g.Desc(id).Bytes())
	}
	for _, d := range x.Outputs {
		made += int64(d.Bytes())
	}
	if read == 0 {
		return made <= maxGenerated
	}
	return made <= maxFolded && made <= 4*read+maxGenerated
}

// fold computes the early groups on q and turns their results into constants. The caller releases the returned blocks when the plan
// is made.
func (b *builder) fold(ctx context.Context, q *queue) ([]*block, error) {
	early := &builder{d: b.d, g: b.g, at: b.at}
	early.buffers = append(early.buffers, b.buffers...)
	var rest builder
	needed := make([]bool, len(b.buffers))
	at := make([]int, len(b.steps)) // by step: its index among the early steps, or among the rest
	for i := range b.steps {
		to := &rest
		if b.steps[i].early {
			to = early
		}
		at[i] = len(to.steps)
		to.steps, to.kernels = append(to.steps, b.steps[i]), append(to.kernels, b.kernels[i])
		if !b.steps[i].early {
			b.steps[i].each(func(a *arg) {
				if a.buffer != none {
					needed[a.buffer] = true
				}
			})
		}
	}
	if len(early.steps) == 0 {
		return nil, nil
	}
	for _, id := range b.g.Outputs {
		if k := b.at[id].buffer; k != none {
			needed[k] = true
		}
	}
	for _, x := range b.pairs {
		to := &rest
		if b.steps[x.step].early {
			to = early
		}
		to.pairs = append(to.pairs, pair{at[x.step], x.in, x.out})
	}
	p := &plan{device: b.d, name: b.g.Name, graph: b.g}
	var made []int
	for i := range early.buffers {
		if x := &early.buffers[i]; x.kind == isEarly {
			x.kind = isTemp
			if needed[i] {
				p.outputs, made = append(p.outputs, output{buffer: i}), append(made, i)
			}
		}
	}
	if err := early.finish(ctx, p); err != nil {
		return nil, err
	}
	p.holders.Store(1)
	defer p.drop()
	out := make([]*block, len(p.outputs))
	if err := p.run(q, nil, nil, out, nil); err != nil {
		return nil, err
	}
	for k, i := range made {
		b.buffers[i].kind, b.buffers[i].block = isConstant, out[k]
		b.d.pool.relabel(out[k], forConstant)
	}
	b.steps, b.kernels, b.pairs = rest.steps, rest.kernels, rest.pairs
	return out, nil
}

// build creates the plan of a program. consts are the blocks of its constants, in order; the plan becomes a holder of each block that the
// plan needs. Groups that depend only on constants are computed on q; with a nil q nothing is computed.
func (d *device) build(ctx context.Context, q *queue, p *program.Program, consts []*block) (*plan, error) {
	if q != nil {
		d.drafted(ctx, p, consts)
	}
	b, groups := d.planner(p, consts, q != nil)
	if err := b.batches(groups); err != nil {
		return nil, err
	}
	if err := b.large(); err != nil {
		return nil, err
	}
	if q != nil {
		b.begin(ctx)
		folded, err := b.fold(ctx, q)
		defer func() {
			for _, x := range folded {
				d.pool.release(x)
			}
		}()
		if err != nil {
			return nil, err
		}
	}
	return b.plan(ctx)
}

// keepMost is the least size in bytes of a tensor that a program may compute again, from smaller tensors, instead of keeping it in memory.
const keepMost = 16 << 20

// planner returns a builder that knows the constants of a program. whole distinguishes a whole program from a single node.
func (d *device) planner(p *program.Program, consts []*block, whole bool) (*builder, []*group.Group) {
	if whole {
		p = group.NewGraph(p).Recompute(d.policy, cmp.Or(d.options.keepFrom, keepMost))
	}
	b, groups := newBuilder(d, p)
	b.folds, b.lasts = whole, whole && !d.options.ChannelsFirst && b.putsLast()
	for i, desc := range p.Consts {
		b.constant(desc, consts[i])
	}
	return b, groups
}
