package metal

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
	"unsafe"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/plugins/metal/internal/calls"
	"github.com/goburn/burn/sdk/gpu"
	"github.com/goburn/burn/sdk/gpu/dialect"
	"github.com/goburn/burn/sdk/gpu/ir"
	"github.com/goburn/burn/sdk/gpu/template"
)

// device implements gpu.Device. One lock guards its queues, as an event may be waited for from any goroutine.
type device struct {
	calls    calls.Device
	facts    calls.Facts
	target   template.Target
	dialect  *dialect.Dialect
	patience time.Duration
	moves    moves

	mu        sync.Mutex // guards what follows, and the queues
	err       error      // the first fault, which ends the device
	libraries map[string]calls.Library
	pinned    map[*byte]calls.Buffer // of HostAlloc, by its first byte
	spare     map[int64][]calls.Buffer
}

var _ gpu.Device = (*device)(nil)

// arguments is the largest number of arguments of a kernel.
const arguments = 31

func newDevice(c calls.Device, patience time.Duration) (*device, error) {
	d := &device{calls: c, facts: c.Facts(), patience: patience, libraries: map[string]calls.Library{}, pinned: map[*byte]calls.Buffer{}, spare: map[int64][]calls.Buffer{}}
	var err error
	if d.moves, err = newMoves(c); err != nil {
		return nil, err
	}
	d.target = targetOf(d.facts, d.moves[0].Width())
	own := *dialect.Metal
	own.Threads, own.Static = d.target.Threads, d.facts.Shared
	d.dialect = &own
	return d, nil
}

// targetOf describes a device for templates. Simdgroups are used where they have 32 threads, as on all of Apple's GPUs.
func targetOf(f calls.Facts, width int) template.Target {
	words := dtype.SetOf(dtype.F32, dtype.I32, dtype.U32)
	t := template.Target{Subgroup: 1, Threads: 1024, Units: 16, Blocks: 4, Grid: [3]int{1<<31 - 1, 65535, 65535}, Wide: 16, Shared: min(f.Shared, 32<<10),
		Types: dtype.Any &^ dtype.SetOf(dtype.F64), Math: words | dtype.SetOf(dtype.I64, dtype.U64, dtype.Bool), Atomics: words, Buffers: 16, Bytes: f.Largest}
	if width == 32 {
		t.Subgroup = width
	}
	return t
}

// Target implements gpu.Device.
func (d *device) Target() template.Target { return d.target }

// Dialect implements gpu.Device.
func (d *device) Dialect() *dialect.Dialect { return d.dialect }

// Compiler implements gpu.Device.
func (d *device) Compiler() string { return d.facts.System + ", " + d.facts.Name + ", " + Version }

// Compile implements gpu.Device. It returns the text, since the system caches compiled kernels itself, and keeps the library for Load.
func (d *device) Compile(_ context.Context, text string) ([]byte, error) {
	text = exact + text
	l, err := d.calls.NewLibrary(text)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	old := d.libraries[text]
	d.libraries[text] = l
	d.mu.Unlock()
	if old != nil {
		old.Release()
	}
	return []byte(text), nil
}

// exact forbids what changes results, where the language can say so; the options of the compiler say the rest.
const exact = "#if __METAL_VERSION__ >= 320\n#pragma METAL fp math_mode(safe)\n#pragma METAL fp contract(off)\n#endif\n"

// function is a kernel that was loaded.
type function struct {
	device   *device
	kernel   *ir.Kernel
	pipeline calls.Pipeline
	buffers  int   // arguments before the scalars
	places   []int // of parameters: the number of a buffer, the byte of a scalar
	bytes    int   // of scalars
}

// bind sets where the parameters of a kernel go, as the dialect says.
func (f *function) bind() {
	f.places = make([]int, len(f.kernel.Params))
	for i, p := range f.kernel.Params {
		if p.IsBuffer() {
			f.places[i] = f.buffers
			f.buffers++
			continue
		}
		size := p.Type.Size()
		f.places[i] = (f.bytes + size - 1) / size * size
		f.bytes = f.places[i] + size
	}
	f.bytes = (f.bytes + 7) / 8 * 8
}

