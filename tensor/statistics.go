package tensor

import "github.com/goburn/burn/core/op"

// A correction is subtracted from the number of elements: 1 yields the unbiased estimate, 0 the mean of the squared distances.

// Variance returns the sum of the squared distances from the mean over axes, divided by count-correction.
func (t *Tensor) Variance(correction float64, axes ...int) *Tensor {
	return t.reduce(op.Variance, false, axes, op.Float("correction", correction))
}

// VarianceKeep is like Variance, but keeps the axes with length 1.
func (t *Tensor) VarianceKeep(correction float64, axes ...int) *Tensor {
	return t.reduce(op.Variance, true, axes, op.Float("correction", correction))
}

// VarMean returns the variance and the mean over axes.
func (t *Tensor) VarMean(correction float64, axes ...int) (variance, mean *Tensor) {
	return t.Variance(correction, axes...), t.Mean(axes...)
}

// Std returns the square root of Variance.
func (t *Tensor) Std(correction float64, axes ...int) *Tensor {
	return t.reduce(op.Std, false, axes, op.Float("correction", correction))
}

// StdKeep is like Std, but keeps the axes with length 1.
func (t *Tensor) StdKeep(correction float64, axes ...int) *Tensor {
	return t.reduce(op.Std, true, axes, op.Float("correction", correction))
}

// Median returns the middle element over axes, or the mean of the middle two for an even count, or NaN if an element is NaN.
func (t *Tensor) Median(axes ...int) *Tensor { return t.reduce(op.Median, false, axes) }

// MedianKeep is like Median, but keeps the axes with length 1.
func (t *Tensor) MedianKeep(axes ...int) *Tensor { return t.reduce(op.Median, true, axes) }

// MedianWithIndices returns the middle element along axis, or the lesser of the middle two for an even count, and its index
// (i64). NaN counts as the greatest number.
func (t *Tensor) MedianWithIndices(axis int) (values, indices *Tensor) {
	a := t.axis("median", axis, t.Rank())
	if t.desc.Shape[a] == 0 {
		fail("median: axis %d of %v is empty, want an element: %w", a, t.desc, op.ErrShape)
	}
	v, at := t.Sort(a, false)
	mid := (t.desc.Shape[a] - 1) / 2
	m := temps{from: t}
	values = m.of(v).Select(a, mid)
	return values, m.done(m.of(at).Select(a, mid))
}

// Quantile returns the quantiles q of the n elements over axes, along a new first axis. The quantile q is the element at position
// q·(n-1) in ascending order, with linear interpolation between two elements.
func (t *Tensor) Quantile(q []float64, axes ...int) *Tensor {
	return t.QuantileBy("linear", q, axes...)
}

// QuantileBy is Quantile with an interpolation: "linear", "lower", "higher", "midpoint" or "nearest".
func (t *Tensor) QuantileBy(interpolation string, q []float64, axes ...int) *Tensor {
	return t.reduce(op.Quantile, false, axes, op.Floats("q", q...), op.Str("interpolation", interpolation))
}

// Covariance returns the covariance matrix [..., variables, variables] of the rows of t[..., variables, observations].
func (t *Tensor) Covariance(correction float64) *Tensor {
	return t.un(op.Covariance, op.Float("correction", correction))
}

// CorrCoef returns Pearson's correlation of the variables, the rows of t[..., variables, observations].
func (t *Tensor) CorrCoef() *Tensor { return t.un(op.CorrCoef) }

// CosineSimilarity returns the cosine of the angle between the vectors along axis of the broadcast operands, in which a product
// of norms below epsilon counts as epsilon. PyTorch's epsilon is 1e-8.
func (t *Tensor) CosineSimilarity(o *Tensor, axis int, epsilon float64) *Tensor {
	return Op(op.CosineSimilarity, []*Tensor{t, o}, op.Int("axis", t.axis("cosine_similarity", axis, max(t.Rank(), o.Rank()))),
		op.Float("epsilon", epsilon))[0]
}
