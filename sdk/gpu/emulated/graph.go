package emulated

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/sdk/gpu"
	"github.com/goburn/burn/sdk/gpu/interp"
)

// graph replays steps in the order of the driver's options, as far as dependencies allow.
type graph struct {
	device *device
	steps  []gpu.Step
	order  []int
	closed bool
}

// NewGraph implements gpu.Grapher.
func (d *device) NewGraph(steps []gpu.Step) (gpu.Graph, error) {
	g := &graph{device: d, steps: make([]gpu.Step, len(steps))}
	for i, s := range steps {
		if kind(s) == 0 {
			return nil, fmt.Errorf("emulated: step %d is not one of launch, call, copy and fill", i)
		}
		for _, a := range s.After {
			if a < 0 || a >= i {
				return nil, fmt.Errorf("emulated: step %d is after step %d", i, a)
			}
		}
		g.steps[i] = clone(s)
	}
	g.order = d.schedule(g.steps)
	return g, nil
}

// kind returns the kind of a step, 0 if the step has no kind or several.
func kind(s gpu.Step) (k int) {
	n := 0
	for i, there := range []bool{s.Launch != nil, s.Call != nil, s.Copy != nil, s.Fill != nil} {
		if there {
			n, k = n+1, i+1
		}
	}
	if n != 1 {
		return 0
	}
	return k
}

func clone(s gpu.Step) gpu.Step {
	switch {
	case s.Launch != nil:
		l := *s.Launch
		l.Args = slices.Clone(l.Args)
		s.Launch = &l
	case s.Call != nil:
		c := *s.Call
		c.Args = slices.Clone(c.Args)
		s.Call = &c
	case s.Copy != nil:
		c := *s.Copy
		s.Copy = &c
	case s.Fill != nil:
		f := *s.Fill
		s.Fill = &f
	}
	s.After = slices.Clone(s.After)
	return s
}

// schedule orders steps: each step comes after its dependencies, and among several ready steps the first step, the last step or a random
// step is next.
func (d *device) schedule(steps []gpu.Step) []int {
	random := rand.New(rand.NewPCG(d.o.Seed, 1))
	var order []int
	done := make([]bool, len(steps))
	for len(order) < len(steps) {
		var ready []int
		for i, s := range steps {
			ok := !done[i]
			if s.After == nil && i > 0 {
				ok = ok && done[i-1]
			}
			for _, a := range s.After {
				ok = ok && done[a]
			}
			if ok {
				ready = append(ready, i)
			}
		}
		next := ready[0]
		switch d.o.Order {
		case interp.Backward:
			next = ready[len(ready)-1]
		case interp.Shuffled:
			next = ready[random.IntN(len(ready))]
		}
		done[next] = true
		order = append(order, next)
	}
	return order
}

func (g *graph) Update(i int, s gpu.Step) error {
	if i < 0 || i >= len(g.steps) || kind(s) != kind(g.steps[i]) {
		return fmt.Errorf("emulated: step %d of %d has another form", i, len(g.steps))
	}
	if s.Launch != nil && s.Launch.Function != g.steps[i].Launch.Function {
		return fmt.Errorf("emulated: step %d has another kernel", i)
	}
	if s.Call != nil && !same(s.Call, g.steps[i].Call) {
		return fmt.Errorf("emulated: step %d is a call of a library: %w", i, core.ErrUnsupported)
	}
	s = clone(s)
	s.After = g.steps[i].After
	g.steps[i] = s
	return nil
}

// same reports whether two calls have the same operands: a graph cannot change the operands of a library call.
func same(a, b *gpu.Call) bool {
	return a.Candidate == b.Candidate && slices.Equal(a.Args, b.Args) && a.Workspace == b.Workspace
}

func (g *graph) Launch(q gpu.Queue) error {
	if g.closed {
		return errors.New("emulated: the graph is closed")
	}
	for _, i := range g.order {
		s := g.steps[i]
		var err error
		switch {
		case s.Launch != nil:
			err = q.Launch(s.Launch)
		case s.Call != nil:
			err = s.Call.Candidate.Call(q, s.Call.Args, s.Call.Workspace)
		case s.Copy != nil:
			err = q.Copy(s.Copy.Dst, s.Copy.Src, s.Copy.Bytes)
		case s.Fill != nil:
			err = q.Fill(s.Fill.Dst, s.Fill.Bytes, s.Fill.Pattern, s.Fill.Width)
		}
		if err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
	}
	return nil
}

func (g *graph) Close() { g.closed = true }
