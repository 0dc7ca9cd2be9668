package nn

import (
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/tensor"
)

// CosineEmbeddingLoss is 1-c where y is 1, and max(0, c-Margin) where it is -1, for the cosine c of a and b along the last axis.
type CosineEmbeddingLoss struct {
	Margin    float64
	Reduction tensor.Reduction
}

// Forward computes the loss for a and b [..., D] and y [...].
func (l CosineEmbeddingLoss) Forward(a, b, y *tensor.Tensor) *tensor.Tensor {
	return a.CosineEmbeddingLoss(b, y, l.Margin, l.Reduction)
}

// MarginRankingLoss is max(0, Margin-y·(a-b)): y is 1 where a should be greater, and -1 where b should be greater.
type MarginRankingLoss struct {
	Margin    float64
	Reduction tensor.Reduction
}

// Forward computes the loss.
func (l MarginRankingLoss) Forward(a, b, y *tensor.Tensor) *tensor.Tensor {
	return a.MarginRankingLoss(b, y, l.Margin, l.Reduction)
}

// TripletMarginLoss is max(0, d(anchor, positive) - d(anchor, negative) + Margin) by the P-norm along the last axis.
type TripletMarginLoss struct {
	Margin    float64 // 0 means 1
	P         float64 // 0 means 2
	Swap      bool    // use the smaller of the distances of negative to anchor and to positive
	Reduction tensor.Reduction
}

// Forward computes the loss.
func (l TripletMarginLoss) Forward(anchor, positive, negative *tensor.Tensor) *tensor.Tensor {
	return anchor.TripletMarginLoss(positive, negative, tensor.TripletOptions{Margin: l.Margin, P: l.P, Swap: l.Swap, Reduction: l.Reduction})
}

// GramMatrixLoss compares the style of pictures (Gatys and others 2016): the sum over layers of the mean squared difference of
// their features' Gram matrices, each divided by the number of features.
type GramMatrixLoss struct {
	Weights []float64 // weight of each layer; nil means 1 for all
}

// Forward computes the loss for the features [N, C, H, W] of each layer, for the picture and for the style.
func (l GramMatrixLoss) Forward(x, style []*tensor.Tensor) *tensor.Tensor {
	if len(x) == 0 || len(x) != len(style) || l.Weights != nil && len(l.Weights) != len(x) {
		fail("gram_matrix: %d layers, %d of style and %d weights, want as many and at least one: %w", len(x), len(style), len(l.Weights), core.ErrShape)
	}
	m := keeping(append(append([]*tensor.Tensor{}, x...), style...)...)
	var sum *tensor.Tensor
	for i := range x {
		part := m.of(m.of(gram(m, x[i])).MSELoss(m.of(gram(m, style[i])), tensor.MeanLoss))
		if l.Weights != nil {
			part = m.of(part.MulScalar(l.Weights[i]))
		}
		if sum == nil {
			sum = part
		} else {
			sum = m.of(sum.Add(part))
		}
	}
	return m.done(sum)
}

// gram returns the products of the channels of x[N, C, H, W] divided by the number of features: [N, C, C].
func gram(m *temps, x *tensor.Tensor) *tensor.Tensor {
	if x.Rank() != 4 {
		fail("gram_matrix: %v, want [N, C, H, W]: %w", x.Desc(), core.ErrShape)
	}
	f := m.of(x.FlattenFrom(2, 3))
	return m.of(m.of(f.MatMulT(f, false, true)).DivScalar(float64(max(1, x.Shape()[1:].Size()))))
}
