package webgpu

import "context"

// API is an implementation of WebGPU: a native library, or a browser. Its methods, and those of what it gives out, are the calls that the
// driver makes. Arguments are in order: the driver has compared them with the limits and with each other before, as an implementation may
// end the process on what it finds wrong later.
type API interface {
	// Adapters lists what there is, the same at each call. It wraps core.ErrNotFound, with the remedy, where there is none.
	Adapters(ctx context.Context) ([]Adapter, error)
}

// Adapter is hardware, or software that stands for it.
type Adapter interface {
	Facts() Facts
	// Open makes a device with all limits and features of Facts. It may be called more than once.
	Open(ctx context.Context) (Device, error)
}

// Facts are what an adapter says of itself.
type Facts struct {
	Name     string // of the hardware
	Driver   string // its name and version
	Backend  string // Vulkan, Metal, Direct3D 12 or browser
	Version  string // of the implementation
	Software bool
	Discrete bool
	Memory   int64 // bytes, 0 if nobody says
	Limits   Limits
	// Subgroups is the least and greatest size of subgroups; 0 where the language has no operations of them.
	Subgroups [2]int
	// Alias reports whether bindings of a launch may overlap where they are written.
	Alias bool
}

// Limits are the limits of an adapter, by the names of WebGPU.
type Limits struct {
	BufferSize         int64
	StorageBinding     int64
	UniformBinding     int64
	StorageAlignment   int64
	UniformAlignment   int64
	StorageBuffers     int // of a kernel
	WorkgroupStorage   int // bytes
	WorkgroupThreads   int // along x and altogether
	WorkgroupsPerAxis  int
	BindingsPerGroup   int
	UniformBuffers     int
	DynamicUniformBufs int
}

// Usage is what a buffer is for.
type Usage uint8

// Usages. A buffer of Readback is copied to, and mapped; all others are copied to and from.
const (
	Storage Usage = iota
	Uniform
	Readback
)

// Device is an opened adapter with its one queue, which executes in order what is submitted. Methods are called by one goroutine at a
// time, but for Lost and Poll. Where the device is lost, they return an error that wraps core.ErrBackendLost.
type Device interface {
	// NewBuffer makes a buffer, whose bytes are a multiple of 4. It wraps core.ErrOutOfMemory.
	NewBuffer(bytes int64, u Usage) (Buffer, error)
	// NewPipeline makes a pipeline of the entry point of a text. Its bindings, all in group 0, are storage buffers of read and write access,
	// and behind them, where uniform is not 0, a uniform of that many bytes with a dynamic offset. What the compiler refuses wraps
	// core.ErrKernel.
	NewPipeline(text, entry string, storage, uniform int) (Pipeline, error)
	// NewGroup binds buffers for a pipeline and all others with as many. The last is the uniform, if there is one.
	NewGroup(p Pipeline, bindings []Binding) (Group, error)
	// NewEncoder begins commands.
	NewEncoder() (Encoder, error)
	// Write changes a buffer before what is submitted later. Offset and length are multiples of 4. data is the caller's again.
	Write(b Buffer, offset int64, data []byte) error
	// Submit executes commands, which are used up, and calls done once they are executed.
	Submit(e Encoder, done func(error)) error
	// Map maps all of a buffer of Readback, and calls done once that is so.
	Map(b Buffer, done func(error)) error
	// Poll calls done functions whose time has come. Some implementations call them by themselves, at any time and on any goroutine.
	Poll()
	// Lost is why the device is lost, nil while it works.
	Lost() error
	// Close gives the device up, with everything of it.
	Close()
}

// Buffer is memory of a device.
type Buffer interface {
	// Read copies what a mapped buffer has from offset on, and unmaps it.
	Read(dst []byte, offset int64) error
	// Destroy frees the memory, at once or when what uses it is executed.
	Destroy()
}

// Binding is a part of a buffer. The offset is aligned as the limits want, and the size a multiple of 4.
type Binding struct {
	Buffer       Buffer
	Offset, Size int64
}

// Pipeline is a compiled kernel.
type Pipeline interface{ Release() }

// Group is bindings of a launch.
type Group interface{ Release() }

// Encoder is commands that are being put together. They execute one after the other, each seeing all that those before it wrote.
type Encoder interface {
	// Dispatch runs a kernel; offset is the dynamic offset of the uniform, if the pipeline has one.
	Dispatch(p Pipeline, g Group, offset uint32, uniform bool, grid [3]uint32)
	// Copy copies between different buffers. Offsets and bytes are multiples of 4.
	Copy(dst Buffer, dstOffset int64, src Buffer, srcOffset, bytes int64)
	// Drop gives up commands that are not submitted.
	Drop()
}
