package optim

import (
	"math"

	"github.com/goburn/burn/core/op"
)

// AdanConfig holds the settings of Adan.
type AdanConfig struct {
	Beta1       float64 // weight of the old mean of gradients; 0 means 0.98
	Beta2       float64 // weight of the old mean of differences of gradients; 0 means 0.92
	Beta3       float64 // weight of the old mean of squares; 0 means 0.99
	Epsilon     float64 // 0 means 1e-8
	WeightDecay float64 // proximal: parameters are divided by 1 + lr·WeightDecay
	Decoupled   bool    // multiply parameters by 1 - lr·WeightDecay before the step instead of dividing them after it
}

// Adan implements Xie et al., Adan: adaptive Nesterov momentum algorithm for faster optimizing deep models, 2022, with the bias
// corrections of the authors' code. As in Adam, betas are the weights of the old averages.
type Adan struct{ engine }

// NewAdan returns the optimiser.
func NewAdan(c AdanConfig) *Adan {
	c.Beta1, c.Beta2, c.Beta3, c.Epsilon = or(c.Beta1, 0.98), or(c.Beta2, 0.92), or(c.Beta3, 0.99), or(c.Epsilon, 1e-8)
	return &Adan{newEngine("adan", adan{AdanConfig: c})}
}

type adan struct {
	anyShape
	AdanConfig
}

func (r adan) slots(p op.Desc) []slot {
	return []slot{{"mean", p.Shape, 0}, {"difference", p.Shape, 0}, {"square", p.Shape, 0}, {"gradient", p.Shape, 0}}
}

// numbers returns 0 as the factor of the difference of gradients in the first step, which has no earlier gradient.
func (r adan) numbers(lr float64, step int) []float64 {
	t, differs := float64(step), 1.0
	if step == 1 {
		differs = 0
	}
	decay := 1 / (1 + lr*r.WeightDecay)
	if r.Decoupled {
		decay = 1 - lr*r.WeightDecay
	}
	return []float64{differs, lr / (1 - math.Pow(r.Beta1, t)), lr * r.Beta2 / (1 - math.Pow(r.Beta2, t)),
		1 / math.Sqrt(1-math.Pow(r.Beta3, t)), decay}
}

func (r adan) update(b *body, p, g op.Desc, kept, n []op.Desc) (op.Desc, []op.Desc) {
	diff := b.mul(b.sub(g, kept[3]), n[0])
	m := b.blend(kept[0], g, r.Beta1)
	v := b.blend(kept[1], diff, r.Beta2)
	ahead := b.add(g, b.times(diff, r.Beta2))
	s := b.blend(kept[2], b.mul(ahead, ahead), r.Beta3)
	root := b.plus(b.mul(b.sqrt(s), n[3]), r.Epsilon)
	if r.WeightDecay != 0 && r.Decoupled {
		p = b.mul(p, n[4])
	}
	p = b.sub(p, b.div(b.add(b.mul(m, n[1]), b.mul(v, n[2])), root))
	if r.WeightDecay != 0 && !r.Decoupled {
		p = b.mul(p, n[4])
	}
	return p, []op.Desc{m, v, s, b.Do(op.Copy, g)}
}
