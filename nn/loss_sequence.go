package nn

import (
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/tensor"
)

// CTCLoss is connectionist temporal classification (Graves and others 2006).
type CTCLoss struct {
	Blank        int  // index of the blank class
	ZeroInfinity bool // infinite losses count as 0
	Reduction    tensor.Reduction
}

// Forward computes the loss for log probabilities x[T, B, C] and labels [B, S]. Only the first inputLengths[B] steps of x and the first
// targetLengths[B] labels count. The mean divides each loss by its number of labels.
func (l CTCLoss) Forward(x, targets, inputLengths, targetLengths *tensor.Tensor) *tensor.Tensor {
	return x.CTCLoss(targets, inputLengths, targetLengths, tensor.CTCOptions{Blank: l.Blank, ZeroInfinity: l.ZeroInfinity, Reduction: l.Reduction})
}

// RNNTLoss is the loss of recurrent transducers (Graves 2012).
type RNNTLoss struct {
	Blank     int // index of the blank class
	Reduction tensor.Reduction
}

// Forward computes the loss for logits x[B, T, U+1, C] of the joint network and labels [B, U] of an integer type. Only the first
// inputLengths[B] steps, at least 1, and the first targetLengths[B] labels count. The other labels may be any class.
func (l RNNTLoss) Forward(x, targets, inputLengths, targetLengths *tensor.Tensor) *tensor.Tensor {
	if x.Rank() != 4 || targets.Rank() != 2 || targets.Shape()[1]+1 != x.Shape()[2] || x.Shape()[1] == 0 {
		fail("rnnt: logits %v and labels %v, want [B, T, U+1, C] and [B, U]: %w", x.Desc(), targets.Desc(), core.ErrShape)
	}
	m := keeping(x, targets, inputLengths, targetLengths)
	b, steps, labels := x.Shape()[0], x.Shape()[1], targets.Shape()[1]
	logp := m.of(x.LogSoftmax(3))
	blank := m.of(logp.Select(3, l.Blank)) // [B, T, U+1]
	var before *tensor.Tensor              // cumulative log probability of the labels before each, [B, T, U+1]
	at := m.of(m.of(targets.Reshape(b, 1, labels, 1)).Expand(b, steps, labels, 1))
	emit := m.of(m.of(m.of(logp.Narrow(2, 0, labels)).Gather(3, at)).Squeeze(3))
	before = m.of(m.of(emit.CumSum(2)).Pad(2, 1, 0, 0))
	// The forward variable of step t and label u is a sum over k <= u: the variable of step t-1 and label k, times the probability of blank
	// there, times the probabilities of the labels from k to u in step t.
	row := func(v *tensor.Tensor, t int) *tensor.Tensor { return m.of(v.Select(1, t)) }
	alpha := row(before, 0)
	alphas := []*tensor.Tensor{alpha}
	for t := 1; t < steps; t++ {
		e := row(before, t)
		alpha = m.of(e.Add(m.of(m.of(m.of(alpha.Add(row(blank, t-1))).Sub(e)).LogCumSumExp(1))))
		alphas = append(alphas, alpha)
	}
	all := m.of(m.of(m.of(tensor.Stack(1, alphas...)).Add(blank)).Reshape(b, steps*(labels+1)))
	end := m.of(m.of(m.of(inputLengths.SubScalar(1)).MulScalar(float64(labels + 1))).Add(targetLengths))
	y := m.of(m.of(m.of(all.Gather(1, m.of(end.Unsqueeze(1)))).Squeeze(1)).Neg())
	return m.done(reduced(m, y, l.Reduction))
}
