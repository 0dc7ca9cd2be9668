package serve

import (
	"context"
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/sdk/wire"
)

// upload is a tensor that arrives in chunks.
type upload struct {
	request uint64
	desc    op.Desc
	data    []byte
	err     error // reason why the upload is refused; its chunks are still received
	got     int   // bytes received
}

const (
	// trusted bounds the memory in bytes that is allocated when a host announces a tensor; more memory is allocated as the data arrives.
	trusted = 64 << 20
	// kept is the greatest size of a staging buffer that is kept for the next tensor.
	kept = 64 << 20
	// minChecked is the size in bytes from which on a buffer is allocated only after checkAddressSpace.
	minChecked = 1 << 30
)

// write creates a small tensor. A failure poisons it, because no request waits for an answer.
func (t *session) write(d op.Desc, data []byte) {
	err := t.fresh(d)
	if err == nil {
		err = t.guard("write", func() error { return t.be.Write(t.ctx, d, data) })
	}
	if err = t.written(d, err); err != nil {
		t.events.note(err)
	}
}

// fresh returns an error if d cannot be created.
func (t *session) fresh(d op.Desc) error {
	t.dev.mu.Lock()
	defer t.dev.mu.Unlock()
	if err := t.dev.fresh(d); err != nil {
		return err
	}
	if limit := t.dev.caps.Limits.Bytes; limit > 0 && int64(d.Bytes()) > limit {
		return fmt.Errorf("write: %v, at most %d bytes a tensor: %w", d, limit, core.ErrUnsupported)
	}
	return nil
}

// written records that tensor d was written, or could not be written because of err. It returns the error that poisons the tensor.
func (t *session) written(d op.Desc, err error) error {
	if err != nil {
		err = &core.NodeError{Op: "write", Outputs: []op.Desc{d}, Err: err}
	}
	t.dev.made([]op.Desc{d}, err)
	return err
}

func (t *session) beginWrite(c *wire.Command) error {
	if t.decoder.More() {
		return fmt.Errorf("stream: %w: a command follows the beginning of a tensor in its frame", core.ErrProtocol)
	}
	if err := t.requests.begin(c.Request); err != nil {
		return err
	}
	if c.Desc.Bytes() == 0 {
		return fmt.Errorf("stream: %w: an empty tensor in chunks", core.ErrProtocol)
	}
	t.upload = &upload{request: c.Request, desc: c.Desc, err: t.fresh(c.Desc), data: t.staging[:0]}
	t.staging = nil
	return nil
}

// chunk receives the next data of the upload. The last chunk passes the tensor to the backend.
func (t *session) chunk(f *wire.Frame, request uint64, size int) error {
	u := t.upload
	if u == nil || u.request != request {
		return fmt.Errorf("stream: %w: chunk of request %d, for which no upload is in progress", core.ErrProtocol, request)
	}
	total := u.desc.Bytes()
	if size == 0 {
		return t.endWrite(fmt.Errorf("write: given up by the host: %w", core.ErrCanceled))
	}
	if size > wire.ChunkSize || size > total-u.got {
		return fmt.Errorf("stream: %w: chunk of %d bytes, %d left of %v", core.ErrProtocol, size, total-u.got, u.desc)
	}
	if u.err == nil {
		u.grow(size, total)
		wire.CopyChunk(f, u.data[u.got:u.got+size])
	}
	u.got += size
	if u.got < total {
		return nil
	}
	if u.err == nil {
		u.err = t.guard("write", func() error { return t.be.Write(t.ctx, u.desc, u.data) })
	}
	return t.endWrite(u.err)
}

// grow allocates memory for size more bytes. Up to trusted bytes are allocated at once; beyond that, the memory is doubled.
func (u *upload) grow(size, total int) {
	need := u.got + size
	if need > cap(u.data) {
		capacity := max(need, min(total, max(2*cap(u.data), trusted)))
		old := u.data[:u.got]
		u.data = make([]byte, u.got, capacity)
		copy(u.data, old)
	}
	u.data = u.data[:need]
}

func (t *session) endWrite(err error) error {
	u := t.upload
	t.upload = nil
	if cap(u.data) <= kept {
		t.staging = u.data[:0]
	}
	return t.done(u.request, u.desc, err)
}

// done answers a request that creates a tensor.
func (t *session) done(request uint64, d op.Desc, err error) error {
	_ = t.written(d, err)
	t.requests.end(request)
	return t.fs.Send(wire.DoneFrame(request, err))
}

// read requests a tensor from the backend.
func (t *session) read(c *wire.Command) error {
	a := answer{request: c.Request, size: c.Size}
	err := t.dev.wanted(c.Desc.ID, c.Size)
	if err == nil { // a poisoned tensor has a type too
		err = checkAddressSpace(c.Size)
	}
	if err != nil {
		a.ticket = core.Failed(err)
	} else {
		a.buffer = wire.NewBuffer(c.Size)
		a.ticket = t.ticket(c.Desc.ID, a.buffer.Data())
	}
	return t.answerLater(a)
}

func (t *session) ticket(id tensorID, dst []byte) (k core.Ticket) {
	if err := t.guard("read", func() error { k = t.be.Read(id, dst); return nil }); err != nil {
		return core.Failed(err)
	}
	return k
}

// elements waits for a tensor and sends it.
func (t *session) elements(ctx context.Context, a *answer) error {
	err := t.guard("read", func() error { return a.ticket.Wait(ctx) })
	if a.buffer != nil {
		defer a.buffer.Free()
	}
	for lo := 0; ; lo += wire.ChunkSize {
		if err == nil && t.requests.canceled(a.request) {
			err = fmt.Errorf("read: %w", core.ErrCanceled)
		}
		if err != nil {
			return t.fs.Send(wire.DoneFrame(a.request, err))
		}
		hi := min(lo+wire.ChunkSize, a.size)
		if err := t.fs.Send(wire.DataFrame(a.request, a.buffer, lo, hi, hi == a.size)); err != nil || hi == a.size {
			return err
		}
	}
}
