package webgpu

import (
	"context"
	"time"
)

// API is an implementation of WebGPU: a native library, or a browser. Its methods, and the methods of the objects that it returns, are
// the calls that the driver makes. Arguments are valid: the driver has checked them against the limits and each other, because an
// implementation may end the process on an invalid argument.
type API interface {
	// Adapters lists the adapters. Each call returns the same adapters. If there are no adapters, the error wraps core.ErrNotFound and
	// names the remedy.
	Adapters(ctx context.Context) ([]Adapter, error)
}

// Adapter is hardware, or software that emulates it.
type Adapter interface {
	Facts() Facts
	// Open opens a device with all limits and features of Facts. It may be called more than once.
	Open(ctx context.Context) (Device, error)
}

// Facts are the properties that an adapter reports.
type Facts struct {
	Name     string // name of the hardware
	Driver   string // name and version of the driver
	Backend  string // Vulkan, Metal, Direct3D 12 or browser
	Version  string // version of the implementation
	Software bool   // the adapter is software that emulates hardware
	Discrete bool   // the adapter is a GPU with its own memory
	Memory   int64  // bytes, 0 if unknown
	Limits   Limits
	// Subgroups holds the least and greatest size of subgroups; 0 if the language has no operations on them.
	Subgroups [2]int
	// Alias reports whether writable bindings of a launch may overlap.
	Alias bool
	// Components reports whether a store to one component of a vector in memory leaves the other components unchanged.
	Components bool
	// Together reports whether several goroutines may call Device.NewPipeline at the same time.
	Together bool
}

// Limits are the limits of an adapter, by the names of WebGPU.
type Limits struct {
	BufferSize         int64 // bytes
	StorageBinding     int64 // bytes
	UniformBinding     int64 // bytes
	StorageAlignment   int64 // bytes
	UniformAlignment   int64 // bytes
	StorageBuffers     int   // most storage buffers of a kernel
	WorkgroupStorage   int   // bytes
	WorkgroupThreads   int   // most threads of a workgroup, along x and in total
	WorkgroupsPerAxis  int
	BindingsPerGroup   int
	UniformBuffers     int
	DynamicUniformBufs int
}

// Usage is the purpose of a buffer.
type Usage uint8

// Usages. A buffer with usage Readback can be a copy destination and be mapped; all others can be source and destination of copies.
const (
	Storage Usage = iota
	Uniform
	Readback
)

// Device is an opened adapter with its one queue, which executes submissions in order. One goroutine at a time calls its methods, except
// for Lost and Poll. If Facts.Together is set, several goroutines may call NewPipeline while no other method is called. If the device is
// lost, its methods return an error that wraps core.ErrBackendLost.
type Device interface {
	// NewBuffer creates a buffer whose size is a multiple of 4. Without memory, the error wraps core.ErrOutOfMemory.
	NewBuffer(bytes int64, u Usage) (Buffer, error)
	// NewPipeline creates a pipeline for an entry point of a text. Its bindings, all in group 0, are storage buffers of read and write
	// access, followed, if uniform is not 0, by a uniform of that many bytes with a dynamic offset. If the compiler rejects the text, the
	// error wraps core.ErrKernel.
	NewPipeline(text, entry string, storage, uniform int) (Pipeline, error)
	// NewGroup binds buffers for p and for all pipelines with the same number of storage buffers and the same size of the uniform. The last
	// binding is the uniform, if p has a uniform.
	NewGroup(p Pipeline, bindings []Binding) (Group, error)
	// NewEncoder begins to record commands.
	NewEncoder() (Encoder, error)
	// Write changes a buffer before later submissions execute. Offset and length are multiples of 4. Write must not keep data.
	Write(b Buffer, offset int64, data []byte) error
	// Submit executes the commands of e, which cannot be used again, and calls done once they have executed.
	Submit(e Encoder, done func(error)) error
	// Map maps a whole Readback buffer, and calls done once it is mapped.
	Map(b Buffer, done func(error)) error
	// Poll calls the done functions of completed work. Some implementations call them by themselves, at any time and on any
	// goroutine.
	Poll()
	// Lost returns the reason why the device is lost, or nil while the device works.
	Lost() error
	// Close releases the device and all its objects.
	Close()
}

// Sleeper is a Device that can sleep more precisely than timers of package time.
type Sleeper interface {
	// Sleep returns after a duration of less than a millisecond. Other goroutines may call methods of the Device meanwhile.
	Sleep(d time.Duration)
}

// Buffer is memory of a device.
type Buffer interface {
	// Read copies the bytes of a mapped buffer from offset on, and unmaps it.
	Read(dst []byte, offset int64) error
	// Destroy frees the memory, at once or when the commands that use it have executed.
	Destroy()
}

// Binding is a part of a buffer. The offset has the alignment that Limits contains for its kind of binding, and the size is a multiple of
// 4.
type Binding struct {
	Buffer       Buffer
	Offset, Size int64
}

// Pipeline is a compiled kernel.
type Pipeline interface{ Release() }

// Group holds the bindings of a launch.
type Group interface{ Release() }

// Encoder records commands. The commands execute one after the other, and each command sees all earlier writes.
type Encoder interface {
	// Dispatch runs a kernel; offset is the dynamic offset of the uniform, if the pipeline has one.
	Dispatch(p Pipeline, g Group, offset uint32, uniform bool, grid [3]uint32)
	// Copy copies between different buffers. Offsets and bytes are multiples of 4.
	Copy(dst Buffer, dstOffset int64, src Buffer, srcOffset, bytes int64)
	// Drop discards commands that are not submitted.
	Drop()
}
