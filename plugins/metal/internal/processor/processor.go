//go:build linux

// Package processor is Metal on the processor, for the tests of the driver: clang++ compiles the texts as C++, with the header that
// declares Metal's library (sdk/gpu/dialect/testdata/include), and a scheduler runs the threads of a threadgroup, barriers and simdgroups
// included. Queues work in the background, as with Metal, and faults can be injected. The package must not be part of a plugin.
package processor

import (
	"cmp"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/plugins/metal/internal/calls"
)

// Options are the properties of the processor as a Metal device.
type Options struct {
	Include string // folder of metal_stdlib
	Folder  string // folder of compiled texts, created if it does not exist
	Name    string // name of the device; "" means processor
	// Compiler holds further options of clang++.
	Compiler []string
	Memory   int64 // bytes of the device; 0 means 4 GiB
	// Fault, if set, is called for each command buffer that is committed, with its number from 1 on; its error becomes the fault of the
	// command buffer.
	Fault func(number int) error
	// Shaders injects a fault into the library of products: "missing", "refuse" (no kernel can be created) or "encode". Otherwise the
	// library works and checks all its arguments.
	Shaders string
	// Stuck, if set, is called with the number of a command buffer; if it returns true, the commands are never done.
	Stuck func(number int) bool
	// Collect, if set, is called with each text that is to be compiled. If it returns true, the kernels of the text are neither compiled
	// nor run.
	Collect func(text string) bool
}

// API implements calls.API with one device.
type API struct {
	o         Options
	compiler  *compiler
	mu        sync.Mutex // guards the fields below
	reached   sync.Cond  // signals that the value of an event has changed
	allocated int64
	committed int
	launches  atomic.Int64
	products  atomic.Int64 // products that the library computed
}

// New returns the API. The error is ErrNotFound if there is no clang++.
func New(o Options) (*API, error) {
	if o.Memory == 0 {
		o.Memory = 4 << 30
	}
	c, err := newCompiler(o.Include, o.Folder, o.Compiler)
	if err != nil {
		return nil, err
	}
	a := &API{o: o, compiler: c}
	a.reached.L = &a.mu
	return a, nil
}

// Precompile compiles texts with one call of the compiler.
func (a *API) Precompile(texts []string) error { return a.compiler.compile(texts) }

// Has reports whether a text was compiled before.
func (a *API) Has(text string) bool { return a.compiler.has(text) != 0 }

// Stats counts compiled texts and executed launches.
func (a *API) Stats() (s Stats, launches int) {
	a.compiler.count(func(x *Stats) { s = *x })
	return s, int(a.launches.Load())
}

// Devices implements calls.API.
func (a *API) Devices() ([]calls.Device, error) { return []calls.Device{(*device)(a)}, nil }

type device API

func (d *device) Facts() calls.Facts {
	return calls.Facts{Name: cmp.Or(d.o.Name, "processor"), System: "clang++", Families: []string{"Apple7"}, Memory: d.o.Memory, Largest: d.o.Memory / 2, Shared: 32 << 10, Unified: true}
}

func (d *device) Release() {}

func (d *device) Allocated() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.allocated
}

// buffer is memory outside of Go's heap. It is freed when its owner and all commands that use it have released it.
type buffer struct {
	d       *device
	data    []byte
	bytes   int64
	holders int // guarded by the lock of the device
}

func (d *device) NewBuffer(bytes int64) (calls.Buffer, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if bytes <= 0 || d.allocated+bytes > d.o.Memory {
		return nil, fmt.Errorf("%d bytes: %w", bytes, core.ErrOutOfMemory)
	}
	data, err := syscall.Mmap(-1, 0, int(bytes), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		return nil, fmt.Errorf("%d bytes: %w: %w", bytes, core.ErrOutOfMemory, err)
	}
	d.allocated += bytes
	return &buffer{d, data, bytes, 1}, nil
}

func (b *buffer) Contents() []byte { return b.data }

func (b *buffer) Release() {
	b.d.mu.Lock()
	defer b.d.mu.Unlock()
	if b.holders--; b.holders > 0 {
		return
	}
	b.d.allocated -= b.bytes
	if err := syscall.Munmap(b.data); err != nil {
		panic(err)
	}
	b.data = nil
}

type library struct {
	d       *device
	key     string
	handle  uintptr
	kernels []kernelText
	idle    bool // kernels are not run
}

func (d *device) NewLibrary(text string) (calls.Library, error) {
	ks, err := parse(text)
	if err != nil {
		return nil, err
	}
	l := &library{d: d, key: digest(text), kernels: ks}
	if l.idle = d.o.Collect != nil && d.o.Collect(text); l.idle {
		return l, nil
	}
	if l.handle = d.compiler.has(text); l.handle == 0 {
		if err := d.compiler.compile([]string{text}); err != nil {
			return nil, err
		}
		l.handle = d.compiler.has(text)
	}
	return l, nil
}

func (l *library) Release() {}

type pipeline struct {
	d     *device
	k     kernelText
	entry uintptr
	idle  bool
}

func (l *library) Pipeline(name string) (calls.Pipeline, error) {
	for _, k := range l.kernels {
		if k.name != name {
			continue
		}
		p := &pipeline{d: l.d, k: k, idle: l.idle}
		if p.idle {
			return p, nil
		}
		var err error
		p.entry, err = purego.Dlsym(l.handle, entryName(l.key, name))
		return p, err
	}
	return nil, fmt.Errorf("the library has no kernel %s: %w", name, core.ErrKernel)
}

