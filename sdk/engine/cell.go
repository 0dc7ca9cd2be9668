package engine

import (
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// cell is a tensor: a reference-counted value, or the error that poisons it. Its holders are the table of the device, running
// commands, tickets and programs. The device's lock guards all fields except desc and value, which do not change.
type cell[V any] struct {
	desc  op.Desc
	value V
	err   error
	late  *fault // a failure that an asynchronous device may still report; nil: none
	refs  int
	named bool // the table is a holder
}

// poison returns the error that replaces the value, or nil.
func (c *cell[V]) poison() error {
	if c.err == nil && c.late != nil {
		return c.late.err
	}
	return c.err
}

// begin initializes c as a cell with one holder. If err is nil, the caller sets its value.
func (d *device[V]) begin(c *cell[V], desc *op.Desc, err error) *cell[V] {
	c.desc, c.err, c.refs = *desc, err, 1
	if err == nil && d.meter == nil {
		d.bytes.Add(int64(desc.Bytes()))
	}
	return c
}

// end clears a cell without holders. release says whether to release its value.
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

// drop removes a holder. With the last holder, it releases the value.
func (d *device[V]) drop(c *cell[V]) {
	d.mu.Lock()
	c.refs--
	last := c.refs == 0
	d.mu.Unlock()
	if last {
		d.end(c, true)
	}
}

// find returns the cell of id, or an error that says why there is no cell. The caller holds mu.
func (d *device[V]) find(id op.TensorID) (*cell[V], error) {
	if c := d.cells.get(id); c != nil {
		return c, nil
	}
	if id.Generation() < d.generation {
		return nil, core.ErrStale
	}
	return nil, core.ErrUnknownTensor
}

// alive is like find, but returns the error of a poisoned tensor.
func (d *device[V]) alive(id op.TensorID) (*cell[V], error) {
	c, err := d.find(id)
	if err == nil {
		err = c.poison()
	}
	return c, err
}

// remove removes a cell from the table. The caller holds mu and takes over the table's hold.
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

// enter locks the device for the executing command, unless an earlier command left it locked.
func (s *stream[V]) enter() {
	if !s.inside {
		s.inside = true
		s.dev.mu.Lock()
	}
}

// leave unlocks the device, and releases the values that have no holder. It must be called before calls of the author's code and calls that
// may wait.
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

// define adds c to the table, which becomes a holder of c. The caller has entered the device. If a tensor with the id exists, define
// replaces it and records a failure.
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

// unhold removes a holder. The caller has entered the device.
func (s *stream[V]) unhold(c *cell[V]) {
	if c.refs--; c.refs == 0 {
		s.dead = append(s.dead, c)
	}
}

// maxSpare bounds the cells that a stream keeps for reuse.
const maxSpare = 1024

// end is like end of the device, and keeps the cell for reuse.
func (s *stream[V]) end(c *cell[V], release bool) {
	s.dev.end(c, release)
	if len(s.idle) < maxSpare {
		s.idle = append(s.idle, c)
	}
}

// newCell returns a cell for an output of the executing command. The caller sets its value.
func (s *stream[V]) newCell(desc *op.Desc, err error) (c *cell[V]) {
	if n := len(s.idle) - 1; n >= 0 {
		c, s.idle = s.idle[n], s.idle[:n]
	} else {
		c = new(cell[V])
	}
	return s.dev.begin(c, desc, err)
}

// give adds a tensor with a value or an error to the table. The caller has entered the device.
func (s *stream[V]) give(desc *op.Desc, v V, err error, late *fault) {
	c := s.newCell(desc, err)
	c.value, c.late = v, late
	s.define(c)
}
