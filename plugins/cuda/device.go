package cuda

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/goburn/burn/plugins/cuda/internal/nv"
	"github.com/goburn/burn/sdk/gpu"
	"github.com/goburn/burn/sdk/gpu/dialect"
	"github.com/goburn/burn/sdk/gpu/ir"
	"github.com/goburn/burn/sdk/gpu/template"
)

// device is an opened device. Its context is made current on the thread of each call: that takes a tenth of a microsecond, and
// goroutines stay free to move.
type device struct {
	cuda     calls
	libs     *nv.Libraries
	dev      nv.Device
	ctx      nv.Context
	facts    facts
	compiler compiler
	lt       *lt  // nil where it is missing
	dnn      *dnn // nil without cuDNN

	mu     sync.Mutex // guards what follows
	events [2][]nv.Event

	capturing sync.Mutex // guards what follows
	captures  *queue     // whose stream is recorded; nil until there is something to record
}

var (
	_ gpu.Device  = (*device)(nil)
	_ gpu.Grapher = (*device)(nil)
)

func newDevice(d *driver, dev nv.Device, ctx nv.Context) (*device, error) {
	f, err := readFacts(d.cuda, dev)
	if err != nil {
		return nil, err
	}
	x := &device{cuda: d.cuda, libs: d.libs, dev: dev, ctx: ctx, facts: f}
	if d.libs.Lt != nil {
		x.lt = &lt{device: x}
	}
	if d.libs.DNN != nil {
		x.dnn = newDNN(x, newPlans(d.cache, fmt.Sprintf("cuDNN %d, driver %d, %d.%d, %d multiprocessors",
			d.libs.DNN.Version, d.libs.Driver.Version, f.capability/10, f.capability%10, f.units)))
	}
	x.compiler, err = newCompiler(d.libs, f.capability, d.cache)
	return x, err
}

// enter makes the context of the device current on this thread, to which the goroutine is bound until it calls leave.
func (d *device) enter() error {
	runtime.LockOSThread()
	if err := d.cuda.SetCurrent(d.ctx); err != nil {
		runtime.UnlockOSThread()
		return err
	}
	return nil
}

func leave() { runtime.UnlockOSThread() }

// do calls f with the context current, and says in its error what was done.
func (d *device) do(what string, f func() error) error {
	err := d.enter()
	if err == nil {
		err = f()
		leave()
	}
	return named(what, err)
}

// named says in an error what was done.
func named(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("cuda: %s: %w", what, sentinel(err))
}

// Target implements gpu.Device.
func (d *device) Target() template.Target { return d.facts.target() }

// Dialect implements gpu.Device.
func (d *device) Dialect() *dialect.Dialect { return dialect.CUDA }

// Compiler implements gpu.Device.
func (d *device) Compiler() string { return d.compiler.name }

// Compile implements gpu.Device.
func (d *device) Compile(_ context.Context, text string) ([]byte, error) {
	return d.compiler.compile(text)
}

// module is the code of several functions, unloaded with the last of them.
type module struct {
	m     nv.Module
	users atomic.Int32
}

// function is a kernel that was loaded.
type function struct {
	device *device
	kernel *ir.Kernel
	module *module
	f      nv.Function
	block  nv.Dim
	shared uint32 // bytes that a launch asks for
	buffer []bool // by argument
}

// Kernel implements gpu.Function.
func (f *function) Kernel() *ir.Kernel { return f.kernel }

// Unload implements gpu.Function.
func (f *function) Unload() {
	if f.module.users.Add(-1) == 0 {
		_ = f.device.do("unload", func() error { return f.device.cuda.UnloadModule(f.module.m) }) // a lost device has unloaded it
	}
}

// Load implements gpu.Device.
func (d *device) Load(code []byte, kernels []*ir.Kernel) (fs []gpu.Function, err error) {
	err = d.do("load of kernels", func() error {
		m, err := d.cuda.LoadModule(code)
		if err != nil {
			return err
		}
		if fs, err = d.functions(&module{m: m}, kernels); err != nil {
			return errors.Join(err, d.cuda.UnloadModule(m))
		}
		return nil
	})
	return fs, err
}