func (p *pipeline) Threads() int { return p.k.most }
func (p *pipeline) Width() int   { return 32 }
func (p *pipeline) Release()     {}

type event struct {
	d     *device
	value uint64
}

func (d *device) NewEvent() (calls.Event, error) { return &event{d: d}, nil }

func (e *event) Release() {}

func (e *event) Wait(value uint64, limit time.Duration) bool {
	late := false // guarded by the lock of the device
	timer := time.AfterFunc(limit, func() {
		e.d.mu.Lock()
		late = true
		e.d.reached.Broadcast()
		e.d.mu.Unlock()
	})
	defer timer.Stop()
	e.d.mu.Lock()
	defer e.d.mu.Unlock()
	for e.value < value && !late {
		e.d.reached.Wait()
	}
	return e.value >= value
}

func (e *event) set(value uint64) {
	e.d.mu.Lock()
	defer e.d.mu.Unlock()
	e.value = max(e.value, value)
	e.d.reached.Broadcast()
}

type queue struct {
	d    *device
	todo chan *commands
}

func (d *device) NewQueue(most int) (calls.Queue, error) {
	q := &queue{d, make(chan *commands, most)}
	go func() {
		for c := range q.todo {
			c.execute()
		}
	}()
	return q, nil
}

func (q *queue) Release() { close(q.todo) }

// commands is a command buffer: a list of steps.
type commands struct {
	q         *queue
	pipeline  *pipeline
	args      [31]func() unsafe.Pointer
	steps     []func() error
	held      []*buffer
	committed bool

	mu    sync.Mutex // guards the fields below
	done  bool
	err   error
	ended time.Time
}

func (q *queue) NewCommands() (calls.Commands, error) { return &commands{q: q}, nil }

func (c *commands) SetPipeline(p calls.Pipeline) { c.pipeline = p.(*pipeline) }

func (c *commands) SetBuffer(i int, b calls.Buffer, offset int64) {
	x := b.(*buffer)
	if offset < 0 || offset >= x.bytes {
		panic(fmt.Sprintf("a buffer of %d bytes from %d on", x.bytes, offset))
	}
	c.q.d.mu.Lock()
	x.holders++
	c.q.d.mu.Unlock()
	c.held = append(c.held, x)
	c.args[i] = func() unsafe.Pointer { return unsafe.Pointer(&x.data[offset]) }
}

func (c *commands) SetBytes(i int, data []byte) {
	own := make([]uint64, (len(data)+7)/8)
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&own[0])), len(data)), data)
	c.args[i] = func() unsafe.Pointer { return unsafe.Pointer(&own[0]) }
}

func (c *commands) Dispatch(groups [3]int, threads int) {
	p, args, d := c.pipeline, c.args, c.q.d
	if threads > p.k.most {
		panic(fmt.Sprintf("kernel %s: %d threads of a threadgroup, at most %d", p.k.name, threads, p.k.most))
	}
	c.steps = append(c.steps, func() error {
		if p.idle {
			return nil
		}
		scheduler.Lock()
		defer scheduler.Unlock()
		number := d.launches.Add(1)
		addresses := make([]uintptr, len(args))
		for i, a := range args {
			if a != nil {
				addresses[i] = uintptr(a())
			}
		}
		grid := [3]uint32{uint32(groups[0]), uint32(groups[1]), uint32(groups[2])}
		alone := int32(0)
		if p.k.alone {
			alone = 1
		}
		switch r := scheduler.run(p.entry, &addresses[0], &grid, uint32(threads), alone, int32(number&1)); r {
		case 0:
			return nil
		case 1, 2:
			return fmt.Errorf("kernel %s: threads of a threadgroup wait for others that do not come (%d): %w", p.k.name, r, core.ErrKernel)
		default:
			return fmt.Errorf("no memory for %d threads: %w", threads, core.ErrOutOfMemory)
		}
	})
}

func (c *commands) Await(e calls.Event, value uint64) {
	x := e.(*event)
	c.steps = append(c.steps, func() error {
		if !x.Wait(value, time.Minute) {
			return fmt.Errorf("an event was not reached in a minute: %w", core.ErrBackendLost)
		}
		return nil
	})
}

func (c *commands) Commit(e calls.Event, value uint64) {
	if c.committed {
		panic("commands are committed twice")
	}
	c.committed = true
	c.steps = append(c.steps, func() error { e.(*event).set(value); return nil })
	c.q.todo <- c
}

func (c *commands) execute() {
	d := c.q.d
	d.mu.Lock()
	d.committed++
	n := d.committed
	d.mu.Unlock()
	var err error
	if d.o.Fault != nil {
		err = d.o.Fault(n)
	}
	if d.o.Stuck != nil && d.o.Stuck(n) {
		return
	}
	for _, step := range c.steps {
		if err == nil {
			err = step()
		}
	}
	for _, b := range c.held {
		b.Release()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done, c.err, c.ended, c.held = true, err, time.Now(), nil
}

func (c *commands) Done() (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.done, c.err
}

func (c *commands) Ended() float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return float64(c.ended.UnixNano()) / 1e9
}

func (c *commands) Release() {
	if c.committed {
		return // execute releases the buffers
	}
	for _, b := range c.held {
		b.Release()
	}
}

// Errors for Options.Fault, in the form in which command buffers report them.
var (
	ErrTimeout = errors.Join(core.ErrBackendLost, errors.New("caused GPU timeout"))
	ErrPage    = errors.Join(core.ErrKernel, errors.New("page fault"))
)
