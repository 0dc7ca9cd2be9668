package router

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/decorators/internal/lane"
)

// profiling implements core.Profiling with the profiles of all members. Steps are ordered by member. Stream numbers of different members do
// not overlap, and keep their order. If a member is lost while it records, its steps are missing.
type profiling struct{ d *device }

// profiled returns the members that are not lost, if each of them has core.Profiling.
func (d *device) profiled() (ms []*member, ps []core.Profiling) {
	for _, m := range d.members {
		if m.Gone() != nil {
			continue
		}
		p, ok := core.Extension[core.Profiling](m.Device.Device)
		if !ok {
			return nil, nil
		}
		ms, ps = append(ms, m), append(ps, p)
	}
	return ms, ps
}

// StartProfile implements core.Profiling. If one member refuses, none records.
func (x profiling) StartProfile(ctx context.Context) error {
	ms, ps := x.d.profiled()
	if len(ms) == 0 {
		return fmt.Errorf("router: profile: no member records: %w", core.ErrUnsupported)
	}
	begun := make([]time.Time, len(x.d.members))
	for i, p := range ps {
		if err := ms[i].Note(p.StartProfile(ctx)); err != nil {
			for _, p := range ps[:i] {
				_, stop := p.StopProfile(ctx)
				err = errors.Join(err, lane.IgnoreLost(stop))
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
	all := &core.Profile{}
	var failed error
	ms, ps := d.profiled()
	for i, m := range ms {
		if begun[m.index].IsZero() {
			continue
		}
		p, err := ps[i].StopProfile(ctx)
		if m.Note(err) != nil {
			failed = errors.Join(failed, lane.IgnoreLost(err))
			continue
		}
		if first.IsZero() {
			first = begun[m.index]
		}
		for _, r := range p.Records {
			if s := p.Steps[r.Step]; s.Program == "" || s.Index == core.WholeRun {
				m.busy.Add(int64(r.Duration))
			}
		}
		all.Append(p, begun[m.index].Sub(first))
	}
	if failed != nil {
		return nil, failed
	}
	return all, nil
}
