package restore

import (
	"context"
	"errors"
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// recover makes the stream anew on the process that follows the one that is lost.
func (s *stream) recover(ctx context.Context) error {
	s.journal.prune()
	for i := 1; ; i++ {
		_ = s.inner.Close()
		b, err := s.b.renew(ctx, s.backend, s.lost)
		if err != nil {
			return err
		}
		s.backend = b
		x, err := b.OpenStream(ctx, s.device)
		if err == nil {
			s.use(b, x)
			err = s.replay(ctx)
		}
		if err == nil {
			return nil
		}
		s.lost = fmt.Errorf("restore: %w: %w", core.ErrBackendLost, err)
		if !s.b.isLost(err) || i >= s.b.o.Attempts {
			return err
		}
	}
}

// replay makes all that is live on a new stream.
func (s *stream) replay(ctx context.Context) error {
	r := replay{s: s, there: map[tensorID]bool{}, defined: map[*definition]bool{}}
	synced := false
	for _, e := range s.journal.entries {
		if !synced && e.number > s.synced { // failures up to here were reported
			synced = true
			if err := r.settle(ctx); err != nil {
				return err
			}
		}
		if err := r.run(ctx, e); err != nil {
			return err
		}
	}
	if err := r.flush(); err != nil {
		return err
	}
	for _, d := range s.journal.defs {
		if err := r.define(ctx, d); err != nil {
			return err
		}
	}
	for _, d := range s.journal.defs {
		d.lost = !r.defined[d]
	}
	for d := range r.defined {
		if !d.open {
			if err := s.programs.Undefine(d.id); err != nil {
				return err
			}
		}
	}
	if !synced {
		if err := r.settle(ctx); err != nil {
			return err
		}
	}
	return r.finish()
}

// replay is the making anew of a stream.
type replay struct {
	s       *stream
	there   map[tensorID]bool
	defined map[*definition]bool
	nodes   []op.Node
}

func (r *replay) run(ctx context.Context, e *entry) error {
	ready := true
	e.reads(func(id tensorID) { ready = ready && r.there[id] })
	if !ready {
		return nil // its tensors stay away
	}
	s := r.s
	switch {
	case e.node != nil:
		n := *e.node
		n.Drop = 0
		r.nodes = append(r.nodes, n)
		if len(r.nodes) >= 256 {
			if err := r.flush(); err != nil {
				return err
			}
		}
	case e.def != nil:
		if err := r.flush(); err != nil {
			return err
		}
		if err := r.define(ctx, e.def); err != nil {
			return err
		}
		if !r.defined[e.def] {
			return nil
		}
		if err := s.programs.Run(e.def.id, e.inputs, e.outputs); err != nil {
			return err
		}
	default:
		if err := r.flush(); err != nil {
			return err
		}
		if err := s.inner.Write(ctx, e.desc, e.data); err != nil {
			return err
		}
	}
	e.makes(func(id tensorID) { r.there[id] = true })
	return nil
}

func (r *replay) flush() error {
	if len(r.nodes) == 0 {
		return nil
	}
	err := r.s.inner.Submit(r.nodes)
	r.nodes = nil // the stream may keep what it points to
	return err
}

// define defines a program, unless that was done or its constants are lost.
func (r *replay) define(ctx context.Context, d *definition) error {
	if r.defined[d] {
		return nil
	}
	for _, id := range d.consts {
		if !r.there[id] {
			return nil
		}
	}
	id, err := r.s.programs.Define(ctx, d.p, d.consts)
	if err != nil {
		return err
	}
	d.id, r.defined[d] = id, true
	return nil
}

// settle waits, and drops failures that the user knows of.
func (r *replay) settle(ctx context.Context) error {
	if err := r.flush(); err != nil {
		return err
	}
	err := r.s.inner.Sync(ctx)
	if errors.Is(err, core.ErrBackendLost) || errors.Is(err, core.ErrCanceled) || errors.Is(err, core.ErrClosed) {
		return err
	}
	return nil
}

// finish frees what was only needed to make something else, and notes what could not be made.
func (r *replay) finish() error {
	s := r.s
	var free []tensorID
	for id := range r.there {
		if !s.journal.live[id] {
			free = append(free, id)
		}
	}
	for id := range s.journal.live {
		if !r.there[id] {
			if s.stale == nil {
				s.stale = map[tensorID]bool{}
			}
			s.stale[id] = true
			delete(s.journal.live, id)
		}
	}
	if len(free) == 0 {
		return nil
	}
	return s.inner.Free(free)
}
