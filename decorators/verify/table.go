package verify

import (
	"fmt"
	"slices"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/decorators/internal/idset"
	"github.com/goburn/burn/decorators/internal/order"
)

// tensor describes a live tensor.
type tensor struct {
	desc      op.Desc
	made      order.Command
	uses      []order.Command // the last use in each slot
	uncertain bool            // the stream was closed before the host knew that it was created
	nonFinite bool            // may hold a NaN or an infinity
}

// table is the tensors and programs of a device. world.mu guards it.
type table struct {
	tensors  map[op.TensorID]*tensor
	programs map[core.ProgramID]*defined
	issued   idset.Set // ids that NewIDs has returned
	gone     idset.Set // ids that were freed

	freedBy    map[op.TensorID]order.Command // the commands that freed the most recently freed tensors
	freedOrder []op.TensorID                 // the keys of freedBy, oldest first
	oldest     int
}

// maxFreedBy bounds how many freed tensors are remembered with the command that freed them.
const maxFreedBy = 4096

func newTable() table {
	return table{tensors: map[op.TensorID]*tensor{}, programs: map[core.ProgramID]*defined{}, freedBy: map[op.TensorID]order.Command{}}
}

// markFreed remembers for good that id was freed.
func (b *table) markFreed(id op.TensorID) {
	b.gone.Add(uint64(id), uint64(id))
	if len(b.freedOrder) < maxFreedBy {
		b.freedOrder = append(b.freedOrder, id)
		return
	}
	delete(b.freedBy, b.freedOrder[b.oldest])
	b.freedOrder[b.oldest] = id
	b.oldest = (b.oldest + 1) % maxFreedBy
}

// change is the effect of a command on tables. It is applied before the backend sees the command, and undone if the command is
// refused.
type change struct {
	s      *stream
	cmd    order.Command
	faults []*Fault
	err    error // the fault that refuses the command; later checks do nothing

	made  []op.TensorID
	freed []freed
	used  []used
}

type freed struct {
	id op.TensorID
	t  *tensor
}

type used struct {
	t     *tensor
	prior order.Command // the previous last use by the stream; tick 0: none
}

// fault records a fault. id is the tensor concerned, 0 for none. other is the command that conflicts, or nil.
func (x *change) fault(kind Kind, id op.TensorID, other *order.Command, err error) {
	if x.err != nil {
		return
	}
	f := &Fault{Kind: kind, Tensor: id, Command: x.cmd.String(), Err: err}
	if other != nil {
		f.Other = other.String()
	}
	x.faults = append(x.faults, f)
	if !x.s.passOn {
		x.err = f
	}
}

// find returns the live tensor with an id in table b, or records a fault if there is none.
func (x *change) find(b *table, id op.TensorID, does string) *tensor {
	if t := b.tensors[id]; t != nil {
		return t
	}
	what, by := b.past(id)
	if what == "" {
		what = "a tensor that no command has made"
	}
	x.fault(Unknown, id, by, fmt.Errorf("%v is %s, got %s, want a live one: %w", id, does, what, core.ErrUnknownTensor))
	return nil
}

// past describes an id that is not a live tensor, and returns the command that freed it if known. The description is empty for a new id.
func (b *table) past(id op.TensorID) (what string, by *order.Command) {
	c, recent := b.freedBy[id]
	switch {
	case recent:
		return fmt.Sprintf("a tensor that %v freed", c), &c
	case b.gone.Has(uint64(id)):
		return "a tensor that was freed", nil
	case !b.issued.Has(uint64(id)):
		return "an id that NewIDs did not give out", nil
	}
	return "", nil
}

// behindMaker checks that the command that creates t happens before this one.
func (x *change) behindMaker(t *tensor, id op.TensorID, does string) {
	if !t.uncertain && !t.made.Before(x.s.order.Clock) {
		x.fault(Order, id, &t.made, fmt.Errorf("%v %v is %s, want an event that orders this behind %v, which makes it: %w",
			id, t.desc, does, t.made, core.ErrProtocol))
	}
}

// use checks that the command may use id of the stream's device, and returns the tensor, or nil if it is unknown.
func (x *change) use(id op.TensorID, does string) *tensor { return x.useOf(&x.s.dev.table, id, does) }

func (x *change) useOf(b *table, id op.TensorID, does string) *tensor {
	if x.err != nil {
		return nil
	}
	t := x.find(b, id, does)
	if t == nil {
		return nil
	}
	if x.behindMaker(t, id, does); x.err != nil {
		return nil
	}
	for i := range t.uses {
		if t.uses[i].Slot == x.cmd.Slot {
			x.used = append(x.used, used{t, t.uses[i]})
			t.uses[i] = x.cmd
			return t
		}
	}
	x.used = append(x.used, used{t: t})
	t.uses = append(t.uses, x.cmd)
	return t
}

// free checks that the command may free id.
func (x *change) free(id op.TensorID, does string) {
	if x.err != nil {
		return
	}
	d := x.s.dev
	t := x.find(&d.table, id, does)
	if t == nil {
		return
	}
	x.behindMaker(t, id, does)
	for _, u := range t.uses {
		if x.err == nil && !u.Before(x.s.order.Clock) {
			x.fault(Order, id, &u, fmt.Errorf("%v %v is %s, want an event that orders this behind %v, which uses it: %w",
				id, t.desc, does, u, core.ErrProtocol))
		}
	}
	if x.err != nil {
		return
	}
	delete(d.tensors, id)
	d.freedBy[id] = x.cmd
	x.freed = append(x.freed, freed{id, t})
}

// define checks that the command may create d. nonFinite means that d may contain a NaN or an infinity.
func (x *change) define(d op.Desc, nonFinite bool) {
	if x.err != nil {
		return
	}
	b := &x.s.dev.table
	what, by := b.past(d.ID)
	if t := b.tensors[d.ID]; t != nil {
		what, by = fmt.Sprintf("the id of what %v made", t.made), &t.made
	}
	if what != "" {
		x.fault(Identity, d.ID, by, fmt.Errorf("%v %v is made, got %s, want a new id: %w", d.ID, d, what, core.ErrProtocol))
	}
	if x.err != nil {
		return
	}
	d.Shape = d.Shape.Clone()
	b.tensors[d.ID] = &tensor{desc: d, made: x.cmd, nonFinite: nonFinite}
	x.made = append(x.made, d.ID)
}

// back undoes the change. The caller holds mu.
func (x *change) back() {
	b := &x.s.dev.table
	for _, f := range x.freed {
		b.tensors[f.id] = f.t
		delete(b.freedBy, f.id)
	}
	for _, id := range x.made {
		delete(b.tensors, id)
	}
	for i := len(x.used) - 1; i >= 0; i-- {
		u := x.used[i]
		at := slices.IndexFunc(u.t.uses, func(c order.Command) bool { return c.Slot == x.cmd.Slot })
		switch {
		case at < 0: // two concurrent calls, which were passed on
		case u.prior.Tick > 0:
			u.t.uses[at] = u.prior
		default:
			u.t.uses = slices.Delete(u.t.uses, at, at+1)
		}
	}
}

// keep makes the change final. The caller holds mu.
func (x *change) keep() {
	for _, f := range x.freed {
		x.s.dev.markFreed(f.id)
	}
}
