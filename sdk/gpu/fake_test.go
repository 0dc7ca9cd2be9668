package gpu

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/dialect"
	"github.com/goburn/burn/sdk/gpu/interp"
	"github.com/goburn/burn/sdk/gpu/ir"
	"github.com/goburn/burn/sdk/gpu/template"
)

// fakeDriver is a driver whose queues execute their commands on goroutines of their own, with the interpreter. Tests plant faults
// in it and count its calls.
type fakeDriver struct {
	devices int
	memory  int64 // of a device; 0 is 4 GiB
	opened  []*fakeDevice
	setup   func(d *fakeDevice)
}

func (f *fakeDriver) Info() core.Info {
	i := core.Info{Name: "fake", Version: "0"}
	for range max(f.devices, 1) {
		i.Devices = append(i.Devices, core.DeviceInfo{Name: "fake", Kind: "gpu", Memory: cmp.Or(f.memory, 1<<32)})
	}
	return i
}

func (f *fakeDriver) Open(context.Context, int) (Device, error) {
	d := &fakeDevice{limit: 1 << 30}
	if f.setup != nil {
		f.setup(d)
	}
	f.opened = append(f.opened, d)
	if d.noGraphs {
		return plainDevice{d}, nil
	}
	return d, nil
}

func (f *fakeDriver) Close() error { return nil }

// plainDevice hides the graphs of a device.
type plainDevice struct{ Device }

type fakeDevice struct {
	limit     int64
	dialect   *dialect.Dialect
	libraries []Library
	noGraphs  bool
	jitter    bool // queues pause at random
	dry       bool // memory has no data and nothing is computed
	clean     bool // new memory is zeros, which cost no memory of the machine until they are written
	compile   func(text string) ([]byte, error)
	refuse    func(s *Step) error // if not nil, its error is the error of Update
	newGraph  func(steps []Step) error
	planted   string        // part of the name of a kernel that faults
	pause     time.Duration // before the first kernel
	preempt   time.Duration // the first timed Record returns so much later than the device reaches the event

	allocs, frees, launches, copies, graphs, graphRuns, updates, compiles atomic.Int64
	inUse                                                                 atomic.Int64
	events                                                                atomic.Int64 // that were not released
	fault                                                                 atomic.Pointer[error]
}

func (d *fakeDevice) Target() template.Target {
	types := dtype.SetOf(dtype.F64, dtype.F32, dtype.F16, dtype.BF16, dtype.I64, dtype.I32, dtype.I16, dtype.I8, dtype.U64, dtype.U32, dtype.U16, dtype.U8, dtype.Bool)
	return template.Target{Subgroup: 32, Threads: 1024, Shared: 48 << 10, Units: 2, Blocks: 2, Grid: [3]int{1<<31 - 1, 65535, 65535}, Wide: 16, Params: 4096,
		Types: types, Math: types, Atomics: dtype.SetOf(dtype.F32, dtype.I32, dtype.U32, dtype.I64, dtype.U64)}
}

func (d *fakeDevice) Dialect() *dialect.Dialect { return d.dialect }
func (d *fakeDevice) Compiler() string          { return "fake 1" }

func (d *fakeDevice) Compile(_ context.Context, text string) ([]byte, error) {
	d.compiles.Add(1)
	if d.compile != nil {
		return d.compile(text)
	}
	return []byte(text), nil
}

func (d *fakeDevice) Load(code []byte, ks []*ir.Kernel) ([]Function, error) {
	fns := make([]Function, len(ks))
	for i, k := range ks {
		if k != nil {
			fns[i] = fakeFunction{k}
		}
	}
	return fns, nil
}

type fakeFunction struct{ k *ir.Kernel }

func (f fakeFunction) Kernel() *ir.Kernel { return f.k }
func (f fakeFunction) Unload()            {}

type fakeMemory struct {
	size  int64
	data  []byte // nil if the device is dry
	freed atomic.Bool
}

func (m *fakeMemory) Bytes() int64 { return m.size }

func (d *fakeDevice) Alloc(n int64) (Memory, error) {
	if d.inUse.Add(n) > d.limit {
		d.inUse.Add(-n)
		return nil, fmt.Errorf("fake: %w", core.ErrOutOfMemory)
	}
	d.allocs.Add(1)
	if d.dry {
		return &fakeMemory{size: n}, nil
	}
	m := &fakeMemory{size: n, data: make([]byte, n)}
	for i := 0; i < len(m.data) && !d.clean; i += 64 {
		m.data[i] = 0xa5
	}
	return m, nil
}

