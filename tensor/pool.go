package tensor

import (
	"slices"

	"github.com/goburn/burn/core/op"
)

// PoolOptions holds the settings of pooling, with one entry per dimension of the window. A missing stride means the length of the
// window, a missing padding 0, and a missing dilation 1.
type PoolOptions struct {
	Strides      []int
	Padding      []int // padding at both ends, if PadLo and PadHi are nil
	PadLo, PadHi []int // padding before and after
	Dilation     []int
	Ceil         bool // keep the last window that begins inside t or its first padding, even if it extends beyond the end
	ExcludePad   bool // for AvgPool: padding is not counted in the mean
}

// poolAttrs returns the attributes of the pooling ops. Ceil is computed as in PyTorch.
func (t *Tensor) poolAttrs(name string, window []int, o PoolOptions) []op.Attr {
	n := len(window)
	if n == 0 || n > t.Rank() {
		fail("%s: window %v over %v, want 1 to %d entries: %w", name, window, t.desc, t.Rank(), op.ErrShape)
	}
	strides := slices.Clone(window)
	copy(strides, spatial("strides", n, o.Strides, 1).Value.Ints()[:min(n, len(o.Strides))])
	p := append(pads(n, o.Padding, o.PadLo, o.PadHi), op.Ints("window", window...), spatial("strides", n, strides, 1),
		spatial("dilation", n, o.Dilation, 1))
	over := make([]int, n)
	if o.Ceil {
		dilation := p[4].Value.Ints()
		for i := range over {
			lo, hi := p[0].Value.Ints()[i], p[1].Value.Ints()[i]
			size, reach := t.desc.Shape[t.Rank()-n+i], dilation[i]*(window[i]-1)+1
			if free := size + lo + hi - reach; free >= 0 && strides[i] > 0 {
				last := (free + strides[i] - 1) / strides[i] // start of the last window, in strides
				if last*strides[i] >= size+lo {
					last--
				}
				over[i] = max(0, last*strides[i]-free)
			}
		}
	}
	return append(p, op.Ints("overhang", over...))
}

// MaxPool returns the maximum of a window sliding over the last len(window) dimensions of t.
func (t *Tensor) MaxPool(window []int, o PoolOptions) *Tensor {
	return t.un(op.MaxPool, t.poolAttrs("max_pool", window, o)...)
}

// MaxPoolWithIndices returns MaxPool and the indices of the maxima (i64) in the row-major order of the pooled dimensions.
func (t *Tensor) MaxPoolWithIndices(window []int, o PoolOptions) (values, indices *Tensor) {
	r := Op(op.MaxPool, []*Tensor{t}, append(t.poolAttrs("max_pool", window, o), op.Flag("indices", true))...)
	return r[0], r[1]
}

// MaxUnpool puts each element of t at its position in indices, in the row-major order of trailing dimensions of the given size,
// and zeros elsewhere.
func (t *Tensor) MaxUnpool(indices *Tensor, size ...int) *Tensor {
	return Op(op.MaxUnpool, []*Tensor{t, indices}, op.Ints("size", size...))[0]
}

// AvgPool returns the mean of a window sliding over the last dimensions of t. Padding counts, unless ExcludePad is set.
func (t *Tensor) AvgPool(window []int, o PoolOptions) *Tensor {
	return t.un(op.AvgPool, append(t.poolAttrs("avg_pool", window, o), op.Flag("count_pad", !o.ExcludePad))...)
}

// LpPool returns the p-norm of a window sliding over the last dimensions of t.
func (t *Tensor) LpPool(p float64, window []int, o PoolOptions) *Tensor {
	return t.un(op.LpPool, append(t.poolAttrs("lp_pool", window, o), op.Float("p", p))...)
}

// AdaptiveAvgPool returns the means of windows over the last len(size) dimensions of t. The windows are chosen so that the result
// has size[i] elements along the i-th of these dimensions.
func (t *Tensor) AdaptiveAvgPool(size ...int) *Tensor {
	return t.un(op.AdaptiveAvgPool, op.Ints("size", size...))
}

// AdaptiveMaxPool returns the maxima of windows over the last len(size) dimensions of t, chosen as in AdaptiveAvgPool.
func (t *Tensor) AdaptiveMaxPool(size ...int) *Tensor {
	return t.un(op.AdaptiveMaxPool, op.Ints("size", size...))
}

// AdaptiveMaxPoolWithIndices returns AdaptiveMaxPool and the indices of the maxima (i64) in the row-major order of the pooled
// dimensions.
func (t *Tensor) AdaptiveMaxPoolWithIndices(size ...int) (values, indices *Tensor) {
	r := Op(op.AdaptiveMaxPool, []*Tensor{t}, op.Ints("size", size...), op.Flag("indices", true))
	return r[0], r[1]
}
