package engine

import (
	"context"
	"slices"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// An asynchronous device reports only at a mark that something failed since the previous mark. Until then, the commands in between are
// unsettled, and so are the commands that use their outputs. The outputs of an unsettled command share a fault, which is settled when the
// outcome of the command is known.

// fault is the failure of a command, or none, which becomes known late. The device's lock guards it.
type fault struct {
	settled bool
	err     error
}

// unsettled is a command whose failure an asynchronous device may still report.
type unsettled struct {
	place       uint64
	order       uint64 // order of the command, as in failure
	fault       *fault
	inputs      []*fault     // faults of operands that were unsettled when the command was started
	check       func() error // returns the command's error; nil: the queue cannot tell
	op, program string
	outputs     []op.Desc
}

// recorded is a mark for which no wait has happened yet.
type recorded struct {
	mark  Mark
	place uint64
}

// followed is an event of another stream that all commands after a position depend on.
type followed[V any] struct {
	event *event[V]
	place uint64
}

// lateness contains the commands and marks of an asynchronous queue whose outcome the stream does not know yet, in the order of the queue.
type lateness[V any] struct {
	commands []unsettled
	marks    []recorded
	follows  []followed[V]
}

// settleAt bounds the unsettled commands and marks. At that number the stream itself waits for a mark.
const settleAt = 4096

// started records that the work of a command was started on an asynchronous queue. It returns the fault that may still poison the outputs
// later.
func (s *stream[V]) started(node, program string, outputs []op.Desc) *fault {
	s.settling.Lock()
	crowded := len(s.late.commands) >= settleAt
	s.settling.Unlock()
	if crowded {
		_ = s.flush() // without a mark the commands stay unsettled
	}
	s.order++
	f := new(fault)
	var check func() error
	if s.checked != nil {
		check = s.checked.Check()
	}
	s.settling.Lock()
	defer s.settling.Unlock()
	s.late.commands = append(s.late.commands, unsettled{s.done, s.order, f, slices.Clone(s.open), check, node, program, outputs})
	return f
}

// record records a mark at the current position of an asynchronous queue.
func (s *stream[V]) record() (m Mark, err error) {
	err = guard(func() (err error) { m, err = s.async.Record(); return err })
	if err != nil {
		return nil, err
	}
	s.settling.Lock()
	s.late.marks = append(s.late.marks, recorded{m, s.done})
	crowded := len(s.late.marks) >= settleAt
	s.settling.Unlock()
	if crowded {
		_ = m.Wait() // settle calls Wait again for the error
		s.settle(s.done)
	}
	return m, nil
}

// flush waits, within the executing command, until the queue has done all its work, and settles it.
func (s *stream[V]) flush() error {
	if s.async == nil {
		return nil
	}
	m, err := s.record()
	if err != nil {
		return err
	}
	_ = m.Wait() // settle calls Wait again for the error
	s.settle(s.done)
	return nil
}

// waitMark waits for a mark at a position of the stream and settles the commands before it. failed means that some work between this mark
// and the previous mark failed; err is the error of ctx.
func (s *stream[V]) waitMark(ctx context.Context, m Mark, place uint64) (failed bool, err error) {
	if ctx.Done() == nil {
		failed = m.Wait() != nil
	} else {
		reached := make(chan error, 1)
		go func() { reached <- m.Wait() }()
		select {
		case err := <-reached:
			failed = err != nil
		case <-ctx.Done():
			return false, s.dev.backend.canceled(ctx)
		}
	}
	s.settle(place)
	return failed, nil
}

// settle determines which of the commands up to a position have failed. The queue must have reached the position. settle first settles the
// events of other streams that these commands depend on.
func (s *stream[V]) settle(place uint64) {
	s.settling.Lock()
	n := 0
	for n < len(s.late.follows) && s.late.follows[n].place <= place {
		n++
	}
	follows := slices.Clone(s.late.follows[:n])
	s.late.follows = slices.Delete(s.late.follows, 0, n)
	s.settling.Unlock()
	for _, f := range follows {
		f.event.s.settle(f.event.place)
	}
	s.settling.Lock()
	defer s.settling.Unlock()
	n = 0
	for n < len(s.late.marks) && s.late.marks[n].place <= place {
		m := s.late.marks[n]
		s.judge(m.mark.Wait(), m.place)
		n++
	}
	s.late.marks = slices.Delete(s.late.marks, 0, n)
}

// judge poisons the outputs of the commands up to a mark if one of them failed. If there is only one candidate, or the queue reports which
// command failed, the error names the op or program. Outputs that depend on a poisoned tensor get the error of that tensor.
func (s *stream[V]) judge(err error, place uint64) {
	n := 0
	for n < len(s.late.commands) && s.late.commands[n].place <= place {
		n++
	}
	among := s.late.commands[:n]
	if err != nil {
		err = blame(among, err)
		f := failure{place: place, err: err}
		if n > 0 {
			f.order = among[0].order
		}
		s.failAt(f)
	}
	own := make([]error, n)
	for i := range among {
		if u := &among[i]; u.check != nil && err == nil {
			if e := u.check(); e != nil {
				own[i] = blame(among[i:i+1], e)
			}
		}
	}
	s.dev.mu.Lock()
	for i := range among {
		u := &among[i]
		u.fault.settled, u.fault.err = true, err
		if own[i] != nil {
			u.fault.err = own[i]
		}
		for _, f := range u.inputs {
			if f.err != nil { // its operands were invalid
				u.fault.err, own[i] = f.err, nil
				break
			}
		}
		if own[i] != nil {
			s.failAt(failure{u.place, u.order, own[i]})
		}
	}
	s.dev.mu.Unlock()
	s.late.commands = slices.Delete(s.late.commands, 0, n)
}

// blame adds to err the program or the node that failed, if there is only one candidate.
func blame(among []unsettled, err error) error {
	e := &core.NodeError{Err: err}
	for i, u := range among {
		switch {
		case i == 0:
			e.Program, e.Op, e.Outputs = u.program, u.op, u.outputs
		case e.Program == "" || u.program != e.Program:
			return &core.NodeError{Err: err}
		default: // another run of the same program
			e.Outputs = nil
		}
	}
	return e
}
