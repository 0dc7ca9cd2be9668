package ref

import (
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// kernel computes the outputs of a checked node, whose Descs are in n.Outputs. It does not change in. Float results need not be
// rounded to their type.
type kernel func(n *op.Node, in []Tensor) ([]Tensor, error)

// kernels contains the reference kernel of every op.
var kernels = map[op.Code]kernel{}

func init() {
	for _, m := range []map[op.Code]kernel{
		selectionKernels, attentionKernels, lossKernels, gateKernels, numericKernels, arrangeKernels, neighbourKernels,
		creationKernels, movementKernels, indexKernels, unaryKernels, binaryKernels, reduceKernels,
		scanKernels, sortKernels, contractionKernels, windowKernels, activationKernels, softmaxKernels, statisticsKernels,
		normKernels, recurrentKernels, elementKernels, tupleKernels, quantizeKernels, searchKernels, randomKernels, einsumKernels, spectralKernels, matrixKernels, factorKernels, spectrumKernels,
		poolingKernels, interpolateKernels, gridKernels, patchKernels, quantizedKernels} {
		for c, k := range m {
			kernels[c] = k
		}
	}
}

// Has reports whether Eval knows c: every op of the table, and no custom op.
func Has(c op.Code) bool { return kernels[c] != nil }

// Eval computes node n, which has passed op.Check, on inputs in. It returns ErrUnsupported for an op without a reference kernel and
// ErrIndex for an index outside its dimension. The results share no elements with in. Eval may be called by several goroutines at the same
// time.
func Eval(n *op.Node, in []Tensor) ([]Tensor, error) {
	k := kernels[n.Op]
	if k == nil {
		return nil, fmt.Errorf("ref: %v: %w", n.Op, core.ErrUnsupported)
	}
	outs, err := k(n, in)
	if err != nil {
		return nil, err
	}
	for k := range outs {
		outs[k].Desc = n.Outputs[k]
		for i, f := range outs[k].F {
			outs[k].F[i] = Round(n.Outputs[k].DType, f)
		}
	}
	return outs, nil
}

// direct returns the kernel of a function that has one result and cannot fail.
func direct(f func(n *op.Node, in []Tensor) Tensor) kernel {
	return func(n *op.Node, in []Tensor) ([]Tensor, error) { return []Tensor{f(n, in)}, nil }
}
