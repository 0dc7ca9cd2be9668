package restore

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// stream is a core.Stream that is made again on the next process when one is lost.
type stream struct {
	b      *Backend
	device int

	backend  core.Backend // that the following belong to
	inner    core.Stream
	programs core.Programs // nil: none
	memory   atomic.Pointer[core.MemoryStats]
	lost     error // why the process is gone; nil while it is not

	journal journal
	synced  uint64            // the last command before the last Sync
	stale   map[tensorID]bool // live for the user, and lost
	failure error             // of a command that used one of those
	last    core.ProgramID
	closed  bool
}

var (
	_ core.Stream   = (*stream)(nil)
	_ core.DirectIO = (*stream)(nil)
)

// use makes x the stream that commands go to.
func (s *stream) use(b core.Backend, x core.Stream) {
	s.backend, s.inner, s.lost = b, x, nil
	s.programs, _ = core.As[core.Programs](x)
	if m, ok := core.As[core.MemoryStats](x); ok {
		s.memory.Store(&m)
	}
}

// withOptions gives s the optional interfaces that the backend's stream has.
func (s *stream) withOptions() core.Stream {
	p, m := programs{s}, memory{s}
	switch has := s.memory.Load() != nil; {
	case s.programs != nil && has:
		return &struct {
			*stream
			programs
			memory
		}{s, p, m}
	case s.programs != nil:
		return &struct {
			*stream
			programs
		}{s, p}
	case has:
		return &struct {
			*stream
			memory
		}{s, m}
	}
	return s
}

// send makes a one-way call, unless the process is lost: then it is enough that the command is in the journal. note is
// called when the command is accepted.
func (s *stream) send(call func() error, note func()) error {
	if s.closed {
		return closed()
	}
	if s.lost == nil {
		if err := call(); s.b.isLost(err) {
			s.lost = err
		} else if err != nil {
			return err
		}
	}
	note()
	s.journal.tidy()
	return nil
}

// wait makes a call that waits, and again on the next process when one is lost.
func (s *stream) wait(ctx context.Context, call func() error) error {
	if s.closed {
		return closed()
	}
	for i := 1; ; i++ {
		if s.lost != nil {
			if err := s.recover(ctx); err != nil {
				return err
			}
		}
		err := call()
		if err == nil {
			s.b.succeeded()
		}
		if !s.b.isLost(err) {
			return err
		}
		s.lost = err
		if i >= s.b.o.Attempts {
			return fmt.Errorf("restore: tried %d times: %w", i, err)
		}
	}
}

func closed() error { return fmt.Errorf("restore: stream: %w", core.ErrClosed) }

func gone(id tensorID) error {
	return fmt.Errorf("restore: %v went with the process and cannot be made again: %w", id, core.ErrStale)
}

// lostInput is the first of ids that is lost.
func (s *stream) lostInput(ids []tensorID) (tensorID, bool) {
	if len(s.stale) > 0 {
		for _, id := range ids {
			if s.stale[id] {
				return id, true
			}
		}
	}
	return 0, false
}

// poison loses what a command with lost inputs would have made.
func (s *stream) poison(what string, outputs []op.Desc, input tensorID) {
	if s.stale == nil {
		s.stale = map[tensorID]bool{}
	}
	for _, d := range outputs {
		s.stale[d.ID] = true
	}
	if s.failure == nil {
		s.failure = &core.NodeError{Op: what, Outputs: outputs, Err: gone(input)}
	}
}

// Submit implements core.Stream.
func (s *stream) Submit(nodes []op.Node) error {
	if len(s.stale) > 0 {
		nodes = s.healthy(nodes)
	}
	kept := make([]op.Node, len(nodes))
	copy(kept, nodes)
	return s.send(func() error { return s.inner.Submit(nodes) }, func() {
		for i := range kept {
			n := &kept[i]
			s.journal.add(&entry{node: n})
			for k, id := range n.Inputs {
				if k < 64 && n.Drop>>k&1 != 0 {
					delete(s.journal.live, id)
				}
			}
		}
	})
}

// healthy leaves out the nodes that use lost tensors.
func (s *stream) healthy(nodes []op.Node) []op.Node {
	var good []op.Node
	for i := range nodes {
		n := nodes[i]
		id, bad := s.lostInput(n.Inputs)
		if !bad {
			good = append(good, n)
			continue
		}
		s.poison(n.Op.String(), n.Outputs, id)
		var drop []tensorID
		for k, in := range n.Inputs {
			if k < 64 && n.Drop>>k&1 != 0 {
				drop = append(drop, in)
			}
		}
		if len(drop) > 0 { // after the nodes before this one
			if s.Submit(good) == nil {
				good = nil
			}
			_ = s.Free(drop)
		}
	}
	return good
}

