package optim

import "github.com/goburn/burn/core/op"

// AdaGradConfig holds the settings of AdaGrad.
type AdaGradConfig struct {
	RateDecay   float64 // the learning rate is divided by 1 + steps·RateDecay
	WeightDecay float64 // WeightDecay·parameter is added to the gradient
	Start       float64 // initial sum of squared gradients
	Epsilon     float64 // 0 means 1e-10
}

// AdaGrad implements Duchi, Hazan and Singer, Adaptive subgradient methods, 2011.
type AdaGrad struct{ engine }

// NewAdaGrad returns the optimiser.
func NewAdaGrad(c AdaGradConfig) *AdaGrad {
	c.Epsilon = or(c.Epsilon, 1e-10)
	return &AdaGrad{newEngine("adagrad", adagrad{AdaGradConfig: c})}
}

type adagrad struct {
	anyShape
	AdaGradConfig
}

func (r adagrad) slots(p op.Desc) []slot { return []slot{{"sum", p.Shape, r.Start}} }

func (r adagrad) numbers(lr float64, step int) []float64 {
	return []float64{lr / (1 + float64(step-1)*r.RateDecay)}
}

func (r adagrad) update(b *body, p, g op.Desc, kept, n []op.Desc) (op.Desc, []op.Desc) {
	if r.WeightDecay != 0 {
		g = b.add(g, b.times(p, r.WeightDecay))
	}
	s := b.add(kept[0], b.mul(g, g))
	return b.sub(p, b.div(b.mul(g, n[0]), b.plus(b.sqrt(s), r.Epsilon))), []op.Desc{s}
}

// RMSPropConfig holds the settings of RMSProp.
type RMSPropConfig struct {
	Alpha       float64 // decay rate of the average of squared gradients; 0 means 0.99
	Epsilon     float64 // 0 means 1e-8
	Momentum    float64
	WeightDecay float64 // WeightDecay·parameter is added to the gradient
	Centered    bool    // divide by an estimate of the standard deviation instead of the root mean square
}

// RMSProp implements Hinton, Neural networks for machine learning, lecture 6, 2012, and Graves, Generating sequences with
// recurrent neural networks, 2013.
type RMSProp struct{ engine }

// NewRMSProp returns the optimiser.
func NewRMSProp(c RMSPropConfig) *RMSProp {
	c.Alpha, c.Epsilon = or(c.Alpha, 0.99), or(c.Epsilon, 1e-8)
	return &RMSProp{newEngine("rmsprop", rmsprop{RMSPropConfig: c})}
}

type rmsprop struct {
	anyShape
	RMSPropConfig
}

func (r rmsprop) slots(p op.Desc) []slot {
	s := []slot{{"square", p.Shape, 0}}
	if r.Centered {
		s = append(s, slot{"mean", p.Shape, 0})
	}
	if r.Momentum != 0 {
		s = append(s, slot{"momentum", p.Shape, 0})
	}
	return s
}

func (r rmsprop) numbers(lr float64, _ int) []float64 { return []float64{lr} }

func (r rmsprop) update(b *body, p, g op.Desc, kept, n []op.Desc) (op.Desc, []op.Desc) {
	if r.WeightDecay != 0 {
		g = b.add(g, b.times(p, r.WeightDecay))
	}
	s := b.add(b.times(kept[0], r.Alpha), b.mul(b.times(g, 1-r.Alpha), g))
	next, spread := []op.Desc{s}, s
	if r.Centered {
		m := b.add(kept[1], b.times(b.sub(g, kept[1]), 1-r.Alpha))
		spread = b.sub(s, b.mul(m, m))
		next = append(next, m)
	}
	step := b.div(g, b.plus(b.sqrt(spread), r.Epsilon))
	if r.Momentum != 0 {
		step = b.add(b.times(kept[len(kept)-1], r.Momentum), step)
		next = append(next, step)
	}
	return b.sub(p, b.mul(step, n[0])), next
}
