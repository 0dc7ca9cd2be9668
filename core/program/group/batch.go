package group

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// Batch contains groups that a backend can run as one launch: none needs a result of another, and all have the same body. This means that
// their nodes in order have the same ops, attributes and types and are connected in the same way, that the same nodes have outputs, and
// that inputs with the same index have the same type and class. The class of an input of an elementwise node says whether it has the size
// of the node's result, has one element, is a given number from a full node, or is broadcast between two given shapes. Sizes may differ
// between groups, so that one launch can process many parameters, with a table of addresses and sizes.
//
// Groups of a batch run at the same time. A result may take the memory of an input only if its group alone reads it: see
// Sole.
type Batch struct{ Groups []*Group }

// Sole returns the index of the only group of the batch that reads id, and false if several or none do.
func (b *Batch) Sole(id op.TensorID) (x int, ok bool) {
	x = slices.IndexFunc(b.Groups, func(g *Group) bool { return slices.Contains(g.Inputs, id) })
	if x < 0 {
		return 0, false
	}
	return x, !slices.ContainsFunc(b.Groups[x+1:], func(g *Group) bool { return slices.Contains(g.Inputs, id) })
}

// Batching says which groups a backend runs as one launch.
type Batching struct {
	// Kinds may contain Elementwise, for groups of elementwise nodes, including single ones and reshapes, and Reduction, for groups that
	// reduce all axes of their operands. With the zero value there are no batches. Groups of other kinds are never batched.
	Kinds Kinds
	// Able reports whether a group may be batched. A nil Able allows all.
	Able func(g *Graph, x *Group) bool
	// Most is the greatest number of groups of a batch; 0 for any number.
	Most int
	// Slack bounds the increase of peak memory in bytes: groups that wait for others keep the tensors that they read alive. A negative
	// value means no bound. The estimate assumes that buffers are never reused in place.
	Slack int64
}

// Batches divides groups, in the execution order that Decide returns, into batches, also in execution order. Every group is in exactly one
// batch; most batches have one group. In a first pass, from the last group to the first, groups are delayed until their results are needed,
// to join a batch. In a second pass, in order, remaining single groups move ahead to batches before which all of their inputs exist. The
// concatenation of all batches is a valid execution order of groups, in which Group.At need not ascend.
func (g *Graph) Batches(groups []*Group, how Batching) []*Batch {
	b := newBatcher(g, groups, how)
	n := len(groups)
	for i := n - 1; i >= 0; i-- {
		before := n
		for _, r := range b.readers[i] {
			before = min(before, b.place[r])
		}
		b.join(i, i, before)
	}
	b.open = map[string][]int{}
	for i := range n {
		after := -1
		for _, w := range b.writers[i] {
			after = max(after, b.place[w])
		}
		b.join(i, after+1, b.place[i])
	}
	at := make([]*Batch, n)
	for i, x := range groups {
		p := b.place[i]
		if at[p] == nil {
			at[p] = &Batch{}
		}
		at[p].Groups = append(at[p].Groups, x)
	}
	return slices.DeleteFunc(at, func(x *Batch) bool { return x == nil })
}

// batcher assigns positions to groups. The groups of a batch share a position.
type batcher struct {
	*Graph
	how     Batching
	groups  []*Group
	place   []int
	size    []int // by position: number of groups
	body    []string
	writers [][]int          // by group: the groups that compute its inputs
	readers [][]int          // by group: the groups that read its outputs
	open    map[string][]int // by body: positions that groups may join
	waiting *waiting         // nil if memory is not bounded
}

func newBatcher(g *Graph, groups []*Group, how Batching) *batcher {
	n := len(groups)
	b := &batcher{Graph: g, how: how, groups: groups, place: make([]int, n), size: make([]int, n), body: make([]string, n),
		writers: make([][]int, n), readers: make([][]int, n), open: map[string][]int{}}
	writer := map[op.TensorID]int{}
	for i, x := range groups {
		b.place[i], b.size[i], b.body[i] = i, 1, b.bodyOf(x)
		for _, id := range x.Inputs {
			if w, ok := writer[id]; ok {
				b.writers[i] = append(b.writers[i], w)
				b.readers[w] = append(b.readers[w], i)
			}
		}
		for _, d := range x.Outputs {
			writer[d.ID] = i
		}
	}
	if how.Slack >= 0 {
		b.waiting = newWaiting(b, writer)
	}
	return b
}

