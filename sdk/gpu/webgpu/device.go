package webgpu

import (
	"context"
	"fmt"
	"sync"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu"
	"github.com/goburn/burn/sdk/gpu/commands"
	"github.com/goburn/burn/sdk/gpu/dialect"
	"github.com/goburn/burn/sdk/gpu/ir"
	"github.com/goburn/burn/sdk/gpu/template"
)

// device implements gpu.Device. An adapter has one queue: the work of all queues of package gpu is recorded in one batch of
// commands, under one lock.
type device struct {
	driver    *driver
	index     int // index of the adapter
	facts     Facts
	target    template.Target
	dialect   *dialect.Dialect
	pipelines *pipelines

	// mu guards the fields below, and calls of the implementation. If several pipelines may be created at the same time, creating one
	// only needs the read lock.
	mu sync.RWMutex
	batch
	moves  moves
	inUse  int64 // bytes of all allocations
	groups map[string]Group
	closed bool
}

var _ gpu.Device = (*device)(nil)

func newDevice(d *driver, index int, made *pipelines) (*device, error) {
	f := d.adapters[index].Facts()
	x := &device{driver: d, index: index, facts: f, pipelines: made, groups: map[string]Group{}}
	x.calls, x.limits, x.spare = made.calls, f.Limits, commands.Spare[Buffer]{}
	var err error
	if x.uniforms, err = x.calls.NewBuffer(uniformBytes, Uniform); err != nil {
		return nil, err
	}
	if x.staging, err = x.calls.NewBuffer(stagingBytes, Storage); err != nil {
		return nil, err
	}
	found, err := x.features()
	if err != nil {
		return nil, err
	}
	x.target = targetOf(f, found)
	own := *dialect.WGSL
	if !found.Rounded {
		own = *dialect.Corrected
	}
	own.Threads, own.Static, own.Components = x.target.Threads, f.Limits.WorkgroupStorage, f.Components
	x.dialect = &own
	return x, nil
}

// targetOf returns the target that templates build for.
func targetOf(f Facts, found features) template.Target {
	l := f.Limits
	axis := min(l.WorkgroupsPerAxis, 65535)
	words := dtype.SetOf(dtype.F32, dtype.I32, dtype.U32)
	t := template.Target{Subgroup: 1, Threads: min(l.WorkgroupThreads, 256), Units: 32, Blocks: 4, Grid: [3]int{axis, axis, axis}, Wide: 16,
		Shared: l.WorkgroupStorage, Types: dtype.Any &^ dtype.SetOf(dtype.F64, dtype.I64, dtype.U64), Math: words | dtype.SetOf(dtype.Bool), Atomics: dtype.SetOf(dtype.I32, dtype.U32),
		Words: true, Align: int(l.StorageAlignment), Buffers: l.StorageBuffers, Bytes: l.StorageBinding &^ (vectorBytes - 1), Apart: !f.Alias}
	switch { // WebGPU does not say how many multiprocessors there are: with too low a number, work would not be divided enough
	case f.Software:
		t.Units = 4
	case f.Discrete:
		t.Units, t.Blocks = 128, 8
	}
	if found.Subgroup > 0 {
		t.Subgroup = found.Subgroup
	}
	if !found.F16 {
		t.Types &^= dtype.SetOf(dtype.F16)
	}
	if found.Flushes { // bf16 has the exponents of f32, and is computed in f32
		t.Flushes = dtype.SetOf(dtype.F32, dtype.BF16)
	}
	t.Bytes = min(t.Bytes, found.Binding)
	return t
}

// Target implements gpu.Device.
func (d *device) Target() template.Target { return d.target }

// Dialect implements gpu.Device.
func (d *device) Dialect() *dialect.Dialect { return d.dialect }

// Compiler implements gpu.Device.
func (d *device) Compiler() string { return d.facts.Version + ", " + d.driver.info.Version }

// Compile implements gpu.Device: it returns the text itself, as implementations cache compiled kernels.
func (d *device) Compile(_ context.Context, text string) ([]byte, error) { return []byte(text), nil }

// function is a kernel that was loaded.
type function struct {
	device   *device
	kernel   *ir.Kernel
	pipeline *kept
	storage  int // number of storage buffers
	uniform  int // size of the uniform in bytes
}

// Kernel implements gpu.Function.
func (f *function) Kernel() *ir.Kernel { return f.kernel }

// Unload implements gpu.Function.
func (f *function) Unload() {
	f.device.mu.Lock()
	defer f.device.mu.Unlock()
	if !f.device.closed {
		f.device.pipelines.give(f.pipeline)
	}
}