func (d *fakeDevice) Free(m Memory) {
	x := m.(*fakeMemory)
	if x.freed.Swap(true) {
		panic("freed twice")
	}
	d.frees.Add(1)
	d.inUse.Add(-x.Bytes())
}

func (d *fakeDevice) MemoryInfo() (free, total int64) { return d.limit - d.inUse.Load(), d.limit }
func (d *fakeDevice) HostAlloc(n int) ([]byte, error) { return make([]byte, n), nil }
func (d *fakeDevice) HostFree([]byte)                 {}
func (d *fakeDevice) Libraries() []Library            { return d.libraries }
func (d *fakeDevice) Close()                          {}

func (d *fakeDevice) OpenQueue() (Queue, error) {
	q := &fakeQueue{device: d, wake: make(chan struct{}, 1)}
	go q.work()
	return q, nil
}

// fakeQueue is a queue with a goroutine.
type fakeQueue struct {
	device *fakeDevice
	wake   chan struct{}
	mu     sync.Mutex
	todo   []func() error
	closed bool
	err    error // of the work so far
}

func (q *fakeQueue) work() {
	for range q.wake {
		for {
			q.mu.Lock()
			if len(q.todo) == 0 {
				closed := q.closed
				q.mu.Unlock()
				if closed {
					return
				}
				break
			}
			do := q.todo[0]
			q.todo = q.todo[1:]
			q.mu.Unlock()
			if q.device.jitter && rand.IntN(4) == 0 {
				time.Sleep(time.Duration(rand.IntN(200)) * time.Microsecond)
			}
			if err := do(); err != nil {
				q.mu.Lock()
				q.err = fmt.Errorf("%w: %w", core.ErrBackendLost, err)
				q.mu.Unlock()
			}
		}
	}
}

func (q *fakeQueue) do(f func() error) error {
	if q.device.dry {
		return f()
	}
	q.mu.Lock()
	q.todo = append(q.todo, f)
	err := q.err
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default:
	}
	return err
}

func (r Ref) bytes() []byte {
	m := r.Memory.(*fakeMemory)
	if m.freed.Load() {
		panic("memory that was freed")
	}
	if m.data == nil {
		return nil
	}
	return m.data[r.Offset:]
}

func (q *fakeQueue) Launch(l *Launch) error {
	q.device.launches.Add(1)
	return q.launch(l)
}

func (q *fakeQueue) launch(l *Launch) error {
	if q.device.dry {
		return nil
	}
	x := ir.Launch{Kernel: l.Function.Kernel(), Grid: l.Grid, Args: make([]ir.Arg, len(l.Args)), Starts: l.Starts}
	var slots [][]byte
	for i, a := range l.Args {
		x.Args[i] = ir.Arg{Slot: i, Bits: a.Bits}
		var b []byte
		if a.Ref.Memory != nil {
			b = a.Ref.bytes()
		}
		slots = append(slots, b)
	}
	var pause time.Duration
	if q.device.launches.Load() == 1 {
		pause = q.device.pause
	}
	faults := q.device.planted != "" && strings.Contains(x.Kernel.Name, q.device.planted)
	return q.do(func() error {
		time.Sleep(pause)
		if f := q.device.fault.Load(); f != nil {
			return *f
		}
		if faults {
			return fmt.Errorf("%s faults", x.Kernel.Name)
		}
		return interp.Run(x, slots, interp.Options{})
	})
}

func (q *fakeQueue) Copy(dst, src Ref, n int64) error {
	q.device.copies.Add(1)
	to, from := dst.bytes(), src.bytes()
	return q.do(func() error { copy(to[:min(int(n), len(to))], from[:min(int(n), len(from))]); return nil })
}

func (q *fakeQueue) Fill(dst Ref, n int64, pattern uint32, width int) error {
	to := dst.bytes()
	return q.do(func() error {
		for i := range min(int(n), len(to)) {
			to[i] = byte(pattern >> (8 * (i % width)))
		}
		return nil
	})
}

func (q *fakeQueue) Upload(dst Ref, src []byte) error {
	to := dst.bytes()
	return q.do(func() error { copy(to, src); return nil })
}

func (q *fakeQueue) Download(dst []byte, src Ref) error {
	from := src.bytes()
	return q.do(func() error {
		clear(dst[copy(dst, from):])
		return nil
	})
}

type fakeEvent struct {
	q        *fakeQueue
	done     chan struct{}
	at       time.Time
	err      error
	released atomic.Bool
}

