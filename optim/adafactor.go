package optim

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// AdafactorConfig holds the settings of Adafactor.
type AdafactorConfig struct {
	Decay       float64 // squared gradients of step t enter the running mean with weight t^Decay; 0 means -0.8
	Epsilon1    float64 // lower bound of the root of the mean squared gradient; 0 means the machine epsilon of the type
	Epsilon2    float64 // lower bound of the scale of a parameter, its root mean square; 0 means 1e-3
	Clip        float64 // greatest root mean square of a step; 0 means 1
	WeightDecay float64 // decoupled weight decay: a step multiplies parameters by 1 - lr·WeightDecay
}

// Adafactor implements Shazeer and Stern, Adafactor: adaptive learning rates with sublinear memory cost, 2018, in PyTorch's form:
// without momentum, with a step relative to the scale of the parameter, and with the squares of matrices factored into rows and
// columns. The learning rate is an upper bound: 0.01 is usual.
type Adafactor struct{ engine }

// NewAdafactor returns the optimiser.
func NewAdafactor(c AdafactorConfig) *Adafactor {
	c.Decay, c.Epsilon2, c.Clip = or(c.Decay, -0.8), or(c.Epsilon2, 1e-3), or(c.Clip, 1)
	return &Adafactor{newEngine("adafactor", adafactor{AdafactorConfig: c})}
}

type adafactor struct {
	anyShape
	AdafactorConfig
}

// slots returns the mean squares of rows and columns. Vectors have an unused slot for columns, so that the slots of every parameter have
// the same names.
func (r adafactor) slots(p op.Desc) []slot {
	k := len(p.Shape)
	if k < 2 {
		return []slot{{"row", p.Shape, 0}, {"column", shape.Of(0), 0}}
	}
	row, column := p.Shape.Clone(), p.Shape.Clone()
	row[k-1], column[k-2] = 1, 1
	return []slot{{"row", row, 0}, {"column", column, 0}}
}

func (r adafactor) numbers(lr float64, step int) []float64 {
	t := float64(step)
	return []float64{min(lr, 1/math.Sqrt(t)), math.Pow(t, r.Decay), 1 - lr*r.WeightDecay}
}

func (r adafactor) update(b *body, p, g op.Desc, kept, n []op.Desc) (op.Desc, []op.Desc) {
	epsilon := r.Epsilon1
	if epsilon == 0 {
		epsilon = 0x1p-23
		if p.DType == dtype.F64 {
			epsilon = 0x1p-52
		}
	}
	rms := func(x op.Desc) op.Desc { return b.times(b.sqrt(b.dot(x, x)), 1/math.Sqrt(float64(p.Shape.Size()))) }
	alpha := b.mul(b.max(b.c(p, r.Epsilon2), rms(p)), n[0])
	if r.WeightDecay != 0 {
		p = b.mul(p, n[2])
	}
	lerp := func(x, y op.Desc) op.Desc { return b.add(x, b.mul(b.sub(y, x), n[1])) }
	square := b.mul(g, g)
	next := []op.Desc{{}, b.Do(op.Copy, kept[1])}
	var estimate op.Desc
	if k := len(p.Shape); k < 2 {
		next[0] = lerp(kept[0], square)
		estimate = next[0]
	} else {
		next[0] = lerp(kept[0], b.Reduce(op.Mean, square, true, k-1))
		next[1] = lerp(kept[1], b.Reduce(op.Mean, square, true, k-2))
		mean := b.max(b.Reduce(op.Mean, next[0], true, k-2), b.c(p, epsilon))
		estimate = b.div(b.mul(next[0], next[1]), mean)
	}
	step := b.div(g, b.sqrt(b.max(estimate, b.c(p, epsilon*epsilon))))
	alpha = b.div(alpha, b.max(b.c(p, 1), b.times(rms(step), 1/r.Clip)))
	return b.sub(p, b.mul(step, alpha)), next
}
