package webgpu_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"sync"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/sdk/gpu/webgpu"
)

// fake is an API with one adapter. Its device executes copies, and the driver's own kernels, when it is polled. It records what WebGPU
// would refuse in faults.
type fake struct {
	mu       sync.Mutex
	stuck    bool // submitted work never ends
	lost     error
	refuses  string // text of kernels that are refused
	capacity int64  // bytes for buffers; 0: enough
	todo     []func()
	opened   int
	faults   []string
	buffers  int
	facts    webgpu.Facts
}

func newFake() *fake {
	return &fake{facts: webgpu.Facts{Name: "fake", Backend: "none", Version: "fake 1", Alias: true, Limits: webgpu.Limits{BufferSize: 1 << 30, StorageBinding: 1 << 24,
		UniformBinding: 1 << 16, StorageAlignment: 256, UniformAlignment: 256, StorageBuffers: 8, WorkgroupStorage: 16 << 10, WorkgroupThreads: 256,
		WorkgroupsPerAxis: 65535, BindingsPerGroup: 1000, UniformBuffers: 12, DynamicUniformBufs: 8}}}
}

func (f *fake) Adapters(context.Context) ([]webgpu.Adapter, error) { return []webgpu.Adapter{f}, nil }
func (f *fake) Facts() webgpu.Facts                                { return f.facts }
func (f *fake) Open(context.Context) (webgpu.Device, error)        { f.opened++; return f, nil }

func (f *fake) fault(format string, args ...any) {
	f.faults = append(f.faults, fmt.Sprintf(format, args...))
}

type fakeBuffer struct {
	f      *fake
	data   []byte
	usage  webgpu.Usage
	mapped bool
	gone   bool
}

func (f *fake) NewBuffer(bytes int64, u webgpu.Usage) (webgpu.Buffer, error) {
	if bytes%4 != 0 {
		f.fault("buffer of %d bytes", bytes)
	}
	if f.capacity > 0 && bytes > f.capacity {
		return nil, fmt.Errorf("%d bytes: %w", bytes, core.ErrOutOfMemory)
	}
	f.buffers++
	return &fakeBuffer{f: f, data: make([]byte, bytes), usage: u}, nil
}

func (b *fakeBuffer) Read(dst []byte, offset int64) error {
	if !b.mapped {
		b.f.fault("read of a buffer that is not mapped")
	}
	copy(dst, b.data[offset:])
	b.mapped = false
	return nil
}

func (b *fakeBuffer) Destroy() {
	b.gone = true
	b.f.buffers--
}

type fakePipeline struct{ text, entry string }

func (*fakePipeline) Release() {}

func (f *fake) NewPipeline(text, entry string, _, _ int) (webgpu.Pipeline, error) {
	if f.refuses != "" && strings.Contains(text, f.refuses) {
		return nil, fmt.Errorf("refused: %w", core.ErrKernel)
	}
	return &fakePipeline{text, entry}, nil
}

type fakeGroup []webgpu.Binding

func (fakeGroup) Release() {}

func (f *fake) NewGroup(_ webgpu.Pipeline, bindings []webgpu.Binding) (webgpu.Group, error) {
	for _, b := range bindings {
		x := b.Buffer.(*fakeBuffer)
		if b.Offset%256 != 0 || b.Size%4 != 0 || b.Size <= 0 || b.Offset+b.Size > int64(len(x.data)) || x.gone || x.usage == webgpu.Storage && b.Size > f.facts.Limits.StorageBinding {
			f.fault("binding of %d bytes from %d on, of %d", b.Size, b.Offset, len(x.data))
		}
	}
	return fakeGroup(append([]webgpu.Binding(nil), bindings...)), nil
}

type fakeEncoder struct {
	f    *fake
	list []func()
}

func (f *fake) NewEncoder() (webgpu.Encoder, error) { return &fakeEncoder{f: f}, nil }
func (e *fakeEncoder) Drop()                        {}

func (e *fakeEncoder) Copy(dst webgpu.Buffer, dstOffset int64, src webgpu.Buffer, srcOffset, bytes int64) {
	to, from := dst.(*fakeBuffer), src.(*fakeBuffer)
	if to == from || (dstOffset|srcOffset|bytes)%4 != 0 || dstOffset+bytes > int64(len(to.data)) || srcOffset+bytes > int64(len(from.data)) {
		e.f.fault("copy of %d bytes from %d to %d", bytes, srcOffset, dstOffset)
		return
	}
	e.list = append(e.list, func() { copy(to.data[dstOffset:][:bytes], from.data[srcOffset:]) })
}

func (e *fakeEncoder) Dispatch(p webgpu.Pipeline, g webgpu.Group, offset uint32, uniform bool, grid [3]uint32) {
	k, b := p.(*fakePipeline), g.(fakeGroup)
	for _, n := range grid {
		if n == 0 || n > 65535 {
			e.f.fault("grid %v", grid)
		}
	}
	bytes := func(i int) []byte { return b[i].Buffer.(*fakeBuffer).data[b[i].Offset:][:b[i].Size] }
	e.list = append(e.list, func() {
		word := func(i int) uint32 {
			return binary.LittleEndian.Uint32(b[len(b)-1].Buffer.(*fakeBuffer).data[int(offset)+4*i:])
		}
		switch {
		case k.entry == "copy_bytes":
			copy(bytes(0)[word(0):][:word(2)], append([]byte(nil), bytes(1)[word(1):][:word(2)]...))
		case k.entry == "fill_bytes":
			for i := range bytes(0)[word(0):][:word(2)] {
				at := int(word(0)) + i
				bytes(0)[at] = byte(word(3) >> (8 * (at % 4)))
			}
		case strings.Contains(k.text, "arrayLength"):
			binary.LittleEndian.PutUint32(bytes(0)[b[0].Size-4:], uint32(b[0].Size/4))
		}
	})
}

func (f *fake) Write(b webgpu.Buffer, offset int64, data []byte) error {
	x := b.(*fakeBuffer)
	if offset%4 != 0 || len(data)%4 != 0 || offset+int64(len(data)) > int64(len(x.data)) {
		f.fault("write of %d bytes at %d", len(data), offset)
		return nil
	}
	data = append([]byte(nil), data...)
	f.later(func() { copy(x.data[offset:], data) })
	return nil
}

func (f *fake) later(do func()) {
	f.mu.Lock()
	f.todo = append(f.todo, do)
	f.mu.Unlock()
}

func (f *fake) Submit(e webgpu.Encoder, done func(error)) error {
	list := e.(*fakeEncoder).list
	f.later(func() {
		for _, do := range list {
			do()
		}
		done(nil)
	})
	return nil
}

func (f *fake) Map(b webgpu.Buffer, done func(error)) error {
	f.later(func() {
		b.(*fakeBuffer).mapped = true
		done(nil)
	})
	return nil
}

func (f *fake) Poll() {
	f.mu.Lock()
	todo := f.todo
	if f.stuck {
		todo = nil
	} else {
		f.todo = nil
	}
	f.mu.Unlock()
	for _, do := range todo {
		do()
	}
}

func (f *fake) Lost() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lost
}

func (f *fake) Close() {}
