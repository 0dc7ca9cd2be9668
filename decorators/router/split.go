package router

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/core/program/place"
	"github.com/goburn/burn/decorators/internal/costs"
)

// priced is a unit with its time on the member that it was placed on, in seconds.
type priced struct {
	key  string
	time float64
}

// decision contains the possible placements of programs of one structure.
type decision struct {
	ways  [][]int      // placements: a member for each unit; the first one is used first
	trial *place.Trial // trial of the placements; nil: costs are exact, and there is one placement
}

// maxDecisions bounds the decisions that are remembered.
const maxDecisions = 1 << 14

// split decides where the units of a program run, by their costs.
func (d *device) split(ctx context.Context, s *stream, x *placing) error {
	q, units := x.program, x.units
	p := place.NewProblem(q, units)
	p.Home, p.Link = d.live(0).index, func(from, to int, bytes int64) float64 { return d.linkTime(ctx, s, from, to, bytes) }
	budget := make([]time.Duration, len(d.members))
	for i, m := range d.members {
		budget[i] = maxMeasured
		limit := float64(m.Memory)
		if i < len(d.router.limits) && d.router.limits[i] > 0 {
			limit = float64(d.router.limits[i])
		} else if m.Memory == maxMemory {
			limit = math.Inf(1)
		}
		p.Limit = append(p.Limit, limit)
	}
	for i, u := range units {
		unit := place.Alone(q, units, i)
		key := place.Key(unit)
		x.keys = append(x.keys, key)
		row := make([]float64, len(d.members))
		for k, m := range d.members {
			if row[k] = math.Inf(1); u.Able[k] {
				row[k] = d.unitTime(ctx, s, m, unit, key, costs.Size(unit, u.Flops), &budget[k])
			}
		}
		p.Time = append(p.Time, row)
	}
	x.times, x.key = p.Time, place.Key(place.Canonical(q))+fmt.Sprint(p.Home)
	d.mu.Lock()
	before := d.decisions[x.key]
	d.mu.Unlock()
	if before != nil && !p.Possible(before.ways...) {
		before = nil
	}
	x.decision = d.decide(p, before)
	if x.decision == nil {
		return fmt.Errorf("router: program %q: no placement is within the limits of memory: %w", q.Name, op.ErrUnsupported)
	}
	for _, a := range x.ways {
		x.back = append(x.back, p.Return(a))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.decisions) >= maxDecisions {
		clear(d.decisions)
	}
	d.decisions[x.key] = x.decision
	return nil
}

// decide solves p, and returns nil if no placement fits memory. A trial continues with the next program of the same structure. With exact
// costs, an earlier plan is kept until another one is much better.
func (d *device) decide(p *place.Problem, before *decision) *decision {
	if d.router.planted == nil || d.router.timed != nil {
		if before != nil {
			return before
		}
		ways, seconds := p.Ways()
		if ways == nil {
			return nil
		}
		return &decision{ways, place.NewTrial(seconds...)}
	}
	var start []int
	if before != nil {
		start = before.ways[0]
	}
	best, least := p.Solve(start)
	switch {
	case math.IsInf(least, 1):
		return nil
	case start != nil && least > worthIt*p.Cost(start):
		best = start
	}
	return &decision{ways: [][]int{best}}
}

// prices returns the units of a program with their times in a placement.
func (x *placing) prices(way int) []priced {
	if x.times == nil {
		return nil
	}
	list := make([]priced, len(x.units))
	for i, m := range x.ways[way] {
		list[i] = priced{x.keys[i], x.times[i][m]}
	}
	return list
}

// unitTime returns the time of a unit on a member in seconds, from the table or by measuring.
func (d *device) unitTime(ctx context.Context, s *stream, m *member, x *program.Program, key string, size int64, budget *time.Duration) float64 {
	if c := d.router.planted; c != nil {
		return d.costs.Learn(m.identity, key, max(0, c.Unit(m.index, x).Seconds()), size)
	}
	if t, ok := d.costs.Unit(m.identity, key); ok {
		return t
	}
	if *budget <= 0 || size > m.Memory/4 {
		return d.costs.Guess(m.identity, size)
	}
	start := time.Now()
	l := s.lane(m)
	err := l.Settle(ctx)
	var t float64
	if err == nil {
		t, err = costs.Program(ctx, m.Device.Device, l.Stream, x)
	}
	*budget -= time.Since(start)
	if m.Note(err) != nil {
		d.fault(fmt.Errorf("router: measure on %s: %w", m.Spec, err))
		return d.costs.Guess(m.identity, size)
	}
	return d.costs.Learn(m.identity, key, t, size)
}

// linkTime returns the transfer time of a tensor between members, in seconds.
func (d *device) linkTime(ctx context.Context, s *stream, from, to int, bytes int64) float64 {
	if c := d.router.planted; c != nil {
		return max(0, c.Link(from, to, bytes).Seconds())
	}
	a, b := d.members[from], d.members[to]
	if a.Gone() != nil || b.Gone() != nil {
		return math.Inf(1)
	}
	l, ok := d.costs.Link(a.identity, b.identity)
	if !ok {
		var err error
		if l, err = costs.Link(func(x op.Desc) (float64, error) { return s.transfer(ctx, a, b, x) }); err != nil {
			d.fault(fmt.Errorf("router: measure from %s to %s: %w", a.Spec, b.Spec, err))
			l = costs.Line{1e-4, 1e-9}
		}
		d.costs.SetLink(a.identity, b.identity, l)
	}
	return l.Time(bytes)
}

// transfer copies a new tensor from one member to another and returns the duration of the copy.
func (s *stream) transfer(ctx context.Context, from, to *member, d op.Desc) (seconds float64, err error) {
	d.ID = s.dev.NewIDs(1)
	on := &stream{s.queue, from.index}
	if err := on.Write(ctx, d, make([]byte, d.Bytes())); err != nil {
		return 0, err
	}
	if err := core.Sync(ctx, s); err != nil {
		return 0, err
	}
	start := time.Now()
	err = s.command(func(*change) error {
		s.bring(s.dev.tensors[d.ID], to)
		return nil
	})
	if err == nil {
		err = core.Sync(ctx, s)
	}
	took := time.Since(start)
	return took.Seconds(), errors.Join(err, s.Submit(nil, []op.TensorID{d.ID}))
}

// fault passes an error that does not affect results to OnError.
func (d *device) fault(err error) {
	if err != nil && d.router.onError != nil {
		d.router.onError(err)
	}
}
