package optim

import (
	"math"

	"github.com/goburn/burn/core/op"
)

// AdamConfig holds the settings of Adam.
type AdamConfig struct {
	Beta1       float64 // weight of the old mean of gradients; 0 means 0.9
	Beta2       float64 // weight of the old mean of squared gradients; 0 means 0.999
	Epsilon     float64 // 0 means 1e-8
	WeightDecay float64 // WeightDecay times the parameter is added to the gradient
	AMSGrad     bool    // divide by the greatest mean of squares so far (Reddi et al., 2018)
}

// AdamWConfig holds the settings of AdamW. Its weight decay is decoupled: a step multiplies parameters by 1 - lr·WeightDecay. PyTorch's
// default is 0.01.
type AdamWConfig AdamConfig

// Adam implements Kingma and Ba, Adam: a method for stochastic optimization, 2015.
type Adam struct{ engine }

// NewAdam returns the optimiser.
func NewAdam(c AdamConfig) *Adam { return &Adam{newEngine("adam", newAdam(c, false))} }

// AdamW implements Loshchilov and Hutter, Decoupled weight decay regularization, 2019.
type AdamW struct{ engine }

// NewAdamW returns the optimiser.
func NewAdamW(c AdamWConfig) *AdamW {
	return &AdamW{newEngine("adamw", newAdam(AdamConfig(c), true))}
}

type adam struct {
	anyShape
	AdamConfig
	decoupled bool
}

func newAdam(c AdamConfig, decoupled bool) adam {
	c.Beta1, c.Beta2, c.Epsilon = or(c.Beta1, 0.9), or(c.Beta2, 0.999), or(c.Epsilon, 1e-8)
	return adam{AdamConfig: c, decoupled: decoupled}
}

func (r adam) slots(p op.Desc) []slot {
	s := []slot{{"mean", p.Shape, 0}, {"square", p.Shape, 0}}
	if r.AMSGrad {
		s = append(s, slot{"greatest", p.Shape, 0})
	}
	return s
}

func (r adam) numbers(lr float64, step int) []float64 {
	t := float64(step)
	return []float64{lr / (1 - math.Pow(r.Beta1, t)), 1 / math.Sqrt(1-math.Pow(r.Beta2, t)), 1 - lr*r.WeightDecay}
}

func (r adam) update(b *body, p, g op.Desc, kept, n []op.Desc) (op.Desc, []op.Desc) {
	switch {
	case r.WeightDecay == 0:
	case r.decoupled:
		p = b.mul(p, n[2])
	default:
		g = b.add(g, b.times(p, r.WeightDecay))
	}
	m := b.blend(kept[0], g, r.Beta1)
	v := b.add(b.times(kept[1], r.Beta2), b.mul(b.times(g, 1-r.Beta2), g))
	next := []op.Desc{m, v}
	if r.AMSGrad {
		v = b.max(kept[2], v)
		next = append(next, v)
	}
	root := b.plus(b.mul(b.sqrt(v), n[1]), r.Epsilon)
	return b.sub(p, b.div(b.mul(m, n[0]), root)), next
}
