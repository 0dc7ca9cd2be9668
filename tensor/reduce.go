package tensor

import "github.com/goburn/burn/core/op"

func (t *Tensor) reduce(c op.Code, keep bool, axes []int) *Tensor {
	return t.un(c, op.Ints("axes", t.axes(c.String(), axes)...), op.Flag("keep_dims", keep))
}

// Sum adds over axes, which are removed; none means all.
func (t *Tensor) Sum(axes ...int) *Tensor { return t.reduce(op.Sum, false, axes) }

// SumKeep is Sum that keeps the axes with length 1.
func (t *Tensor) SumKeep(axes ...int) *Tensor { return t.reduce(op.Sum, true, axes) }

// Prod multiplies over axes; none means all.
func (t *Tensor) Prod(axes ...int) *Tensor { return t.reduce(op.Prod, false, axes) }

// Max is the greatest element over axes, NaN if there is one; none means all.
func (t *Tensor) Max(axes ...int) *Tensor { return t.reduce(op.ReduceMax, false, axes) }

// MaxKeep is Max that keeps the axes with length 1.
func (t *Tensor) MaxKeep(axes ...int) *Tensor { return t.reduce(op.ReduceMax, true, axes) }

// Min is the least element over axes, NaN if there is one; none means all.
func (t *Tensor) Min(axes ...int) *Tensor { return t.reduce(op.ReduceMin, false, axes) }

// Mean is the arithmetic mean over axes; none means all.
func (t *Tensor) Mean(axes ...int) *Tensor { return t.reduce(op.Mean, false, axes) }

// MeanKeep is Mean that keeps the axes with length 1.
func (t *Tensor) MeanKeep(axes ...int) *Tensor { return t.reduce(op.Mean, true, axes) }

// Variance is the mean squared distance from the mean over axes, with correction subtracted from the count.
func (t *Tensor) Variance(correction float64, axes ...int) *Tensor {
	return t.un(op.Variance, op.Ints("axes", t.axes("variance", axes)...), op.Float("correction", correction))
}

// ArgMax is the index (i64) of the greatest element along axis, the first of equals.
func (t *Tensor) ArgMax(axis int) *Tensor {
	return t.un(op.ArgMax, op.Int("axis", t.axis("argmax", axis, t.Rank())))
}

// ArgMin is the index (i64) of the least element along axis, the first of equals.
func (t *Tensor) ArgMin(axis int) *Tensor {
	return t.un(op.ArgMin, op.Int("axis", t.axis("argmin", axis, t.Rank())))
}

// CumSum is the running sum along axis.
func (t *Tensor) CumSum(axis int) *Tensor {
	return t.un(op.CumSum, op.Int("axis", t.axis("cumsum", axis, t.Rank())))
}

// Sort gives the elements along axis in order, and where each was (i64).
func (t *Tensor) Sort(axis int, descending bool) (values, indices *Tensor) {
	r := Op(op.Sort, []*Tensor{t}, op.Int("axis", t.axis("sort", axis, t.Rank())), op.Flag("descending", descending))
	return r[0], r[1]
}

// TopK gives the k greatest elements along axis, greatest first, and where each was (i64).
func (t *Tensor) TopK(k, axis int) (values, indices *Tensor) {
	r := Op(op.TopK, []*Tensor{t}, op.Int("k", k), op.Int("axis", t.axis("topk", axis, t.Rank())))
	return r[0], r[1]
}

// Softmax is exp(t) over its sum along axis.
func (t *Tensor) Softmax(axis int) *Tensor {
	return t.un(op.Softmax, op.Int("axis", t.axis("softmax", axis, t.Rank())))
}

// LogSoftmax is the logarithm of Softmax.
func (t *Tensor) LogSoftmax(axis int) *Tensor {
	return t.un(op.LogSoftmax, op.Int("axis", t.axis("log_softmax", axis, t.Rank())))
}

// MatMul is the matrix product over the last two dimensions; the others broadcast.
func (t *Tensor) MatMul(o *Tensor) *Tensor { return t.bin(op.MatMul, o) }

// Linear is t[..., K] · w[K, N] + bias[N]; bias may be nil.
func (t *Tensor) Linear(w, bias *Tensor) *Tensor {
	in := []*Tensor{t, w}
	if bias != nil {
		in = append(in, bias)
	}
	return Op(op.Linear, in)[0]
}

// LayerNorm normalises over axis and all after it; scale and bias may be nil, bias only with scale.
func (t *Tensor) LayerNorm(axis int, scale, bias *Tensor, epsilon float64) *Tensor {
	in := []*Tensor{t}
	for _, o := range []*Tensor{scale, bias} {
		if o != nil {
			in = append(in, o)
		}
	}
	return Op(op.LayerNorm, in, op.Int("axis", t.axis("layer_norm", axis, t.Rank())), op.Float("epsilon", epsilon))[0]
}

// Conv is the cross-correlation of t[N, C, spatial...] with w[O, C/Groups, kernel...].
func (t *Tensor) Conv(w *Tensor, o ConvOptions) *Tensor {
	n := max(0, t.Rank()-2)
	per := func(name string, v []int, def int) op.Attr {
		full := make([]int, n)
		for i := range full {
			full[i] = def
			if i < len(v) {
				full[i] = v[i]
			}
		}
		return op.Ints(name, full...)
	}
	return Op(op.Conv, []*Tensor{t, w}, per("strides", o.Strides, 1), per("pad_lo", o.PadLo, 0), per("pad_hi", o.PadHi, 0),
		per("kernel_dilation", o.Dilation, 1), per("input_dilation", o.InputDilation, 1), op.Int("groups", max(1, o.Groups)))[0]
}

// ConvOptions are the settings of Conv, one entry per spatial dimension; missing entries are stride 1, no padding, no
// dilation, and Groups 0 is one group.
type ConvOptions struct {
	Strides, PadLo, PadHi, Dilation, InputDilation []int
	Groups                                         int
}
