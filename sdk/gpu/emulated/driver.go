package emulated

import (
	"context"
	"fmt"
	"sync"
	"unsafe"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/sdk/gpu"
	"github.com/goburn/burn/sdk/gpu/dialect"
	"github.com/goburn/burn/sdk/gpu/interp"
	"github.com/goburn/burn/sdk/gpu/ir"
	"github.com/goburn/burn/sdk/gpu/template"
)

// Options are the properties of a driver. The zero value is one device like the "cuda" of Targets.
type Options struct {
	Devices int             // 0 means one
	Target  template.Target // the zero value is Targets()["cuda"]
	Memory  int64           // bytes of a device; 0 means 1 GiB
	Largest int64           // bytes of the largest buffer; 0 does not limit
	Buffers int             // most buffers of a kernel; 0 means no limit
	// Background makes each queue work on its own goroutine. Otherwise work is done when a call returns.
	Background bool
	// Lazy makes queues of Background do nothing until a caller waits for work or asks whether work is done.
	Lazy bool
	// Races turns on the interpreter's detector of races.
	Races bool
	// Order, Seed and Workers are as in interp.Options. Order applies to the steps of graphs too.
	Order   interp.Order
	Seed    uint64
	Workers int
	// Flush is as in interp.Options. The Flushes of Target must then be set.
	Flush bool
	// Late runs kernels as rewritten by ir.Kernel.Late.
	Late bool
	// Run, if set, runs launches instead of interp.Run.
	Run func(l ir.Launch, slots [][]byte, o interp.Options) error
	// Dry creates devices that compute nothing: memory has no bytes, reads return zeros, and a library has a candidate for every product,
	// convolution and attention. The work of sdk/gpu on memory, plans and graphs remains, for models of any size.
	Dry bool
	// Launched, if set, is called before each launch; an error fails the launch. Tests use it to count launches or plant faults.
	Launched func(l ir.Launch) error
}

// New returns a driver.
func New(o Options) gpu.Driver {
	if o.Target.Threads == 0 {
		o.Target = Targets()["cuda"]
	}
	if o.Memory == 0 {
		o.Memory = 1 << 30
	}
	o.Devices = max(o.Devices, 1)
	return &driver{o}
}

type driver struct{ o Options }

func (d *driver) Info() core.Info {
	i := core.Info{Name: "emulated", Version: "1.0.0", Vendor: "burn"}
	for n := range d.o.Devices {
		i.Devices = append(i.Devices, core.DeviceInfo{Index: n, Name: "emulated GPU", Kind: "gpu", Memory: d.o.Memory,
			Detail: fmt.Sprintf("subgroups of %d threads", d.o.Target.Subgroup)})
	}
	return i
}

func (d *driver) Open(_ context.Context, index int) (gpu.Device, error) {
	if index < 0 || index >= d.o.Devices {
		return nil, fmt.Errorf("emulated: device %d of %d: %w", index, d.o.Devices, core.ErrNotFound)
	}
	return &device{o: &d.o}, nil
}

func (d *driver) Close() error { return nil }

type device struct {
	o     *Options
	mu    sync.Mutex
	inUse int64
}

func (d *device) Target() template.Target   { return d.o.Target }
func (d *device) Dialect() *dialect.Dialect { return nil }
func (d *device) Compiler() string          { return "interpreter" }

func (d *device) Libraries() []gpu.Library {
	if d.o.Dry {
		return []gpu.Library{dryLibrary{}}
	}
	return nil
}

func (d *device) Compile(context.Context, string) ([]byte, error) {
	return nil, fmt.Errorf("emulated: there is no compiler of texts: %w", core.ErrUnsupported)
}

type function struct{ k, run *ir.Kernel }

func (f function) Kernel() *ir.Kernel { return f.k }
func (f function) Unload()            {}

func (d *device) Load(_ []byte, kernels []*ir.Kernel) ([]gpu.Function, error) {
	fs := make([]gpu.Function, len(kernels))
	for i, k := range kernels {
		if k != nil {
			fs[i] = function{k, k}
			if d.o.Late {
				fs[i] = function{k, k.Late()}
			}
		}
	}
	return fs, nil
}

// memory is an allocation. data is nil once it is freed, and on a dry device.
type memory struct {
	device *device
	mu     sync.Mutex
	data   []byte
	bytes  int64
	freed  bool
}

func (m *memory) Bytes() int64 { return m.bytes }

// poison is the initial byte of memory: as f32 a large negative number, as an index out of every range.
const poison = 0xfe

func (d *device) Alloc(bytes int64) (gpu.Memory, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if bytes < 0 || bytes > d.o.Memory-d.inUse {
		return nil, fmt.Errorf("emulated: %d bytes, %d are free: %w", bytes, d.o.Memory-d.inUse, core.ErrOutOfMemory)
	}
	d.inUse += bytes
	if d.o.Dry {
		return &memory{device: d, bytes: bytes}, nil
	}
	data := make([]byte, bytes+256)
	for i := range data {
		data[i] = poison
	}
	skip := int64(-uintptr(unsafe.Pointer(&data[0])) % 256)
	return &memory{device: d, data: data[skip : skip+bytes : skip+bytes], bytes: bytes}, nil
}

func (d *device) Free(m gpu.Memory) {
	x := m.(*memory)
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.freed || x.device != d {
		panic("emulated: memory that was freed, or is of another device")
	}
	x.data, x.freed = nil, true
	d.mu.Lock()
	d.inUse -= x.bytes
	d.mu.Unlock()
}

func (d *device) MemoryInfo() (free, total int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.o.Memory - d.inUse, d.o.Memory
}

func (d *device) HostAlloc(bytes int) ([]byte, error) { return make([]byte, bytes), nil }
func (d *device) HostFree([]byte)                     {}
func (d *device) Close()                              {}

// at returns n bytes of memory.
func (d *device) at(r gpu.Ref, n int64) ([]byte, error) {
	m, ok := r.Memory.(*memory)
	if !ok || m.device != d {
		return nil, fmt.Errorf("emulated: memory of another device: %T", r.Memory)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.freed {
		return nil, fmt.Errorf("emulated: %d bytes of memory that was freed", n)
	}
	if n < 0 || r.Offset < 0 || r.Offset > m.bytes-n {
		return nil, fmt.Errorf("emulated: %d bytes from %d on, of %d", n, r.Offset, m.bytes)
	}
	if d.o.Dry {
		return nil, nil
	}
	return m.data[r.Offset:][:n], nil
}