func (q *fakeQueue) Record(timed bool) (Event, error) {
	e := &fakeEvent{q: q, done: make(chan struct{})}
	err := q.do(func() error {
		q.mu.Lock()
		e.err = q.err
		q.mu.Unlock()
		e.at = time.Now()
		close(e.done)
		return nil
	})
	if err != nil {
		return nil, err
	}
	q.device.events.Add(1)
	if timed && q.device.preempt > 0 {
		<-e.done
		time.Sleep(q.device.preempt)
		q.device.preempt = 0
	}
	return e, nil
}

func (q *fakeQueue) Await(x Event) error {
	e := x.(*fakeEvent)
	e.use()
	return q.do(func() error { <-e.done; return nil })
}

func (q *fakeQueue) Synchronize() error {
	e, err := q.Record(false)
	if err != nil {
		return err
	}
	defer e.Release()
	return e.Wait()
}

func (q *fakeQueue) Close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	_ = q.do(func() error { return nil })
}

func (e *fakeEvent) use() {
	if e.released.Load() {
		panic("an event that was released")
	}
}

func (e *fakeEvent) Done() (bool, error) {
	e.use()
	select {
	case <-e.done:
		return true, e.err
	default:
		return false, nil
	}
}

func (e *fakeEvent) Wait() error {
	e.use()
	<-e.done
	return e.err
}

func (e *fakeEvent) Since(x Event) (time.Duration, error) { return e.at.Sub(x.(*fakeEvent).at), nil }

func (e *fakeEvent) Release() {
	if e.released.Swap(true) {
		panic("an event that is released twice")
	}
	e.q.device.events.Add(-1)
}

// fakeGraph replays steps, in any order that they allow.
type fakeGraph struct {
	device *fakeDevice
	steps  []Step
	order  []int
	closed bool
}

func cloneStep(s Step) Step {
	switch {
	case s.Launch != nil:
		l := *s.Launch
		l.Args = append([]Arg(nil), l.Args...)
		s.Launch = &l
	case s.Call != nil:
		c := *s.Call
		c.Args = append([]Ref(nil), c.Args...)
		s.Call = &c
	case s.Copy != nil:
		c := *s.Copy
		s.Copy = &c
	case s.Fill != nil:
		f := *s.Fill
		s.Fill = &f
	}
	return s
}

// NewGraph implements Grapher.
func (d *fakeDevice) NewGraph(steps []Step) (Graph, error) {
	if d.newGraph != nil {
		if err := d.newGraph(steps); err != nil {
			return nil, err
		}
	}
	d.graphs.Add(1)
	g := &fakeGraph{device: d}
	for _, s := range steps {
		g.steps = append(g.steps, cloneStep(s))
	}
	g.order = anyOrder(steps)
	return g, nil
}

// anyOrder returns a random order of steps in which each follows the steps that it depends on.
func anyOrder(steps []Step) []int {
	var order []int
	done := make([]bool, len(steps))
	for len(order) < len(steps) {
		var ready []int
		for i, s := range steps {
			ok := !done[i] && (s.After != nil || i == 0 || done[i-1])
			for _, a := range s.After {
				ok = ok && done[a]
			}
			if ok {
				ready = append(ready, i)
			}
		}
		next := ready[rand.IntN(len(ready))]
		done[next] = true
		order = append(order, next)
	}
	return order
}

func (g *fakeGraph) Update(i int, s Step) error {
	if g.device.refuse != nil {
		if err := g.device.refuse(&s); err != nil {
			return err
		}
	}
	g.device.updates.Add(1)
	g.steps[i] = cloneStep(s)
	return nil
}

func (g *fakeGraph) Launch(x Queue) error {
	if g.closed {
		panic("a graph that was closed")
	}
	g.device.graphRuns.Add(1)
	q := x.(*fakeQueue)
	for _, i := range g.order {
		var err error
		switch s := &g.steps[i]; {
		case s.Launch != nil:
			err = q.launch(s.Launch)
		case s.Call != nil:
			err = s.Call.Candidate.Call(q, s.Call.Args, s.Call.Workspace)
		case s.Copy != nil:
			err = q.Copy(s.Copy.Dst, s.Copy.Src, s.Copy.Bytes)
		case s.Fill != nil:
			err = q.Fill(s.Fill.Dst, s.Fill.Bytes, s.Fill.Pattern, s.Fill.Width)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (g *fakeGraph) Close() {
	if g.closed {
		panic("a graph that is closed twice")
	}
	g.closed = true
	g.device.graphs.Add(-1)
}
