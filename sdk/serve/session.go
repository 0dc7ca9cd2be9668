package serve

import (
	"context"
	"errors"
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/sdk/wire"
)

type tensorID = op.TensorID

// tensor is what is known of a live tensor: its type, and the error of one that was never made.
type tensor struct {
	op.Desc
	err error
}

// session is one stream: the backend's, and what the host has defined on it.
type session struct {
	*server
	fs         *wire.FrameStream
	inbox      []*wire.Frame // taken by next, before those in the queue
	pace       wire.Pace     // of the host
	watches    bool          // looks for frames instead of sleeping
	ctx        context.Context
	generation uint16
	decoder    *wire.Decoder
	be         core.Stream
	definer    core.Programs    // nil: none
	memory     core.MemoryStats // nil: none
	direct     core.DirectIO    // nil: none
	segments   segments
	waits      waits

	tensors  map[tensorID]tensor
	programs map[uint64]*defined
	failure  error // the first since the last Sync that the backend does not know of
	upload   *upload
	staging  []byte

	batch []op.Node // checked, not yet submitted
	in    []op.Desc
}

// execute takes frames until there are no more. An error is a fault of the protocol or the transport.
func (t *session) execute(frames <-chan *wire.Frame) error {
	for {
		f, ok, err := t.next(frames)
		if !ok || err != nil {
			return err
		}
		err = t.frame(f)
		f.Free()
		if err != nil {
			return err
		}
	}
}

func (t *session) frame(f *wire.Frame) error {
	if request, size, ok := wire.Chunk(f); ok {
		return t.chunk(f, request, size)
	}
	return f.Bytes(func(b []byte) error {
		var c wire.Command
		t.decoder.Start(b)
		for t.decoder.More() {
			if err := t.decoder.Next(&c); err != nil {
				return err
			}
			if err := t.command(&c); err != nil {
				return err
			}
		}
		t.submit()
		return nil
	})
}

func (t *session) command(c *wire.Command) error {
	if t.upload != nil {
		return fmt.Errorf("stream: %w: command 0x%02x within the chunks of a tensor", core.ErrProtocol, byte(c.Tag))
	}
	if c.Tag != wire.TagNode {
		t.submit()
	}
	switch c.Tag {
	case wire.TagNode:
		t.node(c)
	case wire.TagFree:
		t.free(c.IDs)
	case wire.TagWrite:
		t.write(c.Desc, c.Data)
	case wire.TagBeginWrite:
		return t.beginWrite(c)
	case wire.TagRead:
		return t.read(c)
	case wire.TagWriteShared:
		return t.writeShared(c)
	case wire.TagReadShared:
		return t.readShared(c)
	case wire.TagSync:
		return t.sync(c)
	case wire.TagDefine:
		return t.define(c)
	case wire.TagRun:
		t.run(c)
	case wire.TagUndefine:
		t.undefine(c.Number)
	default:
		return fmt.Errorf("stream: %w: command 0x%02x is not allowed here", core.ErrProtocol, byte(c.Tag))
	}
	return nil
}

// note keeps the first failure for the next Sync.
func (t *session) note(err error) {
	if t.failure == nil {
		t.failure = err
	}
}

// lookup finds a live tensor. The error says what else the id is.
func (t *session) lookup(id tensorID) (tensor, error) {
	if x, ok := t.tensors[id]; ok {
		return x, nil
	}
	if g := id.Generation(); g != t.generation {
		return tensor{}, fmt.Errorf("%v of generation %d, the connection is of generation %d: %w", id, g, t.generation, core.ErrStale)
	}
	return tensor{}, fmt.Errorf("%v: %w", id, core.ErrUnknownTensor)
}

// fresh says why d cannot be made.
func (t *session) fresh(d op.Desc) error {
	switch {
	case d.ID.Generation() != t.generation:
		return fmt.Errorf("%v of generation %d, the connection is of generation %d: %w", d.ID, d.ID.Generation(), t.generation, core.ErrStale)
	case d.ID.Sequence() == 0:
		return fmt.Errorf("tensor id 0: %w", core.ErrUnknownTensor)
	}
	if _, dup := t.tensors[d.ID]; dup {
		return fmt.Errorf("%v is defined twice: %w", d.ID, core.ErrProtocol)
	}
	return nil
}

// poison marks tensors as never made. Live ones stay as they are.
func (t *session) poison(outputs []op.Desc, err error) {
	for _, d := range outputs {
		if t.fresh(d) == nil {
			t.tensors[d.ID] = tensor{Desc: d, err: err}
		}
	}
}

