package router

import (
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/decorators/internal/lane"
)

// tensor is a live tensor of the router's device.
type tensor struct {
	desc   op.Desc
	place  int // index of the member that the host wrote it to, or that its node preferred
	copies []*copied
	held   int  // number of programs that have it as a constant
	freed  bool // freed by the host, but held
}

// copied is the copy of a tensor on a member.
type copied struct {
	m       *member
	id      op.TensorID  // on the member
	gate    *lane.Gate   // opens after the transfer that creates the copy; nil for copies that commands of the host create
	readers []*lane.Gate // open after the peer copies that read it
}

// on returns the copy that a member has, or nil.
func (t *tensor) on(m *member) *copied {
	for _, c := range t.copies {
		if c.m == m {
			return c
		}
	}
	return nil
}

// source returns the copy to read from: the one on the tensor's place if there is one, else the oldest. Copies on lost members are used
// last.
func (t *tensor) source() *copied {
	var best *copied
	for _, c := range t.copies {
		better := best == nil || best.m.Gone() != nil && c.m.Gone() == nil
		if better || c.m.index == t.place && c.m.Gone() == nil {
			best = c
		}
	}
	return best
}

// table contains the tensors of a device. The device's mu guards it.
type table struct {
	tensors map[op.TensorID]*tensor
	kept    map[op.TensorID]*tensor // tensors that the host has freed and programs hold
}

// change records the effect of a command on the table, so that it can be undone.
type change struct {
	made []op.TensorID
	gone []*tensor
}

// define adds a tensor with one copy.
func (b *table) define(x *change, d op.Desc, place int, m *member) op.TensorID {
	c := &copied{m: m, id: m.newID(d.ID)}
	b.tensors[d.ID] = &tensor{desc: d, place: place, copies: []*copied{c}}
	x.made = append(x.made, d.ID)
	return c.id
}

// remove removes a tensor that the host releases. It reports false if programs hold it, so that its copies stay.
func (b *table) remove(x *change, t *tensor) bool {
	delete(b.tensors, t.desc.ID)
	x.gone = append(x.gone, t)
	if t.held > 0 {
		t.freed = true
		b.kept[t.desc.ID] = t
		return false
	}
	return true
}

// back undoes a change.
func (b *table) back(x *change) {
	for _, id := range x.made {
		delete(b.tensors, id)
	}
	for _, t := range x.gone {
		t.freed = false
		delete(b.kept, t.desc.ID)
		b.tensors[t.desc.ID] = t
	}
}
