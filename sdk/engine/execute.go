package engine

import (
	"fmt"
	"math/bits"
	"runtime"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// scratch contains buffers that executing commands reuse.
type scratch[V any] struct {
	cells       []*cell[V]
	open        []*fault // faults of operands whose failure is not known yet
	call        Call[V]
	owned       []bool     // operands that a plan may take
	ownedBefore []bool     // copy of owned from before the plan ran
	dead        []*cell[V] // cells without a holder
	inside      bool       // the stream has locked the device
	idle        []*cell[V] // cells for reuse
}

// execute runs a command. It may return with the device still locked.
func (s *stream[V]) execute(p *pending, c *command) {
	switch c.kind {
	case doNodes:
		s.executeNodes(p.nodes[c.from:c.to])
	case doFree:
		s.enter()
		for _, id := range p.ids[c.from:c.to] {
			if err := s.free(id); err != nil {
				s.fail(fmt.Errorf("%s: free %v: %w", s.dev.backend.name(), id, err))
			}
		}
	case doDefine:
		s.enter()
		s.define(c.on.(*cell[V]))
	case doRead:
		s.resolve(c.on.(*ticket[V]))
	default:
		s.leave()
		s.executeOutside(p, c)
	}
}

// executeOutside runs a command that starts with the device unlocked.
func (s *stream[V]) executeOutside(p *pending, c *command) {
	switch c.kind {
	case doUpload:
		s.executeUpload(c.on.(*upload))
	case doRun:
		s.executeRun(c.on.(*defined[V]), p.ids[c.from:c.mid], p.donated(c), p.ids[c.mid:c.to])
	case doSignal:
		s.reach(c.on.(*event[V]))
	case doAwait:
		s.await(c.on.(*event[V]))
	case doCall:
		c.on.(*call).do()
	}
}

// free removes a tensor from the table. The caller has entered the device.
func (s *stream[V]) free(id op.TensorID) error {
	c, err := s.dev.find(id)
	if err == nil {
		s.dev.remove(c)
		s.unhold(c)
	}
	return err
}

// gather looks up operands, stores them in s.cells and adds a holder to each. The cell of a missing operand is nil. err is the error to
// poison the outputs with, and fresh means that this error originates here. The caller has entered the device.
func (s *stream[V]) gather(ids []op.TensorID) (err error, fresh bool) {
	s.cells, s.open = resize(s.cells, len(ids)), s.open[:0]
	for i, id := range ids {
		c, e := s.dev.find(id)
		if e != nil {
			if err == nil {
				err, fresh = fmt.Errorf("input %d, %v: %w", i, id, e), true
			}
		} else if p := c.poison(); p != nil && (err == nil || fresh) {
			err, fresh = p, false
		}
		if c != nil {
			c.refs++
			if c.late != nil && !c.late.settled {
				s.open = append(s.open, c.late)
			}
		}
		s.cells[i] = c
	}
	return err, fresh
}

// unname removes a gathered operand from the table. The caller has entered the device.
func (s *stream[V]) unname(i int) {
	if c := s.cells[i]; c != nil && c.named { // otherwise an earlier operand was the same tensor and has removed it
		s.dev.remove(c)
		c.refs-- // the holder of s.cells remains
	}
}

// endCell ends an operand that has no other holder; release says whether to release its value.
func (s *stream[V]) endCell(i int, release bool) {
	s.end(s.cells[i], release)
	s.cells[i] = nil
}

// unholdCells removes the holders that gather added. The caller has entered the device.
func (s *stream[V]) unholdCells() {
	for _, c := range s.cells {
		if c != nil {
			s.unhold(c)
		}
	}
}

// executeNodes runs nodes in order. It unlocks the device only while a node computes.
func (s *stream[V]) executeNodes(nodes []op.Node) {
	most := 0
	for i := range nodes {
		if s.closed.Load() {
			s.abandonNodes(nodes[i:])
			break
		}
		n := &nodes[i]
		s.enter()
		err, fresh := s.bind(n)
		s.leave()
		late := s.executeNode(n, &err, fresh)
		s.enter()
		s.unholdCells()
		for k := range n.Outputs {
			s.give(&n.Outputs[k], s.call.Out[k], err, late)
		}
		clear(s.call.Out)
		most = max(most, len(s.call.In))
		if runtime.GOARCH == "wasm" { // with one thread, let timers run, which deadlines need
			s.leave()
			runtime.Gosched()
		}
	}
	clear(s.call.In[:most])
}

// bind finds the operands of a node for s.call. The caller has entered the device.
func (s *stream[V]) bind(n *op.Node) (err error, fresh bool) {
	err, fresh = s.gather(n.Inputs)
	dropped := n.Drop
	if len(n.Inputs) < 64 {
		dropped &= 1<<len(n.Inputs) - 1
	}
	for m := dropped; m != 0; m &= m - 1 {
		s.unname(bits.TrailingZeros64(m))
	}
	s.call.Owned = 0
	for m := dropped; m != 0; m &= m - 1 {
		if i := bits.TrailingZeros64(m); s.cells[i] != nil && s.cells[i].refs == 1 {
			s.call.Owned |= 1 << i
		}
	}
	return err, fresh
}

// executeNode computes a node whose operands are bound. It sets err to the error to poison the outputs with, and returns the fault that may
// still poison them later.
func (s *stream[V]) executeNode(n *op.Node, err *error, fresh bool) *fault {
	call := &s.call
	call.Node, call.taken, call.Out = n, 0, resize(call.Out, len(n.Outputs))
	watch := s.watch()
	if *err == nil {
		*err = s.dev.claimed(n)
		fresh = *err != nil
	}
	if *err == nil {
		call.In, call.Descs = resize(call.In, len(s.cells)), resize(call.Descs, len(s.cells))
		for i, c := range s.cells {
			call.In[i], call.Descs[i] = c.value, c.desc
		}
		watch.start()
		*err = s.compute(call)
		fresh = *err != nil
		watch.stop()
	}
	if fresh {
		*err = &core.NodeError{Op: n.Op.String(), Outputs: n.Outputs, Err: *err}
		s.fail(*err)
	}
	for m := call.Owned; m != 0; m &= m - 1 {
		i := bits.TrailingZeros64(m)
		s.endCell(i, call.taken>>i&1 == 0)
	}
	if *err != nil {
		return nil
	}
	var late *fault
	if s.async != nil {
		late = s.started(n.Op.String(), "", n.Outputs)
	}
	if watch != nil {
		watch.settle(s.flush)
		watch.node(n, call.Descs)
	}
	return late
}

// compute calls Queue.Execute and turns panics into errors.
func (s *stream[V]) compute(call *Call[V]) (err error) {
	done := false
	defer func() {
		if !done {
			err = panicError(recover())
		}
	}()
	err = s.queue.Execute(call)
	done = true
	return err
}

// executeUpload creates a tensor from data in the order of the queue.
func (s *stream[V]) executeUpload(u *upload) {
	var v V
	err := guard(func() (err error) {
		if s.async != nil {
			v, err = s.async.Enqueue(u.desc, u.data, u.done)
			return err
		}
		v, err = s.dev.author.Upload(u.desc, u.data)
		return err
	})
	if s.async == nil || err != nil {
		u.done()
	}
	if err != nil {
		err = &core.NodeError{Op: "write", Outputs: []op.Desc{u.desc}, Err: err}
		s.fail(err)
	}
	s.enter()
	s.give(&u.desc, v, err, nil)
}

// resize returns a slice of length n, in l's memory if that is large enough.
func resize[V any](l []V, n int) []V {
	if n > cap(l) {
		return make([]V, n)
	}
	return l[:n]
}
