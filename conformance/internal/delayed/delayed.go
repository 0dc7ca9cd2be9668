// Package delayed is a correct backend with maximal delays, for tests of the suite and of sdk/engine. Its queues only accept work. One
// goroutine per queue executes the work some time later, and the next mark reports failures. The backend computes with the kernels of
// conformance/ref. If a caller omits an ordering between commands, results are wrong. Counters show values that are released twice or
// never. The package must not be used outside tests.
package delayed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/sdk/engine"
)

// Driver is an engine.Driver of the backend. Its counters include all of its devices.
type Driver struct {
	// Delay is the time to sleep before each job of a queue.
	Delay time.Duration
	// Eval computes a node; nil means ref.Eval.
	Eval func(n *op.Node, in []ref.Tensor) ([]ref.Tensor, error)

	live  atomic.Int64
	twice atomic.Int64
}

// Live returns the number of values that were created and not released.
func (d *Driver) Live() int64 { return d.live.Load() }

// Twice returns how many values were released more than once.
func (d *Driver) Twice() int64 { return d.twice.Load() }

// value is a tensor that exists after its queue has run the job that computes it. It may be overwritten.
type value struct {
	now      atomic.Pointer[ref.Tensor]
	released atomic.Bool
}

func (d *Driver) value() *value {
	d.live.Add(1)
	return new(value)
}

// read returns the current elements of a tensor of the type and shape of desc. It returns zeros if there is no such tensor yet.
func (v *value) read(desc op.Desc) ref.Tensor {
	if t := v.now.Load(); t != nil && t.Desc.SameType(desc) {
		return *t
	}
	return ref.Zeros(desc)
}

// Info implements engine.Driver.
func (d *Driver) Info() core.Info {
	return core.Info{Name: "delayed", Version: "1.0.0", Vendor: "burn",
		Devices: []core.DeviceInfo{{Name: "delayed", Kind: "cpu", Detail: "learns of everything late"}}}
}

// Open implements engine.Driver.
func (d *Driver) Open(context.Context, int) (engine.Device[*value], error) {
	v := &device{d: d, caps: &core.Capabilities{Types: dtype.Any | dtype.Smalls, Ops: map[string]core.OpCapability{},
		Limits: core.Limits{Rank: shape.MaxRank}, Deterministic: true, Features: []string{"programs", "memory_stats"}}}
	for _, c := range op.All() {
		if row := op.Lookup(c); ref.Has(c) {
			first := dtype.Set(dtype.Any)
			if len(row.Operands) > 0 {
				first = row.Operands[0].Types
			}
			v.caps.Ops[row.Name] = core.Claim(row, first)
		}
	}
	return v, nil
}

// Close implements engine.Driver.
func (d *Driver) Close() error { return nil }

// New returns a backend of a driver.
func New(d *Driver) core.Backend { return engine.New[*value](d) }

type device struct {
	d    *Driver
	caps *core.Capabilities
}

// Capabilities implements engine.Device.
func (v *device) Capabilities() *core.Capabilities { return v.caps }

var errNotUsed = errors.New("an asynchronous queue must be used for copies")

// Upload implements engine.Device.
func (v *device) Upload(op.Desc, []byte) (*value, error) { return nil, errNotUsed }

// Download implements engine.Device.
func (v *device) Download([]byte, op.Desc, *value) error { return errNotUsed }

// Release implements engine.Device.
func (v *device) Release(x *value) {
	if x.released.Swap(true) {
		v.d.twice.Add(1)
		return
	}
	v.d.live.Add(-1)
}

// OpenQueue implements engine.Device.
func (v *device) OpenQueue() (engine.Queue[*value], error) {
	q := &queue{v: v, more: make(chan struct{}, 1), quit: make(chan struct{}), ended: make(chan struct{})}
	go q.work()
	return q, nil
}

// Close implements engine.Device.
func (v *device) Close() {}

