package optim

import (
	"fmt"
	"math"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// Adjust selects the factor of Muon's learning rate for a parameter of a rows and b columns.
type Adjust int

// The adjustments, with their factors.
const (
	Original    Adjust = iota // √max(1, a/b)
	MatchAdamW                // 0.2·√max(a, b), for the learning rates of AdamW
	NoAdjusting               // 1
)

// MuonConfig holds the settings of Muon.
type MuonConfig struct {
	Momentum     float64    // 0 means 0.95
	Plain        bool       // no Nesterov momentum
	WeightDecay  float64    // decoupled: parameters shrink by lr·WeightDecay. PyTorch's default is 0.1
	Coefficients [3]float64 // of the Newton-Schulz iteration; zeros mean 3.4445, -4.7750 and 2.0315
	Iterations   int        // 0 means 5
	Epsilon      float64    // least norm to divide by; 0 means 1e-7
	Adjust       Adjust
}

// Muon orthogonalises the momentum by Newton-Schulz iterations, after Jordan et al., Muon: an optimizer for hidden layers in
// neural networks, 2024. It is only for matrices: put biases, norms, embeddings and heads in a group with another optimiser. The
// iterations use the type of the parameter, while PyTorch's use bf16.
type Muon struct{ engine }

// NewMuon returns the optimiser.
func NewMuon(c MuonConfig) *Muon {
	c.Momentum, c.Epsilon = or(c.Momentum, 0.95), or(c.Epsilon, 1e-7)
	if c.Coefficients == [3]float64{} {
		c.Coefficients = [3]float64{3.4445, -4.7750, 2.0315}
	}
	if c.Iterations == 0 {
		c.Iterations = 5
	}
	return &Muon{newEngine("muon", muon{c})}
}

type muon struct{ MuonConfig }

func (r muon) check(p op.Desc) error {
	if len(p.Shape) != 2 {
		return fmt.Errorf("%v, want a matrix: give other parameters another optimiser with optim.Groups: %w", p, core.ErrShape)
	}
	return nil
}

func (r muon) slots(p op.Desc) []slot { return []slot{{"momentum", p.Shape, 0}} }

func (r muon) numbers(lr float64, _ int) []float64 { return []float64{lr, 1 - lr*r.WeightDecay} }

func (r muon) update(b *body, p, g op.Desc, kept, n []op.Desc) (op.Desc, []op.Desc) {
	m := b.blend(kept[0], g, r.Momentum)
	step := m
	if !r.Plain {
		step = b.blend(g, m, 1-r.Momentum)
	}
	rows, columns := float64(p.Shape[0]), float64(p.Shape[1])
	factor := 1.0
	switch r.Adjust {
	case Original:
		factor = math.Sqrt(max(1, rows/columns))
	case MatchAdamW:
		factor = 0.2 * math.Sqrt(max(rows, columns))
	}
	if r.WeightDecay != 0 {
		p = b.mul(p, n[1])
	}
	step = b.times(r.orthogonal(b, step), factor)
	return b.sub(p, b.mul(step, n[0])), []op.Desc{m}
}

// orthogonal moves the singular values of x close to 1. A matrix with more rows than columns is iterated as its transpose.
func (r muon) orthogonal(b *body, x op.Desc) op.Desc {
	tall := x.Shape[0] > x.Shape[1]
	x = b.div(x, b.max(b.sqrt(b.dot(x, x)), b.c(x, r.Epsilon)))
	product := func(a, c op.Desc, ta, tc bool) op.Desc {
		return b.With(op.MatMul, []op.Desc{a, c}, op.Flag("transpose_a", ta), op.Flag("transpose_b", tc))
	}
	k := r.Coefficients
	for range r.Iterations {
		gram := product(x, x, tall, !tall)
		u := b.add(b.times(gram, k[1]), b.times(product(gram, gram, false, false), k[2]))
		var ux op.Desc
		if tall {
			ux = product(x, u, false, false)
		} else {
			ux = product(u, x, false, false)
		}
		x = b.add(b.times(x, k[0]), ux)
	}
	return x
}
