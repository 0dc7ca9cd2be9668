package tensor

import "github.com/goburn/burn/core/op"

// Reduction selects how a loss combines the losses of the elements. The losses compare t, the output of a model, with a target.
type Reduction string

// The reductions. The zero Reduction is MeanLoss.
const (
	MeanLoss Reduction = "mean"
	SumLoss  Reduction = "sum"
	EachLoss Reduction = "none" // the losses of the elements
)

func (r Reduction) attr() op.Attr { return op.Str("reduction", or(string(r), "mean")) }

func (t *Tensor) loss(c op.Code, r Reduction, others []*Tensor, attrs ...op.Attr) *Tensor {
	return Op(c, append([]*Tensor{t}, others...), append(attrs, r.attr())...)[0]
}

// ClassOptions configures NLLLoss and CrossEntropyLoss.
type ClassOptions struct {
	Weight         *Tensor // weights [C] of the classes; nil means ones
	Ignore         *int    // a label that does not count; nil means -100
	LabelSmoothing float64 // for CrossEntropyLoss: fraction of the target that is spread over all classes
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

// NLLLoss returns the negative log likelihood of the classes in target[N, ...] under the log probabilities t[N, C, ...]. MeanLoss
// divides the sum by the sum of the weights.
func (t *Tensor) NLLLoss(target *Tensor, o ClassOptions) *Tensor {
	return o.apply(op.NLLLoss, t, target)
}

// CrossEntropyLoss returns NLLLoss of LogSoftmax of the logits t[N, C, ...] along axis 1.
func (t *Tensor) CrossEntropyLoss(target *Tensor, o ClassOptions) *Tensor {
	return o.apply(op.CrossEntropyLoss, t, target, op.Float("label_smoothing", o.LabelSmoothing))
}

// CrossEntropyWithProbabilities returns the mean over the other axes of -Σ target·LogSoftmax(t) along the last axis.
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

// KLDivLoss returns target·(log(target)-t) for log probabilities t; with logTarget the target holds logarithms too.
func (t *Tensor) KLDivLoss(target *Tensor, logTarget bool, r Reduction) *Tensor {
	return t.loss(op.KLDivLoss, r, []*Tensor{target}, op.Flag("log_target", logTarget))
}

// PoissonNLLLoss returns exp(t)-target·t for logarithms t.
func (t *Tensor) PoissonNLLLoss(target *Tensor, o PoissonOptions) *Tensor {
	eps := o.Epsilon
	if eps == 0 {
		eps = 1e-8
	}
	return t.loss(op.PoissonNLLLoss, o.Reduction, []*Tensor{target}, op.Flag("log_input", !o.Plain), op.Flag("full", o.Full), op.Float("epsilon", eps))
}

// PoissonOptions configures PoissonNLLLoss.
type PoissonOptions struct {
	Plain     bool    // t holds rates instead of logarithms
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

// MarginRankingLoss returns max(0, margin-y·(t-o)): y is 1 where t should be greater than o, and -1 where o should be greater.
func (t *Tensor) MarginRankingLoss(o, y *Tensor, margin float64, r Reduction) *Tensor {
	return t.loss(op.MarginRankingLoss, r, []*Tensor{o, y}, op.Float("margin", margin))
}

// TripletOptions configures TripletMarginLoss.
type TripletOptions struct {
	Margin    float64 // 0 means 1
	P         float64 // degree of the norm; 0 means 2
	Swap      bool    // use the smaller of the distances of negative to anchor and to positive
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

// CTCOptions configures CTCLoss.
type CTCOptions struct {
	Blank        int  // index of the blank label
	ZeroInfinity bool // infinite losses count as 0
	Reduction    Reduction
}

// CTCLoss returns the loss of connectionist temporal classification: the negative logarithm of the probability, under log
// probabilities t[T, B, C], of the first targetLengths[B] of targets[B, S] within the first inputLengths[B] steps.
func (t *Tensor) CTCLoss(targets, inputLengths, targetLengths *Tensor, o CTCOptions) *Tensor {
	return t.loss(op.CTCLoss, o.Reduction, []*Tensor{targets, inputLengths, targetLengths}, op.Int("blank", o.Blank),
		op.Flag("zero_infinity", o.ZeroInfinity))
}
