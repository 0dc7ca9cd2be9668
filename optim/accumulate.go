package optim

import (
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/tensor"
)

// Accumulator adds the gradients of several backward passes, so that batches that do not fit in memory together make one step.
// The parameters must not change in between. The zero value is empty. Only one goroutine may use it at a time.
type Accumulator struct {
	sum   *tensor.Gradients
	count int
}

// Len returns the number of passes that were added.
func (a *Accumulator) Len() int { return a.count }

// Add adds the gradients of params and takes ownership of g. After an error the sum is unchanged, and the caller still owns g.
func (a *Accumulator) Add(params []nn.Named, g *tensor.Gradients) error {
	if g == nil {
		return fmt.Errorf("optim: accumulate: gradients are nil, want those of Backward: %w", core.ErrAttr)
	}
	for i, p := range params {
		if p.Param == nil || p.Value() == nil {
			return fmt.Errorf("optim: accumulate: parameter %d, %q, is nil: %w", i, p.Name, core.ErrAttr)
		}
	}
	if a.sum == nil {
		for _, p := range params {
			if t := g.Of(p.Value()); t != nil {
				t.Keep()
			}
		}
		a.sum, a.count = g, 1
		return nil
	}
	type pair struct{ value, sum, old *tensor.Tensor }
	var made []pair
	for _, p := range params {
		more := g.Of(p.Value())
		if more == nil {
			continue
		}
		old := a.sum.Of(p.Value())
		if old == nil {
			made = append(made, pair{p.Value(), more.Keep(), nil})
			continue
		}
		var sum *tensor.Tensor
		if err := tensor.Try(func() { sum = old.Add(more).Keep() }); err != nil {
			for _, m := range made {
				if m.old != nil {
					m.sum.Release()
				}
			}
			return fmt.Errorf("optim: accumulate: %s: %w", p.Name, err)
		}
		made = append(made, pair{p.Value(), sum, old})
	}
	for _, m := range made {
		a.sum.Set(m.value, m.sum)
		if m.old != nil {
			m.old.Release()
		} else {
			g.Set(m.value, nil) // moved
		}
	}
	g.Release()
	a.count++
	return nil
}

// Take returns the gradients of params, the mean or the sum of the passes, and empties the accumulator.
func (a *Accumulator) Take(params []nn.Named, mean bool) (*tensor.Gradients, error) {
	if a.count == 0 {
		return nil, fmt.Errorf("optim: accumulate: nothing was added: %w", core.ErrNotFound)
	}
	g, n := a.sum, a.count
	a.sum, a.count = nil, 0
	if !mean || n == 1 {
		return g, nil
	}
	for _, p := range params {
		if t := g.Of(p.Value()); t != nil {
			g.Set(p.Value(), t.MulScalar(1/float64(n)))
			t.Release()
		}
	}
	return g, nil
}
