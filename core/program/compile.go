package program

import (
	"fmt"

	"github.com/goburn/burn/core/op"
)

// Options select optional passes of Compile.
type Options struct {
	// Rewrite replaces sequences of simple ops that compute a composite op of the table by that op, if the target supports it.
	Rewrite bool
	// Known returns the elements of constant i for Rewrite, little-endian, or nil if they are not known. It may be nil.
	Known func(i int) []byte
}

// Compiled is a program that a target can execute. It is immutable and may be used by several goroutines.
type Compiled struct {
	// Program has only nodes that the target supports and that an output depends on. It has the inputs, constants and outputs
	// of the program that was compiled.
	Program *Program
	// Outputs contains the type and shape of each output of the program.
	Outputs []op.Desc

	template template
}

// Compile makes p ready for a target. In this order it checks p, rewrites it with Options.Rewrite, removes nodes that no output depends on,
// decomposes nodes that t does not support, and computes the last use of every tensor. p is not changed. It returns an error if p is
// invalid, or if t cannot execute a node in any way.
func Compile(p *Program, t Target, o Options) (*Compiled, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	q := p
	if o.Rewrite {
		q = p.Rewrite(o.Known, func(n *op.Node, in []op.Desc) bool { return t.supports(n, in) == nil })
	}
	q, err := Lower(t, q.Live())
	if err != nil {
		return nil, err
	}
	q = q.Live() // decompositions may compute tensors that no node reads
	c := &Compiled{Program: q, Outputs: q.OutputDescs()}
	if c.template, err = newTemplate(q, c.Outputs); err != nil {
		return nil, fmt.Errorf("program %q: %w", p.Name, err)
	}
	return c, nil
}