// Free implements core.Stream.
func (s *stream) Free(ids []op.TensorID) error {
	good := ids
	if len(s.stale) > 0 {
		good = nil
		for _, id := range ids {
			if s.stale[id] {
				delete(s.stale, id)
			} else {
				good = append(good, id)
			}
		}
	}
	return s.send(func() error { return s.inner.Free(good) }, func() {
		for _, id := range good {
			delete(s.journal.live, id)
		}
	})
}

// Write implements core.Stream. The data is copied for the next process.
func (s *stream) Write(ctx context.Context, d op.Desc, data []byte) error {
	err := s.wait(ctx, func() error { return s.inner.Write(ctx, d, data) })
	if err == nil {
		s.journal.add(&entry{desc: d, data: append(make([]byte, 0, len(data)), data...)})
		s.journal.tidy()
	}
	return err
}

// Adopt implements core.DirectIO: data is kept for the next process without a copy, until the tensor and what was made
// with it need it no more. A memory-mapped file is its own copy so.
func (s *stream) Adopt(ctx context.Context, d op.Desc, data []byte, release func()) error {
	err := s.wait(ctx, func() error { return s.inner.Write(ctx, d, data) })
	if err == nil {
		s.journal.add(&entry{desc: d, data: data, lent: release})
		s.journal.tidy()
	}
	return err
}

// View implements core.DirectIO: never.
func (s *stream) View(context.Context, op.TensorID, func([]byte) error) error {
	return fmt.Errorf("restore: view: %w", core.ErrUnsupported)
}

// Read implements core.Stream.
func (s *stream) Read(ctx context.Context, id op.TensorID, dst []byte) error {
	return s.wait(ctx, func() error {
		if s.stale[id] {
			return gone(id)
		}
		return s.inner.Read(ctx, id, dst)
	})
}

// Sync implements core.Stream.
func (s *stream) Sync(ctx context.Context) error {
	err := s.wait(ctx, func() error { return s.inner.Sync(ctx) })
	if errors.Is(err, core.ErrCanceled) || errors.Is(err, core.ErrBackendLost) || errors.Is(err, core.ErrClosed) {
		return err
	}
	s.synced = s.journal.last
	if err == nil {
		err = s.failure
	}
	s.failure = nil
	return err
}

// Close implements core.Stream.
func (s *stream) Close() error {
	if s.closed {
		return closed()
	}
	s.closed = true
	err := s.inner.Close()
	s.journal.close()
	if s.lost != nil || errors.Is(err, core.ErrBackendLost) || errors.Is(err, core.ErrClosed) {
		return nil // there is nothing left to close
	}
	return err
}

// programs is core.Programs over processes that come and go.
type programs struct{ s *stream }

var _ core.Programs = programs{}

// Define implements core.Programs.
func (p programs) Define(ctx context.Context, prog *program.Program, consts []op.TensorID) (core.ProgramID, error) {
	s := p.s
	d := &definition{p: prog, consts: append([]tensorID(nil), consts...), open: true}
	err := s.wait(ctx, func() (err error) {
		if id, bad := s.lostInput(consts); bad {
			return gone(id)
		}
		d.id, err = s.programs.Define(ctx, prog, consts)
		return err
	})
	if err != nil {
		return 0, err
	}
	s.last++
	s.journal.defs[s.last] = d
	return s.last, nil
}

// Run implements core.Programs.
func (p programs) Run(id core.ProgramID, inputs, outputs []op.TensorID) error {
	s := p.s
	d := s.journal.defs[id]
	if d == nil {
		return fmt.Errorf("restore: run: program %d: %w", id, core.ErrNotFound)
	}
	in, bad := s.lostInput(inputs)
	if d.lost && !bad {
		in, bad = d.consts[0], true
	}
	if bad {
		outs := d.p.OutputDescs()
		for i := range min(len(outs), len(outputs)) {
			outs[i].ID = outputs[i]
		}
		s.poison(d.p.Name, outs, in)
		return nil
	}
	return s.send(func() error { return s.programs.Run(d.id, inputs, outputs) }, func() {
		s.journal.add(&entry{def: d, inputs: append([]tensorID(nil), inputs...), outputs: append([]tensorID(nil), outputs...)})
	})
}

// Undefine implements core.Programs.
func (p programs) Undefine(id core.ProgramID) error {
	s := p.s
	d := s.journal.defs[id]
	if d == nil {
		return fmt.Errorf("restore: undefine: program %d: %w", id, core.ErrNotFound)
	}
	return s.send(func() error { return s.programs.Undefine(d.id) }, func() {
		d.open = false
		delete(s.journal.defs, id)
	})
}

// memory is core.MemoryStats of the process that runs.
type memory struct{ s *stream }

// Memory implements core.MemoryStats.
func (m memory) Memory() core.Memory { return (*m.s.memory.Load()).Memory() }
