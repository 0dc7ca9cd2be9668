package commands

import (
	"fmt"
	"sync"
	"time"
	"unsafe"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/sdk/gpu"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// MostArguments is the largest number of arguments of a kernel: buffers, and one argument for all scalars.
const MostArguments = 31

// Moves are the kernels that copy and fill, by number. Argument 0 is the buffer that is written. Argument 1 is the buffer that is read, or a
// u32 with the pattern. Argument 2 is the number of elements, as a u64. Each threadgroup has MoveThreads threads, and each thread processes
// every n-th element, where n is the number of threads of the grid.
type Moves [4]Pipeline

// Numbers of moves. An element is a byte, a piece of 16 bytes (CopyPieces) or a word of 4 bytes (FillWords).
const (
	CopyBytes = iota
	CopyPieces
	FillBytes
	FillWords
)

// MoveThreads is the number of threads of a threadgroup of a move.
const MoveThreads = 256

const moveGroups = 4096

// Options are the parts and limits of a device.
type Options struct {
	Calls    Calls
	Backend  string        // name of the backend, for errors
	Memory   int64         // bytes of memory that the device can use without a loss of speed
	Largest  int64         // bytes of the largest buffer
	Moves    Moves         // released by Close
	Patience time.Duration // time without progress after which the device counts as lost; 0 means two minutes
}

// Device implements gpu.Device except for target, compiler, loading and libraries. One lock guards all its queues, as any goroutine may
// wait for an event.
type Device struct {
	o Options

	mu     sync.Mutex // guards the fields below, and the queues
	fault  Fault
	pinned map[*byte]Buffer // memory of HostAlloc, by the address of its first byte
	spare  Spare[Buffer]
}

// New returns a device.
func New(o Options) *Device {
	if o.Patience == 0 {
		o.Patience = 2 * time.Minute
	}
	return &Device{o: o, pinned: map[*byte]Buffer{}, spare: Spare[Buffer]{}}
}

// memory is an allocation.
type memory struct {
	device *Device
	buffer Buffer
	bytes  int64
}

// Bytes implements gpu.Memory.
func (m *memory) Bytes() int64 { return m.bytes }

// Alloc implements gpu.Device.
func (d *Device) Alloc(bytes int64) (gpu.Memory, error) {
	if bytes > d.o.Largest {
		return nil, fmt.Errorf("%d bytes in one piece, the device has at most %d: %w", bytes, d.o.Largest, core.ErrOutOfMemory)
	}
	b, err := d.o.Calls.NewBuffer(max(bytes, 16))
	if err != nil {
		return nil, err
	}
	return &memory{d, b, bytes}, nil
}

// Free implements gpu.Device.
func (d *Device) Free(m gpu.Memory) {
	x := m.(*memory)
	x.buffer.Release()
	x.buffer = nil
}

// MemoryInfo implements gpu.Device.
func (d *Device) MemoryInfo() (free, total int64) {
	return max(d.o.Memory-d.o.Calls.Allocated(), 0), d.o.Memory
}

// HostAlloc implements gpu.Device.
func (d *Device) HostAlloc(bytes int) ([]byte, error) {
	b, err := d.o.Calls.NewBuffer(int64(max(bytes, 16)))
	if err != nil {
		return nil, err
	}
	data := b.Contents()[:bytes]
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pinned[unsafe.SliceData(data)] = b
	return data, nil
}

// HostFree implements gpu.Device.
func (d *Device) HostFree(b []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pinned[unsafe.SliceData(b)].Release()
	delete(d.pinned, unsafe.SliceData(b))
}

// Close implements gpu.Device.
func (d *Device) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fault.Close(d.o.Backend)
	for _, p := range d.o.Moves {
		p.Release()
	}
	d.spare.Release(Buffer.Release)
}

// Function is a kernel that was loaded. Its buffers are the first arguments, in order; its scalars form one argument after them. Each
// scalar is aligned to its size, and the argument is padded to a multiple of 8 bytes.
type Function struct {
	device   *Device
	kernel   *ir.Kernel
	pipeline Pipeline
	buffers  int   // arguments before the scalars
	places   []int // by parameter: the number of a buffer, or the byte offset of a scalar
	bytes    int   // bytes of the scalars
}

// NewFunction creates the function of a kernel from its pipeline. For a kernel with too many arguments the error wraps core.ErrUnsupported,
// and pipeline is not called.
func (d *Device) NewFunction(k *ir.Kernel, pipeline func() (Pipeline, error)) (*Function, error) {
	f := &Function{device: d, kernel: k, places: make([]int, len(k.Params))}
	for i, p := range k.Params {
		if p.IsBuffer() {
			f.places[i] = f.buffers
			f.buffers++
			continue
		}
		size := p.Type.Size()
		f.places[i] = (f.bytes + size - 1) / size * size
		f.bytes = f.places[i] + size
	}
	if f.bytes = (f.bytes + 7) / 8 * 8; f.buffers >= MostArguments {
		return nil, fmt.Errorf("%d buffers, the device takes %d arguments: %w", f.buffers, MostArguments, core.ErrUnsupported)
	}
	var err error
	f.pipeline, err = pipeline()
	return f, err
}

// Kernel implements gpu.Function.
func (f *Function) Kernel() *ir.Kernel { return f.kernel }

// Unload implements gpu.Function.
func (f *Function) Unload() { f.pipeline.Release() }
