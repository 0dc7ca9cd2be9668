package router

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/goburn/burn/decorators/internal/lane"
)

// all returns the layouts of a program. The caller holds mu.
func (def *defined) all() (all []*layout) {
	for _, l := range def.layouts {
		if l != nil {
			all = append(all, l)
		}
	}
	if !slices.Contains(all, def.layout) {
		all = append(all, def.layout)
	}
	return all
}

func leaveAll(all []*layout) (err error) {
	for _, l := range all {
		err = errors.Join(err, l.leave())
	}
	return err
}

// nextLayout chooses the layout of the next run of a program whose placements are being tried. Missing layouts are defined one after the
// other, in other goroutines. The caller holds mu.
func (d *device) nextLayout(def *defined) {
	x := def.placing
	if x == nil || x.trial == nil || def.making {
		return
	}
	way := x.trial.Next()
	switch l := def.layouts[way]; {
	case l == nil:
		d.make(def, way)
	case l != def.layout:
		def.layout = l
	}
	if !x.trial.Done() || def.layout.way != way {
		return
	}
	for i, l := range def.layouts {
		if l != nil && i != way {
			def.layouts[i] = nil
			d.spawn(func() { _ = l.leave() }) // on the members that are left
		}
	}
}

// make defines the layout of one more placement, in another goroutine. A placement that cannot be defined is not tried. The caller holds
// mu.
func (d *device) make(def *defined, way int) {
	def.making = true
	x := def.placing
	d.spawn(func() {
		var l *layout
		err := d.onStream(func(s *stream) (err error) {
			l, err = s.define(s.lanes[0].Context(), def, x, way)
			return err
		})
		d.mu.Lock()
		closed := d.closed
		used := err == nil && !def.dead && !closed && def.placing == x
		if def.making = false; used {
			def.layouts[way] = l
		} else if err != nil {
			x.trial.Drop(way)
		}
		d.mu.Unlock()
		switch {
		case err != nil && !closed:
			d.fault(fmt.Errorf("router: program %q: define another way to run it: %w", def.Program.Name, err))
		case err == nil && !used:
			_ = l.leave()
		}
	})
}

// try prepares timing a run while the placements of its program are being tried. The caller calls after once the run is planned. Both are
// called with mu held.
func (d *device) try(s *stream, def *defined) (after func()) {
	x := def.placing
	if x == nil || x.trial == nil || x.trial.Done() || x.trial.Next() != def.layout.way {
		return func() {}
	}
	way := def.layout.way
	if f := d.router.timed; f != nil {
		return func() { x.trial.Observe(way, f(x.program, x.units, x.ways[way]).Seconds()) }
	}
	var t *lane.Span
	s.do(func() { t = lane.Begin(s.lanes...) })
	return func() {
		var parts []*lane.Lane
		for _, m := range slices.Compact(slices.Sorted(slices.Values(x.ways[way]))) {
			parts = append(parts, s.lanes[m])
		}
		s.do(func() {
			t.End(parts...)
			d.mu.Lock()
			d.spawn(func() { d.observe(x, way, t) })
			d.mu.Unlock()
		})
	}
}

// placeAgain places a program again without the members that are lost. The caller holds mu; another goroutine does the work, and until then
// runs go node by node.
func (d *device) placeAgain(def *defined) {
	if def.making {
		return
	}
	def.making = true
	d.spawn(func() {
		next := &defined{Compiled: def.Compiled, consts: def.consts}
		err := d.onStream(func(s *stream) error { return s.layOut(s.lanes[0].Context(), next) })
		d.mu.Lock()
		var old []*layout
		switch {
		case err != nil: // runs remain node by node
		case def.dead || d.closed:
			old = next.all()
		default:
			old = def.all()
			def.placing, def.layout, def.layouts, def.making = next.placing, next.layout, next.layouts, false
		}
		d.mu.Unlock()
		_ = leaveAll(old) // on the members that are left
	})
}

// onStream calls do with a new stream and closes it.
func (d *device) onStream(do func(s *stream) error) error {
	s, err := d.OpenStream(context.Background())
	if err != nil {
		return err
	}
	return errors.Join(do(s.(*stream)), s.Close())
}
