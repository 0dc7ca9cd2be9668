package tensor

import "github.com/goburn/burn/core/op"

// Losses compare t, what a model gave, with a target. A Reduction says what becomes of the losses of the elements.
type Reduction string

// What becomes of losses. The zero Reduction is MeanLoss.
const (
	MeanLoss Reduction = "mean"
	SumLoss  Reduction = "sum"
	EachLoss Reduction = "none" // they stay as they are
)

func (r Reduction) attr() op.Attr { return op.Str("reduction", or(string(r), "mean")) }

func (t *Tensor) loss(c op.Code, r Reduction, others []*Tensor, attrs ...op.Attr) *Tensor {
	return Op(c, append([]*Tensor{t}, others...), append(attrs, r.attr())...)[0]
}

// ClassOptions change NLLLoss and CrossEntropyLoss.
type ClassOptions struct {
	Weight         *Tensor // [C], of each class; nil for ones
	Ignore         *int    // a label that does not count; nil for -100
	LabelSmoothing float64 // of CrossEntropyLoss: the share that goes to all classes
	Reduction      Reduction
}

func (o ClassOptions) apply(c op.Code, t, target *Tensor, attrs ...op.Attr) *Tensor {
	others := []*Tensor{target}
	if o.Weight != nil {
		others = append(others, o.Weight)
	}
	if o.Ignore != nil {
		attrs = append(attrs, op.Int("ignore_index", *o.Ignore))
	}
	return t.loss(c, o.Reduction, others, attrs...)
}

// NLLLoss returns the negative log likelihood of the classes in target[N, ...] under log probabilities t[N, C, ...]. The mean
// divides by the sum of the weights.
func (t *Tensor) NLLLoss(target *Tensor, o ClassOptions) *Tensor {
	return o.apply(op.NLLLoss, t, target)
}

// CrossEntropyLoss is NLLLoss of LogSoftmax of the logits t[N, C, ...] along axis 1.
func (t *Tensor) CrossEntropyLoss(target *Tensor, o ClassOptions) *Tensor {
	return o.apply(op.CrossEntropyLoss, t, target, op.Float("label_smoothing", o.LabelSmoothing))
}

// CrossEntropyWithProbabilities returns -Σ target·LogSoftmax(t) along the last axis, meant over the others.
func (t *Tensor) CrossEntropyWithProbabilities(target *Tensor) *Tensor {
	m := temps{from: t}
	return m.done(m.of(m.of(m.of(m.of(t.LogSoftmax(-1)).Mul(target)).Sum(-1)).Mean()).Neg())
}

// MSELoss returns (t-target)².
func (t *Tensor) MSELoss(target *Tensor, r Reduction) *Tensor {
	return t.loss(op.MSELoss, r, []*Tensor{target})
}

// L1Loss returns |t-target|.
func (t *Tensor) L1Loss(target *Tensor, r Reduction) *Tensor {
	return t.loss(op.L1Loss, r, []*Tensor{target})
}

// HuberLoss returns d²/2 for d = |t-target| up to delta, else delta·(d-delta/2). PyTorch's delta is 1.
func (t *Tensor) HuberLoss(target *Tensor, delta float64, r Reduction) *Tensor {
	return t.loss(op.HuberLoss, r, []*Tensor{target}, op.Float("delta", delta))
}

// SmoothL1Loss returns d²/(2·beta) for d = |t-target| below beta, else d-beta/2. PyTorch's beta is 1.
func (t *Tensor) SmoothL1Loss(target *Tensor, beta float64, r Reduction) *Tensor {
	return t.loss(op.SmoothL1Loss, r, []*Tensor{target}, op.Float("beta", beta))
}

// BCELoss returns the binary cross entropy of probabilities t.
func (t *Tensor) BCELoss(target *Tensor, r Reduction) *Tensor {
	return t.loss(op.BCELoss, r, []*Tensor{target})
}

// BCEWithLogitsLoss returns the binary cross entropy of Sigmoid of t without overflow; posWeight, which may be nil, is the weight
// of positive targets.
func (t *Tensor) BCEWithLogitsLoss(target, posWeight *Tensor, r Reduction) *Tensor {
	others := []*Tensor{target}
	if posWeight != nil {
		others = append(others, posWeight)
	}
	return t.loss(op.BCEWithLogitsLoss, r, others)
}

