package serve

import (
	"context"
	"fmt"
	"sync"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/sdk/wire"
)

// session is one stream of a device.
type session struct {
	dev        *device
	number     uint64
	fs         *wire.FrameStream
	be         core.Stream
	closeInner func()
	ctx        context.Context // canceled when the stream ends
	cancel     context.CancelFunc
	holder     holder    // be, if it implements holder
	pace       wire.Pace // pace of the host's frames
	watches    bool      // polls for frames instead of sleeping

	turns
	helpers  sync.WaitGroup
	requests requests
	events   events
	segments segments

	// The fields below belong to the decoding goroutine.
	decoder *wire.Decoder
	upload  *upload   // upload in progress, or nil
	staging []byte    // memory for the next upload
	batch   []op.Node // checked nodes that are not submitted yet
	in      []op.Desc
}

// holder is an optional interface of a backend's stream, which streams of sdk/engine implement: between Hold and Unhold, the backend may
// delay commands until a caller waits for them.
type holder interface {
	Hold()
	Unhold()
}

func (t *session) guard(what string, call func() error) error { return t.dev.guard(what, call) }

func (t *session) frame(f *wire.Frame) error {
	if request, size, ok := wire.Chunk(f); ok {
		return t.chunk(f, request, size)
	}
	t.hold()
	return f.Bytes(func(b []byte) error {
		var c wire.Command
		if len(b) == 0 {
			return fmt.Errorf("stream: %w: an empty frame", core.ErrProtocol)
		}
		t.decoder.Start(b)
		for first := true; t.decoder.More(); first = false {
			if err := t.decoder.Next(&c); err != nil {
				return err
			}
			if c.Tag == wire.TagDefine && (!first || t.decoder.More()) {
				return fmt.Errorf("stream: %w: define is not alone in its frame", core.ErrProtocol)
			}
			if err := t.command(&c); err != nil {
				return err
			}
		}
		t.flush()
		return nil
	})
}

func (t *session) command(c *wire.Command) error {
	if t.upload != nil && c.Tag != wire.TagAwait {
		return fmt.Errorf("stream: %w: command 0x%02x within the chunks of a tensor", core.ErrProtocol, byte(c.Tag))
	}
	if c.Tag != wire.TagNode {
		t.flush()
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
	case wire.TagSignal:
		return t.signal()
	case wire.TagWait:
		return t.wait(c)
	case wire.TagAwait:
		return t.await(c)
	case wire.TagDefine:
		return t.define(c)
	case wire.TagRun:
		t.run(c)
	case wire.TagCopy:
		t.copy(c)
	case wire.TagAllReduce, wire.TagAllGather, wire.TagBroadcast:
		t.collective(c)
	default:
		return fmt.Errorf("stream: %w: command 0x%02x is not allowed here", core.ErrProtocol, byte(c.Tag))
	}
	return nil
}

// node checks a node and adds it to the batch. A node that cannot run poisons its outputs.
func (t *session) node(c *wire.Command) {
	if there := t.admit(c); len(there) > 0 {
		t.flush()
		t.release(there)
	}
}

// admit checks a node and adds it to the batch. For a node that cannot run it returns the dropped operands, which the backend
// must free.
func (t *session) admit(c *wire.Command) (there []tensorID) {
	n, d := &c.Node, t.dev
	d.mu.Lock()
	defer d.mu.Unlock()
	var err, poisoned error
	t.in = t.in[:0]
	for _, id := range n.Inputs {
		x, e := d.lookup(id)
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
		t.events.note(err)
	case poisoned != nil:
		err = poisoned
	}
	for i, id := range n.Inputs {
		if i < 64 && n.Drop>>i&1 != 0 {
			if x, ok := d.tensors[id]; ok && !x.absent && err != nil {
				there = append(there, id)
			}
			delete(d.tensors, id)
		}
	}
	d.make(n.Outputs, err)
	if err == nil {
		t.batch = append(t.batch, *n)
	}
	return there
}

// check returns an error if a node must not be passed to the backend.
func (t *session) check(c *wire.Command, in []op.Desc) error {
	n := &c.Node
	if n.Op == op.NoOp {
		return wire.UnknownOp(c.OpName, n.Version)
	}
	if err := t.dev.fresh(n.Outputs...); err != nil {
		return err
	}
	return t.guard("check", func() error {
		if err := op.Check(n, in); err != nil {
			return err
		}
		return t.dev.caps.Check(n, in)
	})
}

// flush passes the batch to the backend. If the backend refuses it or panics, the outputs are poisoned.
func (t *session) flush() {
	if len(t.batch) == 0 {
		return
	}
	if err := t.dev.guardOps("submit", t.batch, func() error { return t.be.Submit(t.batch, nil) }); err != nil {
		first := &t.batch[0]
		err = &core.NodeError{Op: first.Op.String(), Outputs: first.Outputs, Err: err}
		t.events.note(err)
		t.dev.mu.Lock()
		for i := range t.batch {
			for _, o := range t.batch[i].Outputs {
				if _, ok := t.dev.tensors[o.ID]; ok {
					t.dev.tensors[o.ID] = tensor{Desc: o, err: err, absent: true}
				}
			}
		}
		t.dev.mu.Unlock()
		t.release(dropped(t.batch))
	}
	clear(t.batch)
	t.batch = t.batch[:0]
}

// dropped returns the tensors that a batch drops, except tensors that the batch itself creates.
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
	t.dev.mu.Lock()
	there := t.dev.remove(ids, func(err error) { t.events.note(fmt.Errorf("free: %w", err)) })
	t.dev.mu.Unlock()
	t.release(there)
}

// release frees tensors of the backend.
func (t *session) release(ids []tensorID) {
	if len(ids) == 0 {
		return
	}
	if err := t.guard("free", func() error { return t.be.Submit(nil, ids) }); err != nil {
		t.events.note(fmt.Errorf("free: %w", err))
	}
}
