// Package calls is the interface between the metal plugin's driver and the implementations of Metal: Apple's (package apple), and one on the
// processor, thread by thread, for the tests (package processor). Its methods have the names of Metal's.
// It must hold no code. Arguments are in order: the driver has checked them before.
package calls

import "github.com/goburn/burn/sdk/gpu/commands"

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
	commands.Calls
	// NewLibrary compiles a text, with exact arithmetic. What the compiler refuses wraps core.ErrKernel, with its messages.
	NewLibrary(text string) (Library, error)
	// NewMultiplication prepares products of matrices by the system's library. It wraps core.ErrUnsupported where that is missing or does not
	// take the device.
	NewMultiplication(m Multiplication) (Multiplier, error)
	// Release releases the device. Devices that are listed later are not affected.
	Release()
}

// Library is a compiled text.
type Library interface {
	// Pipeline makes a kernel of the library ready. It wraps core.ErrKernel.
	Pipeline(kernel string) (Pipeline, error)
	Release()
}

// Multiplication is Batch products C = A·B of matrices of f32: A is M×K, or K×M where it is transposed, B is K×N, or N×K, and C is M×N.
type Multiplication struct {
	M, N, K, Batch         int
	TransposeA, TransposeB bool
	A, B, C                Matrix
}

// Matrix describes the memory of matrices: rows of RowBytes, and matrices of MatrixBytes, which are multiples of rows.
type Matrix struct{ Rows, Columns, RowBytes, MatrixBytes int }

// Multiplier is a prepared multiplication.
type Multiplier interface {
	// Encode adds it to commands. A, B and C begin at the offsets in the buffers.
	Encode(c Commands, buffers [3]Buffer, offsets [3]int64) error
	Release()
}

// Memory, pipelines, queues and events, of package commands.
type (
	Buffer   = commands.Buffer
	Pipeline = commands.Pipeline
	Queue    = commands.Queue
	Commands = commands.Commands
	Event    = commands.Event
)