// node checks a node and puts it into the batch. One that cannot run poisons its outputs.
func (t *session) node(c *wire.Command) {
	n := &c.Node
	var err, poisoned error
	t.in = t.in[:0]
	for _, id := range n.Inputs {
		x, e := t.lookup(id)
		switch {
		case e != nil && err == nil:
			err = e
		case x.err != nil && poisoned == nil:
			poisoned = x.err
		}
		t.in = append(t.in, x.Desc)
	}
	if err == nil && poisoned == nil {
		err = t.check(c, t.in)
	}
	switch {
	case err != nil:
		err = &core.NodeError{Op: c.OpName, Outputs: n.Outputs, Err: err}
		t.note(err)
	case poisoned != nil:
		err = poisoned
	}
	if err != nil {
		t.poison(n.Outputs, err)
		var drop []tensorID
		for i, id := range n.Inputs {
			if i < 64 && n.Drop>>i&1 != 0 {
				if x, ok := t.tensors[id]; ok && x.err == nil {
					drop = append(drop, id)
				}
				delete(t.tensors, id)
			}
		}
		if len(drop) > 0 {
			t.submit()
			t.freeGood(drop)
		}
		return
	}
	for i, id := range n.Inputs {
		if i < 64 && n.Drop>>i&1 != 0 {
			delete(t.tensors, id)
		}
	}
	for _, d := range n.Outputs {
		t.tensors[d.ID] = tensor{Desc: d}
	}
	t.batch = append(t.batch, *n)
	if !t.batches {
		t.submit()
	}
}

// check reports why a node cannot be given to the backend.
func (t *session) check(c *wire.Command, in []op.Desc) error {
	n := &c.Node
	if n.Op == op.NoOp {
		return wire.UnknownOp(c.OpName, n.Version)
	}
	for i, d := range n.Outputs {
		if err := t.fresh(d); err != nil {
			return err
		}
		for _, e := range n.Outputs[:i] {
			if d.ID == e.ID {
				return fmt.Errorf("%v is defined twice by one node: %w", d.ID, core.ErrProtocol)
			}
		}
		if limit := t.caps.MaxBytes; limit > 0 && int64(d.Bytes()) > limit {
			return fmt.Errorf("output %d is %v, at most %d bytes a tensor: %w", i, d, limit, core.ErrUnsupported)
		}
	}
	return t.guard("check", func() error { return op.Check(n, in) })
}

// submit gives the batch to the backend. What it refuses, or panics on, poisons the outputs.
func (t *session) submit() {
	if len(t.batch) == 0 {
		return
	}
	err := t.guard("submit", func() error { return t.be.Submit(t.batch) })
	if err != nil {
		first := &t.batch[0]
		err = &core.NodeError{Op: first.Op.String(), Outputs: first.Outputs, Err: err}
		t.note(err)
		for i := range t.batch {
			for _, d := range t.batch[i].Outputs {
				if x, ok := t.tensors[d.ID]; ok && x.ID == d.ID {
					t.tensors[d.ID] = tensor{Desc: d, err: err}
				}
			}
		}
		t.freeGood(dropped(t.batch))
	}
	clear(t.batch)
	t.batch = t.batch[:0]
}

// dropped lists what a batch gives up of the tensors that were there before it.
func dropped(batch []op.Node) []tensorID {
	made := map[tensorID]bool{}
	var ids []tensorID
	for i := range batch {
		n := &batch[i]
		for k, id := range n.Inputs {
			if k < 64 && n.Drop>>k&1 != 0 && !made[id] {
				ids = append(ids, id)
			}
		}
		for _, d := range n.Outputs {
			made[d.ID] = true
		}
	}
	return ids
}

func (t *session) free(ids []tensorID) {
	good := ids[:0]
	for _, id := range ids {
		x, err := t.lookup(id)
		if err != nil {
			t.note(fmt.Errorf("free: %w", err))
			continue
		}
		delete(t.tensors, id)
		if x.err == nil {
			good = append(good, id)
		}
	}
	t.freeGood(good)
}

func (t *session) freeGood(ids []tensorID) {
	if len(ids) == 0 {
		return
	}
	if err := t.guard("free", func() error { return t.be.Free(ids) }); err != nil {
		t.note(fmt.Errorf("free: %w", err))
	}
}

// sync waits for the backend and reports the first failure, of the backend or of what never reached it.
func (t *session) sync(c *wire.Command) error {
	ctx, err := t.waits.begin(t.ctx, c.Request)
	if err != nil {
		return err
	}
	defer t.waits.end()
	err = t.guard("sync", func() error { return t.be.Sync(ctx) })
	if !errors.Is(err, core.ErrCanceled) {
		err = earlier(err, t.failure)
		t.failure = nil
	}
	return t.fs.Send(wire.DoneFrame(c.Request, err))
}

// earlier picks the failure of the node that came first.
func earlier(backend, own error) error {
	switch {
	case backend == nil:
		return own
	case own == nil:
		return backend
	}
	var a, b *core.NodeError
	if errors.As(backend, &a) && errors.As(own, &b) && len(a.Outputs) > 0 && len(b.Outputs) > 0 &&
		a.Outputs[0].ID < b.Outputs[0].ID {
		return backend
	}
	return own
}
