package core

import (
	"errors"
	"fmt"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// Lower expands n into nodes that b supports, by decomposition where b does not claim the op. The nodes end in n's
// outputs; the inputs that n drops and all intermediate results are dropped by the last node that uses them, or, where
// no node does, returned in free for Stream.Free. An op that b does not support and that has no decomposition is
// ErrUnsupported. next numbers intermediate results.
func Lower(b Backend, n *op.Node, in []op.Desc, next func() op.TensorID) (nodes []op.Node, free []op.TensorID, err error) {
	if err := b.Supports(n, in); err == nil {
		return []op.Node{*n}, nil, nil
	} else if !errors.Is(err, ErrUnsupported) {
		return nil, nil, err
	}
	x := expansion{backend: b, next: next, descs: map[op.TensorID]op.Desc{}}
	for _, d := range in {
		x.descs[d.ID] = d
	}
	top := *n
	top.Drop = 0
	if err := x.expand(&top, in, 0); err != nil {
		return nil, nil, err
	}
	keep := map[op.TensorID]bool{}
	for i, id := range n.Inputs {
		keep[id] = keep[id] || i >= 64 || n.Drop>>i&1 == 0
	}
	for _, d := range n.Outputs {
		keep[d.ID] = true
	}
	return x.nodes, dropLast(x.nodes, n.Inputs, keep), nil
}

// LowerProgram expands all of p; the result is p itself when b supports every node.
func LowerProgram(b Backend, p *program.Program) (*program.Program, error) {
	descs := map[op.TensorID]op.Desc{}
	last := op.TensorID(0)
	define := func(ds []op.Desc) {
		for _, d := range ds {
			descs[d.ID] = d
			last = max(last, d.ID)
		}
	}
	define(p.Inputs)
	define(p.Consts)
	for i := range p.Nodes {
		define(p.Nodes[i].Outputs)
	}
	x := expansion{backend: b, descs: descs, next: func() op.TensorID { last++; return last }}
	for i := range p.Nodes {
		n := p.Nodes[i]
		n.Drop = 0
		in := make([]op.Desc, len(n.Inputs))
		for k, id := range n.Inputs {
			in[k] = descs[id]
		}
		if err := x.expand(&n, in, 0); err != nil {
			return nil, fmt.Errorf("program %q: node %d: %w", p.Name, i, err)
		}
	}
	q := *p
	q.Nodes = x.nodes
	return &q, nil
}

// MissingError says that a backend cannot execute an op, and that it cannot be decomposed into what the backend has. It
// wraps ErrUnsupported.
type MissingError struct {
	Op      string
	Backend string
	Err     error // the backend's answer
}

// Error prints "op has no kernel on BACKEND and no decomposition: cause".
func (e *MissingError) Error() string {
	return fmt.Sprintf("%s has no kernel on %s and no decomposition: %v", e.Op, e.Backend, e.Err)
}

// Unwrap gives the backend's answer.
func (e *MissingError) Unwrap() error { return e.Err }

type expansion struct {
	backend Backend
	next    func() op.TensorID
	descs   map[op.TensorID]op.Desc
	nodes   []op.Node
}

// maxDepth bounds nested decompositions; the table's own are far below, so only a cyclic custom op reaches it.
const maxDepth = 16

func (x *expansion) expand(n *op.Node, in []op.Desc, depth int) error {
	err := x.backend.Supports(n, in)
	if err == nil {
		x.nodes = append(x.nodes, *n)
		return nil
	}
	if !errors.Is(err, ErrUnsupported) {
		return err
	}
	parts, ok, derr := op.Decompose(n, in, x.next)
	switch {
	case derr != nil:
		return derr
	case !ok:
		return &MissingError{Op: n.Op.String(), Backend: x.backend.Info().Name, Err: err}
	case depth >= maxDepth:
		return fmt.Errorf("%v decomposes without end: %w", n.Op, ErrUnsupported)
	}
	for i := range parts {
		p := &parts[i]
		for _, d := range p.Outputs {
			x.descs[d.ID] = d
		}
		pin := make([]op.Desc, len(p.Inputs))
		for k, id := range p.Inputs {
			pin[k] = x.descs[id]
		}
		if err := x.expand(p, pin, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// dropLast sets the drop bit of every id's last use, unless it is kept. Ids that cannot be dropped by a bit, because no
// node uses them or only beyond the 64th input, are returned.
func dropLast(nodes []op.Node, inputs []op.TensorID, keep map[op.TensorID]bool) (free []op.TensorID) {
	seen := map[op.TensorID]bool{}
	for i := len(nodes) - 1; i >= 0; i-- {
		n := &nodes[i]
		for _, d := range n.Outputs {
			if !seen[d.ID] && !keep[d.ID] {
				free = append(free, d.ID)
			}
		}
		for k, id := range n.Inputs {
			if seen[id] || keep[id] {
				continue
			}
			seen[id] = true
			if k < 64 {
				n.Drop |= 1 << k
			} else {
				free = append(free, id)
			}
		}
	}
	for _, id := range inputs {
		if !seen[id] && !keep[id] {
			seen[id] = true
			free = append(free, id)
		}
	}
	return free
}
