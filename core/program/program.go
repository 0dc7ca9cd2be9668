// Package program represents whole computations: nodes with inputs, outputs and constants, their checks, liveness and text form. A program
// is built once, defined on a stream and run many times with new inputs. The tensor library and decorators build programs; Compile prepares
// them for a backend, which defines and runs them. This package must not execute nodes or know a particular backend.
package program

import (
	"fmt"
	"strings"

	"github.com/goburn/burn/core/op"
)

// Program is a straight-line computation. Its ids are local: they have generation 0, and each is defined exactly once, by Inputs, by Consts
// or by a node, before its first use. After a Program was passed to a backend, it must not be changed.
type Program struct {
	Name    string
	Inputs  []op.Desc
	Consts  []op.Desc
	Nodes   []op.Node
	Outputs []op.TensorID // may contain duplicates, inputs and constants
}

// String prints one line per input, constant, node and output.
func (p *Program) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "program %q\n", p.Name)
	for _, d := range p.Inputs {
		fmt.Fprintf(&b, "  input %v %v\n", d.ID, d)
	}
	for _, d := range p.Consts {
		fmt.Fprintf(&b, "  const %v %v\n", d.ID, d)
	}
	for i := range p.Nodes {
		fmt.Fprintf(&b, "  %v\n", &p.Nodes[i])
	}
	fmt.Fprintf(&b, "  return %v\n", p.Outputs)
	return b.String()
}

// Descs returns the type and shape of each tensor.
func (p *Program) Descs() map[op.TensorID]op.Desc {
	descs := make(map[op.TensorID]op.Desc, len(p.Inputs)+len(p.Consts)+len(p.Nodes))
	for _, ds := range [][]op.Desc{p.Inputs, p.Consts} {
		for _, d := range ds {
			descs[d.ID] = d
		}
	}
	for i := range p.Nodes {
		for _, d := range p.Nodes[i].Outputs {
			descs[d.ID] = d
		}
	}
	return descs
}

// OutputDescs returns the type and shape of each output.
func (p *Program) OutputDescs() []op.Desc {
	descs := p.Descs()
	outs := make([]op.Desc, len(p.Outputs))
	for i, id := range p.Outputs {
		outs[i] = descs[id]
	}
	return outs
}
