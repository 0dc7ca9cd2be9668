package restore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/internal/lost"
)

// maxBackoff is the longest pause between two starts of a process.
const maxBackoff = 2 * time.Second

// recover restores everything on a new process, unless another goroutine has done so meanwhile.
func (b *Backend) recover(ctx context.Context) error {
	select {
	case <-b.turn:
	case <-ctx.Done():
		return canceled(ctx)
	case <-b.done:
		return closedError("backend")
	}
	defer func() { b.turn <- struct{}{} }()
	before := "" // error of the last start
	for {
		b.mu.Lock()
		inner, why, row, epoch, closed, final := b.inner, b.lost, b.row, b.epoch, b.closed, b.final
		b.mu.Unlock()
		switch {
		case closed:
			return closedError("backend")
		case why == nil:
			return nil
		case final != nil:
			return final
		case row >= b.o.Attempts || epoch == math.MaxUint16:
			return fmt.Errorf("restore: %w: given up after %d starts: %w", core.ErrBackendLost, row, why)
		}
		b.o.Logger.Warn("backend lost, it is started again", "error", why, "start", row+1)
		_ = inner.Close() // ends the calls in progress
		if row > 0 {
			select {
			case <-time.After(b.o.pause(row)):
			case <-ctx.Done():
				return canceled(ctx)
			case <-b.done:
			}
		}
		next, err := b.o.Open(ctx, uint16(epoch+1))
		b.mu.Lock()
		b.row++
		b.mu.Unlock()
		if err == nil {
			b.restarts.Add(1)
			if err = b.fill(ctx, next); err == nil {
				return nil
			}
			_ = next.Close()
		} else if ctx.Err() == nil {
			way := lost.Way(err)
			again := way != before || lost.Transient(err)
			before = way
			err = fmt.Errorf("%w: %w", core.ErrBackendLost, err)
			if !again {
				err = fmt.Errorf("restore: given up, as two starts failed in the same way: %w", err)
				b.mu.Lock()
				b.final, b.lost = err, err
				b.mu.Unlock()
				return err
			}
		}
		var less missing
		switch {
		case ctx.Err() != nil:
			return canceled(ctx)
		case errors.As(err, &less), !isGone(err):
			return err
		}
		b.mu.Lock()
		b.lost = err
		b.mu.Unlock()
	}
}

// isGone is like Backend.isLost, during a replay.
func isGone(err error) bool {
	var node *core.NodeError
	return !errors.As(err, &node) && (errors.Is(err, core.ErrBackendLost) || errors.Is(err, core.ErrClosed))
}

// isFault reports whether a command was refused because it is invalid, not because of the state of the process.
func isFault(err error) bool {
	return slices.ContainsFunc([]error{core.ErrShape, core.ErrDType, core.ErrAttr, core.ErrUnsupported, core.ErrIndex, core.ErrUnknownTensor,
		core.ErrKernel}, func(s error) bool { return errors.Is(err, s) })
}

// replay repeats the journal on a new process.
type replay struct {
	b       *Backend
	ctx     context.Context
	at      map[*device]core.Stream // stream of the last command of a device
	spare   map[*device]core.Stream // streams for commands whose failures the user knows
	there   map[tensorID]bool
	last    map[tensorID]*entry // the last command that needs each tensor
	why     map[tensorID]error  // why each missing tensor is missing
	defined map[*definition]*device
}

