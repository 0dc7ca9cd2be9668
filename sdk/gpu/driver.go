package gpu

import (
	"context"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/sdk/gpu/dialect"
	"github.com/goburn/burn/sdk/gpu/ir"
	"github.com/goburn/burn/sdk/gpu/template"
)

// Driver is one kind of hardware.
type Driver interface {
	// Info describes the backend and its devices.
	Info() core.Info
	// Open opens the device with the given index in Info. It may be called more than once for an index.
	Open(ctx context.Context, index int) (Device, error)
	// Close is called once, after all devices are closed.
	Close() error
}

// Device is an opened device. Its methods are called concurrently. If a fault ends the device, so that it can compute nothing any more, the
// error wraps core.ErrBackendLost.
type Device interface {
	// Target returns the properties of the hardware for which kernels are built.
	Target() template.Target
	// Dialect returns the dialect that prints kernels for Compile. A device that accepts kernels as IR returns nil.
	Dialect() *dialect.Dialect
	// Compiler returns a text that identifies everything besides the kernel text that the result of Compile depends on:
	// architecture, compiler, version, options.
	Compiler() string
	// Compile compiles a text to loadable code. Without a compiler its error wraps core.ErrUnsupported and names the remedy.
	Compile(ctx context.Context, text string) ([]byte, error)
	// Load loads the code that Compile made from the text of kernels and returns their functions, in order. code is nil if Dialect is. If a
	// kernel is nil, its function is not wanted and may be nil.
	Load(code []byte, kernels []*ir.Kernel) ([]Function, error)

	// Alloc allocates device memory, aligned to at least 256 bytes. If no memory is left, its error wraps core.ErrOutOfMemory.
	Alloc(bytes int64) (Memory, error)
	// Free frees device memory that nothing uses any more.
	Free(m Memory)
	// MemoryInfo returns the free and total memory of the hardware at this moment.
	MemoryInfo() (free, total int64)
	// HostAlloc allocates memory of the host that copies to and from the device can use directly. It may return ErrUnsupported.
	HostAlloc(bytes int) ([]byte, error)
	// HostFree frees what HostAlloc allocated.
	HostFree(b []byte)

	// OpenQueue opens an ordered queue of work.
	OpenQueue() (Queue, error)
	// Libraries lists the vendor's libraries that were found, best first. It may be empty.
	Libraries() []Library
	// Close is called once, when all queues are closed and all memory is freed.
	Close()
}

// Memory is memory of a device: an allocation, known to its driver.
type Memory interface {
	// Bytes returns the size in bytes.
	Bytes() int64
}

// Ref is a place in memory of a device. Offset counts bytes. In arguments of launches, offsets are multiples of Target.Align, and the
// memory is allocated up to the next multiple of 256 bytes. Copies, fills, uploads and downloads may have any length in bytes; where the
// hardware moves whole words, up to 3 bytes behind the end may change.
type Ref struct {
	Memory Memory
	Offset int64
}

// Function is a kernel that was loaded.
type Function interface {
	// Kernel returns the kernel from which the function was created.
	Kernel() *ir.Kernel
	// Unload releases the function. No launch of it is in progress.
	Unload()
}

// Arg is the argument of a launch: a Ref for a buffer, Bits for a scalar as in ir.Arg.
type Arg struct {
	Ref   Ref
	Bytes int64 // bytes of the buffer, from Ref on
	Bits  uint64
}

// Launch is a kernel launch with its memory.
type Launch struct {
	Function Function
	Grid     [3]int
	Args     []Arg
	Starts   []int32 // first blocks of the members of a batched kernel, as in ir.Launch
}

// Queue executes work in order. One goroutine at a time calls its methods. All of them except Synchronize only start the work.
type Queue interface {
	// Launch starts a kernel. It must not keep l.
	Launch(l *Launch) error
	// Copy copies between two places of the device, which do not overlap.
	Copy(dst, src Ref, bytes int64) error
	// Fill sets bytes to a repeated pattern of width 1, 2 or 4 bytes.
	Fill(dst Ref, bytes int64, pattern uint32, width int) error
	// Upload copies from host memory. src is read until an event recorded afterwards is reached; from memory that HostAlloc did not
	// allocate, the copy may be complete when Upload returns.
	Upload(dst Ref, src []byte) error
	// Download copies to host memory, which is valid once an event recorded afterwards is reached.
	Download(dst []byte, src Ref) error
	// Record returns an event of this place in the queue. Timed events measure time.
	Record(timed bool) (Event, error)
	// Await orders later work after an event of any queue of the backend.
	Await(e Event) error
	// Synchronize waits for all work of the queue.
	Synchronize() error
	// Close is called once, after Synchronize.
	Close()
}

// Event is a place in a queue.
type Event interface {
	// Done reports whether the queue has reached the event; an error is a fault of the work before it.
	Done() (bool, error)
	// Wait returns when the queue has reached the event. It may be called from any goroutine, more than once.
	Wait() error
	// Since returns the device's time between an earlier event of the same queue and this event; both must be timed and reached.
	Since(earlier Event) (time.Duration, error)
	// Release releases the event. It is called once.
	Release()
}

// Grapher is an optional interface of a Device that replays many launches with one call.
type Grapher interface {
	// NewGraph creates a graph of steps that run in order. It executes nothing.
	NewGraph(steps []Step) (Graph, error)
}

// Step is a step of a graph or plan: a kernel launch, a library call, a fill or a copy.
type Step struct {
	Launch *Launch
	Call   *Call
	Copy   *Copy
	Fill   *Fill
	// After lists the earlier steps that must complete first, for devices that run steps at the same time; nil means the previous
	// step.
	After []int
}

// Copy is a copy between places of the device.
type Copy struct {
	Dst, Src Ref
	Bytes    int64
}

// Fill sets memory to a repeated pattern, as Queue.Fill does.
type Fill struct {
	Dst     Ref
	Bytes   int64
	Pattern uint32
	Width   int
}

// Graph is an instantiated sequence of steps. One goroutine at a time uses it.
type Graph interface {
	// Update changes the arguments of step i. They have the same form as the original arguments. Library calls may refuse with
	// ErrUnsupported.
	Update(i int, s Step) error
	// Launch starts the graph on a queue.
	Launch(q Queue) error
	// Close is called once, when no launch of it is in progress.
	Close()
}
