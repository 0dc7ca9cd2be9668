package optim

import "github.com/goburn/burn/core/op"

// LionConfig holds the settings of Lion.
type LionConfig struct {
	Beta1       float64 // weight of the momentum in the step; 0 means 0.9
	Beta2       float64 // decay rate of the momentum; 0 means 0.99
	WeightDecay float64 // decoupled: parameters shrink by lr·WeightDecay
}

// Lion implements Chen et al., Symbolic discovery of optimization algorithms, 2023: steps have the size of the learning rate,
// which should be a third to a tenth of Adam's.
type Lion struct{ engine }

// NewLion returns the optimiser.
func NewLion(c LionConfig) *Lion {
	c.Beta1, c.Beta2 = or(c.Beta1, 0.9), or(c.Beta2, 0.99)
	return &Lion{newEngine("lion", lion{LionConfig: c})}
}

type lion struct {
	anyShape
	LionConfig
}

func (r lion) slots(p op.Desc) []slot { return []slot{{"momentum", p.Shape, 0}} }

func (r lion) numbers(lr float64, _ int) []float64 { return []float64{lr, 1 - lr*r.WeightDecay} }

func (r lion) update(b *body, p, g op.Desc, kept, n []op.Desc) (op.Desc, []op.Desc) {
	m := b.blend(kept[0], g, r.Beta2)
	if r.WeightDecay != 0 {
		p = b.mul(p, n[1])
	}
	sign := b.Do(op.Sign, b.blend(kept[0], g, r.Beta1))
	return b.sub(p, b.mul(sign, n[0])), []op.Desc{m}
}