// Kernel implements gpu.Function.
func (f *function) Kernel() *ir.Kernel { return f.kernel }

// Unload implements gpu.Function.
func (f *function) Unload() { f.pipeline.Release() }

// Load implements gpu.Device.
func (d *device) Load(code []byte, kernels []*ir.Kernel) (fs []gpu.Function, err error) {
	text := string(code)
	d.mu.Lock()
	l := d.libraries[text]
	delete(d.libraries, text)
	d.mu.Unlock()
	if l == nil {
		if l, err = d.calls.NewLibrary(text); err != nil {
			return nil, err
		}
	}
	defer l.Release()
	fs = make([]gpu.Function, len(kernels))
	for i, k := range kernels {
		if k == nil {
			continue
		}
		f, err := d.load(l, i, k)
		if err != nil {
			for _, f := range fs[:i] {
				if f != nil {
					f.Unload()
				}
			}
			return nil, fmt.Errorf("kernel %s: %w", k.Name, err)
		}
		fs[i] = f
	}
	return fs, nil
}

func (d *device) load(l calls.Library, i int, k *ir.Kernel) (*function, error) {
	f := &function{device: d, kernel: k}
	if f.bind(); f.buffers >= arguments {
		return nil, fmt.Errorf("%d buffers, Metal takes %d arguments: %w", f.buffers, arguments, core.ErrUnsupported)
	}
	p, err := l.Pipeline(dialect.Symbol(i, k))
	if err != nil {
		return nil, err
	}
	switch {
	case p.Threads() < k.Threads:
		err = fmt.Errorf("threadgroups of %d threads, the device takes %d: %w", k.Threads, p.Threads(), core.ErrUnsupported)
	case d.target.Subgroup > 1 && p.Width() != d.target.Subgroup:
		err = fmt.Errorf("simdgroups of %d threads, want %d: %w", p.Width(), d.target.Subgroup, core.ErrUnsupported)
	}
	if err != nil {
		p.Release()
		return nil, err
	}
	f.pipeline = p
	return f, nil
}

// memory is an allocation.
type memory struct {
	device *device
	buffer calls.Buffer
	bytes  int64
}

// Bytes implements gpu.Memory.
func (m *memory) Bytes() int64 { return m.bytes }

// Alloc implements gpu.Device.
func (d *device) Alloc(bytes int64) (gpu.Memory, error) {
	if bytes > d.facts.Largest {
		return nil, fmt.Errorf("%d bytes in one piece, the device has at most %d: %w", bytes, d.facts.Largest, core.ErrOutOfMemory)
	}
	b, err := d.calls.NewBuffer(max(bytes, 16))
	if err != nil {
		return nil, err
	}
	return &memory{d, b, bytes}, nil
}

// Free implements gpu.Device.
func (d *device) Free(m gpu.Memory) {
	x := m.(*memory)
	x.buffer.Release()
	x.buffer = nil
}

// MemoryInfo implements gpu.Device.
func (d *device) MemoryInfo() (free, total int64) {
	return max(d.facts.Memory-d.calls.Allocated(), 0), d.facts.Memory
}

// HostAlloc implements gpu.Device.
func (d *device) HostAlloc(bytes int) ([]byte, error) {
	b, err := d.calls.NewBuffer(int64(max(bytes, 16)))
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
func (d *device) HostFree(b []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pinned[unsafe.SliceData(b)].Release()
	delete(d.pinned, unsafe.SliceData(b))
}

// Libraries implements gpu.Device.
func (d *device) Libraries() []gpu.Library { return nil }

// broken keeps the first fault. What came after it cannot be trusted: it ends the device. The caller holds mu.
func (d *device) broken(err error) error {
	if err != nil && d.err == nil {
		if d.err = err; !errors.Is(err, core.ErrBackendLost) {
			d.err = fmt.Errorf("%w: %w", core.ErrBackendLost, err)
		}
	}
	return d.err
}

// Close implements gpu.Device.
func (d *device) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err == nil {
		d.err = fmt.Errorf("metal: the device: %w", core.ErrClosed)
	}
	d.moves.release()
	for _, l := range d.libraries {
		l.Release()
	}
	for _, free := range d.spare {
		for _, b := range free {
			b.Release()
		}
	}
}