// join moves group i, if it is alone, to the nearest open position in [from, before). If there is none, it opens the position of i to
// others.
func (b *batcher) join(i, from, before int) {
	body, p := b.body[i], b.place[i]
	if body == "" {
		return
	}
	if b.size[p] == 1 {
		best := None
		for _, q := range b.open[body] {
			if q < from || q >= before || q == p || b.how.Most > 0 && b.size[q] >= b.how.Most {
				continue
			}
			if best == None || max(q-p, p-q) < max(best-p, p-best) {
				best = q
			}
		}
		if best != None && (b.waiting == nil || b.waiting.moves(b, i, best)) {
			b.place[i] = best
			b.size[p]--
			b.size[best]++
			return
		}
	}
	if !slices.Contains(b.open[body], p) {
		b.open[body] = append(b.open[body], p)
	}
}

// bodyOf returns a text that is equal for groups that can be in the same batch, and empty for groups that cannot be batched.
func (b *batcher) bodyOf(x *Group) string {
	nodes := slices.Sorted(slices.Values(x.Nodes()))
	kind := x.Kind
	if kind == Single {
		c := b.Nodes[x.Anchor].Op
		if kind = KindOf(c); c == op.Reshape || kind == Single && op.Lookup(c).Traits.Has(op.Elementwise) {
			kind = Elementwise
		}
	}
	if kind != Elementwise && kind != Reduction || !b.how.Kinds.Has(kind) || b.how.Able != nil && !b.how.Able(b.Graph, x) {
		return ""
	}
	var s strings.Builder
	fmt.Fprintf(&s, "%v", kind)
	inner := map[op.TensorID]int{}
	for i, k := range nodes {
		n := &b.Nodes[k]
		if len(n.Outputs) != 1 {
			return ""
		}
		out := n.Outputs[0]
		fmt.Fprintf(&s, "\n%d.%d %v", n.Op, n.Version, out.DType)
		switch {
		case k == x.Anchor && kind == Reduction:
			if len(n.Attrs.Ints("axes")) != len(b.Desc(n.Inputs[0]).Shape) {
				return ""
			}
			s.WriteString(" all")
			out.Shape = b.Desc(n.Inputs[0]).Shape
		case n.Op != op.Reshape:
			writeAttrs(&s, n.Attrs)
		}
		for _, id := range n.Inputs {
			if j, ok := inner[id]; ok {
				fmt.Fprintf(&s, " n%d", j)
				continue
			}
			fmt.Fprintf(&s, " i%d:%s", slices.Index(x.Inputs, id), b.class(id, out.Shape))
		}
		inner[out.ID] = i
	}
	s.WriteString("\ngives")
	for _, d := range x.Outputs {
		fmt.Fprintf(&s, " %d", inner[d.ID])
	}
	return s.String()
}

// writeAttrs writes attributes such that different attributes have different texts.
func writeAttrs(s *strings.Builder, attrs op.Attrs) {
	for _, a := range attrs {
		bits, isInt := a.Value.Bits()
		fmt.Fprintf(s, " %s=%v:%v:%x:%v", a.Name, a.Value.Kind(), a.Value, bits, isInt)
	}
}

// class returns the class of input id of a node whose result has shape space: see Batch.
func (b *batcher) class(id op.TensorID, space shape.Shape) string {
	d := b.Desc(id)
	if k, made := b.Maker(id); made && b.Nodes[k].Op == op.Full && d.Shape.Size() == 1 {
		var s strings.Builder
		writeAttrs(&s, op.Attrs{{Name: "number", Value: b.Nodes[k].Attrs.Value("value")}})
		return d.DType.String() + s.String()
	}
	switch size := d.Shape.Size(); {
	case d.Shape.Equal(space):
		return d.DType.String() + " whole"
	case size == 1:
		return d.DType.String() + " element"
	case size == space.Size():
		return d.DType.String() + " whole"
	}
	return fmt.Sprintf("%v to %v", d, space)
}
