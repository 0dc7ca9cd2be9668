package schedule

import (
	"fmt"
	"math"

	"github.com/goburn/burn/core"
)

// PlateauConfig holds the settings of Plateau. Zeros mean PyTorch's defaults.
type PlateauConfig struct {
	Factor    float64 // multiplies the rate; 0 means 0.1
	Patience  int     // observations without improvement that are tolerated; 0 means 10, negative means none
	Threshold float64 // least improvement that counts; 0 means 1e-4
	Absolute  bool    // Threshold is a difference instead of a fraction of the best value
	Maximise  bool    // greater is better
	Cooldown  int     // observations after a reduction that do not count
	Least     float64 // lower limit of the rate
	Epsilon   float64 // smaller reductions are not made; 0 means 1e-8
}

// Plateau reduces the rate when a metric has stopped improving. It changes with Observe, not with Advance.
type Plateau struct {
	c                   PlateauConfig
	rate, best          float64
	bad, cooling, count int
}

// NewPlateau returns a scheduler that begins with rate.
func NewPlateau(rate float64, c PlateauConfig) *Plateau {
	set := func(v *float64, def float64) {
		if *v == 0 {
			*v = def
		}
	}
	set(&c.Factor, 0.1)
	set(&c.Threshold, 1e-4)
	set(&c.Epsilon, 1e-8)
	if c.Patience == 0 {
		c.Patience = 10
	}
	c.Patience = max(0, c.Patience)
	p := &Plateau{c: c, rate: rate, best: math.Inf(1)}
	if c.Maximise {
		p.best = math.Inf(-1)
	}
	return p
}

// Rate implements Scheduler.
func (p *Plateau) Rate() float64 { return p.rate }

// Advance implements Scheduler. It has no effect.
func (p *Plateau) Advance() {}

// Observe receives the value of the metric, once per epoch or any other unit in which Patience is counted. NaN is no improvement.
func (p *Plateau) Observe(metric float64) {
	p.count++
	if p.better(metric) {
		p.best, p.bad = metric, 0
	} else {
		p.bad++
	}
	if p.cooling > 0 {
		p.cooling--
		p.bad = 0
	}
	if p.bad <= p.c.Patience {
		return
	}
	if next := max(p.rate*p.c.Factor, p.c.Least); p.rate-next > p.c.Epsilon {
		p.rate = next
	}
	p.cooling, p.bad = p.c.Cooldown, 0
}

func (p *Plateau) better(v float64) bool {
	sign, t := 1.0, p.c.Threshold
	if p.c.Maximise {
		sign = -1
	}
	if math.IsInf(p.best, 0) {
		return sign*v < sign*p.best
	}
	if p.c.Absolute {
		return sign*v < sign*p.best-t
	}
	return sign*v < sign*p.best*(1-sign*t)
}

// State implements Scheduler.
func (p *Plateau) State() map[string]float64 {
	s := map[string]float64{"rate": p.rate, "bad": float64(p.bad), "cooling": float64(p.cooling), "count": float64(p.count)}
	if !math.IsInf(p.best, 0) {
		s["best"] = p.best
	}
	return s
}

// Restore implements Scheduler.
func (p *Plateau) Restore(s map[string]float64) error {
	next := NewPlateau(s["rate"], p.c)
	next.c = p.c
	var err error
	for _, f := range []struct {
		name string
		to   *int
	}{{"bad", &next.bad}, {"cooling", &next.cooling}, {"count", &next.count}} {
		if *f.to, err = whole(s, f.name); err != nil {
			return err
		}
	}
	if _, ok := s["rate"]; !ok {
		return fmt.Errorf("schedule: restore: no rate: %w", core.ErrAttr)
	}
	if b, ok := s["best"]; ok {
		next.best = b
	}
	*p = *next
	return nil
}
