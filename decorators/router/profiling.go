package router

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/goburn/burn/core"
)

// profiling is core.Profiling, by that of all members. The steps of the first member come first, and each member has streams
// of its own numbers, in the same order. A member that is lost while it records leaves nothing.
type profiling struct{ d *device }

// profiled returns the members that are there, if each of them has core.Profiling.
func (d *device) profiled() (ms []*member, ps []core.Profiling) {
	for _, m := range d.members {
		if m.gone() != nil {
			continue
		}
		p, ok := core.Extension[core.Profiling](m.dev)
		if !ok {
			return nil, nil
		}
		ms, ps = append(ms, m), append(ps, p)
	}
	return ms, ps
}

// StartProfile implements core.Profiling. Where a member refuses, none records.
func (x profiling) StartProfile(ctx context.Context) error {
	ms, ps := x.d.profiled()
	if len(ms) == 0 {
		return fmt.Errorf("router: profile: no member records: %w", core.ErrUnsupported)
	}
	begun := make([]time.Time, len(x.d.members))
	for i, p := range ps {
		if err := ms[i].note(p.StartProfile(ctx)); err != nil {
			for _, p := range ps[:i] {
				_, stop := p.StopProfile(ctx)
				err = errors.Join(err, ignoreLost(stop))
			}
			return err
		}
		begun[ms[i].index] = time.Now()
	}
	x.d.mu.Lock()
	x.d.begun = begun
	x.d.mu.Unlock()
	return nil
}

// StopProfile implements core.Profiling. It adds the time of each member to the statistics.
func (x profiling) StopProfile(ctx context.Context) (*core.Profile, error) {
	d := x.d
	d.mu.Lock()
	begun := d.begun
	d.begun = nil
	d.mu.Unlock()
	if begun == nil {
		return nil, fmt.Errorf("router: profile: nothing is recorded: %w", core.ErrNotFound)
	}
	var first time.Time
	all, streams := &core.Profile{}, 0
	var failed error
	ms, ps := d.profiled()
	for i, m := range ms {
		if begun[m.index].IsZero() {
			continue
		}
		p, err := ps[i].StopProfile(ctx)
		if m.note(err) != nil {
			failed = errors.Join(failed, ignoreLost(err))
			continue
		}
		if first.IsZero() {
			first = begun[m.index]
		}
		steps, later, most := len(all.Steps), begun[m.index].Sub(first), -1
		all.Steps = append(all.Steps, p.Steps...)
		all.Dropped += p.Dropped
		for _, r := range p.Records {
			if s := p.Steps[r.Step]; s.Program == "" || s.Index == core.WholeRun {
				m.busy.Add(int64(r.Duration))
			}
			most = max(most, r.Stream)
			r.Step, r.Stream, r.Start = r.Step+steps, r.Stream+streams, r.Start+later
			all.Records = append(all.Records, r)
		}
		streams += most + 1
	}
	if failed != nil {
		return nil, failed
	}
	return all, nil
}
