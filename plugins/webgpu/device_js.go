package webgpu

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall/js"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/sdk/gpu/webgpu"
)

// device implements webgpu.Device.
type device struct {
	v, queue js.Value
	layouts  map[[2]int]layout // by number of storage buffers and size of the uniform
	fault    js.Func
	bytes    js.Value // a Uint8Array through which data is written

	mu     sync.Mutex // guards the fields below; mu is never held during a wait
	lost   error
	faults []error // faults since the last check
	closed bool
}

type layout struct{ group, pipeline js.Value }

// Bits of GPUBufferUsage, GPUShaderStage and GPUMapMode.
const (
	mapRead  = 1
	copySrc  = 4
	copyDst  = 8
	uniform  = 64
	storage  = 128
	compute  = 4
	readMode = 1
	minPipe  = 64 << 10 // no bits, but the least length of device.bytes
)

var usages = map[webgpu.Usage]int{
	webgpu.Storage: storage | copySrc | copyDst, webgpu.Uniform: uniform | copySrc | copyDst, webgpu.Readback: mapRead | copyDst,
}

func newDevice(v js.Value) *device {
	d := &device{v: v, queue: v.Get("queue"), layouts: map[[2]int]layout{}}
	d.fault = js.FuncOf(func(_ js.Value, args []js.Value) any {
		d.note(errorOf(args[0].Get("error")))
		return nil
	})
	v.Set("onuncapturederror", d.fault)
	then(v.Get("lost"), func(info js.Value, err error) {
		if err == nil {
			err = errors.New(messageOf(info))
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		if !d.closed {
			d.lost = fmt.Errorf("%w: the device is lost: %w", core.ErrBackendLost, err)
		}
	})
	return d
}

// errorOf returns a GPUError as an error that wraps a sentinel, or nil for null.
func errorOf(v js.Value) error {
	switch {
	case falsy(v):
		return nil
	case v.Get("constructor").Get("name").String() == "GPUOutOfMemoryError":
		return fmt.Errorf("%w: %s", core.ErrOutOfMemory, messageOf(v))
	}
	return fmt.Errorf("%w: %s", core.ErrKernel, messageOf(v))
}

func (d *device) note(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.faults = append(d.faults, err)
}

// check returns the faults that were reported since its last call: a browser reports them some time after the failing call.
func (d *device) check() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	err := errors.Join(d.faults...)
	d.faults = nil
	if d.lost != nil {
		err = d.lost
	}
	return err
}

// scoped calls f, waits for the browser's errors about it, and returns them.
func (d *device) scoped(f func()) error {
	if err := d.Lost(); err != nil {
		return err
	}
	d.v.Call("pushErrorScope", "out-of-memory")
	d.v.Call("pushErrorScope", "validation")
	err := try(f)
	for range 2 {
		v, e := await(d.v.Call("popErrorScope"))
		err = errors.Join(err, e)
		if e == nil {
			err = errors.Join(err, errorOf(v))
		}
	}
	return err
}

// NewBuffer implements webgpu.Device.
func (d *device) NewBuffer(bytes int64, u webgpu.Usage) (webgpu.Buffer, error) {
	b := &buffer{bytes: bytes}
	err := d.scoped(func() { b.v = d.v.Call("createBuffer", map[string]any{"size": float64(bytes), "usage": usages[u]}) })
	if err != nil {
		return nil, fmt.Errorf("buffer of %d bytes: %w", bytes, err)
	}
	return b, nil
}

// layoutOf returns the layouts of pipelines with the given number of storage buffers, followed by a uniform of the given size in bytes. The
// caller puts it into layouts once the browser has accepted it.
func (d *device) layoutOf(storage, uniform int) layout {
	key := [2]int{storage, uniform}
	if l, ok := d.layouts[key]; ok {
		return l
	}
	var entries []any
	for i := range storage {
		entries = append(entries, map[string]any{"binding": i, "visibility": compute, "buffer": map[string]any{"type": "storage"}})
	}
	if uniform > 0 {
		entries = append(entries, map[string]any{"binding": storage, "visibility": compute,
			"buffer": map[string]any{"type": "uniform", "hasDynamicOffset": true, "minBindingSize": uniform}})
	}
	g := d.v.Call("createBindGroupLayout", map[string]any{"entries": entries})
	return layout{g, d.v.Call("createPipelineLayout", map[string]any{"bindGroupLayouts": []any{g}})}
}

// pipeline implements webgpu.Pipeline.
type pipeline struct{ v, layout js.Value }

// Release implements webgpu.Pipeline: the garbage collector of the browser frees the rest.
func (p *pipeline) Release() { p.v, p.layout = js.Undefined(), js.Undefined() }

