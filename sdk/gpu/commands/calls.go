// Package commands drives hardware that executes command buffers and shares its memory with the host, such as Metal devices. It implements
// the memory, queues and events of a gpu.Device with the Calls of a backend. Commands are collected until a caller waits for them or their
// number reaches a limit. A queue has a bounded number of command buffers in flight. If no command buffer completes within the backend's
// patience, the device counts as lost.
//
// The package must not know which hardware it is: a backend embeds Device in a device of its own that compiles and loads kernels.
package commands

import "time"

// Calls are the functions of a device. They may be called concurrently.
type Calls interface {
	// Allocated returns the bytes that this process has allocated on the device at this moment.
	Allocated() int64
	// NewBuffer creates a buffer that device and processor share. If there is no memory left, its error wraps core.ErrOutOfMemory.
	NewBuffer(bytes int64) (Buffer, error)
	// NewQueue creates a queue in which at most the given number of command buffers may be pending.
	NewQueue(commands int) (Queue, error)
	// NewEvent creates a shared event with the value 0.
	NewEvent() (Event, error)
}

// Buffer is memory. Commands that use a buffer keep it alive until the commands are done.
type Buffer interface {
	// Contents returns the memory of the buffer, valid until Release.
	Contents() []byte
	Release()
}

// Pipeline is a kernel that is ready to run.
type Pipeline interface {
	// Threads returns the greatest number of threads of a threadgroup, Width the number of threads of a simdgroup.
	Threads() int
	Width() int
	Release()
}

// Queue executes commands in the order in which they are committed.
type Queue interface {
	// NewCommands begins commands. One goroutine at a time uses them.
	NewCommands() (Commands, error)
	Release()
}

// Commands is a command buffer: commands are added to it, and it is committed once. The commands execute one after the other, and each
// command sees all writes of earlier commands.
type Commands interface {
	// SetPipeline, SetBuffer and SetBytes set the kernel and the arguments, by their number, of the next dispatches.
	SetPipeline(p Pipeline)
	SetBuffer(argument int, b Buffer, offset int64)
	SetBytes(argument int, data []byte)
	// Dispatch runs a grid of threadgroups with the given number of threads each.
	Dispatch(groups [3]int, threads int)
	// Await delays later commands until an event of any queue has at least the given value.
	Await(e Event, value uint64)
	// Commit starts the commands. At their end, the event gets the given value.
	Commit(e Event, value uint64)
	// Done reports whether committed commands are executed, and the fault that ended them. The fault wraps core.ErrBackendLost if the
	// device failed, core.ErrKernel if the commands failed, or core.ErrOutOfMemory.
	Done() (bool, error)
	// Ended returns the time at which the commands ended, in seconds of the device's clock.
	Ended() float64
	Release()
}

// Event is a number that only grows. Queues and the host can wait until it reaches a value.
type Event interface {
	// Wait waits until the event has at least the given value, but not longer than the limit, and reports whether the event has the value.
	Wait(value uint64, limit time.Duration) bool
	Release()
}
