package serve

import (
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
	err     error // why it is refused; the chunks are taken all the same
	got     int
}

const (
	// trusted is how much memory a host's word about a coming tensor is worth; more is taken as the data arrives.
	trusted = 64 << 20
	// kept is how large a staging buffer is kept for the next tensor.
	kept = 64 << 20
)

// write makes a small tensor. A failure poisons it, as nobody waits.
func (t *session) write(d op.Desc, data []byte) {
	err := t.fresh(d)
	if err == nil {
		err = t.guard("write", func() error { return t.be.Write(t.ctx, d, data) })
	}
	if err != nil {
		err = &core.NodeError{Op: "write", Outputs: []op.Desc{d}, Err: err}
		t.note(err)
		t.poison([]op.Desc{d}, err)
		return
	}
	t.tensors[d.ID] = tensor{Desc: d}
}

func (t *session) beginWrite(c *wire.Command) error {
	if t.decoder.More() {
		return fmt.Errorf("stream: %w: a command follows the beginning of a tensor in its frame", core.ErrProtocol)
	}
	if _, err := t.waits.begin(t.ctx, c.Request); err != nil {
		return err
	}
	t.waits.end()
	u := &upload{request: c.Request, desc: c.Desc, err: t.fresh(c.Desc)}
	if n := int64(c.Desc.Bytes()); n == 0 {
		return fmt.Errorf("stream: %w: an empty tensor in chunks", core.ErrProtocol)
	} else if limit := t.caps.MaxBytes; u.err == nil && limit > 0 && n > limit {
		u.err = fmt.Errorf("write: %v, at most %d bytes a tensor: %w", c.Desc, limit, core.ErrUnsupported)
	}
	u.data = t.staging[:0]
	t.staging = nil
	t.upload = u
	return nil
}

// chunk takes the next data of the upload. The last one hands the tensor to the backend.
func (t *session) chunk(f *wire.Frame, request uint64, size int) error {
	u := t.upload
	if u == nil || u.request != request {
		return fmt.Errorf("stream: %w: chunk of request %d, which writes nothing", core.ErrProtocol, request)
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

// grow makes room for size bytes more: all at once while the host is trusted, by doubling from then on.
func (u *upload) grow(size, total int) {
	need := u.got + size
	if need > cap(u.data) {
		room := max(need, min(total, max(2*cap(u.data), trusted)))
		old := u.data[:u.got]
		u.data = make([]byte, u.got, room)
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
	if err == nil {
		t.tensors[u.desc.ID] = tensor{Desc: u.desc}
	}
	return t.fs.Send(wire.DoneFrame(u.request, err))
}

// read waits for a tensor and sends it.
func (t *session) read(c *wire.Command) error {
	ctx, err := t.waits.begin(t.ctx, c.Request)
	if err != nil {
		return err
	}
	defer t.waits.end()
	x, err := t.lookup(c.Desc.ID)
	switch {
	case err != nil:
		err = fmt.Errorf("read: %w", err)
	case x.err != nil:
		err = x.err
	case x.Bytes() != c.Size:
		err = fmt.Errorf("read: %v is %v of %d bytes, got room for %d: %w", c.Desc.ID, x.Desc, x.Bytes(), c.Size, core.ErrShape)
	}
	if err != nil {
		return t.fs.Send(wire.DoneFrame(c.Request, err))
	}
	buf := wire.NewBuffer(c.Size)
	defer buf.Free()
	if err := t.guard("read", func() error { return t.be.Read(ctx, c.Desc.ID, buf.Data()) }); err != nil {
		return t.fs.Send(wire.DoneFrame(c.Request, err))
	}
	for lo := 0; ; lo += wire.ChunkSize {
		if ctx.Err() != nil && t.ctx.Err() == nil {
			return t.fs.Send(wire.DoneFrame(c.Request, fmt.Errorf("read: %w", core.ErrCanceled)))
		}
		hi := min(lo+wire.ChunkSize, c.Size)
		if err := t.fs.Send(wire.DataFrame(c.Request, buf, lo, hi, hi == c.Size)); err != nil {
			return err
		}
		if hi == c.Size {
			return nil
		}
	}
}
