// Package core is the contract between burn and its backends: what a backend is, what it can be asked, and which errors
// it answers with. Nothing here needs a process, a network or cgo. A backend author implements Backend and Stream for
// the ops of core/op; sdk/serve makes a plugin process of it.
package core

import (
	"context"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// Backend is an implementation of the ops on one kind of hardware, with any number of devices of that kind.
//
// All methods are safe for concurrent use.
type Backend interface {
	// Info describes the backend and its devices. It does not block for long and does not change while the backend is
	// open, memory figures apart.
	Info() Info
	// Capabilities says which ops, types and features the backend has. The host trusts it and does not change it.
	Capabilities() *Capabilities
	// Supports answers for a concrete node with inputs in: nil, or an error that wraps ErrUnsupported and means that the
	// host should decompose the node or run it elsewhere. Any other error is a fault of the node itself.
	Supports(n *op.Node, in []op.Desc) error
	// OpenStream starts a command queue on the device with that index. The context bounds the call only.
	OpenStream(ctx context.Context, device int) (Stream, error)
	// Close ends all streams and frees everything. Calls after Close, and a second Close, return ErrClosed or nil.
	Close() error
}

// Stream is one ordered command queue on one device. Commands take effect in the order of the calls. Submit, Free and
// Run of Programs are one-way: they return before the work is done, and an error they return means that the command was
// not accepted at all.
//
// A node that fails poisons its outputs, and a node with a poisoned input poisons its own with the same error, a
// *NodeError that names the first node. The error is reported by every Read of a poisoned tensor, and by the next
// Sync, once. Other tensors stay good, and the stream goes on.
//
// A Stream is used by one goroutine at a time. Different streams of a Backend are independent and run concurrently.
type Stream interface {
	// Submit appends nodes. Every node has passed op.Check, has a row or decomposition that the backend Supports, and
	// uses ids that the host assigned and that earlier commands defined. The stream does not keep or change the slice
	// after it returned, but may keep what Inputs, Outputs and Attrs point to.
	Submit(nodes []op.Node) error
	// Free gives up tensors once all commands submitted before have used them. Freeing an unknown id is ErrUnknownTensor
	// at the next Sync.
	Free(ids []op.TensorID) error
	// Write makes tensor d.ID from d.Bytes() bytes of data: elements in row-major order, little-endian, bool one byte.
	// data may be reused when Write returns.
	Write(ctx context.Context, d op.Desc, data []byte) error
	// Read waits until tensor id is computed and fills dst, whose length is exactly the tensor's size in bytes, in the
	// format of Write. When ctx ends first, it returns ErrCanceled (wrapping the context's cause), and the stream stays
	// usable.
	Read(ctx context.Context, id op.TensorID, dst []byte) error
	// Sync waits until all commands are done and reports the first failure since the last Sync.
	Sync(ctx context.Context) error
	// Close waits for running work, drops the rest and frees all tensors of the stream. Later calls return ErrClosed.
	Close() error
}

// Programs is an optional interface of a Stream. Without it the host submits the nodes of a program one batch at a time,
// each time anew.
type Programs interface {
	// Define hands the whole program to the backend, which may choose layouts, fuse, plan memory and pack constants.
	// consts are tensors of this stream, one for each entry of p.Consts in order; the backend keeps what it needs of
	// them, and the host may free them afterwards. The program is not changed by either side from then on. Faults of
	// the program are returned here.
	Define(ctx context.Context, p *program.Program, consts []op.TensorID) (ProgramID, error)
	// Run appends one execution: inputs are bound to p.Inputs in order and stay alive; outputs are new ids for
	// p.Outputs in order. One-way; failures poison the outputs.
	Run(id ProgramID, inputs, outputs []op.TensorID) error
	// Undefine gives the program up once all commands submitted before are done.
	Undefine(id ProgramID) error
}

// ProgramID names a program on the stream that defined it.
type ProgramID uint64

// MemoryStats is an optional interface of a Stream. Without it the host reports that memory use is unknown.
type MemoryStats interface {
	// Memory gives the current use. It may be called at any time from any goroutine.
	Memory() Memory
}

// Memory is the memory use of a stream in bytes.
type Memory struct {
	InUse    int64 // held by live tensors and programs
	Reserved int64 // held from the system, pools included
	Tensors  int64 // number of live tensors
}

// Unwrapper is implemented by decorators, of backends and of streams.
type Unwrapper interface {
	// Unwrap gives the wrapped Backend or Stream.
	Unwrap() any
}

// As finds an optional interface T in v, a Backend or a Stream, or in what it wraps. A decorator that must intercept
// T implements T itself.
func As[T any](v any) (T, bool) {
	for {
		if t, ok := v.(T); ok {
			return t, true
		}
		u, ok := v.(Unwrapper)
		if !ok {
			var zero T
			return zero, false
		}
		v = u.Unwrap()
	}
}
