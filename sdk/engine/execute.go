package engine

import (
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// scratch is what executing commands reuses.
type scratch[V any] struct {
	cells []*cell[V]
	open  []*fault // of operands that are unsettled
	call  Call[V]
	owned []bool // operands that a plan may take
	given []bool // the same before it ran
}

func (s *stream[V]) execute(p *pending[V], c *command[V]) {
	switch c.kind {
	case doNodes:
		for i := c.from; i < c.to; i++ {
			if s.closed.Load() {
				return
			}
			s.executeNode(&p.nodes[i])
		}
	case doFree:
		for _, id := range p.ids[c.from:c.to] {
			old, err := s.dev.remove(id)
			if err != nil {
				s.fail(fmt.Errorf("%s: free %v: %w", s.dev.backend.name(), id, err))
				continue
			}
			s.dev.drop(old)
		}
	case doDefine:
		s.defineOn(c.id, c.cell)
		c.cell = nil
	case doUpload:
		s.executeUpload(c.upload.desc, c.upload.data, c.upload.done)
	case doRun:
		var donated []bool
		if c.mask >= 0 {
			donated = p.masks[c.mask:][:c.mid-c.from]
		}
		s.executeRun(c.run, p.ids[c.from:c.mid], donated, p.ids[c.mid:c.to])
	case doSignal:
		s.reach(c.event)
	case doAwait:
		s.await(c.event)
	case doRead:
		c.ticket.resolve()
	case doCall:
		c.call()
	}
}

// gather looks up operands. Those that drop says are taken out of the table; all of them get a holder, in s.cells. For
// what is not there, the cell is nil. err is what the outputs are poisoned with, and fresh says that it begins here.
func (s *stream[V]) gather(ids []op.TensorID, drop func(i int) bool) (err error, fresh bool) {
	d := s.dev
	s.cells, s.open = s.cells[:0], s.open[:0]
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, id := range ids {
		c, e := d.find(id)
		if e != nil {
			if err == nil {
				err, fresh = fmt.Errorf("input %d, %v: %w", i, id, e), true
			}
		} else if p := c.poison(); p != nil && (err == nil || fresh) {
			err, fresh = p, false
		}
		if c != nil {
			c.retain()
			if c.late != nil && !c.late.settled {
				s.open = append(s.open, c.late)
			}
		}
		s.cells = append(s.cells, c)
	}
	for i, id := range ids {
		if drop(i) {
			if c := d.cells[id]; c != nil {
				delete(d.cells, id)
				c.refs.Add(-1) // the holder of the table; that of s.cells is left
			}
		}
	}
	return err, fresh
}

// executeNode runs one node; a failure goes to its outputs.
func (s *stream[V]) executeNode(n *op.Node) {
	d := s.dev
	err, fresh := s.gather(n.Inputs, func(i int) bool { return i < 64 && n.Drop>>i&1 != 0 })
	call := &s.call
	call.Node, call.In, call.Descs, call.Owned, call.taken = n, call.In[:0], call.Descs[:0], 0, 0
	call.Out = resize(call.Out, len(n.Outputs))
	watch := s.watch()
	if err == nil {
		err = d.claimed(n)
		fresh = err != nil
	}
	if err == nil {
		for i, c := range s.cells {
			call.In, call.Descs = append(call.In, c.value), append(call.Descs, c.desc)
			if i < 64 && n.Drop>>i&1 != 0 && c.refs.Load() == 1 {
				call.Owned |= 1 << i
			}
		}
		watch.start()
		if err = guard(func() error { return s.queue.Execute(call) }); err != nil {
			fresh = true
		}
		watch.stop()
	}
	if fresh {
		err = &core.NodeError{Op: n.Op.String(), Outputs: n.Outputs, Err: err}
		s.fail(err)
	}
	for i, c := range s.cells {
		switch {
		case c == nil:
		case call.taken>>min(i, 63)&1 != 0 && i < 64:
			d.end(c, false)
		default:
			d.drop(c)
		}
	}
	late := s.started(err, n.Op.String(), "", n.Outputs)
	for i, o := range n.Outputs {
		c := d.newCell(o, call.Out[i], err)
		c.late = late
		s.defineOn(o.ID, c)
	}
	if watch.on() && err == nil {
		watch.settle(s.flush)
		watch.node(n, call.Descs)
	}
	clear(call.Out)
	clear(call.In)
	clear(s.cells)
}

// executeUpload makes a tensor of data in the order of the queue.
func (s *stream[V]) executeUpload(desc op.Desc, data []byte, done func()) {
	var v V
	err := guard(func() (err error) {
		if s.async != nil {
			v, err = s.async.Enqueue(desc, data, done)
			return err
		}
		v, err = s.dev.author.Upload(desc, data)
		return err
	})
	if s.async == nil || err != nil {
		done()
	}
	if err != nil {
		err = &core.NodeError{Op: "write", Outputs: []op.Desc{desc}, Err: err}
		s.fail(err)
	}
	s.defineOn(desc.ID, s.dev.newCell(desc, v, err))
}

func resize[V any](l []V, n int) []V {
	for len(l) < n {
		var none V
		l = append(l, none)
	}
	return l[:n]
}
