package optim

import (
	"context"
	"fmt"
	"strconv"

	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/tensor"
)

// LBFGSConfig holds the settings of LBFGS.
type LBFGSConfig struct {
	Iterations      int     // greatest number in one step; 0 means 20
	Evaluations     int     // the step ends after this number of evaluations of the loss; 0 means 5/4 of Iterations
	GradTolerance   float64 // stop if no element of the gradient is greater in magnitude; 0 means 1e-7
	ChangeTolerance float64 // stop if the loss or all parameters change by less; 0 means 1e-9
	History         int     // number of moves from which the curvature is estimated; 0 means 100
	Fixed           bool    // move by the learning rate times the direction, without a line search
}

// LBFGS implements the limited-memory method of Liu and Nocedal, On the limited memory BFGS method for large scale optimization,
// 1989, with a line search for the strong Wolfe conditions. It evaluates the loss several times in a step and waits for each
// evaluation: it is for small problems whose data does not change between steps. All parameters must be on one device and of one
// type, f32 or f64.
type LBFGS struct {
	LBFGSConfig
	iterations int // total number in all steps
	direction  *tensor.Tensor
	length     float64          // of the last move along direction
	before     *tensor.Tensor   // gradient before the last move
	loss       float64          // before the last move
	diagonal   float64          // diagonal of the initial estimate of the inverse Hessian
	changes    []*tensor.Tensor // changes of the gradient, oldest first
	moves      []*tensor.Tensor // changes of the parameters, oldest first
}

// NewLBFGS returns the optimiser.
func NewLBFGS(c LBFGSConfig) *LBFGS {
	whole := func(v *int, def int) {
		if *v == 0 {
			*v = def
		}
	}
	whole(&c.Iterations, 20)
	whole(&c.Evaluations, c.Iterations*5/4)
	whole(&c.History, 100)
	c.GradTolerance, c.ChangeTolerance = or(c.GradTolerance, 1e-7), or(c.ChangeTolerance, 1e-9)
	return &LBFGS{LBFGSConfig: c}
}

// Closure computes the loss, a tensor of one element, and its gradients at the current values of the parameters. The optimiser takes
// ownership of both.
type Closure func() (loss *tensor.Tensor, grads *tensor.Gradients, err error)

// Step updates params, and returns the loss before the update. If the closure returns an error, params keep the values at which it was
// called.
func (o *LBFGS) Step(ctx context.Context, lr float64, params []nn.Named, f Closure) (loss float64, err error) {
	p, err := newProblem(ctx, params, f)
	if err != nil {
		return 0, err
	}
	terr := tensor.Try(func() { loss, err = o.step(p, lr) })
	p.free()
	release(p.points)
	if terr != nil {
		return 0, fmt.Errorf("optim: lbfgs: %w", terr)
	}
	if err != nil {
		return 0, fmt.Errorf("optim: lbfgs: %w", err)
	}
	return loss, nil
}

func (o *LBFGS) step(p *problem, lr float64) (float64, error) {
	first, err := p.evaluate()
	if err != nil {
		return 0, err
	}
	at := first
	top, err := p.top(at.grad)
	if err != nil || top <= o.GradTolerance {
		return first.loss, err
	}
	for n, evaluations := 1, 1; ; n++ {
		if err := o.aim(p, at.grad); err != nil {
			return 0, err
		}
		o.iterations++
		o.before = replace(o.before, at.grad)
		o.loss = at.loss
		o.length = lr
		if o.iterations == 1 {
			sum, err := p.number(p.of(at.grad.Abs()).Sum())
			if err != nil {
				return 0, err
			}
			o.length = min(1, 1/sum) * lr
		}
		slope, err := p.dot(at.grad, o.direction)
		if err != nil {
			return 0, err
		}
		if slope > -o.ChangeTolerance {
			break
		}
		used := 0
		if o.Fixed {
			p.move(o.direction, o.length)
			if n != o.Iterations {
				if at, err = p.evaluate(); err != nil {
					return 0, err
				}
				used = 1
			}
		} else {
			if at, o.length, used, err = p.search(o, at, slope, o.Evaluations-evaluations); err != nil {
				return 0, err
			}
			p.move(o.direction, o.length)
		}
		evaluations += used
		if n == o.Iterations || evaluations >= o.Evaluations {
			break
		}
		if top, err = p.top(at.grad); err != nil {
			return 0, err
		}
		reach, err := p.top(o.direction)
		if err != nil {
			return 0, err
		}
		if top <= o.GradTolerance || reach*abs(o.length) <= o.ChangeTolerance || abs(at.loss-o.loss) < o.ChangeTolerance {
			break
		}
	}
	return first.loss, nil
}

