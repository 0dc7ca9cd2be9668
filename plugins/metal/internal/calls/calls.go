// Package calls is the interface between the metal plugin's driver and the implementations of Metal: Apple's (package apple), and one on the
// processor, thread by thread, for the tests (package processor). Its methods have the names of Metal's.
// It must hold no code. Arguments are in order: the driver has checked them before.
package calls

import "time"

// API is an implementation of Metal.
type API interface {
	// Devices lists what there is, the same at each call. It wraps core.ErrNotFound, with the remedy, where there is none.
	Devices() ([]Device, error)
}

// Facts describe a device.
type Facts struct {
	Name     string
	System   string   // operating system and version, which the compiler is part of
	Families []string // of GPUs that it belongs to, such as Apple7 and Metal3
	Memory   int64    // bytes that it works well with: recommendedMaxWorkingSetSize
	Largest  int64    // bytes of the largest buffer: maxBufferLength
	Shared   int      // bytes of memory of a threadgroup: maxThreadgroupMemoryLength
	Unified  bool     // it shares the memory of the processor
	External bool     // it can be unplugged
}

// Device is a GPU. Its methods may be called concurrently.
type Device interface {
	Facts() Facts
	// Allocated is the bytes that this process has on it at this moment.
	Allocated() int64
	// NewBuffer makes a buffer that device and processor share. It wraps core.ErrOutOfMemory.
	NewBuffer(bytes int64) (Buffer, error)
	// NewLibrary compiles a text, with exact arithmetic. What the compiler refuses wraps core.ErrKernel, with its messages.
	NewLibrary(text string) (Library, error)
	// NewQueue makes a queue that takes up to that many commands which are not done.
	NewQueue(commands int) (Queue, error)
	// NewEvent makes a shared event, whose value is 0.
	NewEvent() (Event, error)
	// Release releases the device. Devices that are listed later are not affected.
	Release()
}

// Buffer is memory. Commands that were made with it keep it until they are done.
type Buffer interface {
	// Contents is its memory, valid until Release.
	Contents() []byte
	Release()
}

// Library is a compiled text.
type Library interface {
	// Pipeline makes a kernel of the library ready. It wraps core.ErrKernel.
	Pipeline(kernel string) (Pipeline, error)
	Release()
}

// Pipeline is a kernel that was made ready.
type Pipeline interface {
	// Threads is the most threads that a threadgroup may have, Width the threads of a simdgroup.
	Threads() int
	Width() int
	Release()
}

// Queue executes in order what is committed to it.
type Queue interface {
	// NewCommands begins commands. One goroutine at a time uses them.
	NewCommands() (Commands, error)
	Release()
}

// Commands are work that is put together, then committed once, and executed one after the other, each seeing all that those before it
// wrote.
type Commands interface {
	// SetPipeline, SetBuffer and SetBytes say what the next dispatches use: arguments by their number.
	SetPipeline(p Pipeline)
	SetBuffer(argument int, b Buffer, offset int64)
	SetBytes(argument int, data []byte)
	// Dispatch runs as many threadgroups of so many threads.
	Dispatch(groups [3]int, threads int)
	// Await keeps what follows until an event of any queue has that value at least.
	Await(e Event, value uint64)
	// Commit starts the commands, at whose end an event gets a value.
	Commit(e Event, value uint64)
	// Done reports whether committed commands are executed, and the fault that ended them. It wraps core.ErrBackendLost where the device is
	// at fault, core.ErrKernel where the commands are, and core.ErrOutOfMemory.
	Done() (bool, error)
	// Ended is when they were, in seconds of the device's clock.
	Ended() float64
	Release()
}

// Event is a number that grows, which queues and the host wait for.
type Event interface {
	// Wait waits until the event has that value at least, no longer than the limit, and reports whether it has.
	Wait(value uint64, limit time.Duration) bool
	Release()
}
