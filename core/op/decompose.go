package op

import (
	"slices"
	"sync"

	"github.com/goburn/burn/core/dtype"
)

// Decomposition records nodes of simpler ops that compute the same as a node of its op on inputs in, and returns the results in order. It
// may use composites that have decompositions themselves, without a cycle. It never reads data.
type Decomposition func(b *Builder, in []Desc, a Attrs) []Desc

var customDecompositions sync.Map // Code → Decomposition

// Decompose expands n by one step: it returns nodes that read the inputs of n and compute the outputs of n, with the same ids. It returns
// false if n's op has no decomposition. next numbers intermediate results. A decomposition never sees the Drop mask; the caller drops n's
// inputs itself.
func Decompose(n *Node, in []Desc, next func() TensorID) ([]Node, bool, error) {
	rule := decompositionOf(n.Op)
	if rule == nil {
		return nil, false, nil
	}
	b := NewBuilder(next)
	if empty(n.Outputs) && Lookup(n.Op).Class == Composite { // the shapes of its parts may be illegal
		rule = emptied(n.Outputs)
	}
	outs := rule(b, in, n.Attrs)
	if b.err != nil {
		return nil, true, b.err
	}
	// The results get the node's own ids. A result that is an input, or that occurs twice, is copied.
	rename := make(map[TensorID]TensorID, len(outs))
	inputs := make(map[TensorID]bool, len(in))
	for _, d := range in {
		inputs[d.ID] = true
	}
	for i := range outs {
		if _, dup := rename[outs[i].ID]; dup || inputs[outs[i].ID] {
			outs[i] = b.Do(Copy, outs[i])
		}
		if b.err != nil {
			return nil, true, b.err
		}
		if !outs[i].SameType(n.Outputs[i]) {
			return nil, true, wrap(Lookup(n.Op), in, violation(ErrShape, "", "decomposition gives %v for output %d, want %v", outs[i], i, n.Outputs[i]))
		}
		rename[outs[i].ID] = n.Outputs[i].ID
	}
	for i := range b.Nodes {
		m := &b.Nodes[i]
		for k, id := range m.Inputs {
			if to, ok := rename[id]; ok {
				m.Inputs[k] = to
			}
		}
		for k := range m.Outputs {
			if to, ok := rename[m.Outputs[k].ID]; ok {
				m.Outputs[k].ID = to
			}
		}
	}
	return b.Nodes, true, nil
}

// HasDecomposition reports whether c can be expanded.
func HasDecomposition(c Code) bool { return decompositionOf(c) != nil }

func decompositionOf(c Code) Decomposition {
	if r, ok := decompositions[c]; ok {
		return r
	}
	if r, ok := customDecompositions.Load(c); ok {
		return r.(Decomposition)
	}
	return nil
}

// decompositions is filled by init to break the cycle from rules through the builder to the table.
var decompositions map[Code]Decomposition

func init() {
	decompositions = map[Code]Decomposition{}
	for _, m := range []map[Code]Decomposition{
		selectionRules, attentionRules, lossRules, gateRules, numericRules, arrangeRules, neighbourRules,
		arithmeticRules, activationRules, statisticsRules, layerRules, indexingRules, quantizationRules, searchRules, randomRules, einsumRules, spectralRules,
		matrixRules, factorRules, spectrumRules,
		poolingRules, interpolateRules, gridRules, patchRules, quantizedRules} {
		for c, r := range m {
			decompositions[c] = r
		}
	}
}

// empty reports whether no output has elements.
func empty(outs []Desc) bool {
	return !slices.ContainsFunc(outs, func(d Desc) bool { return d.Shape.Size() != 0 })
}

// emptied returns a Decomposition that creates tensors without elements, regardless of the operands.
func emptied(outs []Desc) Decomposition {
	return func(b *Builder, _ []Desc, _ Attrs) []Desc {
		made := make([]Desc, len(outs))
		for i, d := range outs {
			made[i] = b.FullInt(d.DType, 0, d.Shape)
		}
		return made
	}
}

// elementwise returns a Decomposition of an op with one result from a function that returns the result.
func elementwise(f func(b *Builder, x []Desc, a Attrs) Desc) Decomposition {
	return func(b *Builder, in []Desc, a Attrs) []Desc { return []Desc{f(b, in, a)} }
}

// wide returns x in a type in which sums of narrow floats neither overflow nor lose digits.
func wide(b *Builder, x Desc) Desc {
	if x.DType == dtype.F16 || x.DType == dtype.BF16 {
		return b.Cast(x, dtype.F32)
	}
	return x
}
