package router

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/core/program/place"
)

// priced is a unit with its time on the member that it was placed on, in seconds.
type priced struct {
	key  string
	time float64
}

// split returns the members of the units of a program that make it fastest, with the time of each.
func (d *device) split(ctx context.Context, s *stream, q *program.Program, units []*place.Unit) (assigned []int, prices []priced, err error) {
	p := place.NewProblem(q, units)
	p.Home, p.Link = d.live(0).index, func(from, to int, bytes int64) float64 { return d.linkTime(ctx, s, from, to, bytes) }
	budget := make([]time.Duration, len(d.members))
	for i, m := range d.members {
		budget[i] = mostMeasured
		limit := float64(m.memory)
		if i < len(d.router.limits) && d.router.limits[i] > 0 {
			limit = float64(d.router.limits[i])
		} else if m.memory == mostMemory {
			limit = math.Inf(1)
		}
		p.Limit = append(p.Limit, limit)
	}
	prices = make([]priced, len(units))
	for i, u := range units {
		x := place.Alone(q, units, i)
		prices[i].key = place.Key(x)
		row := make([]float64, len(d.members))
		for k, m := range d.members {
			if row[k] = math.Inf(1); u.Able[k] {
				row[k] = d.unitTime(ctx, s, m, x, prices[i].key, sizeOf(x, u.Flops), &budget[k])
			}
		}
		p.Time = append(p.Time, row)
	}
	key := place.Key(place.Canonical(q)) + fmt.Sprint(p.Home)
	before := d.costs.keep(key, nil)
	if len(before) != len(units) {
		before = nil
	}
	best, least := p.Solve(before)
	if math.IsInf(least, 1) {
		return nil, nil, fmt.Errorf("router: program %q: no placement is within the limits of memory: %w", q.Name, op.ErrUnsupported)
	}
	if d.router.planted == nil { // what is measured is not exact
		for m := range d.members {
			one := slices.Repeat([]int{m}, len(units))
			if c := p.Cost(one); least > margin*c {
				best, least = one, c
			}
		}
	}
	if before != nil && least > worthIt*p.Cost(before) {
		best = before
	}
	d.costs.keep(key, best)
	for i, m := range best {
		prices[i].time = p.Time[i][m]
	}
	return best, prices, nil
}

// unitTime returns the time of a unit on a member, from the ledger or measured.
func (d *device) unitTime(ctx context.Context, s *stream, m *member, x *program.Program, key string, size int64, budget *time.Duration) float64 {
	if c := d.router.planted; c != nil {
		return d.costs.learn(m.identity, key, seconds(c.Unit(m.index, x)), size)
	}
	if t, ok := d.costs.known(m.identity, key); ok {
		return t
	}
	if *budget <= 0 || size > m.memory/4 {
		return d.costs.guess(m.identity, size)
	}
	start := time.Now()
	t, err := s.measure(ctx, m, x)
	*budget -= time.Since(start)
	if err != nil {
		d.fault(fmt.Errorf("router: measure on %s: %w", m.spec, err))
		return d.costs.guess(m.identity, size)
	}
	return d.costs.learn(m.identity, key, t, size)
}

// linkTime returns the time in which a tensor goes from one member to another.
func (d *device) linkTime(ctx context.Context, s *stream, from, to int, bytes int64) float64 {
	if c := d.router.planted; c != nil {
		return seconds(c.Link(from, to, bytes))
	}
	a, b := d.members[from], d.members[to]
	if a.gone() != nil || b.gone() != nil {
		return math.Inf(1)
	}
	d.costs.mu.Lock()
	l, ok := d.costs.Links[a.identity][b.identity]
	d.costs.mu.Unlock()
	if !ok {
		var err error
		if l, err = s.measureLink(ctx, a, b); err != nil {
			d.fault(fmt.Errorf("router: measure from %s to %s: %w", a.spec, b.spec, err))
			l = [2]float64{1e-4, 1e-9}
		}
		d.costs.mu.Lock()
		if d.costs.Links[a.identity] == nil {
			d.costs.Links[a.identity] = map[string][2]float64{}
		}
		d.costs.Links[a.identity][b.identity], d.costs.change = l, true
		d.costs.mu.Unlock()
	}
	return l[0] + l[1]*float64(bytes)
}

// fault reports an error that changes no result to OnError.
func (d *device) fault(err error) {
	if err != nil && d.router.onError != nil {
		d.router.onError(err)
	}
}

// sampled reports whether a run is to be timed: after the first ones, which warm up, ever more rarely, and then one in 64.
func (def *defined) sampled() bool {
	n := def.runs
	return n > 2 && (n&(n-1) == 0 || n%64 == 0)
}

// observe waits until a part has run between two gates of a lane, and corrects the times of its units. The program is
// placed again when these are far from those that it was placed by.
func (d *device) observe(def *defined, x *layout, k int, before, after *gate) {
	p := x.parts[k]
	m := d.members[p.Member]
	<-before.open
	<-after.open
	var begin, end core.Event
	err := d.apart(func(s *stream) error {
		l := s.lane(m)
		l.idle(func() { // waiting for an event of a stream passes on no failure, so that none is taken from the host
			if l.inner.Wait(before.event) == nil {
				begin = l.inner.Signal()
				if l.inner.Wait(after.event) == nil {
					end = l.inner.Signal()
				}
			}
		})
		return nil
	})
	if err != nil || end == nil || begin.Wait(context.Background()) != nil {
		return
	}
	start := time.Now()
	if end.Wait(context.Background()) != nil {
		return
	}
	took, predicted := time.Since(start).Seconds(), 0.0
	for _, i := range p.Units {
		predicted += x.units[i].time
	}
	if predicted <= 0 {
		return
	}
	off := 1.0
	d.mu.Lock()
	for _, i := range p.Units {
		t := x.units[i].time * took / predicted
		x.plan.Units[i].Measured = time.Duration(t * 1e9)
		now := d.costs.learn(m.identity, x.units[i].key, t, 0)
		off = max(off, now/x.units[i].time, x.units[i].time/now)
	}
	if off > misjudged && def.layout == x && !def.dead {
		d.anew(def)
	}
	d.mu.Unlock()
}
