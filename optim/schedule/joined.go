package schedule

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/goburn/burn/core"
)

// Product returns a scheduler for the product of the rates of others, for example a warmup times a decay.
func Product(of ...Scheduler) Scheduler {
	return &joined{of, func(rates []float64) float64 {
		p := 1.0
		for _, r := range rates {
			p *= r
		}
		return p
	}}
}

// Mean returns a scheduler for the arithmetic mean of the rates of others, at least one.
func Mean(of ...Scheduler) Scheduler {
	return &joined{of, func(rates []float64) float64 {
		s := 0.0
		for _, r := range rates {
			s += r
		}
		return s / float64(len(rates))
	}}
}

type joined struct {
	of   []Scheduler
	join func(rates []float64) float64
}

func (j *joined) Rate() float64 {
	rates := make([]float64, len(j.of))
	for i, s := range j.of {
		rates[i] = s.Rate()
	}
	return j.join(rates)
}

func (j *joined) Advance() {
	for _, s := range j.of {
		s.Advance()
	}
}

func (j *joined) State() map[string]float64 { return states(j.of) }

func (j *joined) Restore(s map[string]float64) error { return restore(j.of, s) }

// Phase is a scheduler and the number of steps for which it applies.
type Phase struct {
	Scheduler
	Steps int
}

// Sequence returns a scheduler that applies others, at least one, one after another. The last one applies without end; its Steps are
// ignored.
func Sequence(phases ...Phase) Scheduler { return &sequence{phases: phases} }

type sequence struct {
	phases   []Phase
	at, step int // index of the phase, and step within it
}

func (s *sequence) Rate() float64 {
	s.pass()
	return s.phases[s.at].Rate()
}

// pass skips phases that have no steps left.
func (s *sequence) pass() {
	for s.at < len(s.phases)-1 && s.step >= s.phases[s.at].Steps {
		s.at, s.step = s.at+1, 0
	}
}

func (s *sequence) Advance() {
	s.pass()
	s.phases[s.at].Advance()
	s.step++
}

func (s *sequence) parts() []Scheduler {
	list := make([]Scheduler, len(s.phases))
	for i, p := range s.phases {
		list[i] = p.Scheduler
	}
	return list
}

func (s *sequence) State() map[string]float64 {
	m := states(s.parts())
	m["phase"], m["step"] = float64(s.at), float64(s.step)
	return m
}

func (s *sequence) Restore(m map[string]float64) error {
	at, err := whole(m, "phase")
	if err != nil {
		return err
	}
	step, err := whole(m, "step")
	if err != nil {
		return err
	}
	if at >= len(s.phases) {
		return fmt.Errorf("schedule: restore: phase %d, want one of %d: %w", at, len(s.phases), core.ErrAttr)
	}
	if err := restore(s.parts(), m); err != nil {
		return err
	}
	s.at, s.step = at, step
	return nil
}

// states returns the states of all, with their indices as prefixes of the names.
func states(of []Scheduler) map[string]float64 {
	m := map[string]float64{}
	for i, s := range of {
		for k, v := range s.State() {
			m[strconv.Itoa(i)+"/"+k] = v
		}
	}
	return m
}

// restore restores schedulers from the result of states. If one of them returns an error, the schedulers before it return to their
// previous states.
func restore(of []Scheduler, m map[string]float64) error {
	var before []map[string]float64
	for i, s := range of {
		part := map[string]float64{}
		for k, v := range m {
			if name, ok := strings.CutPrefix(k, strconv.Itoa(i)+"/"); ok {
				part[name] = v
			}
		}
		before = append(before, s.State())
		if err := s.Restore(part); err != nil {
			for k := range i {
				if back := of[k].Restore(before[k]); back != nil {
					err = fmt.Errorf("%w; going back: %w", err, back)
				}
			}
			return fmt.Errorf("schedule %d: %w", i, err)
		}
	}
	return nil
}
