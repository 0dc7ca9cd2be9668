// Package commands drives hardware that takes command buffers and shares its memory with the host, as Metal's does: memory, queues and
// events of a gpu.Device over the Calls of a backend. Commands are put together until somebody waits for them or they are many; a queue has
// a bounded number of command buffers in flight; and hardware on which nothing ends for the backend's patience is given up.
//
// The package must not know which hardware it is: a backend embeds Device in a device of its own that compiles and loads kernels.
package commands

import "time"

// Calls are a device's calls. They may be made concurrently.
type Calls interface {
	// Allocated is the bytes that this process has on it at this moment.
	Allocated() int64
	// NewBuffer makes a buffer that device and processor share. It wraps core.ErrOutOfMemory.
	NewBuffer(bytes int64) (Buffer, error)
	// NewQueue makes a queue that takes up to that many commands which are not done.
	NewQueue(commands int) (Queue, error)
	// NewEvent makes a shared event, whose value is 0.
	NewEvent() (Event, error)
}

// Buffer is memory. Commands that were made with it keep it until they are done.
type Buffer interface {
	// Contents is its memory, valid until Release.
	Contents() []byte
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