// Load implements gpu.Device. Each kernel becomes a module of its own, because a pipeline is created from a whole module.
func (d *device) Load(_ []byte, kernels []*ir.Kernel) ([]gpu.Function, error) {
	fs := make([]gpu.Function, len(kernels))
	for i, k := range kernels {
		if k == nil {
			continue
		}
		f, err := d.load(k)
		if err != nil {
			for _, f := range fs[:i] {
				if f != nil {
					f.Unload()
				}
			}
			return nil, err
		}
		fs[i] = f
	}
	return fs, nil
}

func (d *device) load(k *ir.Kernel) (*function, error) {
	f := &function{device: d, kernel: k}
	for _, p := range k.Params {
		if p.IsBuffer() {
			f.storage++
		} else {
			f.uniform += 4
		}
	}
	f.uniform = int(roundUp(int64(f.uniform), 16))
	if f.storage > d.limits.StorageBuffers || k.Threads > d.limits.WorkgroupThreads {
		return nil, fmt.Errorf("kernel %s: %d buffers and %d threads, the device takes %d and %d: %w", k.Name, f.storage, k.Threads,
			d.limits.StorageBuffers, d.limits.WorkgroupThreads, core.ErrUnsupported)
	}
	text, err := d.dialect.Print([]*ir.Kernel{k})
	if err != nil {
		return nil, err
	}
	if d.pipelines.together {
		d.mu.RLock()
		defer d.mu.RUnlock()
		err = d.failed.Keep(nil)
	} else {
		d.mu.Lock()
		defer d.mu.Unlock()
		err = d.fault()
	}
	if err != nil {
		return nil, err
	}
	if f.pipeline, err = d.pipelines.get(text, dialect.Symbol(0, k), f.storage, f.uniform); err != nil {
		return nil, fmt.Errorf("kernel %s: %w", k.Name, sentinel(err))
	}
	return f, nil
}

// memory is an allocation.
type memory struct {
	buffer Buffer
	bytes  int64
	id     uint32
	freed  bool
}

// Bytes implements gpu.Memory.
func (m *memory) Bytes() int64 { return m.bytes }

// vectorBytes is the size in bytes of the longest vector type with which kernels declare buffers: the sizes of bindings are multiples of
// it.
const vectorBytes = 16

// Alloc implements gpu.Device.
func (d *device) Alloc(bytes int64) (gpu.Memory, error) {
	n := max(roundUp(bytes, vectorBytes), vectorBytes)
	if n > d.limits.BufferSize {
		return nil, fmt.Errorf("%d bytes in one piece, the device has at most %d: %w", n, d.limits.BufferSize, core.ErrOutOfMemory)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.fault(); err != nil {
		return nil, err
	}
	b, err := d.calls.NewBuffer(n, Storage)
	if err != nil {
		return nil, sentinel(err)
	}
	d.inUse += n
	d.lastID++
	return &memory{buffer: b, bytes: n, id: d.lastID}, nil
}

// Free implements gpu.Device.
func (d *device) Free(m gpu.Memory) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return
	}
	d.dropGroups()
	_ = d.flush() // submits commands that use the buffer; the next call reports their fault
	x := m.(*memory)
	d.inUse, x.freed = d.inUse-x.bytes, true
	x.buffer.Destroy()
}

// dropGroups releases the cached bindings. The caller holds mu.
func (d *device) dropGroups() {
	for k, g := range d.groups {
		g.Release()
		delete(d.groups, k)
	}
}

// MemoryInfo implements gpu.Device. WebGPU does not report memory: the result is computed from the memory in use and the size
// that the adapter reports.
func (d *device) MemoryInfo() (free, total int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.facts.Memory == 0 {
		return 0, d.inUse
	}
	return max(d.facts.Memory-d.inUse, 0), d.facts.Memory
}

// HostAlloc implements gpu.Device.
func (d *device) HostAlloc(int) ([]byte, error) {
	return nil, fmt.Errorf("pinned host memory is not supported: %w", core.ErrUnsupported)
}

// HostFree implements gpu.Device.
func (d *device) HostFree([]byte) {}

// Libraries implements gpu.Device.
func (d *device) Libraries() []gpu.Library { return nil }

// Close implements gpu.Device. Later calls return ErrClosed.
func (d *device) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	healthy := d.fault() == nil && d.work == nil && len(d.flight) == 0
	d.failed.Close(d.driver.info.Name)
	d.settle()
	d.closed = true
	d.dropGroups()
	d.moves.release(d.pipelines)
	d.close()
	if healthy {
		d.calls.Poll() // frees the memory of destroyed buffers
		d.driver.keep(d.index, d.pipelines)
	} else {
		d.pipelines.close()
	}
}

func roundUp(n, to int64) int64 { return (n + to - 1) / to * to }