// queue runs jobs in a goroutine, one after the other.
type queue struct {
	v     *device
	more  chan struct{}
	quit  chan struct{}
	ended chan struct{} // closed when the goroutine ends

	mu   sync.Mutex
	jobs []func() error

	failed error // error since the last mark; owned by the goroutine
}

func (q *queue) push(job func() error) {
	q.mu.Lock()
	q.jobs = append(q.jobs, job)
	q.mu.Unlock()
	select {
	case q.more <- struct{}{}:
	default:
	}
}

// work runs all jobs, including those that are waiting when the queue is closed.
func (q *queue) work() {
	defer close(q.ended)
	for {
		q.mu.Lock()
		jobs := q.jobs
		q.jobs = nil
		q.mu.Unlock()
		for _, job := range jobs {
			if q.v.d.Delay > 0 {
				time.Sleep(q.v.d.Delay)
			}
			if err := guarded(job); err != nil && q.failed == nil {
				q.failed = err
			}
		}
		if len(jobs) > 0 {
			continue
		}
		select {
		case <-q.more:
		case <-q.quit:
			return
		}
	}
}

func guarded(job func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v: %w", p, core.ErrKernel)
		}
	}()
	return job()
}

// maxResult bounds the bytes of one result.
const maxResult = 1 << 28

// Execute implements engine.Queue. It checks claims and sizes at once; the job computes the node later.
func (q *queue) Execute(c *engine.Call[*value]) error {
	if err := q.v.caps.Check(c.Node, c.Descs); err != nil {
		return err
	}
	for _, d := range c.Node.Outputs {
		if d.Bytes() > maxResult {
			return fmt.Errorf("result %v: %w", d, core.ErrOutOfMemory)
		}
	}
	n, in, descs := *c.Node, slices.Clone(c.In), slices.Clone(c.Descs)
	for i := range c.Out {
		c.Out[i] = nil
		for k, d := range descs {
			if i == 0 && k < 64 && c.Owned>>k&1 != 0 && d.SameType(n.Outputs[0]) {
				c.Out[0] = c.Take(k) // the result is written over the operand
				break
			}
		}
		if c.Out[i] == nil {
			c.Out[i] = q.v.d.value()
		}
	}
	outs := slices.Clone(c.Out)
	q.push(func() error {
		ts := make([]ref.Tensor, len(in))
		for i, v := range in {
			ts[i] = v.read(descs[i])
		}
		eval := q.v.d.Eval
		if eval == nil {
			eval = ref.Eval
		}
		got, err := eval(&n, ts)
		for i, v := range outs {
			t := ref.Zeros(n.Outputs[i])
			if err == nil {
				t = got[i]
			}
			v.now.Store(&t)
		}
		return err
	})
	return nil
}

// Close implements engine.Queue.
func (q *queue) Close() {
	close(q.quit)
	<-q.ended
}

// mark implements engine.Mark.
type mark struct {
	done chan struct{}
	err  error
}

// Wait implements engine.Mark.
func (m *mark) Wait() error {
	<-m.done
	return m.err
}

// Record implements engine.Asynchronous.
func (q *queue) Record() (engine.Mark, error) {
	m := &mark{done: make(chan struct{})}
	q.push(func() error {
		m.err, q.failed = q.failed, nil
		close(m.done)
		return nil
	})
	return m, nil
}

// Await implements engine.Asynchronous.
func (q *queue) Await(m engine.Mark) error {
	q.push(func() error {
		<-m.(*mark).done
		return nil
	})
	return nil
}

// Enqueue implements engine.Asynchronous.
func (q *queue) Enqueue(d op.Desc, data []byte, done func()) (*value, error) {
	v := q.v.d.value()
	q.push(func() error {
		t, err := ref.FromBytes(d, data)
		done()
		v.now.Store(&t)
		return err
	})
	return v, nil
}

// Fetch implements engine.Asynchronous.
func (q *queue) Fetch(dst []byte, d op.Desc, v *value) error {
	q.push(func() error {
		copy(dst, v.read(d).Bytes())
		return nil
	})
	return nil
}
