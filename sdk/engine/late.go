package engine

import (
	"context"
	"slices"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// An asynchronous device says at a mark that something failed since the mark before. Until then, the commands in between
// are unsettled, and so are those that use what they made: each output has a fault, which is told in the end.

// fault is the failure of a command that was learned of late. It is guarded by the device.
type fault struct {
	settled bool
	err     error
}

// unsettled is a command of which an asynchronous device may still say that it failed.
type unsettled struct {
	place       uint64
	fault       *fault
	inputs      []*fault     // of operands that were unsettled when it was started
	check       func() error // what the queue says of the command; nil: nothing
	op, program string
	outputs     []op.Desc
}

// recorded is a mark that nobody has waited for.
type recorded struct {
	mark  Mark
	place uint64
}

// followed is an event of another stream that all commands behind a place follow.
type followed[V any] struct {
	event *event[V]
	place uint64
}

// lateness is what a stream over an asynchronous queue has not been told yet, in the order of the queue.
type lateness[V any] struct {
	commands []unsettled
	marks    []recorded
	follows  []followed[V]
}

// settleAt is how many commands, and marks, are kept that nobody waits for.
const settleAt = 4096

// started notes that the work of a command was started on an asynchronous queue, and returns what its outputs may fail with.
func (s *stream[V]) started(node, program string, outputs []op.Desc) *fault {
	s.settling.Lock()
	crowded := len(s.late.commands) >= settleAt
	s.settling.Unlock()
	if crowded {
		_ = s.flush() // without a mark they stay unsettled
	}
	f := new(fault)
	var check func() error
	if s.checked != nil {
		check = s.checked.Check()
	}
	s.settling.Lock()
	defer s.settling.Unlock()
	s.late.commands = append(s.late.commands, unsettled{s.done, f, slices.Clone(s.open), check, node, program, outputs})
	return f
}

// record marks this place of an asynchronous queue, when it is its turn.
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
		_ = m.Wait() // settle asks again
		s.settle(s.done)
	}
	return m, nil
}

// flush waits, within the command that executes, until the queue has done all that it was given, and settles it.
func (s *stream[V]) flush() error {
	if s.async == nil {
		return nil
	}
	m, err := s.record()
	if err != nil {
		return err
	}
	_ = m.Wait() // settle asks again
	s.settle(s.done)
	return nil
}

// waitMark waits for a mark at a place of the stream and settles what came before it. failed says that something did
// between the mark and the one before; err is that of ctx.
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

// settle tells of the commands up to a place, which the queue has reached, whether they failed, and first of what they
// followed on other streams.
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

// judge poisons the outputs of the commands up to a mark if one of them failed: with the op or program that failed if only
// one can have or the queue says which, else without a name. What used a poisoned tensor gets its error.
func (s *stream[V]) judge(err error, place uint64) {
	n := 0
	for n < len(s.late.commands) && s.late.commands[n].place <= place {
		n++
	}
	among := s.late.commands[:n]
	if err != nil {
		err = blame(among, err)
		s.failAt(place, err)
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
			if f.err != nil { // it computed with what means nothing
				u.fault.err, own[i] = f.err, nil
				break
			}
		}
		if own[i] != nil {
			s.failAt(u.place, own[i])
		}
	}
	s.dev.mu.Unlock()
	s.late.commands = slices.Delete(s.late.commands, 0, n)
}

// blame names the program or the node in which err happened, if it can have been only one of them.
func blame(among []unsettled, err error) error {
	e := &core.NodeError{Err: err}
	for i, u := range among {
		switch {
		case i == 0:
			e.Program, e.Op, e.Outputs = u.program, u.op, u.outputs
		case e.Program == "" || u.program != e.Program:
			return &core.NodeError{Err: err}
		default: // another run of one program
			e.Outputs = nil
		}
	}
	return e
}