// KLDivLoss is target·(log(target)-t) of log probabilities t; with logTarget the target is logarithms too.
func (t *Tensor) KLDivLoss(target *Tensor, logTarget bool, r Reduction) *Tensor {
	return t.loss(op.KLDivLoss, r, []*Tensor{target}, op.Flag("log_target", logTarget))
}

// PoissonNLLLoss is exp(t)-target·t of logarithms t.
func (t *Tensor) PoissonNLLLoss(target *Tensor, o PoissonOptions) *Tensor {
	eps := o.Epsilon
	if eps == 0 {
		eps = 1e-8
	}
	return t.loss(op.PoissonNLLLoss, o.Reduction, []*Tensor{target}, op.Flag("log_input", !o.Plain), op.Flag("full", o.Full), op.Float("epsilon", eps))
}

// PoissonOptions change PoissonNLLLoss.
type PoissonOptions struct {
	Plain     bool    // t is rates, not logarithms
	Full      bool    // add Stirling's approximation
	Epsilon   float64 // added to rates before the logarithm; 0 for 1e-8
	Reduction Reduction
}

// CosineEmbeddingLoss returns 1-c where y is above 0, else max(0, c-margin), for the cosine c of t and o along the last axis.
func (t *Tensor) CosineEmbeddingLoss(o, y *Tensor, margin float64, r Reduction) *Tensor {
	return t.loss(op.CosineEmbeddingLoss, r, []*Tensor{o, y}, op.Float("margin", margin))
}

// HingeLoss returns max(0, margin-t·target) for targets -1 and 1.
func (t *Tensor) HingeLoss(target *Tensor, margin float64, r Reduction) *Tensor {
	return t.loss(op.HingeLoss, r, []*Tensor{target}, op.Float("margin", margin))
}

// HingeEmbeddingLoss returns t where target is above 0, else max(0, margin-t). PyTorch's margin is 1.
func (t *Tensor) HingeEmbeddingLoss(target *Tensor, margin float64, r Reduction) *Tensor {
	return t.loss(op.HingeEmbeddingLoss, r, []*Tensor{target}, op.Float("margin", margin))
}

// MarginRankingLoss returns max(0, margin-y·(t-o)): y is 1 where t should be the greater, -1 where o should.
func (t *Tensor) MarginRankingLoss(o, y *Tensor, margin float64, r Reduction) *Tensor {
	return t.loss(op.MarginRankingLoss, r, []*Tensor{o, y}, op.Float("margin", margin))
}

// TripletOptions change TripletMarginLoss.
type TripletOptions struct {
	Margin    float64 // 0 stands for 1
	P         float64 // degree of the norm; 0 stands for 2
	Swap      bool    // the nearer of anchor and positive counts
	Reduction Reduction
}

// TripletMarginLoss returns max(0, d(t, positive)-d(t, negative)+margin) by the p-norm along the last axis.
func (t *Tensor) TripletMarginLoss(positive, negative *Tensor, o TripletOptions) *Tensor {
	if o.Margin == 0 {
		o.Margin = 1
	}
	if o.P == 0 {
		o.P = 2
	}
	return t.loss(op.TripletMarginLoss, o.Reduction, []*Tensor{positive, negative}, op.Float("margin", o.Margin), op.Float("p", o.P),
		op.Flag("swap", o.Swap))
}

// CTCOptions change CTCLoss.
type CTCOptions struct {
	Blank        int  // class of no label
	ZeroInfinity bool // infinite losses count as 0
	Reduction    Reduction
}

// CTCLoss returns connectionist temporal classification: minus the logarithm of the probability that log probabilities
// t[T, B, C] give the first targetLengths[B] of targets[B, S] within the first inputLengths[B] steps.
func (t *Tensor) CTCLoss(targets, inputLengths, targetLengths *Tensor, o CTCOptions) *Tensor {
	return t.loss(op.CTCLoss, o.Reduction, []*Tensor{targets, inputLengths, targetLengths}, op.Int("blank", o.Blank),
		op.Flag("zero_infinity", o.ZeroInfinity))
}
