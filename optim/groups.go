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

// Group is the parameters that one optimiser updates.
type Group struct {
	// Match chooses parameters, by name and otherwise; nil takes all that no group before took.
	Match     func(p nn.Named) bool
	Optimizer Optimizer
	Scale     float64        // of the learning rate that Step is given; 0 stands for 1
	Rate      func() float64 // the learning rate of its own, in place of Step's; or nil
}

// Matching chooses parameters whose names a regular expression matches; it panics on one that does not compile.
func Matching(pattern string) func(nn.Named) bool {
	re := regexp.MustCompile(pattern)
	return func(p nn.Named) bool { return re.MatchString(p.Name) }
}

// Matrices chooses parameters of rank 2, which Muon is for, whose names no pattern matches.
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

// Groups are several optimisers as one: each parameter belongs to the first group that it matches. One that matches none is not
// updated.
type Groups []Group

// Step implements Optimizer. After an error of a later group, earlier ones have been updated.
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

// each calls step with the parameters and the learning rate of each group that has some.
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

// State implements Optimizer: the states of the groups, with their numbers before the names.
func (gs Groups) State() State {
	s := NewState()
	for i, g := range gs {
		if g.Optimizer != nil {
			s.join(strconv.Itoa(i)+"/", g.Optimizer.State())
		}
	}
	return s
}

// Restore implements Optimizer.
func (gs Groups) Restore(s State) error {
	count := 0
	parts := make([]State, len(gs))
	for i := range gs {
		parts[i] = s.part(strconv.Itoa(i) + "/")
		count += len(parts[i].Tensors) + len(parts[i].Numbers)
	}
	if want := len(s.Tensors) + len(s.Numbers); count != want {
		return badState("%d entries are of no group, of %d", want-count, want)
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
