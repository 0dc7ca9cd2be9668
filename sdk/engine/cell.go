package engine

import (
	"fmt"
	"sync/atomic"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// cell is a tensor: a value with holders, or the error that stands in its place. The table of the device is one holder
// for each id; commands that run, tickets and programs are others.
type cell[V any] struct {
	desc  op.Desc
	value V
	err   error
	late  *fault // what an asynchronous device may still say; nil: nothing
	refs  atomic.Int32
}

// poison is the error that stands in the place of the value. The caller holds the device.
func (c *cell[V]) poison() error {
	if c.err == nil && c.late != nil {
		return c.late.err
	}
	return c.err
}

// newCell makes a cell with one holder.
func (d *device[V]) newCell(desc op.Desc, value V, err error) *cell[V] {
	c, ok := d.spare.Get().(*cell[V])
	if !ok {
		c = new(cell[V])
	}
	c.desc, c.value, c.err = desc, value, err
	c.refs.Store(1)
	if err == nil {
		d.bytes.Add(int64(desc.Bytes()))
	}
	return c
}

// retain adds a holder and returns c.
func (c *cell[V]) retain() *cell[V] {
	c.refs.Add(1)
	return c
}

// drop takes a holder away, and with the last one the value.
func (d *device[V]) drop(c *cell[V]) {
	if c.refs.Add(-1) == 0 {
		d.end(c, true)
	}
}

// end gives a cell without holders up; release says that its value is still there.
func (d *device[V]) end(c *cell[V], release bool) {
	if c.err == nil {
		d.bytes.Add(-int64(c.desc.Bytes()))
		if release {
			d.author.Release(c.value)
		}
	}
	var none V
	c.value, c.err, c.late = none, nil, nil
	d.spare.Put(c)
}

// find returns the cell of id, or what else the id is. The caller holds mu.
func (d *device[V]) find(id op.TensorID) (*cell[V], error) {
	if c := d.cells[id]; c != nil {
		return c, nil
	}
	if id.Generation() < d.generation {
		return nil, core.ErrStale
	}
	return nil, core.ErrUnknownTensor
}

// define makes tensor id of c, whose holder the table becomes. The caller holds mu. An id that is there already is
// replaced, and the old cell is returned for drop with the fault.
func (d *device[V]) define(id op.TensorID, c *cell[V]) (old *cell[V], err error) {
	d.generation = max(d.generation, id.Generation())
	if old = d.cells[id]; old != nil {
		err = fmt.Errorf("%s: %v is defined twice: %w", d.backend.name(), id, core.ErrProtocol)
	}
	d.cells[id] = c
	return old, err
}

// defineOn is define for what a stream made, to be called without mu.
func (s *stream[V]) defineOn(id op.TensorID, c *cell[V]) {
	s.dev.mu.Lock()
	old, err := s.dev.define(id, c)
	s.dev.mu.Unlock()
	if old != nil {
		s.fail(err)
		s.dev.drop(old)
	}
}

// remove takes id out of the table and returns its cell, whose holder the caller becomes; nil and the reason if there is
// none.
func (d *device[V]) remove(id op.TensorID) (*cell[V], error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c, err := d.find(id)
	if err == nil {
		delete(d.cells, id)
	}
	return c, err
}

// hold finds id and adds a holder.
func (d *device[V]) hold(id op.TensorID) (*cell[V], error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c, err := d.find(id)
	if err != nil {
		return nil, err
	}
	if err := c.poison(); err != nil {
		return nil, err
	}
	return c.retain(), nil
}
