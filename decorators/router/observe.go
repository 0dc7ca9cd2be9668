package router

import (
	"time"

	"github.com/goburn/burn/decorators/internal/lane"
)

// sampled reports whether to time the parts of a run. It skips the first runs, which warm up, then samples less and less often, down to one
// in 64.
func (def *defined) sampled() bool {
	n := def.runs
	return n > 2 && (n&(n-1) == 0 || n%64 == 0)
}

// took waits for a span and returns its time. It waits on a new stream. On a shared stream, it would notice the begin of the span only
// after the end of another span or of a measurement, and the time would be too short.
func (d *device) took(t *lane.Span) (seconds float64, ok bool) {
	err := d.onStream(func(s *stream) error {
		seconds, ok = t.Time(s.lanes...)
		return nil
	})
	return seconds, ok && err == nil
}

// observe times a run of one of the placements of a trial.
func (d *device) observe(x *placing, way int, t *lane.Span) {
	if seconds, ok := d.took(t); ok {
		d.mu.Lock()
		x.trial.Observe(way, seconds+x.back[way])
		d.mu.Unlock()
	}
}

// observePart times a part of a run, and corrects the times of its units. The program is placed again if these differ much from the times
// that its placement is based on.
func (d *device) observePart(def *defined, x *layout, k int, t *lane.Span) {
	took, ok := d.took(t)
	p, predicted := x.parts[k], 0.0
	for _, i := range p.Units {
		predicted += x.units[i].time
	}
	if !ok || predicted <= 0 {
		return
	}
	off := 1.0
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, i := range p.Units {
		t := x.units[i].time * took / predicted
		x.plan.Units[i].Measured = time.Duration(t * 1e9)
		now := d.costs.Learn(d.members[p.Member].identity, x.units[i].key, t, 0)
		off = max(off, now/x.units[i].time, x.units[i].time/now)
	}
	if off > misjudged && def.layout == x && !def.dead && def.placing.trial.Done() {
		delete(d.decisions, def.placing.key)
		d.placeAgain(def)
	}
}
