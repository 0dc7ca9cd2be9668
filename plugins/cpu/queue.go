package cpu

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
	"github.com/goburn/burn/plugins/cpu/internal/par"
	"github.com/goburn/burn/sdk/engine"
)

// queue executes the commands of one stream.
type queue struct {
	*device
	alone kernel.Env // the device's memory, and one thread that divides loops like all threads
	call  kernel.Call
}

var (
	_ engine.Queue[kernel.Array] = (*queue)(nil)
	_ engine.Busy                = (*queue)(nil)
)

// sharing describes how streams that compute at the same time share the threads.
type sharing struct {
	// single is set if each of these streams has one thread. Otherwise, one stream at a time has all threads, for one loop.
	single bool
	active atomic.Int32 // number of streams that compute; counted if single is set
}

// Begin implements engine.Busy. Until End, workers stay awake between commands.
func (q *queue) Begin() {
	if s := &q.driver.sharing; s.single {
		s.active.Add(1)
	}
	q.driver.pool.Hold()
}

// End implements engine.Busy.
func (q *queue) End() {
	q.driver.pool.Release()
	if s := &q.driver.sharing; s.single {
		s.active.Add(-1)
	}
}

// environment returns the threads and memory for the next kernel.
func (q *queue) environment() *kernel.Env {
	if s := &q.driver.sharing; s.single && s.active.Load() > 1 {
		return &q.alone
	}
	return &q.device.env
}

// Execute implements engine.Queue.
func (q *queue) Execute(c *engine.Call[kernel.Array]) error {
	f, err := prepare(c.Node, c.Descs)
	if err != nil {
		return err
	}
	return q.invoke(q.environment(), f, c.In, c.Owned, c.Node.Outputs, c.Out, nil)
}

// Close implements engine.Queue.
func (q *queue) Close() {}

// prepare returns the kernel for a node, or ErrUnsupported if there is none.
func prepare(n *op.Node, in []op.Desc) (f kernel.Func, err error) {
	defer func() {
		if v := recover(); v != nil {
			f, err = nil, panicError(v)
		}
	}()
	table := ruleTable()
	if int(n.Op) >= len(table) || table[n.Op].Prepare == nil || !table[n.Op].Types.Has(n.FirstType(in)) ||
		n.Version != op.Lookup(n.Op).Version {
		return nil, fmt.Errorf("no kernel: %w", core.ErrUnsupported)
	}
	if f = table[n.Op].Prepare(n, in); f == nil {
		return nil, fmt.Errorf("no kernel: %w", core.ErrUnsupported)
	}
	return f, nil
}

// target says where a kernel writes its first result.
type target struct {
	into   kernel.Array // the part of an array that becomes the result, if it has a buffer
	prefer int          // the operand whose memory the result reuses if possible; -1 means any
}

// invoke runs a kernel and returns a panic as an error. to may be nil.
func (q *queue) invoke(env *kernel.Env, f kernel.Func, in []kernel.Array, own uint64, desc []op.Desc, out []kernel.Array, to *target) (err error) {
	q.call.Begin(env, in, own, desc, out)
	if to != nil {
		q.call.Into, q.call.Prefer = to.into, to.prefer
	}
	done := false
	defer func() {
		if !done {
			err = panicError(recover())
		}
		q.call.End(err != nil)
	}()
	err = f(&q.call)
	done = true
	return err
}

func panicError(v any) error {
	if p, ok := v.(*par.Panic); ok {
		v = p.Value
	}
	var short kernel.NoMemory
	if err, ok := v.(error); ok && errors.As(err, &short) {
		return short.Err
	}
	return fmt.Errorf("panic: %v: %w", v, core.ErrKernel)
}
