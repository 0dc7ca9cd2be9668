package apple

import (
	"fmt"
	"runtime"
	"time"
	"unsafe"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/plugins/metal/internal/calls"
)

type queue struct{ owned }

func (d *device) NewQueue(most int) (calls.Queue, error) {
	q := d.r.message(newQueue, d.self, unsigned(uint64(most)))
	if q == 0 {
		return nil, fmt.Errorf("a command queue: %w", core.ErrOutOfMemory)
	}
	return &queue{owned{d.r, q}}, nil
}

type event struct {
	owned
	waits bool // the system can wait with a limit: macOS 12 and later
}

func (d *device) NewEvent() (calls.Event, error) {
	e := d.r.message(newEvent, d.self)
	if e == 0 {
		return nil, fmt.Errorf("a shared event: %w", core.ErrOutOfMemory)
	}
	return &event{owned{d.r, e}, truth(d.r.message(respondsToSelector, e, selector(d.r.selectors[eventWait])))}, nil
}

// Wait implements calls.Event.
func (e *event) Wait(value uint64, limit time.Duration) bool {
	if e.waits {
		return truth(e.r.message(eventWait, e.self, unsigned(value), unsigned(uint64(max(limit.Milliseconds(), 1)))))
	}
	for began := time.Now(); uint64(e.r.message(eventValue, e.self)) < value; time.Sleep(100 * time.Microsecond) {
		if time.Since(began) > limit {
			return false
		}
	}
	return true
}

// commands implements calls.Commands: a command buffer, and its encoder while an encoder is open.
type commands struct {
	owned
	encoder id
}

func (q *queue) NewCommands() (c calls.Commands, err error) {
	q.r.pooled(func() {
		x := q.r.message(commandBuffer, q.self)
		if x == 0 {
			err = fmt.Errorf("a command buffer: %w", core.ErrOutOfMemory)
			return
		}
		c = &commands{owned: owned{q.r, q.r.message(retain, x)}}
	})
	return c, err
}

// encode returns the current encoder, or a new encoder if none is open: a wait for an event and a product of MPS end the encoder. The
// kernels of an encoder run one after the other.
func (c *commands) encode() id {
	if c.encoder == 0 {
		c.r.pooled(func() { c.encoder = c.r.message(retain, c.r.message(computeEncoder, c.self)) })
	}
	return c.encoder
}

// end ends the encoder, if an encoder is open.
func (c *commands) end() {
	if c.encoder != 0 {
		c.r.message(endEncoding, c.encoder)
		c.r.message(release, c.encoder)
		c.encoder = 0
	}
}

func (c *commands) SetPipeline(p calls.Pipeline) {
	c.r.message(setPipeline, c.encode(), object(p.(*pipeline).self))
}

func (c *commands) SetBuffer(argument int, b calls.Buffer, offset int64) {
	c.r.message(setBuffer, c.encode(), object(b.(*buffer).self), unsigned(uint64(offset)), unsigned(uint64(argument)))
}

func (c *commands) SetBytes(argument int, data []byte) {
	c.r.message(setBytes, c.encode(), address(unsafe.Pointer(unsafe.SliceData(data))), unsigned(uint64(len(data))), unsigned(uint64(argument)))
	runtime.KeepAlive(data)
}

func (c *commands) Dispatch(groups [3]int, threads int) {
	c.r.messageSizes(dispatch, c.encode(), size(&[3]uint64{uint64(groups[0]), uint64(groups[1]), uint64(groups[2])}), size(&[3]uint64{uint64(threads), 1, 1}))
}

func (c *commands) Await(e calls.Event, value uint64) {
	c.end()
	c.r.message(encodeWait, c.self, object(e.(*event).self), unsigned(value))
}

func (c *commands) Commit(e calls.Event, value uint64) {
	c.end()
	c.r.message(encodeSignal, c.self, object(e.(*event).self), unsigned(value))
	c.r.pooled(func() { c.r.message(commit, c.self) })
}

// Done implements calls.Commands.
func (c *commands) Done() (done bool, err error) {
	switch int(c.r.message(status, c.self)) {
	case statusCompleted:
		return true, nil
	case statusError:
		c.r.pooled(func() {
			failure, code := c.r.message(commandError, c.self), 0
			if failure != 0 {
				code = int(c.r.message(errorCode, failure))
			}
			err = fault(code, c.r.reason(failure))
		})
		return true, err
	}
	return false, nil
}

func (c *commands) Ended() float64 { return c.r.messageDouble(gpuEnd, c.self) }

func (c *commands) Release() {
	c.end() // Metal ends the process if an encoder is released before it was ended
	c.owned.Release()
}