// fill restores everything on process next.
func (b *Backend) fill(ctx context.Context, next core.Backend) error {
	b.world.Lock()
	defer b.world.Unlock()
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return closedError("backend")
	}
	b.inner = next
	b.epoch++
	b.journal.prune()
	entries, devices := b.journal.entries, slices.Clone(b.devices)
	b.giveBack()
	b.mu.Unlock()
	r := &replay{b: b, ctx: ctx, at: map[*device]core.Stream{}, spare: map[*device]core.Stream{}, there: map[tensorID]bool{},
		last: map[tensorID]*entry{}, why: map[tensorID]error{}, defined: map[*definition]*device{}}
	for _, e := range entries {
		for i := range e.outs {
			r.last[e.outs[i].ID] = e
		}
		if e.play != nil {
			for _, id := range e.ins {
				r.last[id] = e
			}
		}
	}
	for _, d := range devices {
		if err := d.reopen(r, next); err != nil {
			return err
		}
	}
	for _, e := range entries {
		if err := r.run(e); err != nil {
			return err
		}
	}
	for _, d := range devices {
		if err := r.finish(d); err != nil {
			return err
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	j := &b.journal
	for id := range j.live {
		if !r.there[id] {
			delete(j.live, id)
			j.gone[id] = r.missing(id)
		}
	}
	b.lost = nil
	return nil
}

// reopen opens a device and its streams on next.
func (d *device) reopen(r *replay, next core.Backend) error {
	inner, err := next.Open(r.ctx, d.index)
	if errors.Is(err, core.ErrNotFound) {
		return missing(fmt.Sprintf("device %d", d.index))
	}
	if err != nil {
		return err
	}
	if what := less(d.caps, inner.Capabilities(), d.had, extensionsOf(inner)); what != "" {
		return missing(what)
	}
	d.use(inner)
	if r.spare[d], err = inner.OpenStream(r.ctx); err != nil {
		return err
	}
	r.at[d] = r.spare[d]
	for s := range d.streams {
		if s.inner, err = inner.OpenStream(r.ctx); err != nil {
			return err
		}
	}
	return nil
}

// missing returns why a tensor is missing.
func (r *replay) missing(id tensorID) error {
	if err := r.why[id]; err != nil {
		return err
	}
	return stale(id)
}

// run repeats a command.
func (r *replay) run(e *entry) error {
	b, s, d := r.b, e.s, e.s.d
	b.mu.Lock()
	err := e.err
	known := s.closed || e.number <= s.reported
	careful := e.kind != asked && e.number > s.proven
	if e.def != nil && e.kind != defined && err == nil {
		err = e.def.err
	}
	b.mu.Unlock()
	dies := make([]bool, len(e.ins))
	for i, id := range e.ins {
		dies[i] = r.last[id] == e && r.there[id] && !b.journal.live[id] && slices.Index(e.ins, id) == i
		if err == nil && !r.there[id] {
			err = r.missing(id)
		}
	}
	on, rest := s.inner, d
	if known {
		on = r.spare[d]
	}
	if err == nil && e.play != nil {
		if err := r.order(d, on); err != nil {
			return err
		}
		err := e.play(r, on, dies)
		if err == nil && careful {
			err = r.survive(d)
		}
		switch {
		case err == nil:
			e.strikes = 0
			for i := range e.outs {
				r.there[e.outs[i].ID] = true
			}
		case r.ctx.Err() == nil && isFault(err): // the command is invalid, and was recorded while there was no process
			r.leave(e, e.fault(err))
		case r.ctx.Err() == nil && isGone(err) && careful:
			if e.strikes++; e.strikes >= repeats {
				r.leave(e, e.fault(fmt.Errorf("restore: making it again lost the process %d times: %w", e.strikes, err)))
			}
			return err
		default:
			return err
		}
	} else {
		r.skip(e, err)
	}
	if e.from != nil {
		rest = e.from
	}
	return r.free(e, rest, d, dies)
}

// free frees the tensors that no command after e needs.
func (r *replay) free(e *entry, ins, outs *device, dies []bool) error {
	var ids []tensorID
	for i, id := range e.ins {
		if dies[i] {
			ids = append(ids, id)
		}
	}
	if len(ids) > 0 {
		if err := r.at[ins].Submit(nil, ids); err != nil {
			return err
		}
	}
	ids = nil
	for i := range e.outs {
		if id := e.outs[i].ID; r.there[id] && r.last[id] == e && !r.b.journal.live[id] {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return r.at[outs].Submit(nil, ids)
}

// leave abandons a command permanently. The failure of the command is reported.
func (r *replay) leave(e *entry, n *core.NodeError) {
	e.err, e.play = n, nil
	r.b.mu.Lock()
	e.s.fail(n)
	r.b.mu.Unlock()
	r.skip(e, n)
}

// skip omits a command. If err is not nil, it is the reason why the results of the command are missing. A nil err means that the command
// cannot be repeated.
func (r *replay) skip(e *entry, err error) {
	if n, ok := err.(*core.NodeError); ok {
		for i := range e.outs {
			r.why[e.outs[i].ID] = n
		}
	}
	r.b.mu.Lock()
	defer r.b.mu.Unlock()
	if e.kind == defined {
		e.def.err = err
	}
	if e.kind == asked {
		e.ticket.inner, e.ticket.epoch = core.Failed(err), r.b.epoch
	}
}

// order makes the next command of d, on stream on, follow the commands of other streams.
func (r *replay) order(d *device, on core.Stream) error {
	before := r.at[d]
	if before == on {
		return nil
	}
	r.at[d] = on
	return follow(on, before.Signal())
}

// survive waits until the last command of d is done. It ignores failures: they poison tensors, or the user already knows them.
func (r *replay) survive(d *device) error {
	spare := r.spare[d]
	if r.at[d] != spare {
		if err := follow(spare, r.at[d].Signal()); err != nil {
			return err
		}
	}
	if err := core.Sync(r.ctx, spare); isGone(err) || r.ctx.Err() != nil {
		return err
	}
	return nil
}

// finish orders the streams of a device after the whole replay, and waits for it.
func (r *replay) finish(d *device) error {
	r.b.mu.Lock()
	last := r.b.journal.last
	r.b.mu.Unlock()
	for s := range d.streams {
		if err := r.order(d, s.inner); err != nil {
			return err
		}
	}
	for def, of := range r.defined {
		if of == d && !def.open && def.err == nil {
			if err := d.ext.programs.Undefine(def.id); err != nil {
				return err
			}
		}
	}
	if err := r.survive(d); err != nil {
		return err
	}
	for s := range d.streams {
		s.replayed = s.inner.Signal()
		r.b.mu.Lock()
		s.proven = last
		r.b.mu.Unlock()
	}
	return r.spare[d].Close()
}