func (d *device) functions(m *module, kernels []*ir.Kernel) ([]gpu.Function, error) {
	fs := make([]gpu.Function, len(kernels))
	for i, k := range kernels {
		if k == nil {
			continue
		}
		f := &function{device: d, kernel: k, module: m, block: nv.Dim{X: uint32(k.Threads), Y: 1, Z: 1}, shared: uint32(dialect.CUDA.Dynamic(k))}
		for _, p := range k.Arguments() {
			f.buffer = append(f.buffer, p.IsBuffer())
		}
		var err error
		if f.f, err = d.cuda.Function(m.m, dialect.Symbol(i, k)); err != nil {
			return nil, err
		}
		if f.shared > 0 {
			if err := d.cuda.SetFuncAttribute(f.f, nv.FuncMaxDynamicShared, int(f.shared)); err != nil {
				return nil, fmt.Errorf("kernel %s: %d bytes of shared memory: %w", k.Name, f.shared, err)
			}
		}
		m.users.Add(1)
		fs[i] = f
	}
	return fs, nil
}

// memory is an allocation on a device.
type memory struct {
	at    nv.Ptr
	bytes int64
}

// Bytes implements gpu.Memory.
func (m *memory) Bytes() int64 { return m.bytes }

// address returns where r is. No memory is address 0.
func address(r gpu.Ref) nv.Ptr {
	if r.Memory == nil {
		return 0
	}
	return r.Memory.(*memory).at + nv.Ptr(r.Offset)
}

// Alloc implements gpu.Device. The runtime allocates large blocks and rarely, so that the plain allocator of the driver does.
func (d *device) Alloc(bytes int64) (gpu.Memory, error) {
	m := &memory{bytes: bytes}
	err := d.do(fmt.Sprintf("allocation of %d bytes", bytes), func() (err error) {
		m.at, err = d.cuda.Alloc(uint64(max(bytes, 1)))
		return err
	})
	if err != nil {
		return nil, err
	}
	return m, nil
}

// Free implements gpu.Device.
func (d *device) Free(m gpu.Memory) {
	_ = d.do("free", func() error { return d.cuda.Free(m.(*memory).at) }) // the memory of a lost device is free
}

// MemoryInfo implements gpu.Device.
func (d *device) MemoryInfo() (free, total int64) {
	_ = d.do("memory", func() error {
		f, t, err := d.cuda.MemoryInfo()
		free, total = int64(f), int64(t)
		return err
	})
	return free, total
}

// HostAlloc implements gpu.Device.
func (d *device) HostAlloc(bytes int) (b []byte, err error) {
	err = d.do(fmt.Sprintf("allocation of %d bytes of pinned memory", bytes), func() error {
		p, err := d.cuda.HostAlloc(uint64(max(bytes, 1)), false)
		if err == nil {
			b = unsafe.Slice((*byte)(p), bytes)
		}
		return err
	})
	return b, err
}

// HostFree implements gpu.Device.
func (d *device) HostFree(b []byte) {
	_ = d.do("free", func() error { return d.cuda.HostFree(unsafe.Pointer(unsafe.SliceData(b))) })
}

// Libraries implements gpu.Device.
func (d *device) Libraries() []gpu.Library {
	var all []gpu.Library
	if d.lt != nil {
		all = append(all, d.lt)
	}
	if d.dnn != nil {
		all = append(all, d.dnn)
	}
	return all
}

// Close implements gpu.Device.
func (d *device) Close() {
	if d.captures != nil {
		d.captures.Close()
	}
	_ = d.do("close", func() error {
		var errs []error
		if d.lt != nil {
			errs = append(errs, d.lt.close())
		}
		if d.dnn != nil {
			errs = append(errs, d.dnn.close())
		}
		for _, free := range d.events {
			for _, e := range free {
				errs = append(errs, d.cuda.DestroyEvent(e))
			}
		}
		return errors.Join(errs...)
	})
}
