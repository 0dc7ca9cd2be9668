package native

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/sdk/gpu/webgpu"
)

// pipeline implements webgpu.Pipeline.
type pipeline struct {
	d      *device
	h      handle
	layout layout
}

// NewPipeline implements webgpu.Device. The driver's kernels were proved to access only their own memory and to end, so the library adds no
// checks. Several pipelines may be created at the same time. The library does not say to which of them an error belongs: if an error was
// reported meanwhile, the pipeline is created again alone.
func (d *device) NewPipeline(text, entry string, storage, uniform int) (webgpu.Pipeline, error) {
	l, err := d.layout(storage, uniform)
	if err != nil {
		return nil, err
	}
	d.making.RLock()
	before := d.reported.Load()
	p := d.pipeline(text, entry, l)
	clean := p.h != 0 && d.reported.Load() == before
	d.making.RUnlock()
	if clean {
		return p, nil
	}
	d.making.Lock()
	defer d.making.Unlock()
	if p.h != 0 {
		p.Release()
	}
	_ = d.check("kernels") // discards errors of the pipelines that were created at the same time
	p = d.pipeline(text, entry, l)
	if err := d.check("kernel " + entry); err != nil {
		if p.h != 0 {
			p.Release()
		}
		return nil, err
	}
	if p.h == 0 {
		return nil, fmt.Errorf("kernel %s: no pipeline: %w", entry, core.ErrKernel)
	}
	return p, nil
}

// pipeline creates a pipeline; its handle is 0 if the library creates none. Errors are reported to the device.
func (d *device) pipeline(text, entry string, l layout) *pipeline {
	p := &pipeline{d: d, layout: l}
	source := &shaderWGSL{chain: chained{sType: shaderSourceWGSL}, code: viewOf(text)}
	m := d.DeviceCreateShaderModuleTrusted.call(d.h, uintptr(unsafe.Pointer(&labelled{next: unsafe.Pointer(source)})), 0)
	runtime.KeepAlive(text)
	if m == 0 {
		return p
	}
	defer d.ShaderModuleRelease.call(m)
	o := &computePipelineDescriptor{layout: l.pipeline, compute: computeState{module: m, entryPoint: viewOf(entry)}}
	p.h = d.DeviceCreateComputePipeline.call(d.h, uintptr(unsafe.Pointer(o)))
	runtime.KeepAlive(entry)
	return p
}

// layout returns the layouts for a number of storage buffers and a size of the uniform in bytes. Each layout is created once.
func (d *device) layout(storage, uniform int) (layout, error) {
	key := [2]int{storage, uniform}
	d.making.RLock()
	l, ok := d.layouts[key]
	d.making.RUnlock()
	if ok {
		return l, nil
	}
	d.making.Lock() // the creation of a layout checks for errors
	defer d.making.Unlock()
	if l, ok := d.layouts[key]; ok {
		return l, nil
	}
	entries := make([]layoutEntry, storage, storage+1)
	for i := range entries {
		entries[i] = layoutEntry{binding: uint32(i), visibility: stageCompute, buffer: bufferLayout{kind: bindingStorage}}
	}
	if uniform > 0 {
		entries = append(entries, layoutEntry{binding: uint32(storage), visibility: stageCompute,
			buffer: bufferLayout{kind: bindingUniform, hasDynamicOffset: 1, minBindingSize: uint64(uniform)}})
	}
	o := &layoutDescriptor{entryCount: uintptr(len(entries))}
	if len(entries) > 0 {
		o.entries = unsafe.Pointer(&entries[0])
	}
	l.group = d.DeviceCreateBindGroupLayout.call(d.h, uintptr(unsafe.Pointer(o)))
	if err := d.check("layout of bindings"); err != nil {
		return layout{}, err
	}
	p := &pipelineLayoutDescriptor{bindGroupLayoutCount: 1, bindGroupLayouts: unsafe.Pointer(&[]handle{l.group}[0])}
	l.pipeline = d.DeviceCreatePipelineLayout.call(d.h, uintptr(unsafe.Pointer(p)))
	if err := d.check("layout of a pipeline"); err != nil {
		return layout{}, err
	}
	d.layouts[key] = l
	return l, nil
}

// Release implements webgpu.Pipeline.
func (p *pipeline) Release() { p.d.ComputePipelineRelease.call(p.h) }

// group implements webgpu.Group.
type group struct {
	d *device
	h handle
}

// NewGroup implements webgpu.Device.
func (d *device) NewGroup(p webgpu.Pipeline, bindings []webgpu.Binding) (webgpu.Group, error) {
	entries := make([]groupEntry, len(bindings))
	for i, b := range bindings {
		entries[i] = groupEntry{binding: uint32(i), buffer: b.Buffer.(*buffer).h, offset: uint64(b.Offset), size: uint64(b.Size)}
	}
	o := &groupDescriptor{layout: p.(*pipeline).layout.group, entryCount: uintptr(len(entries))}
	if len(entries) > 0 {
		o.entries = unsafe.Pointer(&entries[0])
	}
	h := d.DeviceCreateBindGroup.call(d.h, uintptr(unsafe.Pointer(o)))
	if err := d.check("bindings"); err != nil {
		return nil, err
	}
	return &group{d, h}, nil
}

// Release implements webgpu.Group.
func (g *group) Release() { g.d.BindGroupRelease.call(g.h) }
