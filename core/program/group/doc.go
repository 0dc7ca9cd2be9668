// Package group decides which nodes of a program become one kernel. Backends call it between program.Compile and their kernels:
// its input is a checked program without dead nodes and a Policy, which describes the backend's kernels; its output is groups in
// an order of execution. It must not know ops beyond the table. Kernels, packing of constants and memory belong to the backend.
//
// Every node is in exactly one group. A group runs as a whole at the position of one of its nodes, where all of its inputs exist and none
// of its results has been read yet. A result that is needed outside of its group is an output of the group. If launching a kernel takes
// longer than a small kernel, a backend can combine groups further: Batches finds independent groups that only differ in sizes, such as the
// updates of all parameters.
package group

import (
	"fmt"

	"github.com/goburn/burn/core/op"
)

// Kind is the kind of computation of a group. It determines the kernel template.
type Kind uint8

// The kinds of groups.
const (
	// Single is one node of any op.
	Single Kind = iota
	// Elementwise is several nodes in one iteration space: each element of a result depends on one element of each operand.
	Elementwise
	// Reduction is a reduction with elementwise nodes before it, in the space of its operand, and after it, in the space of its result.
	Reduction
	// Norm is one or more reductions over the same axes with a result that is broadcast back to the operand's shape: a softmax or
	// normalisation in terms of simpler ops.
	Norm
	// Product is a matrix product with its epilogue.
	Product
	// Convolution is a convolution with its epilogue.
	Convolution
	kinds
)

func (k Kind) String() string {
	return [...]string{"single", "elementwise", "reduction", "norm", "product", "convolution"}[k]
}

// KindOf returns the kind of group that is built around a node of op c. It returns Single if there is no such kind.
func KindOf(c op.Code) Kind {
	switch c {
	case op.Sum, op.Prod, op.ReduceMax, op.ReduceMin, op.Mean:
		return Reduction
	case op.MatMul, op.Linear, op.MatMulInteger:
		return Product
	case op.Conv, op.ConvInteger:
		return Convolution
	}
	return Single
}

// Kinds is a set of kinds.
type Kinds uint8

// Of returns the set of kinds ks.
func Of(ks ...Kind) Kinds {
	var s Kinds
	for _, k := range ks {
		s |= 1 << k
	}
	return s
}

// Has reports whether k is in s.
func (s Kinds) Has(k Kind) bool { return s>>k&1 != 0 }

// None is the Anchor of a group without an anchor.
const None = -1

// Group is a set of nodes that one kernel computes. Nodes are named by their index in the program.
type Group struct {
	Kind Kind
	// Anchor is the node that the kernel is built around: the product, the convolution, the last reduction, or a single node;
	// None for elementwise nodes.
	Anchor int
	// Prologue contains the nodes before the anchor, which the kernel computes when it loads operands. Epilogue contains the nodes after
	// the anchor. Both are in order. Elementwise groups only have an epilogue.
	Prologue, Epilogue []int
	// Inputs contains the tensors that the group reads and does not compute, each once, in the order of first use.
	Inputs []op.TensorID
	// Outputs are the results that are needed outside of the group, in the order of their nodes. For a single node, it contains all of its
	// results.
	Outputs []op.Desc
	// At is the index of the node at whose position the group runs.
	At int
}

// Nodes returns all nodes of the group in order.
func (g *Group) Nodes() []int {
	all := append([]int(nil), g.Prologue...)
	if g.Anchor != None {
		all = append(all, g.Anchor)
	}
	return append(all, g.Epilogue...)
}

// String prints "norm at 5: [0 1] 2 [3 4] reads [t1] gives [t7 f32[2]]".
func (g *Group) String() string {
	outs := make([]string, len(g.Outputs))
	for i, d := range g.Outputs {
		outs[i] = fmt.Sprintf("%v %v", d.ID, d)
	}
	return fmt.Sprintf("%v at %d: %v %d %v reads %v gives %v", g.Kind, g.At, g.Prologue, g.Anchor, g.Epilogue, g.Inputs, outs)
}
