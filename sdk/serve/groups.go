package serve

import (
	"context"
	"fmt"
	"math"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/sdk/wire"
)

// group is the membership of a device in a group of devices.
type group struct {
	core.Group
	uses
}

// Join adds a device to a group as a rank.
func (s *server) Join(ctx context.Context, j *wire.Join) error {
	d, err := s.find(j.Handle)
	if err != nil {
		return err
	}
	if d.collectives == nil {
		return fmt.Errorf("join: %w", core.ErrUnsupported)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(d.ctx, cancel)()
	g := &group{}
	err = s.guard("join", func() (err error) { g.Group, err = d.collectives.Join(ctx, j.Key, j.Rank, j.Size); return err })
	if err != nil {
		return err
	}
	d.mu.Lock()
	twice := d.groups[j.Group] != nil
	if !twice {
		d.groups[j.Group] = g
	}
	d.mu.Unlock()
	if twice {
		_ = s.guard("leave", g.Close)
		return fmt.Errorf("join: %w: there is a group %d", core.ErrProtocol, j.Group)
	}
	return nil
}

// Leave ends a membership once the given number of its commands has arrived.
func (s *server) Leave(_ context.Context, handle, number, uses uint64) error {
	d, err := s.find(handle)
	if err != nil {
		return err
	}
	d.mu.Lock()
	g := d.groups[number]
	if g == nil || g.ending {
		d.mu.Unlock()
		return fmt.Errorf("leave: group %d: %w", number, core.ErrNotFound)
	}
	g.ending, g.limit = true, uses
	d.mu.Unlock()
	return d.leave(number, g)
}

// leave ends a membership whose last command has arrived.
func (d *device) leave(number uint64, g *group) error {
	d.mu.Lock()
	mine := g.over() && d.groups[number] == g
	if mine {
		delete(d.groups, number)
	}
	d.mu.Unlock()
	if !mine {
		return nil
	}
	return d.guard("leave", g.Close)
}

// collective passes a command of a group to the backend. It calls the backend even if the tensor of this rank is missing, because the
// other ranks wait.
func (t *session) collective(c *wire.Command) {
	d, outs := t.dev, []op.Desc{c.Desc}
	d.mu.Lock()
	g := d.groups[c.Group]
	x, err := d.lookup(c.Source)
	if err == nil {
		err = x.err
	}
	unmade := d.fresh(c.Desc)
	d.mu.Unlock()
	failed := func(err error) {
		err = &core.NodeError{Op: "collective", Outputs: outs, Err: err}
		t.events.note(err)
		d.made(outs, err)
	}
	switch {
	case g == nil:
		failed(fmt.Errorf("group %d: %w", c.Group, core.ErrNotFound))
		return
	case unmade != nil:
		failed(unmade)
	default:
		if e := t.guard("collective", func() error { return t.give(g, c) }); e != nil {
			failed(e)
			break
		}
		d.mu.Lock()
		d.tensors[c.Desc.ID] = tensor{Desc: c.Desc, err: err}
		d.mu.Unlock()
	}
	d.mu.Lock()
	g.count++
	d.mu.Unlock()
	if err := d.leave(c.Group, g); err != nil {
		t.events.note(err)
	}
}

func (t *session) give(g *group, c *wire.Command) error {
	switch c.Tag {
	case wire.TagAllReduce:
		if c.Argument > uint64(core.ReduceMin) {
			return fmt.Errorf("reduction %d: %w", c.Argument, core.ErrAttr)
		}
		return g.AllReduce(t.be, core.Reduction(c.Argument), c.Source, c.Desc)
	case wire.TagAllGather:
		return g.AllGather(t.be, c.Source, c.Desc)
	}
	return g.Broadcast(t.be, int(min(c.Argument, math.MaxInt32)), c.Source, c.Desc)
}

// copy creates a tensor from a tensor of another device of the host.
func (t *session) copy(c *wire.Command) {
	d, outs := t.dev, []op.Desc{c.Desc}
	from, err, poisoned := t.source(c)
	if err == nil && poisoned == nil {
		if err = t.fresh(c.Desc); err == nil {
			err = t.guard("copy", func() error { return d.peers.CopyFrom(t.be, c.Desc, from.inner, c.Source) })
		}
	}
	switch {
	case err != nil:
		err = &core.NodeError{Op: "copy", Outputs: outs, Err: err}
		t.events.note(err)
	case poisoned != nil:
		err = poisoned
	}
	d.made(outs, err)
}

// source returns the device of the tensor to copy. If the command is wrong, it returns err; if the tensor is poisoned, it returns the
// error of the tensor as poisoned.
func (t *session) source(c *wire.Command) (from *device, err, poisoned error) {
	if t.dev.peers == nil {
		return nil, core.ErrUnsupported, nil
	}
	from = t.dev.conn.device(c.Handle)
	if from == nil {
		return nil, fmt.Errorf("no device of the host has handle %d: %w", c.Handle, core.ErrNotFound), nil
	}
	from.mu.Lock()
	defer from.mu.Unlock()
	x, err := from.lookup(c.Source)
	switch {
	case err != nil:
		return nil, err, nil
	case x.err != nil:
		return nil, nil, x.err
	case !x.SameType(c.Desc):
		return nil, fmt.Errorf("%v is %v, want %v: %w", c.Source, x.Desc, c.Desc, core.ErrShape), nil
	}
	return from, nil, nil
}