// aim adds the last move to the estimate of the curvature, and computes the search direction for the gradient g.
func (o *LBFGS) aim(p *problem, g *tensor.Tensor) error {
	defer p.free()
	if o.iterations == 0 {
		o.direction, o.diagonal = replace(o.direction, p.of(g.Neg())), 1
		return nil
	}
	change, moved := p.of(g.Sub(o.before)), p.of(o.direction.MulScalar(o.length))
	along, err := p.dot(change, moved)
	if err != nil {
		return err
	}
	if along > 1e-10 {
		square, err := p.dot(change, change)
		if err != nil {
			return err
		}
		if len(o.changes) == o.History {
			o.changes[0].Release()
			o.moves[0].Release()
			o.changes, o.moves = o.changes[1:], o.moves[1:]
		}
		o.changes, o.moves = append(o.changes, replace(nil, change)), append(o.moves, replace(nil, moved))
		o.diagonal = along / square
	}
	// The two-loop recursion (Nocedal, 1980): the direction is the estimate of the inverse Hessian times the negative gradient.
	n := len(o.changes)
	alpha, rho := make([]float64, n), make([]float64, n)
	q := p.of(g.Neg())
	for i := n - 1; i >= 0; i-- {
		curve, err := p.dot(o.changes[i], o.moves[i])
		if err != nil {
			return err
		}
		rho[i] = 1 / curve
		a, err := p.dot(o.moves[i], q)
		if err != nil {
			return err
		}
		alpha[i] = a * rho[i]
		q = p.of(q.Sub(p.of(o.changes[i].MulScalar(alpha[i]))))
	}
	q = p.of(q.MulScalar(o.diagonal))
	for i := range n {
		b, err := p.dot(o.changes[i], q)
		if err != nil {
			return err
		}
		q = p.of(q.Add(p.of(o.moves[i].MulScalar(alpha[i] - b*rho[i]))))
	}
	o.direction = replace(o.direction, q)
	return nil
}

func abs(v float64) float64 { return max(v, -v) }

// replace releases old, which may be nil, and returns t as a constant that belongs to no scope.
func replace(old, t *tensor.Tensor) *tensor.Tensor {
	t = t.Detach().Keep()
	if old != nil {
		old.Release()
	}
	return t
}

// State returns the state that the next step depends on, in addition to the parameters. Its tensors are flat vectors over all
// parameters.
func (o *LBFGS) State() State {
	s := NewState()
	if o.iterations == 0 {
		return s
	}
	s.Numbers["iterations"], s.Numbers["length"] = float64(o.iterations), o.length
	s.Numbers["loss"], s.Numbers["diagonal"] = o.loss, o.diagonal
	s.Tensors["direction"], s.Tensors["before"] = o.direction.Detach(), o.before.Detach()
	for i := range o.changes {
		s.Tensors["change/"+strconv.Itoa(i)] = o.changes[i].Detach()
		s.Tensors["move/"+strconv.Itoa(i)] = o.moves[i].Detach()
	}
	return s
}

// Restore replaces the state by s, which the caller still owns.
func (o *LBFGS) Restore(s State) error {
	n := 0
	for s.Tensors["change/"+strconv.Itoa(n)] != nil {
		n++
	}
	next := &LBFGS{LBFGSConfig: o.LBFGSConfig}
	if len(s.Numbers)+len(s.Tensors) > 0 {
		if s.Tensors["direction"] == nil || s.Tensors["before"] == nil || len(s.Tensors) != 2+2*n || s.Numbers["iterations"] < 1 {
			return badState("%d tensors, want direction, before and pairs of change and move: is this the state of lbfgs?", len(s.Tensors))
		}
		next.iterations, next.length = int(s.Numbers["iterations"]), s.Numbers["length"]
		next.loss, next.diagonal = s.Numbers["loss"], s.Numbers["diagonal"]
		for i := range n {
			m := s.Tensors["move/"+strconv.Itoa(i)]
			if m == nil {
				return badState("no tensor move/%d", i)
			}
			next.changes = append(next.changes, s.Tensors["change/"+strconv.Itoa(i)].Detach().Keep())
			next.moves = append(next.moves, m.Detach().Keep())
		}
		next.direction, next.before = s.Tensors["direction"].Detach().Keep(), s.Tensors["before"].Detach().Keep()
	}
	release(append(append(o.changes, o.moves...), o.direction, o.before))
	*o = *next
	return nil
}
