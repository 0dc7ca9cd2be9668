package program

import (
	"errors"
	"fmt"

	"github.com/goburn/burn/core/op"
)

// Target describes which nodes a lowered program may contain.
type Target struct {
	// Name is the name of the backend, for errors.
	Name string
	// Supports returns nil if the target runs a node with inputs in, and an error that wraps op.ErrUnsupported if the node must be
	// decomposed. Any other error means that the node is invalid. A nil Supports supports every node.
	Supports func(n *op.Node, in []op.Desc) error
	// Expanded caches the expansions of nodes; nil means no cache. With a cache, the answer of Supports for a node must not change.
	Expanded *Expansions
}

func (t Target) supports(n *op.Node, in []op.Desc) error {
	if t.Supports == nil {
		return nil
	}
	return t.Supports(n, in)
}

// LowerNode expands n into nodes that t supports, by decomposition where t does not support n itself. The nodes compute n's outputs. The
// inputs that n drops and all intermediate results are dropped by the last node that uses them or, if none can, returned in free. If a node
// is not supported and has no decomposition, LowerNode returns a *MissingError. next numbers intermediate results.
func LowerNode(t Target, n *op.Node, in []op.Desc, next func() op.TensorID) (nodes []op.Node, free []op.TensorID, err error) {
	return t.Append(nil, n, in, next)
}

// Append is like LowerNode, but appends to a list. If it returns an error, the list is unchanged.
func (t Target) Append(to []op.Node, n *op.Node, in []op.Desc, next func() op.TensorID) (nodes []op.Node, free []op.TensorID, err error) {
	if s := t.Expanded.find(n, in); s != nil {
		nodes, free = s.append(to, n, next)
		return nodes, free, nil
	}
	if err := t.supports(n, in); err == nil {
		return append(to, *n), nil, nil
	} else if !errors.Is(err, op.ErrUnsupported) {
		return to, nil, err
	}
	parts, free, err := t.lower(n, in, next)
	if err != nil {
		return to, nil, err
	}
	t.Expanded.add(n, in, parts, free)
	return append(to, parts...), free, nil
}

// Lowers returns the error that LowerNode would return for a node.
func (t Target) Lowers(n *op.Node, in []op.Desc, next func() op.TensorID) error {
	if t.Expanded.find(n, in) != nil {
		return nil
	}
	_, _, err := t.Append(nil, n, in, next)
	return err
}

// lower expands a node that t does not support.
func (t Target) lower(n *op.Node, in []op.Desc, next func() op.TensorID) (nodes []op.Node, free []op.TensorID, err error) {
	x := expansion{target: t, next: next, descs: map[op.TensorID]op.Desc{}}
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

// Lower expands all of p. Drop bits of p's nodes are cleared; p itself is not changed.
func Lower(t Target, p *Program) (*Program, error) {
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
	x := expansion{target: t, descs: descs, next: func() op.TensorID { last++; return last }}
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

// MissingError says that a backend cannot execute an op, and that the op cannot be decomposed into ops that the backend supports. It wraps
// op.ErrUnsupported.
type MissingError struct {
	Op      string
	Backend string
	Err     error // the backend's answer
}

// Error prints "op has no kernel on BACKEND and no decomposition: cause".
func (e *MissingError) Error() string {
	return fmt.Sprintf("%s has no kernel on %s and no decomposition: %v", e.Op, e.Backend, e.Err)
}

// Unwrap returns the backend's answer.
func (e *MissingError) Unwrap() error { return e.Err }

// expansion is a list of nodes to which decompositions append.
type expansion struct {
	target Target
	next   func() op.TensorID
	descs  map[op.TensorID]op.Desc
	nodes  []op.Node
}

// maxDepth bounds nested decompositions. The ops of the table need far less, so only a custom op with a cycle reaches it.
const maxDepth = 16

func (x *expansion) expand(n *op.Node, in []op.Desc, depth int) error {
	err := x.target.supports(n, in)
	if err == nil {
		x.nodes = append(x.nodes, *n)
		return nil
	}
	if !errors.Is(err, op.ErrUnsupported) {
		return err
	}
	parts, ok, derr := op.Decompose(n, in, x.next)
	switch {
	case derr != nil:
		return derr
	case !ok:
		return &MissingError{Op: n.Op.String(), Backend: x.target.Name, Err: err}
	case depth >= maxDepth:
		return fmt.Errorf("%v decomposes without end: %w", n.Op, op.ErrUnsupported)
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
