package restore

import (
	"context"
	"slices"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// stream is a core.Stream that is reopened on the next process when the present process is lost.
type stream struct {
	d *device

	// Guarded by Backend.world.
	inner    core.Stream
	replayed core.Event // the end of the last replay; earlier commands are done

	// Guarded by Backend.mu.
	reported uint64            // last command whose failure would have been reported
	proven   uint64            // last command during which no process was lost
	failures []*core.NodeError // failures of commands that were not sent to a process, to be reported
	closed   bool
}

var _ core.Stream = (*stream)(nil)

// state returns the state of the backend, or an error if the stream is closed.
func (s *stream) state() (epoch int, down bool, err error) {
	b := s.d.b
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.closed:
		err = closedError("backend")
	case s.closed:
		err = closedError("stream")
	}
	return b.epoch, b.lost != nil, err
}

// send sends a one-way command to the process and records it. If the process is lost, the command is only recorded, and the next process
// executes it from the journal. The caller holds Backend.world.
func (s *stream) send(call func() error, note func(j *journal)) error {
	b := s.d.b
	epoch, down, err := s.state()
	if err != nil {
		return err
	}
	if !down {
		if err := call(); b.isLost(epoch, err) {
			b.lose(epoch, err)
		} else if err != nil {
			return err
		}
	}
	b.note(note)
	return nil
}

// one sends and records command e, which also frees the tensors in ends.
func (s *stream) one(e *entry, ends []tensorID, call func() error) error {
	b := s.d.b
	b.world.RLock()
	defer b.world.RUnlock()
	b.mu.Lock()
	refused := s.refuse(e)
	ends = b.journal.known(ends)
	b.mu.Unlock()
	if refused {
		return s.send(func() error { return s.inner.Submit(nil, ends) }, func(j *journal) { j.end(ends) })
	}
	return s.send(call, func(j *journal) {
		j.add(e)
		j.end(ends)
	})
}

// refuse reports whether a command has a lost input; its outputs are then lost too. The caller holds Backend.mu.
func (s *stream) refuse(e *entry) bool {
	gone := s.d.b.journal.gone
	if len(gone) == 0 && (e.def == nil || e.def.err == nil) {
		return false
	}
	var err error
	if e.def != nil {
		err = e.def.err
	}
	for _, id := range e.ins {
		if err == nil {
			err = gone[id]
		}
	}
	if err == nil {
		return false
	}
	n, ok := err.(*core.NodeError)
	if !ok {
		n = e.fault(err)
		s.fail(n)
	}
	for i := range e.outs {
		gone[e.outs[i].ID] = n
	}
	return true
}

// maxFailures bounds the failures that are kept for reports.
const maxFailures = 16

// fail keeps a failure for the next event. The caller holds Backend.mu.
func (s *stream) fail(n *core.NodeError) {
	if len(s.failures) < maxFailures {
		s.failures = append(s.failures, n)
	}
}

// known returns ids without the lost tensors, and removes the lost tensors from gone.
func (j *journal) known(ids []tensorID) []tensorID {
	if len(j.gone) == 0 {
		return ids
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id tensorID) bool {
		_, lost := j.gone[id]
		delete(j.gone, id)
		return lost
	})
}

// Submit implements core.Stream.
func (s *stream) Submit(nodes []op.Node, free []op.TensorID) error {
	b := s.d.b
	b.world.RLock()
	defer b.world.RUnlock()
	good := slices.Clone(nodes)
	entries := make([]entry, 0, len(nodes))
	var ends []tensorID // tensors that nodes drop
	b.mu.Lock()
	kept := good[:0]
	for i := range nodes {
		kept = append(kept, nodes[i])
		n := &kept[len(kept)-1]
		entries = append(entries, entry{s: s, what: n.Op.String(), ins: n.Inputs, outs: n.Outputs, play: playNode(n)})
		drops := dropped(n)
		if s.refuse(&entries[len(entries)-1]) {
			kept, entries = kept[:len(kept)-1], entries[:len(entries)-1]
			free = append(slices.Clip(free), drops...)
			continue
		}
		ends = append(ends, drops...)
	}
	free = b.journal.known(free)
	b.mu.Unlock()
	return s.send(func() error { return s.inner.Submit(kept, free) }, func(j *journal) {
		for i := range entries {
			j.add(&entries[i])
		}
		j.end(ends)
		j.end(free)
	})
}

// dropped returns the inputs that a node drops.
func dropped(n *op.Node) (ids []tensorID) {
	if n.Drop == 0 {
		return nil
	}
	for i, id := range n.Inputs {
		if i < 64 && n.Drop>>i&1 != 0 {
			ids = append(ids, id)
		}
	}
	return ids
}

func playNode(n *op.Node) func(*replay, core.Stream, []bool) error {
	return func(_ *replay, on core.Stream, dies []bool) error {
		m := *n
		m.Drop = 0
		for i := range min(len(dies), 64) {
			if dies[i] {
				m.Drop |= 1 << i
				dies[i] = false
			}
		}
		return on.Submit([]op.Node{m}, nil)
	}
}

// Write implements core.Stream. It copies the data for the next process.
func (s *stream) Write(ctx context.Context, d op.Desc, data []byte) error {
	data = append(make([]byte, 0, len(data)), data...)
	return s.put(ctx, d, data, nil, func(ctx context.Context, on core.Stream) error { return on.Write(ctx, d, data) })
}

// put records a command that creates a tensor from data; hand sends it.
func (s *stream) put(ctx context.Context, d op.Desc, data []byte, l *lent, hand func(ctx context.Context, on core.Stream) error) error {
	d.Shape = d.Shape.Clone()
	e := &entry{s: s, kind: written, what: "write", outs: []op.Desc{d}, data: data, lent: l}
	e.play = func(r *replay, on core.Stream, _ []bool) error { return hand(r.ctx, on) }
	return s.one(e, nil, func() error { return hand(ctx, s.inner) })
}

// Close implements core.Stream.
func (s *stream) Close() error {
	b := s.d.b
	b.world.RLock()
	defer b.world.RUnlock()
	epoch, down, err := s.state()
	if err != nil {
		return err
	}
	b.mu.Lock()
	s.closed = true
	b.mu.Unlock()
	if !down {
		err = s.inner.Close()
	}
	b.mu.Lock()
	delete(s.d.streams, s)
	b.mu.Unlock()
	return b.closedBy(epoch, err)
}
