package libtorch

import (
	"slices"

	"github.com/goburn/burn/core/op"
)

// Outside of programs a queue receives the nodes of a gradient one by one, in the order in which their rule records them. The queue holds
// nodes back as long as they may become a gradient that torch computes by one operator. Whether the queue holds a node back depends only on
// the order of the calls of its methods. One of these calls can depend on time: the engine flushes a queue that has 4,096 unsettled
// commands. A gradient that such a flush divides is computed node by node, and may differ in rounding.

// sequence is the gradient of a node as the nodes that its rule records.
type sequence struct {
	found
	nodes  []op.Node
	free   []op.Desc           // by id: types of the operands; nodes of the sequence compute the other tensors
	inside map[op.TensorID]int // for each result that is not a gradient: the index of the node that reads it last
	run    kernel
	in     []op.TensorID // operands of run, in order
	out    []op.TensorID // results of run, in order
}

// maxSequences is the greatest number of sequences that a queue looks for.
const maxSequences = 256

// newSequence returns the gradient of a node with operands in; ok is false if torch has no operator for it.
func newSequence(n *op.Node, in []op.Desc) (s *sequence, ok bool) {
	b, ok := backwards[n.Op]
	if !ok || !b.fits(n, in) {
		return nil, false
	}
	t, ok := record(n, in)
	if !ok || len(t.nodes) < 2 {
		return nil, false
	}
	s = &sequence{found: found{node: op.Node{Op: n.Op, Version: n.Version, Attrs: n.Attrs}, t: t}, nodes: t.nodes, inside: map[op.TensorID]int{}}
	given := append(append([]op.Desc(nil), t.x...), t.y, t.dy)
	for i := range t.nodes {
		m := &t.nodes[i]
		if len(m.Outputs) != 1 {
			return nil, false
		}
		for _, id := range m.Inputs {
			if _, made := t.maker[id]; made {
				s.inside[id] = i
			}
		}
	}
	s.free = make([]op.Desc, len(given)+len(t.nodes)+1)
	for _, d := range given {
		if slices.ContainsFunc(t.nodes, func(m op.Node) bool { return slices.Contains(m.Inputs, d.ID) }) {
			s.free[d.ID], s.ids = d, append(s.ids, d.ID)
		}
	}
	for k, root := range t.roots {
		if _, made := t.maker[root.ID]; !made || slices.Contains(s.out, root.ID) {
			return nil, false
		}
		delete(s.inside, root.ID)
		s.needs, s.out = append(s.needs, k), append(s.out, root.ID)
	}
	if len(s.inside)+len(s.out) != len(t.nodes) || b.whole && len(s.ids) < len(t.x)+1 {
		return nil, false
	}
	s.in, s.run = s.ids, s.kernel(b)
	return s, true
}

// waiting is a command that is held back, with the operands that nothing else uses afterwards; see engine.Call.
type waiting struct {
	*command
	owned uint64
}

// attempt is a sequence whose first nodes are the nodes that are held back.
type attempt struct {
	*sequence
	bound []*tensor // by the ids of the sequence
}

// ahead is the state of a queue that looks for sequences.
type ahead struct {
	known map[string]bool         // nodes whose gradients were recorded, by op, attributes and types
	first map[op.Code][]*sequence // by the op of their first node
	held  []waiting
	live  []attempt
	key   []byte
	bound []*tensor // memory for attempts
}

// learn records the gradient of a node with operands in, so that the queue finds this gradient from then on.
func (a *ahead) learn(n *op.Node, in []op.Desc) {
	if backwards[n.Op].run == nil || len(a.known) >= maxSequences {
		return
	}
	a.key = append(a.key[:0], byte(n.Op), byte(n.Op>>8), byte(n.Version))
	a.key = op.AppendAttrs(op.AppendTypes(a.key, in), n.Attrs)
	if a.known[string(a.key)] {
		return
	}
	if a.known == nil {
		a.known, a.first = map[string]bool{}, map[op.Code][]*sequence{}
	}
	a.known[string(a.key)] = true
	if s, ok := newSequence(n, in); ok {
		a.first[s.nodes[0].Op] = append(a.first[s.nodes[0].Op], s)
	}
}

