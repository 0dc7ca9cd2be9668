// Package schedule computes the learning rates of an optimiser of package optim: constant rates, curves over the steps, rates that depend
// on the values of a metric, and combinations of these. It must not access parameters or gradients.
package schedule

import (
	"fmt"
	"math"

	"github.com/goburn/burn/core"
)

// Scheduler produces a sequence of learning rates. Only one goroutine may use it at a time.
type Scheduler interface {
	// Rate returns the learning rate of the current step.
	Rate() float64
	// Advance moves to the next step.
	Advance()
	// State returns the state of the scheduler as numbers by name, without its settings.
	State() map[string]float64
	// Restore restores the state of a scheduler of the same kind and settings. After an error nothing has changed.
	Restore(state map[string]float64) error
}

// Next returns the rate of the current step and advances s.
func Next(s Scheduler) float64 {
	r := s.Rate()
	s.Advance()
	return r
}

// Curve is a learning rate as a function of the step, counted from 0.
type Curve func(step int) float64

// Of returns a scheduler that follows c.
func (c Curve) Of() Scheduler { return &curve{f: c} }

type curve struct {
	f    Curve
	step int
}

func (c *curve) Rate() float64             { return c.f(c.step) }
func (c *curve) Advance()                  { c.step++ }
func (c *curve) State() map[string]float64 { return map[string]float64{"step": float64(c.step)} }

func (c *curve) Restore(s map[string]float64) error {
	n, err := whole(s, "step")
	if err == nil {
		c.step = n
	}
	return err
}

// whole returns the number called name, which must be a count.
func whole(s map[string]float64, name string) (int, error) {
	v, ok := s[name]
	if !ok || v < 0 || v != math.Trunc(v) || v > 1<<53 {
		return 0, fmt.Errorf("schedule: restore: %s is %v, want a whole number of at least 0: %w", name, v, core.ErrAttr)
	}
	return int(v), nil
}
