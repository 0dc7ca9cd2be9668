package streams

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/goburn/burn/sdk/gpu"
	"github.com/goburn/burn/sdk/gpu/dialect"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// GPU is an opened device. It implements gpu.Grapher, and gpu.Device except for compilation and the list of libraries. Each call makes the
// context current on its thread, so that goroutines may move between threads. Making a context current takes a tenth of a microsecond.
type GPU struct {
	name    string // name of the backend
	calls   Calls
	ctx     Context
	dialect *dialect.Dialect

	mu     sync.Mutex // guards the fields below
	events [2][]Event

	capturing sync.Mutex // guards the fields below
	captures  *Queue     // the queue whose stream is captured; nil until there is something to capture
}

var _ gpu.Grapher = (*GPU)(nil)

// contexts are the primary contexts of this process by device. They are kept until the process ends, because creating a context takes long.
var contexts struct {
	sync.Mutex
	m map[primary]Context
}

type primary struct {
	calls Calls
	dev   Device
}

// Primary returns the context of a device that the whole process shares. The first call for a device creates it.
func Primary(c Calls, dev Device) (Context, error) {
	contexts.Lock()
	defer contexts.Unlock()
	key := primary{c, dev}
	if ctx, ok := contexts.m[key]; ok {
		return ctx, nil
	}
	ctx, err := c.RetainPrimary(dev)
	if err != nil {
		return 0, err
	}
	if contexts.m == nil {
		contexts.m = map[primary]Context{}
	}
	contexts.m[key] = ctx
	return ctx, nil
}

// Open opens a device for a backend, with the context that its calls need.
func Open(backend string, c Calls, ctx Context, d *dialect.Dialect) *GPU {
	return &GPU{name: backend, calls: c, ctx: ctx, dialect: d}
}

// Dialect implements gpu.Device.
func (d *GPU) Dialect() *dialect.Dialect { return d.dialect }

// Enter makes the context of the device current on this thread, to which the goroutine is bound until it calls Leave.
func (d *GPU) Enter() error {
	runtime.LockOSThread()
	if err := d.calls.SetCurrent(d.ctx); err != nil {
		runtime.UnlockOSThread()
		return err
	}
	return nil
}

// Leave undoes Enter: the goroutine may move to another thread again.
func Leave() { runtime.UnlockOSThread() }

// Do calls f with the context current. Its error names what, the action that failed.
func (d *GPU) Do(what string, f func() error) error {
	err := d.Enter()
	if err == nil {
		err = f()
		Leave()
	}
	return Named(d.name, what, err)
}

// module is the code of several functions. It is unloaded with the last function.
type module struct {
	m     Module
	users atomic.Int32
}

// function is a kernel that was loaded.
type function struct {
	device *GPU
	kernel *ir.Kernel
	module *module
	f      Function
	block  Dim
	shared uint32 // bytes of dynamic shared memory of a launch
	buffer []bool // by argument
}

// Kernel implements gpu.Function.
func (f *function) Kernel() *ir.Kernel { return f.kernel }

// Unload implements gpu.Function.
func (f *function) Unload() {
	if f.module.users.Add(-1) == 0 {
		_ = f.device.Do("unload", func() error { return f.device.calls.UnloadModule(f.module.m) }) // a lost device has unloaded the module already
	}
}

// Load implements gpu.Device.
func (d *GPU) Load(code []byte, kernels []*ir.Kernel) (fs []gpu.Function, err error) {
	err = d.Do("load of kernels", func() error {
		m, err := d.calls.LoadModule(code)
		if err != nil {
			return err
		}
		if fs, err = d.functions(&module{m: m}, kernels); err != nil {
			return errors.Join(err, d.calls.UnloadModule(m))
		}
		return nil
	})
	return fs, err
}

func (d *GPU) functions(m *module, kernels []*ir.Kernel) ([]gpu.Function, error) {
	fs := make([]gpu.Function, len(kernels))
	for i, k := range kernels {
		if k == nil {
			continue
		}
		f := &function{device: d, kernel: k, module: m, block: Dim{X: uint32(k.Threads), Y: 1, Z: 1}, shared: uint32(d.dialect.Dynamic(k))}
		for _, p := range k.Arguments() {
			f.buffer = append(f.buffer, p.IsBuffer())
		}
		var err error
		if f.f, err = d.calls.Function(m.m, dialect.Symbol(i, k)); err != nil {
			return nil, err
		}
		if f.shared > 0 {
			if err := d.calls.SetFuncAttribute(f.f, FuncMaxDynamicShared, int(f.shared)); err != nil {
				return nil, fmt.Errorf("kernel %s: %d bytes of shared memory: %w", k.Name, f.shared, err)
			}
		}
		m.users.Add(1)
		fs[i] = f
	}
	return fs, nil
}

// Memory is an allocation on a device.
type Memory struct {
	at    Ptr
	bytes int64
}

// NewMemory returns memory at an address, regardless of how it was allocated.
func NewMemory(at Ptr, bytes int64) *Memory { return &Memory{at: at, bytes: bytes} }

// At returns the address of the memory.
func (m *Memory) At() Ptr { return m.at }

// Bytes implements gpu.Memory.
func (m *Memory) Bytes() int64 { return m.bytes }

// Address returns the device address of r, 0 if r has no memory.
func Address(r gpu.Ref) Ptr {
	if r.Memory == nil {
		return 0
	}
	return r.Memory.(*Memory).at + Ptr(r.Offset)
}

// Alloc implements gpu.Device. The pool of sdk/gpu allocates large blocks, and rarely, so the plain allocator of the driver is good enough.
func (d *GPU) Alloc(bytes int64) (gpu.Memory, error) {
	m := &Memory{bytes: bytes}
	err := d.Do(fmt.Sprintf("allocation of %d bytes", bytes), func() (err error) {
		m.at, err = d.calls.Alloc(uint64(max(bytes, 1)))
		return err
	})
	if err != nil {
		return nil, err
	}
	return m, nil
}

// Free implements gpu.Device.
func (d *GPU) Free(m gpu.Memory) {
	_ = d.Do("free", func() error { return d.calls.Free(m.(*Memory).at) }) // the memory of a lost device is free
}

// MemoryInfo implements gpu.Device.
func (d *GPU) MemoryInfo() (free, total int64) {
	_ = d.Do("memory", func() error {
		f, t, err := d.calls.MemoryInfo()
		free, total = int64(f), int64(t)
		return err
	})
	return free, total
}

// HostAlloc implements gpu.Device.
func (d *GPU) HostAlloc(bytes int) (b []byte, err error) {
	err = d.Do(fmt.Sprintf("allocation of %d bytes of pinned memory", bytes), func() error {
		p, err := d.calls.HostAlloc(uint64(max(bytes, 1)), false)
		if err == nil {
			b = unsafe.Slice((*byte)(p), bytes)
		}
		return err
	})
	return b, err
}

// HostFree implements gpu.Device.
func (d *GPU) HostFree(b []byte) {
	_ = d.Do("free", func() error { return d.calls.HostFree(unsafe.Pointer(unsafe.SliceData(b))) })
}

// Close destroys the objects that the device created for itself. Nothing uses them any more, and the context is not current.
func (d *GPU) Close() {
	if d.captures != nil {
		d.captures.Close()
	}
	_ = d.Do("close", func() error { // a lost device has no events
		var errs []error
		for _, free := range d.events {
			for _, e := range free {
				errs = append(errs, d.calls.DestroyEvent(e))
			}
		}
		return errors.Join(errs...)
	})
}
