package conformance_test

import (
	"context"
	"testing"
	"time"

	"github.com/goburn/burn/core"
)

// misread changes the profiles that a device returns.
type misread struct {
	core.Profiling
	change func(p *core.Profile)
}

func (m misread) StopProfile(ctx context.Context) (*core.Profile, error) {
	p, err := m.Profiling.StopProfile(ctx)
	if err == nil {
		m.change(p)
	}
	return p, err
}

// replacing starts a recording although another one is in progress.
type replacing struct{ core.Profiling }

func (f replacing) StartProfile(ctx context.Context) error {
	_, _ = f.StopProfile(ctx)
	return f.Profiling.StartProfile(ctx)
}

func onProfile(change func(p *core.Profile)) tampered {
	return changed(func(_ core.Device, x core.Profiling) core.Profiling { return misread{x, change} })
}

func TestMutantProfilesAreCaught(t *testing.T) {
	t.Parallel()
	for _, m := range []struct {
		name  string
		fault tampered
		id    string
	}{
		{"times have another origin", onProfile(func(p *core.Profile) {
			for i := range p.Records {
				p.Records[i].Start += time.Hour
			}
		}), "profiling/records"},
		{"durations are too long", onProfile(func(p *core.Profile) { p.Records[0].Duration += time.Hour }), "profiling/records"},
		{"records are in reverse order", onProfile(func(p *core.Profile) {
			for i, j := 0, len(p.Records)-1; i < j; i, j = i+1, j-1 {
				p.Records[i], p.Records[j] = p.Records[j], p.Records[i]
			}
		}), "profiling/records"},
		{"a run is missing", onProfile(func(p *core.Profile) { p.Records = p.Records[:len(p.Records)-1] }), "profiling/records"},
		{"programs have other names", onProfile(func(p *core.Profile) {
			for i := range p.Steps {
				p.Steps[i].Program += "?"
			}
		}), "profiling/records"},
		{"records of no step", onProfile(func(p *core.Profile) { p.Steps = p.Steps[:1] }), "profiling/records"},
		{"a second recording is accepted", changed(func(_ core.Device, x core.Profiling) core.Profiling { return replacing{x} }), "profiling/recordings"},
	} {
		t.Run(m.name, func(t *testing.T) { caught(t, m.id, m.fault) })
	}
}