// offer passes a command of a node, whose tensors are retained, to the queue or holds it back.
func (q *queue) offer(h waiting) {
	for rest := []waiting{h}; len(rest) > 0; {
		next := rest[0]
		rest = rest[1:]
		switch a := &q.ahead; {
		case q.accept(next):
		case len(a.held) == 0:
			q.enqueue(next.command)
		default: // the first command held back begins no sequence, the second may
			rest = slices.Concat(a.held[1:], []waiting{next}, rest)
			first := a.held[0]
			a.held, a.live = a.held[:0], a.live[:0]
			q.enqueue(first.command)
		}
	}
}

// accept adds a command to the held-back commands, if together they begin a sequence. When a command completes a sequence, one command for
// the sequence replaces all of them.
func (q *queue) accept(h waiting) bool {
	a := &q.ahead
	at := len(a.held)
	live := a.live[:0]
	if at == 0 {
		for _, s := range a.first[h.node.Op] {
			a.bound = append(a.bound[:0], make([]*tensor, len(s.free))...)
			if try := (attempt{s, a.bound}); try.follows(0, h.command) {
				try.bound = slices.Clone(a.bound)
				live = append(live, try)
			}
		}
	}
	for _, try := range a.live {
		if try.follows(at, h.command) {
			live = append(live, try)
		}
	}
	for i, try := range live {
		if len(try.nodes) > at+1 {
			continue
		}
		if all := append(a.held, h); try.alone(all) {
			c := &command{kind: doGroup, node: try.node, run: try.run}
			for _, m := range all {
				c.parts = append(c.parts, m.command)
			}
			for _, id := range try.in {
				c.in = append(c.in, try.bound[id])
			}
			for _, id := range try.out {
				c.out = append(c.out, try.bound[id])
			}
			a.held, a.live = a.held[:0], a.live[:0]
			q.enqueue(c)
			return true
		}
		live[i].sequence = nil
	}
	a.live = slices.DeleteFunc(live, func(try attempt) bool { return try.sequence == nil })
	if len(a.live) == 0 {
		return false
	}
	a.held = append(a.held, h)
	return true
}

// unhold passes all commands that are held back to the queue.
func (q *queue) unhold() {
	for _, h := range q.ahead.held {
		q.enqueue(h.command)
	}
	q.ahead.held, q.ahead.live = q.ahead.held[:0], q.ahead.live[:0]
}

// follows reports whether c is node i of the sequence, and binds its tensors.
func (a *attempt) follows(i int, c *command) bool {
	n, m := &a.nodes[i], &c.node
	if n.Op != m.Op || n.Version != m.Version || len(n.Inputs) != len(c.in) || len(c.out) != 1 || !n.Outputs[0].SameType(c.out[0].desc) || !n.Attrs.Equal(m.Attrs) {
		return false
	}
	for j, id := range n.Inputs {
		switch t := a.bound[id]; {
		case t == c.in[j]:
		case t != nil || !a.free[id].SameType(c.in[j].desc):
			return false
		default:
			a.bound[id] = c.in[j]
		}
	}
	a.bound[n.Outputs[0].ID] = c.out[0]
	return true
}

// alone reports whether nothing but the commands of the sequence uses the results that are not gradients.
func (a *attempt) alone(all []waiting) bool {
	for id, last := range a.inside {
		t := a.bound[id]
		users := int32(1)
		for _, h := range all {
			for _, u := range h.in {
				if u == t {
					users++
				}
			}
		}
		owned := false
		for j, u := range all[last].in {
			owned = owned || u == t && j < 64 && all[last].owned>>j&1 == 1
		}
		if !owned && t.users.Load() != users {
			return false
		}
	}
	return true
}

// group computes a sequence by its one operator. If the operator fails, or an operand was not computed, it computes the commands one by
// one.
func (q *queue) group(w *worker, c *command) {
	fails := q.stopped.Load() || slices.ContainsFunc(c.in, func(t *tensor) bool { return t.failed || t.h == 0 })
	fails = fails || w.compute(c, c.run) != nil
	for _, p := range c.parts {
		if fails {
			q.run(w, p)
		} else {
			w.drop(p)
		}
	}
	c.in, c.out, c.parts = nil, nil, nil
}
