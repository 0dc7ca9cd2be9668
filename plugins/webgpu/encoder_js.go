package webgpu

import (
	"fmt"
	"syscall/js"

	"github.com/goburn/burn/sdk/gpu/webgpu"
)

// buffer implements webgpu.Buffer.
type buffer struct {
	v     js.Value
	bytes int64
}

// Read implements webgpu.Buffer.
func (b *buffer) Read(dst []byte, offset int64) error {
	err := try(func() {
		all := js.Global().Get("Uint8Array").New(b.v.Call("getMappedRange"))
		js.CopyBytesToGo(dst, all.Call("subarray", float64(offset), float64(offset)+float64(len(dst))))
		b.v.Call("unmap")
	})
	if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	return nil
}

// Destroy implements webgpu.Buffer.
func (b *buffer) Destroy() { b.v.Call("destroy") }

// encoder implements webgpu.Encoder: consecutive launches share one pass, in which each launch sees the writes of earlier launches.
type encoder struct {
	v, pass js.Value // pass is undefined outside of a pass
}

// NewEncoder implements webgpu.Device.
func (d *device) NewEncoder() (webgpu.Encoder, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	return &encoder{v: d.v.Call("createCommandEncoder")}, nil
}

// Dispatch implements webgpu.Encoder.
func (e *encoder) Dispatch(p webgpu.Pipeline, g webgpu.Group, offset uint32, uniform bool, grid [3]uint32) {
	if e.pass.IsUndefined() {
		e.pass = e.v.Call("beginComputePass")
	}
	e.pass.Call("setPipeline", p.(*pipeline).v)
	if uniform {
		e.pass.Call("setBindGroup", 0, g.(*bindGroup).v, []any{offset})
	} else {
		e.pass.Call("setBindGroup", 0, g.(*bindGroup).v)
	}
	e.pass.Call("dispatchWorkgroups", grid[0], grid[1], grid[2])
}

// end ends the pass.
func (e *encoder) end() {
	if !e.pass.IsUndefined() {
		e.pass.Call("end")
		e.pass = js.Undefined()
	}
}

// Copy implements webgpu.Encoder.
func (e *encoder) Copy(dst webgpu.Buffer, dstOffset int64, src webgpu.Buffer, srcOffset, bytes int64) {
	e.end()
	e.v.Call("copyBufferToBuffer", src.(*buffer).v, float64(srcOffset), dst.(*buffer).v, float64(dstOffset), float64(bytes))
}

// Drop implements webgpu.Encoder: commands that are not finished have no effect.
func (e *encoder) Drop() { e.end() }
