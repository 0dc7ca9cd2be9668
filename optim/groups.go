package optim

import (
	"context"
	"fmt"
	"regexp"
	"strconv"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/tensor"
)

// Group is a set of parameters with its own optimiser.
type Group struct {
	// Match selects parameters, by name or otherwise; nil selects all that no earlier group has selected.
	Match     func(p nn.Named) bool
	Optimizer Optimizer
	Scale     float64        // factor of the learning rate passed to Step; 0 means 1
	Rate      func() float64 // returns the group's own learning rate, which replaces Step's; may be nil
}

// Matching returns a function that selects parameters whose names match a regular expression. It panics if the expression does not
// compile.
func Matching(pattern string) func(nn.Named) bool {
	re := regexp.MustCompile(pattern)
	return func(p nn.Named) bool { return re.MatchString(p.Name) }
}

// Matrices returns a function that selects the parameters for Muon: the parameters of rank 2 whose names match none of the regular
// expressions in except. It panics if an expression does not compile.
func Matrices(except ...string) func(nn.Named) bool {
	res := make([]*regexp.Regexp, len(except))
	for i, e := range except {
		res[i] = regexp.MustCompile(e)
	}
	return func(p nn.Named) bool {
		for _, re := range res {
			if re.MatchString(p.Name) {
				return false
			}
		}
		return len(p.Shape()) == 2
	}
}

// Groups combines several optimisers: each parameter belongs to the first group whose Match selects it. A parameter that no group
// selects is not updated.
type Groups []Group

// Step implements Optimizer. If a group returns an error, the groups before it have been updated.
func (gs Groups) Step(lr float64, params []nn.Named, grads *tensor.Gradients) error {
	return gs.each(lr, params, func(o Optimizer, rate float64, of []nn.Named) error { return o.Step(rate, of, grads) })
}

// StepUnless implements Guarded. It waits for the condition if an optimiser does not implement Guarded.
func (gs Groups) StepUnless(lr float64, params []nn.Named, grads *tensor.Gradients, g Guard) error {
	return gs.each(lr, params, func(o Optimizer, rate float64, of []nn.Named) error { return stepUnless(o, rate, of, grads, g) })
}

// Settle implements Guarded.
func (gs Groups) Settle(ctx context.Context) error {
	for i, g := range gs {
		if o, ok := g.Optimizer.(Guarded); ok {
			if err := o.Settle(ctx); err != nil {
				return fmt.Errorf("optim: group %d: %w", i, err)
			}
		}
	}
	return nil
}

// each calls step with the parameters and the learning rate of each group that has parameters.
func (gs Groups) each(lr float64, params []nn.Named, step func(o Optimizer, rate float64, of []nn.Named) error) error {
	of := make([][]nn.Named, len(gs))
	if !anyTrained(params) {
		return noParams("groups", params)
	}
	for _, p := range params {
		for i, g := range gs {
			if g.Match == nil || g.Match(p) {
				of[i] = append(of[i], p)
				break
			}
		}
	}
	for i, g := range gs {
		if g.Optimizer == nil {
			return fmt.Errorf("optim: group %d has no optimiser: %w", i, core.ErrAttr)
		}
		if !anyTrained(of[i]) {
			continue
		}
		rate := lr * or(g.Scale, 1)
		if g.Rate != nil {
			rate = g.Rate()
		}
		if err := step(g.Optimizer, rate, of[i]); err != nil {
			return fmt.Errorf("optim: group %d: %w", i, err)
		}
	}
	return nil
}

// State implements Optimizer. It returns the states of the groups, with the group numbers as prefixes of the names.
func (gs Groups) State() State {
	s := NewState()
	for i, g := range gs {
		if g.Optimizer != nil {
			s.join(strconv.Itoa(i)+"/", g.Optimizer.State())
		}
	}
	return s
}

// Restore implements Optimizer. If a group returns an error, the groups before it have been restored.
func (gs Groups) Restore(s State) error {
	count := 0
	parts := make([]State, len(gs))
	for i := range gs {
		parts[i] = s.part(strconv.Itoa(i) + "/")
		count += len(parts[i].Tensors) + len(parts[i].Numbers)
	}
	if want := len(s.Tensors) + len(s.Numbers); count != want {
		return badState("%d of %d entries belong to no group", want-count, want)
	}
	for i, g := range gs {
		if g.Optimizer == nil {
			return fmt.Errorf("optim: group %d has no optimiser: %w", i, core.ErrAttr)
		}
		if err := g.Optimizer.Restore(parts[i]); err != nil {
			return fmt.Errorf("optim: group %d: %w", i, err)
		}
	}
	return nil
}

var (
	_ Guarded = (*SGD)(nil)
	_ Guarded = Groups(nil)
)
