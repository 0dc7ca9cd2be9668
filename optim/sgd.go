package optim

import "github.com/goburn/burn/core/op"

// SGDConfig holds the settings of SGD. The zero value is plain descent.
type SGDConfig struct {
	Momentum    float64
	Dampening   float64 // reduces the weight of the gradient in the momentum
	Nesterov    bool    // look ahead along the momentum
	WeightDecay float64 // WeightDecay·parameter is added to the gradient
}

// SGD is stochastic gradient descent (Sutskever et al., On the importance of initialization and momentum in deep learning, 2013),
// in PyTorch's form: the momentum does not include the learning rate.
type SGD struct{ engine }

// NewSGD returns the optimiser.
func NewSGD(c SGDConfig) *SGD { return &SGD{newEngine("sgd", sgd{SGDConfig: c})} }

type sgd struct {
	anyShape
	SGDConfig
}

func (r sgd) slots(p op.Desc) []slot {
	if r.Momentum == 0 {
		return nil
	}
	return []slot{{"momentum", p.Shape, 0}}
}

// numbers returns the learning rate and the weight of the gradient in the momentum. The weight is 1 in the first step, without dampening.
func (r sgd) numbers(lr float64, step int) []float64 {
	if step == 1 {
		return []float64{lr, 1}
	}
	return []float64{lr, 1 - r.Dampening}
}

func (r sgd) update(b *body, p, g op.Desc, kept, n []op.Desc) (op.Desc, []op.Desc) {
	if r.WeightDecay != 0 {
		g = b.add(g, b.times(p, r.WeightDecay))
	}
	if r.Momentum == 0 {
		return b.sub(p, b.mul(g, n[0])), nil
	}
	part := g
	if r.Dampening != 0 {
		part = b.mul(g, n[1])
	}
	m := b.add(b.times(kept[0], r.Momentum), part)
	if r.Nesterov {
		g = b.add(g, b.times(m, r.Momentum))
	} else {
		g = m
	}
	return b.sub(p, b.mul(g, n[0])), []op.Desc{m}
}
