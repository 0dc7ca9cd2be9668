package native

import (
	"fmt"
	"unsafe"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/sdk/gpu/webgpu"
)

// encoder implements webgpu.Encoder. Neighbouring launches share a pass.
type encoder struct {
	d       *device
	h, pass handle
	offsets *[1]uint32 // memory for the dynamic offset that a call passes
	last    handle     // pipeline of the pass
}

// NewEncoder implements webgpu.Device.
func (d *device) NewEncoder() (webgpu.Encoder, error) {
	h := d.DeviceCreateCommandEncoder.call(d.h, 0)
	if err := d.check("encoder"); err != nil {
		return nil, err
	}
	return &encoder{d: d, h: h, offsets: new([1]uint32)}, nil
}

// Dispatch implements webgpu.Encoder.
func (e *encoder) Dispatch(p webgpu.Pipeline, g webgpu.Group, offset uint32, uniform bool, grid [3]uint32) {
	d := e.d
	if e.pass == 0 {
		e.pass, e.last = d.CommandEncoderBeginComputePass.quick(e.h, 0, 0, 0, 0, 0), 0
	}
	if h := p.(*pipeline).h; h != e.last {
		d.ComputePassEncoderSetPipeline.quick(e.pass, h, 0, 0, 0, 0)
		e.last = h
	}
	e.offsets[0] = offset
	n := uintptr(0)
	if uniform {
		n = 1
	}
	d.ComputePassEncoderSetBindGroup.quick(e.pass, 0, g.(*group).h, n, uintptr(unsafe.Pointer(e.offsets)), 0)
	d.ComputePassEncoderDispatchWorkgroups.quick(e.pass, uintptr(grid[0]), uintptr(grid[1]), uintptr(grid[2]), 0, 0)
}

func (e *encoder) end() {
	if e.pass != 0 {
		e.d.ComputePassEncoderEnd.quick(e.pass, 0, 0, 0, 0, 0)
		e.d.ComputePassEncoderRelease.quick(e.pass, 0, 0, 0, 0, 0)
		e.pass = 0
	}
}

// Copy implements webgpu.Encoder.
func (e *encoder) Copy(dst webgpu.Buffer, dstOffset int64, src webgpu.Buffer, srcOffset, bytes int64) {
	e.end()
	e.d.CommandEncoderCopyBufferToBuffer.quick(e.h, src.(*buffer).h, uintptr(srcOffset), dst.(*buffer).h, uintptr(dstOffset), uintptr(bytes))
}

// Drop implements webgpu.Encoder.
func (e *encoder) Drop() {
	e.end()
	e.d.CommandEncoderRelease.call(e.h)
}

// Submit implements webgpu.Device. Commands for which the library reported an error are not submitted, since that would end the process.
func (d *device) Submit(x webgpu.Encoder, done func(error)) error {
	e := x.(*encoder)
	e.end()
	c := d.CommandEncoderFinish.call(e.h, 0)
	d.CommandEncoderRelease.call(e.h)
	err := d.check("commands")
	if err == nil && c == 0 {
		err = fmt.Errorf("wgpuCommandEncoderFinish returned null: %w", core.ErrKernel)
	}
	if err != nil {
		if c != 0 {
			d.CommandBufferRelease.call(c)
		}
		return err
	}
	d.QueueSubmit.call(d.queue, 1, uintptr(unsafe.Pointer(&c)))
	d.CommandBufferRelease.call(c)
	info := expect(cFunctions().done, called("work", done))
	d.QueueOnSubmittedWorkDone.callWith(&info, d.queue)
	return d.check("submission")
}
