package conformance

import (
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

type termCount func(n *op.Node, in []op.Desc) int

// terms is how many terms meet in one element of the result of a node whose row's tolerance is per term. Elementwise ops join
// two numbers unless they say otherwise.
func terms(n *op.Node, in []op.Desc) int {
	if f, ok := termCounts[n.Op]; ok {
		return f(n, in)
	}
	return two(n, in)
}

// termCounts are the counts of ops that have their own.
var termCounts = map[op.Code]termCount{
	// The elements that are joined.
	op.Sum: overAxes, op.Prod: overAxes, op.Mean: overAxes, op.Variance: overAxes, op.LogSumExp: overAxes,
	op.CumSum: overAxis, op.CumProd: overAxis, op.Softmax: overAxis, op.LogSoftmax: overAxis,
	op.WindowReduce: overWindow, op.AvgPool: overWindow,
	// The products, and the bias.
	op.MatMul: func(n *op.Node, in []op.Desc) int {
		s := in[0].Shape
		if n.Attrs.Bool("transpose_a") {
			return s[len(s)-2]
		}
		return s[len(s)-1]
	},
	op.Linear: func(_ *op.Node, in []op.Desc) int { return in[0].Shape[len(in[0].Shape)-1] + 1 },
	op.Conv:   func(_ *op.Node, in []op.Desc) int { return in[1].Shape[1:].Size() },
	// Two numbers of either sign, which cancel.
	op.HardSigmoid: two, op.HardSwish: two, op.Gelu: two,
	// Every update may meet in one element, with what was there.
	op.Scatter: updates, op.ScatterElements: updates, op.ScatterND: tuples,
	// The normalised elements, mean, scale, bias and epsilon.
	op.BatchNorm: func(*op.Node, []op.Desc) int { return 4 },
	op.LayerNorm: normalised, op.RMSNorm: normalised,
	op.GroupNorm: func(n *op.Node, in []op.Desc) int { return in[0].Shape[1:].Size()/n.Attrs.Int("groups") + 4 },
	// A gate sums inputs and hidden units, once per step.
	op.LSTM: steps, op.GRU: steps,
}

func two(*op.Node, []op.Desc) int { return 2 }

func product(s shape.Shape, axes []int) int {
	p := 1
	for _, a := range axes {
		p *= s[a]
	}
	return p
}

func overAxes(n *op.Node, in []op.Desc) int { return product(in[0].Shape, n.Attrs.Ints("axes")) }

func overAxis(n *op.Node, in []op.Desc) int { return in[0].Shape[n.Attrs.Int("axis")] }

func overWindow(n *op.Node, _ []op.Desc) int { return shape.Shape(n.Attrs.Ints("window")).Size() }

func updates(_ *op.Node, in []op.Desc) int { return in[1].Shape.Size() + 1 }

// tuples counts the index tuples; each may have no elements at all.
func tuples(_ *op.Node, in []op.Desc) int {
	s := in[1].Shape
	return s[:len(s)-1].Size() + 1
}

func normalised(n *op.Node, in []op.Desc) int { return in[0].Shape[n.Attrs.Int("axis"):].Size() + 4 }

func steps(_ *op.Node, in []op.Desc) int {
	return max(1, in[0].Shape[0]) * (in[1].Shape[2] + in[2].Shape[2] + 2)
}