// NewPipeline implements webgpu.Device. It waits for the compiler.
func (d *device) NewPipeline(text, entry string, storage, uniform int) (webgpu.Pipeline, error) {
	p := &pipeline{}
	var l layout
	var module, made js.Value
	err := d.scoped(func() {
		l = d.layoutOf(storage, uniform)
		p.layout = l.group
		module = d.v.Call("createShaderModule", map[string]any{"code": text})
		made = d.v.Call("createComputePipelineAsync", map[string]any{"layout": l.pipeline,
			"compute": map[string]any{"module": module, "entryPoint": entry}})
	})
	if err == nil {
		d.layouts[[2]int{storage, uniform}] = l
	}
	if !made.IsUndefined() {
		v, e := await(made) // also after a fault, as nothing else handles a rejection of the promise
		p.v = v
		if err == nil && e != nil {
			err = fmt.Errorf("%w: %w", core.ErrKernel, e)
		}
	}
	if err == nil {
		return p, nil
	}
	if !module.IsUndefined() {
		err = fmt.Errorf("%w: %s", err, messages(module))
	}
	return nil, err
}

// messages returns the compiler's messages about a module.
func messages(module js.Value) string {
	info, err := await(module.Call("getCompilationInfo"))
	if err != nil {
		return err.Error()
	}
	var lines []string
	list := info.Get("messages")
	for i := range list.Length() {
		m := list.Index(i)
		lines = append(lines, fmt.Sprintf("%d:%d: %s", m.Get("lineNum").Int(), m.Get("linePos").Int(), messageOf(m)))
	}
	return strings.Join(lines, "; ")
}

// bindGroup implements webgpu.Group.
type bindGroup struct{ v js.Value }

// Release implements webgpu.Group: the garbage collector of the browser frees the rest.
func (g *bindGroup) Release() { g.v = js.Undefined() }

// NewGroup implements webgpu.Device.
func (d *device) NewGroup(p webgpu.Pipeline, bindings []webgpu.Binding) (webgpu.Group, error) {
	entries := make([]any, len(bindings))
	for i, b := range bindings {
		entries[i] = map[string]any{"binding": i, "resource": map[string]any{"buffer": b.Buffer.(*buffer).v, "offset": float64(b.Offset), "size": float64(b.Size)}}
	}
	g := &bindGroup{}
	err := try(func() {
		g.v = d.v.Call("createBindGroup", map[string]any{"layout": p.(*pipeline).layout, "entries": entries})
	})
	return g, errors.Join(err, d.check())
}

// through copies bytes to the beginning of an array of JavaScript, and returns the array. The next call reuses it.
func (d *device) through(data []byte) js.Value {
	if d.bytes.IsUndefined() || d.bytes.Length() < len(data) {
		d.bytes = js.Global().Get("Uint8Array").New(max(len(data), minPipe))
	}
	js.CopyBytesToJS(d.bytes, data)
	return d.bytes
}

// Write implements webgpu.Device.
func (d *device) Write(to webgpu.Buffer, offset int64, data []byte) error {
	if len(data) == 0 {
		return nil
	}
	err := try(func() { d.queue.Call("writeBuffer", to.(*buffer).v, float64(offset), d.through(data), 0, len(data)) })
	return errors.Join(err, d.check())
}

// Submit implements webgpu.Device.
func (d *device) Submit(e webgpu.Encoder, done func(error)) error {
	x := e.(*encoder)
	err := try(func() {
		x.end()
		d.queue.Call("submit", []any{x.v.Call("finish")})
		then(d.queue.Call("onSubmittedWorkDone"), func(_ js.Value, err error) {
			if err != nil {
				err = fmt.Errorf("submit: %w: %w", core.ErrBackendLost, err)
			}
			done(errors.Join(err, d.check()))
		})
	})
	return errors.Join(err, d.Lost())
}

// Map implements webgpu.Device.
func (d *device) Map(b webgpu.Buffer, done func(error)) error {
	err := try(func() {
		then(b.(*buffer).v.Call("mapAsync", readMode), func(_ js.Value, err error) {
			if err != nil {
				err = fmt.Errorf("map: %w: %w", core.ErrBackendLost, err)
			}
			done(err)
		})
	})
	return errors.Join(err, d.Lost())
}

// Poll implements webgpu.Device: the browser calls the callbacks by itself, whenever no goroutine runs.
func (d *device) Poll() {}

// Lost implements webgpu.Device.
func (d *device) Lost() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.lost
}

// Close implements webgpu.Device.
func (d *device) Close() {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	d.v.Set("onuncapturederror", js.Null())
	d.fault.Release()
	d.v.Call("destroy")
}
