package shared

import (
	"runtime"
	"sync/atomic"

	"github.com/goburn/burn/sdk/engine"
)

// queue is a queue of a library.
type queue struct {
	*caller
	device *device
	handle uintptr
	cancel *int32 // read by the library
}

var _ engine.Interrupter = (*queue)(nil)

// Execute implements engine.Queue.
func (q *queue) Execute(c *engine.Call[uintptr]) error {
	number, err := q.device.numberOf(c.Node)
	if err != nil {
		return err
	}
	defer q.reset()
	out, outAt := zeroed[uintptr](&q.arena, len(c.Out))
	call := place(&q.arena, cCall{head: headOf[cCall](), node: q.node(number, c.Node, c.Descs), in: putAll(&q.arena, c.In), out: outAt,
		owned: c.Owned, cancel: addressOf(q.cancel)})
	if err := q.call(q.device.api.execute, q.handle, addressOf(call)); err != nil {
		return err
	}
	for i := range min(len(c.In), 64) {
		if call.taken>>i&1 != 0 && c.Owned>>i&1 != 0 {
			c.Take(i)
		}
	}
	copy(c.Out, out)
	return nil
}

// Interrupt implements engine.Interrupter.
func (q *queue) Interrupt() { atomic.StoreInt32(q.cancel, 1) }

// Close implements engine.Queue.
func (q *queue) Close() {
	tell(q.device.api.closeQueue, q.handle)
	runtime.KeepAlive(q)
}
