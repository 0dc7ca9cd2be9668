package gpu

import (
	"strings"

	"github.com/goburn/burn/core/program/group"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// maxWaiting bounds the additional bytes of temporaries that a program may need because groups wait to share a launch with
// others.
const maxWaiting = 32 << 20

// batches creates the steps of all groups. Groups that differ only in sizes and memory share a few launches, if the hardware has room for
// their arguments.
func (b *builder) batches(all []*group.Group) error {
	if !b.folds || b.d.target.Params == 0 {
		return b.groups(all)
	}
	how := group.Batching{Kinds: group.Of(group.Elementwise, group.Reduction), Slack: maxWaiting,
		Able: func(g *group.Graph, x *group.Group) bool {
			return x.Kind != group.Single || !moves(g.Nodes[x.Anchor].Op)
		}}
	for _, batch := range b.g.Batches(all, how) {
		if len(batch.Groups) == 1 {
			if err := b.group(batch.Groups[0]); err != nil {
				return err
			}
			continue
		}
		if err := b.batch(batch.Groups); err != nil {
			return err
		}
	}
	return nil
}

// batch creates the steps of groups that are independent of each other. Groups that lower to the same kernels share launches.
func (b *builder) batch(xs []*group.Group) error {
	var order []string
	classes := map[string][]lowered{}
	for _, x := range xs {
		if b.asNumber(x) {
			continue
		}
		if b.lasts {
			if done, err := b.channelsLast(x); err != nil {
				return nodeError(b.node(x), err)
			} else if done {
				continue
			}
		}
		l, err := b.lowered(x)
		if err != nil {
			if err := b.divided(x, err); err != nil {
				return err
			}
			continue
		}
		key := batchKey(&l)
		if key == "" {
			if err := b.work(x, l.work, l.slots, l.early); err != nil {
				return nodeError(b.node(x), err)
			}
			continue
		}
		if classes[key] == nil {
			order = append(order, key)
		}
		classes[key] = append(classes[key], l)
	}
	for _, key := range order {
		if err := b.share(classes[key]); err != nil {
			return err
		}
	}
	return nil
}

// batchKey returns a text that is equal for works that can share launches. It is empty for a work that cannot share a launch.
func batchKey(l *lowered) string {
	if l.early || l.work.Fault || len(l.work.Launches) == 0 {
		return ""
	}
	var s strings.Builder
	for _, x := range l.work.Launches {
		if x.Grid[1] != 1 || x.Grid[2] != 1 {
			return ""
		}
		s.WriteString(x.Kernel.String())
	}
	return s.String()
}

// share creates the steps of works with the same kernels. A launch computes at most as many works as its parameters have room for, and the
// works are divided evenly among the launches.
func (b *builder) share(ls []lowered) error {
	most := len(ls)
	launches := b.located(ls)
	for _, same := range launches {
		l, ok := ir.Batch(same)
		if !ok {
			most = 1
			break
		}
		one := *l.Kernel
		one.Members = 1
		each := (l.Kernel.ParamBytes()-one.ParamBytes())/max(len(ls)-1, 1) + 8 // bytes of parameters for each further work: the mean, rounded up
		most = min(most, 1+(b.d.target.Params-one.ParamBytes())/each)
	}
	parts := (len(ls) + max(most, 1) - 1) / max(most, 1)
	for p := range parts {
		from, to := p*len(ls)/parts, (p+1)*len(ls)/parts
		if to-from > 1 {
			b.launch(ls[from:to], launches, from)
		} else if err := b.work(ls[from].group, ls[from].work, ls[from].slots, false); err != nil {
			return nodeError(b.node(ls[from].group), err)
		}
	}
	return nil
}

// located returns the launches of works with the same kernels, indexed by launch and then by work. Buffers of the plan replace the slots.
func (b *builder) located(ls []lowered) [][]ir.Launch {
	all := make([][]ir.Launch, len(ls[0].work.Launches))
	for i := range ls {
		slots := ls[i].slots
		for _, n := range ls[i].work.Temps {
			slots = append(slots, arg{buffer: b.add(buffer{bytes: n})})
		}
		ls[i].slots, ls[i].work.Temps = slots, nil
		for k, l := range ls[i].work.Launches {
			args := make([]ir.Arg, len(l.Args))
			for a, x := range l.Args {
				args[a] = ir.Arg{Bits: x.Bits}
				if l.Kernel.Params[a].IsBuffer() {
					args[a] = ir.Arg{Slot: slots[x.Slot].buffer, Offset: slots[x.Slot].offset + x.Offset}
				}
			}
			l.Args = args
			all[k] = append(all[k], l)
		}
	}
	return all
}

// launch appends the launches that len(ls) works share, beginning with the work at index from.
func (b *builder) launch(ls []lowered, launches [][]ir.Launch, from int) {
	together := &group.Group{Kind: ls[0].group.Kind, Anchor: group.None, At: ls[0].group.At}
	readers := map[int]int{} // by buffer: the number of works that read it
	for i := range ls {
		x := ls[i].group
		together.Epilogue = append(together.Epilogue, x.Nodes()...)
		together.Inputs = append(together.Inputs, x.Inputs...)
		together.Outputs = append(together.Outputs, x.Outputs...)
		mine := map[int]bool{}
		for _, id := range x.Inputs {
			mine[b.at[id].buffer] = true
		}
		for k := range mine {
			readers[k]++
		}
	}
	for _, same := range launches {
		l, _ := ir.Batch(same[from : from+len(ls)])
		st := step{grid: l.Grid, starts: l.Starts, group: together, node: b.node(ls[0].group)}
		for k, p := range l.Kernel.Arguments() {
			a := arg{buffer: none, bits: l.Args[k].Bits}
			if p.IsBuffer() {
				a = arg{buffer: l.Args[k].Slot, offset: l.Args[k].Offset}
			}
			st.args = append(st.args, a)
		}
		b.steps, b.kernels = append(b.steps, st), append(b.kernels, l.Kernel)
	}
	if len(launches) > 1 {
		return
	}
	for i := range ls {
		b.inPlace(ls[i].group, len(b.steps)-1, func(buffer int) bool { return readers[buffer] > 1 })
	}
}
