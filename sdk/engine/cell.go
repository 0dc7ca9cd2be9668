package engine

import (
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// cell is a tensor: a value with holders, or the error that stands in its place. The table of the device is one holder;
// commands that run, tickets and programs are others. The device guards all but desc and value, which do not change.
type cell[V any] struct {
	desc  op.Desc
	value V
	err   error
	late  *fault // what an asynchronous device may still say; nil: nothing
	refs  int
	named bool // the table is a holder
}

// poison returns the error that stands in the place of the value.
func (c *cell[V]) poison() error {
	if c.err == nil && c.late != nil {
		return c.late.err
	}
	return c.err
}

// begin makes c a cell with one holder, whose value, if there is no error, the caller sets.
func (d *device[V]) begin(c *cell[V], desc *op.Desc, err error) *cell[V] {
	c.desc, c.err, c.refs = *desc, err, 1
	if err == nil && d.meter == nil {
		d.bytes.Add(int64(desc.Bytes()))
	}
	return c
}

// end clears a cell without holders, after its value is released or another's.
func (d *device[V]) end(c *cell[V], release bool) {
	if c.err == nil {
		if release {
			d.author.Release(c.value)
		}
		if d.meter == nil {
			d.bytes.Add(-int64(c.desc.Bytes()))
		}
	}
	*c = cell[V]{}
}

// drop takes a holder away, and with the last one the value.
func (d *device[V]) drop(c *cell[V]) {
	d.mu.Lock()
	c.refs--
	last := c.refs == 0
	d.mu.Unlock()
	if last {
		d.end(c, true)
	}
}

// find returns the cell of id, or what else the id is. The caller holds mu.
func (d *device[V]) find(id op.TensorID) (*cell[V], error) {
	if c := d.cells.get(id); c != nil {
		return c, nil
	}
	if id.Generation() < d.generation {
		return nil, core.ErrStale
	}
	return nil, core.ErrUnknownTensor
}

// alive is find, where the error of a poisoned tensor is its own.
func (d *device[V]) alive(id op.TensorID) (*cell[V], error) {
	c, err := d.find(id)
	if err == nil {
		err = c.poison()
	}
	return c, err
}

// remove takes a cell out of the table, whose place as a holder goes to the caller, who holds mu.
func (d *device[V]) remove(c *cell[V]) {
	d.cells.remove(c.desc.ID)
	c.named = false
}

// hold finds id and adds a holder.
func (d *device[V]) hold(id op.TensorID) (*cell[V], error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c, err := d.alive(id)
	if err != nil {
		return nil, err
	}
	c.refs++
	return c, nil
}

// retain adds a holder.
func (d *device[V]) retain(c *cell[V]) {
	d.mu.Lock()
	c.refs++
	d.mu.Unlock()
}

// enter locks the device for the command that executes. Commands that follow find it locked, until one of them leaves it.
func (s *stream[V]) enter() {
	if !s.inside {
		s.inside = true
		s.dev.mu.Lock()
	}
}

// leave unlocks the device, and gives the values up that have no holder any more. Whatever is an author's or may wait is called
// after it.
func (s *stream[V]) leave() {
	if s.inside {
		s.inside = false
		s.dev.mu.Unlock()
	}
	if len(s.dead) > 0 {
		for _, c := range s.dead {
			s.end(c, true)
		}
		clear(s.dead)
		s.dead = s.dead[:0]
	}
}

// define makes a tensor of c, whose holder the table becomes. The stream is in the device. A tensor that has the id already is
// replaced, which is a failure.
func (s *stream[V]) define(c *cell[V]) {
	d, id := s.dev, c.desc.ID
	d.generation = max(d.generation, id.Generation())
	c.named = true
	if old := d.cells.put(id, c); old != nil {
		s.fail(fmt.Errorf("%s: %v is defined twice: %w", d.backend.name(), id, core.ErrProtocol))
		old.named = false
		s.unhold(old)
	}
}

// unhold takes a holder away. The stream is in the device.
func (s *stream[V]) unhold(c *cell[V]) {
	if c.refs--; c.refs == 0 {
		s.dead = append(s.dead, c)
	}
}

// mostSpare bounds the cells that a stream keeps for reuse.
const mostSpare = 1024

// end is that of the device, and keeps the cell for reuse.
func (s *stream[V]) end(c *cell[V], release bool) {
	s.dev.end(c, release)
	if len(s.idle) < mostSpare {
		s.idle = append(s.idle, c)
	}
}

// newCell makes a cell for what the executing command gives; the caller sets its value.
func (s *stream[V]) newCell(desc *op.Desc, err error) (c *cell[V]) {
	if n := len(s.idle) - 1; n >= 0 {
		c, s.idle = s.idle[n], s.idle[:n]
	} else {
		c = new(cell[V])
	}
	return s.dev.begin(c, desc, err)
}

// give makes a tensor of a value or an error. The stream is in the device.
func (s *stream[V]) give(desc *op.Desc, v V, err error, late *fault) {
	c := s.newCell(desc, err)
	c.value, c.late = v, late
	s.define(c)
}
