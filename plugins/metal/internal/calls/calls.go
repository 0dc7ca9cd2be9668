// Package calls is the interface between the metal plugin's driver and the implementations of Metal: the implementation of Apple (package
// apple), and an implementation for the tests, which runs kernels on the processor thread by thread (package processor). The methods are
// named after the methods of Metal. The package must hold no code. Arguments are valid: the driver has checked them before.
package calls

import "github.com/goburn/burn/sdk/gpu/commands"

// API is an implementation of Metal.
type API interface {
	// Devices returns the devices. Each call returns the same devices. If there are no devices, the error wraps core.ErrNotFound and names
	// the remedy.
	Devices() ([]Device, error)
}

// Facts describe a device.
type Facts struct {
	Name     string
	System   string   // operating system and version; the compiler is part of it
	Families []string // families of GPUs to which the device belongs, such as Apple7 and Metal3
	Memory   int64    // bytes that the device can use without a loss of speed: recommendedMaxWorkingSetSize
	Largest  int64    // bytes of the largest buffer: maxBufferLength
	Shared   int      // bytes of memory of a threadgroup: maxThreadgroupMemoryLength
	Unified  bool     // the device shares the memory of the processor
	External bool     // the device can be unplugged
}

// Device is a GPU. Its methods may be called concurrently.
type Device interface {
	Facts() Facts
	commands.Calls
	// NewLibrary compiles a text, with exact arithmetic. If the compiler refuses the text, the error wraps core.ErrKernel and contains the
	// compiler's messages.
	NewLibrary(text string) (Library, error)
	// NewMultiplication prepares products of matrices by the system's library. The error wraps core.ErrUnsupported if the library is
	// missing or does not support the device.
	NewMultiplication(m Multiplication) (Multiplier, error)
	// Release releases the device. Devices that are listed later are not affected.
	Release()
}

// Library is a compiled text.
type Library interface {
	// Pipeline creates the pipeline of a kernel of the library. Its error wraps core.ErrKernel.
	Pipeline(kernel string) (Pipeline, error)
	Release()
}

// Multiplication describes Batch products C = A·B of matrices of f32: A is M×K, or K×M if it is transposed, B is K×N, or N×K if it is
// transposed, and C is M×N.
type Multiplication struct {
	M, N, K, Batch         int
	TransposeA, TransposeB bool
	A, B, C                Matrix
}

// Matrix describes the memory of matrices: RowBytes is the distance between rows, and MatrixBytes the distance between matrices, a multiple
// of RowBytes.
type Matrix struct{ Rows, Columns, RowBytes, MatrixBytes int }

// Multiplier is a prepared multiplication.
type Multiplier interface {
	// Encode adds the multiplication to commands. A, B and C begin at the offsets in the buffers.
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
