package nn

import (
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/tensor"
)

// Losses compare the output of a model with a target. They are plain structs of settings whose zero values are PyTorch's
// defaults. Reduction selects how the losses of the elements are combined; the default is their mean.

// CrossEntropyLoss is the negative log likelihood of classes under the softmax of logits x[N, C, ...].
type CrossEntropyLoss struct {
	Weight         *tensor.Tensor // weight of each class, [C], or nil
	Ignore         *int           // a label that does not count; nil means -100
	LabelSmoothing float64        // share of the target that is spread over all classes
	Probabilities  bool           // x holds probabilities instead of logits
	Reduction      tensor.Reduction
}

// Forward computes the loss for labels [N, ...] of an integer type, or for probabilities of the classes [N, C, ...] of x's type.
func (l CrossEntropyLoss) Forward(x, target *tensor.Tensor) *tensor.Tensor {
	m := keeping(x, target)
	if target.DType().IsFloat() {
		return l.soft(m, x, target)
	}
	o := tensor.ClassOptions{Weight: l.Weight, Ignore: l.Ignore, LabelSmoothing: l.LabelSmoothing, Reduction: l.Reduction}
	if !l.Probabilities {
		return x.CrossEntropyLoss(target, o)
	}
	if l.LabelSmoothing == 0 {
		return m.done(m.of(x.Log()).NLLLoss(target, o))
	}
	return m.done(m.of(x.Log()).CrossEntropyLoss(target, o)) // the softmax of log probabilities is the probabilities
}

// soft returns the loss for a target of class probabilities; the mean is over the positions.
func (l CrossEntropyLoss) soft(m *temps, x, target *tensor.Tensor) *tensor.Tensor {
	if x.Rank() < 2 || !x.Shape().Equal(target.Shape()) {
		fail("cross_entropy: logits %v and probabilities %v, want one shape [N, C, ...]: %w", x.Desc(), target.Desc(), core.ErrShape)
	}
	logp, classes := x, float64(x.Shape()[1])
	if l.Probabilities {
		logp = m.of(x.Log())
	} else {
		logp = m.of(x.LogSoftmax(1))
	}
	if e := l.LabelSmoothing; e != 0 {
		target = m.of(m.of(target.MulScalar(1 - e)).AddScalar(e / classes))
	}
	y := m.of(logp.Mul(target))
	if l.Weight != nil {
		dims := make([]int, x.Rank()-1)
		for i := range dims {
			dims[i] = 1
		}
		dims[0] = x.Shape()[1]
		y = m.of(y.Mul(m.of(l.Weight.Reshape(dims...))))
	}
	return m.done(reduced(m, m.of(m.of(y.Sum(1)).Neg()), l.Reduction))
}

// reduced combines the losses of elements.
func reduced(m *temps, y *tensor.Tensor, r tensor.Reduction) *tensor.Tensor {
	switch r {
	case tensor.EachLoss:
		return y
	case tensor.SumLoss:
		return y.Sum()
	case "", tensor.MeanLoss:
		return y.Mean()
	}
	fail("loss: reduction %q, want mean, sum or none: %w", string(r), core.ErrAttr)
	return nil
}

// NLLLoss is the negative log likelihood of labels [N, ...] under log probabilities x[N, C, ...].
type NLLLoss struct {
	Weight    *tensor.Tensor // weight of each class, [C], or nil
	Ignore    *int           // a label that does not count; nil means -100
	Reduction tensor.Reduction
}

// Forward computes the loss.
func (l NLLLoss) Forward(x, target *tensor.Tensor) *tensor.Tensor {
	return x.NLLLoss(target, tensor.ClassOptions{Weight: l.Weight, Ignore: l.Ignore, Reduction: l.Reduction})
}

// BCELoss is the binary cross entropy of probabilities or, with Logits, of scores before the sigmoid.
type BCELoss struct {
	Logits         bool
	Weight         *tensor.Tensor // weight of each element, broadcasts; may be nil
	PosWeight      *tensor.Tensor // weight of positive targets, with Logits; may be nil
	LabelSmoothing float64        // targets become t·(1-s) + s/2
	Reduction      tensor.Reduction
}

// Forward computes the loss for targets in [0, 1] of x's shape. Targets of another type are cast to x's.
func (l BCELoss) Forward(x, target *tensor.Tensor) *tensor.Tensor {
	m := keeping(x, target)
	if target.DType() != x.DType() {
		target = m.of(target.Cast(x.DType()))
	}
	if s := l.LabelSmoothing; s != 0 {
		target = m.of(m.of(target.MulScalar(1 - s)).AddScalar(s / 2))
	}
	loss := func(r tensor.Reduction) *tensor.Tensor {
		switch {
		case l.Logits:
			return x.BCEWithLogitsLoss(target, l.PosWeight, r)
		case l.PosWeight != nil:
			fail("bce: a weight of positive targets without Logits, want both: %w", core.ErrAttr)
		}
		return x.BCELoss(target, r)
	}
	if l.Weight == nil {
		return m.done(loss(l.Reduction))
	}
	return m.done(reduced(m, m.of(m.of(loss(tensor.EachLoss)).Mul(l.Weight)), l.Reduction))
}

// MultiMarginLoss is the sum over the wrong classes of max(0, Margin - x[label] + x[class])^P, divided by the number of classes,
// for scores x[N, C].
type MultiMarginLoss struct {
	Margin    *float64       // nil means 1
	P         int            // 1 or 2; 0 means 1
	Weight    *tensor.Tensor // weight of each class, [C], or nil
	Reduction tensor.Reduction
}

// Forward computes the loss for labels [N].
func (l MultiMarginLoss) Forward(x, target *tensor.Tensor) *tensor.Tensor {
	if x.Rank() != 2 || target.Rank() != 1 {
		fail("multi_margin: %v and labels %v, want [N, C] and [N]: %w", x.Desc(), target.Desc(), core.ErrShape)
	}
	m := keeping(x, target)
	right := m.of(target.OneHot(dtype.Bool, x.Shape()[1], -1))
	own := m.of(m.of(x.MaskFill(m.of(right.Not()), 0)).SumKeep(1))
	y := m.of(m.of(m.of(m.of(x.Sub(own)).AddScalar(value(l.Margin, 1))).ClampMin(0)).MaskFill(right, 0))
	switch or(l.P, 1) {
	case 1:
	case 2:
		y = m.of(y.Square())
	default:
		fail("multi_margin: power %d, want 1 or 2: %w", l.P, core.ErrAttr)
	}
	y = m.of(y.Mean(1))
	if l.Weight != nil {
		y = m.of(y.Mul(m.of(l.Weight.IndexSelect(0, target))))
	}
	return m.done(reduced(m, y, l.Reduction))
}

// value returns *p, or def if p is nil.
func value(p *float64, def float64) float64 {
	if p == nil {
		return def
	}
	return *p
}
