package window

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// Draws are nodes that compute random bits from a seed and a counter, which may differ each time. Windows are compared by the seed and
// counter of each draw relative to those of the first draw. The program of a window uses random_bits_at instead, and the seed and counter
// of the first draw are an operand of each run.

// draws reports whether n is a draw.
func draws(n *op.Node) bool { return op.Draws(n.Op) }

// State is the seed and counter of a draw.
type State struct{ seed, counter int }

func stateOf(n *op.Node) State { return State{n.Attrs.Int("seed"), n.Attrs.Int("counter")} }

// past returns the difference s - o.
func (s State) past(o State) State {
	return State{s.seed - o.seed, s.counter - o.counter}
}

// isState reports whether an attribute of a draw is its state.
func isState(name string) bool { return name == "seed" || name == "counter" }

// firstDraw returns the state of the first draw.
func (s *Structure) firstDraw() (first State, some bool) {
	for i := range s.Nodes {
		if draws(&s.Nodes[i]) {
			return stateOf(&s.Nodes[i]), true
		}
	}
	return first, false
}

// sameDraw compares the attributes of two draws, relative to the first draws of their windows, which are at states a and b.
func sameDraw(x, y *op.Node, a, b State) bool {
	if len(x.Attrs) != len(y.Attrs) || stateOf(x).past(a) != stateOf(y).past(b) {
		return false
	}
	for i := range x.Attrs {
		if u, v := x.Attrs[i:i+1], y.Attrs[i:i+1]; u[0].Name != v[0].Name || !isState(u[0].Name) && !sameAttrs(u, v) {
			return false
		}
	}
	return true
}

// Elements returns the elements of the operand that StateDesc describes.
func (s State) Elements() []int64 { return []int64{int64(s.seed), int64(s.counter)} }

// StateDesc describes the operand of random_bits_at.
func StateDesc(id op.TensorID) op.Desc { return op.Desc{ID: id, DType: dtype.I64, Shape: []int{2}} }

// moveDraws adds a last input to q, the state of the first draw, and makes all draws of q depend on it. Each draw adds to this input the
// difference between its own state and first. next returns new ids.
func moveDraws(q *program.Program, first State, next func() op.TensorID) error {
	state := StateDesc(next())
	descs := map[op.TensorID]op.Desc{}
	for _, d := range q.Inputs {
		descs[d.ID] = d
	}
	var nodes []op.Node
	var add func(n op.Node) error
	add = func(n op.Node) error {
		if !draws(&n) {
			nodes = append(nodes, n)
			return nil
		}
		if n.Op != op.RandomBits {
			in := make([]op.Desc, len(n.Inputs))
			for i, id := range n.Inputs {
				in[i] = descs[id]
			}
			parts, _, err := op.Decompose(&n, in, next)
			if err != nil {
				return err
			}
			for _, p := range parts {
				for _, d := range p.Outputs {
					descs[d.ID] = d
				}
				p.Drop = 0
				if err := add(p); err != nil {
					return err
				}
			}
			return nil
		}
		s := stateOf(&n).past(first)
		m, err := op.New(op.RandomBitsAt, []op.Desc{state}, op.Int("seed", s.seed), op.Int("counter", s.counter),
			op.Ints("shape", n.Attrs.Ints("shape")...), op.Type("dtype", n.Outputs[0].DType))
		if err != nil {
			return err
		}
		m.Outputs[0].ID = n.Outputs[0].ID
		nodes = append(nodes, m)
		return nil
	}
	for _, n := range q.Nodes {
		for _, d := range n.Outputs {
			descs[d.ID] = d
		}
		if err := add(n); err != nil {
			return err
		}
	}
	q.Inputs, q.Nodes = append(q.Inputs, state), nodes
	return nil
}
