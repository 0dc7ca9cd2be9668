package engine

import (
	"math/bits"

	"github.com/goburn/burn/core/op"
)

// table is a hash table of cells by id, with linear probing. A node looks up about five ids, and with a Go map this would be a large part
// of the time of a small node. Consecutive ids are distributed evenly.
type table[V any] struct {
	slots []entry[V] // their number is a power of two; at most half are in use
	used  int
}

type entry[V any] struct {
	id   op.TensorID
	cell *cell[V]
}

// minSlots is the least number of slots of a table that is not empty.
const minSlots = 64

// slot returns the slot that contains id, or else the slot in which id would be stored.
func (t *table[V]) slot(id op.TensorID) uint64 {
	mask := uint64(len(t.slots) - 1)
	i := t.home(id)
	for t.slots[i].cell != nil && t.slots[i].id != id {
		i = (i + 1) & mask
	}
	return i
}

// home returns the slot at which the search for id begins.
func (t *table[V]) home(id op.TensorID) uint64 {
	const golden = 0x9e3779b97f4a7c15 // 2^64 divided by the golden ratio
	return uint64(id) * golden >> (64 - bits.Len(uint(len(t.slots)-1)))
}

// get returns the cell of id, or nil if the table does not contain id.
func (t *table[V]) get(id op.TensorID) *cell[V] {
	if t.used == 0 {
		return nil
	}
	return t.slots[t.slot(id)].cell
}

// put stores c as the cell of id, and returns the previous cell, or nil.
func (t *table[V]) put(id op.TensorID, c *cell[V]) (old *cell[V]) {
	if 2*t.used >= len(t.slots) {
		before := t.slots
		t.slots = make([]entry[V], max(minSlots, 2*len(before)))
		for _, e := range before {
			if e.cell != nil {
				t.slots[t.slot(e.id)] = e
			}
		}
	}
	e := &t.slots[t.slot(id)]
	old = e.cell
	if *e = (entry[V]{id, c}); old == nil {
		t.used++
	}
	return old
}

// remove removes id, which must be present. Later cells of the probe sequence move up, so that no search ends too early.
func (t *table[V]) remove(id op.TensorID) {
	mask := uint64(len(t.slots) - 1)
	hole := t.slot(id)
	for i := (hole + 1) & mask; t.slots[i].cell != nil; i = (i + 1) & mask {
		if (i-t.home(t.slots[i].id))&mask >= (i-hole)&mask { // the probe sequence of the cell begins at or before the hole
			t.slots[hole] = t.slots[i]
			hole = i
		}
	}
	t.slots[hole] = entry[V]{}
	t.used--
}
