// Package core is the contract between burn and its backends: the interfaces, the capability documents, and the errors. Hosts, decorators
// and backends depend on it; it must not depend on a process, a network or cgo.
//
// A Backend opens Devices. A Device owns memory: tensors and programs belong to it and are shared by all callers. A Stream is an ordered
// queue of work on a Device and owns nothing. Every backend implements these three interfaces; everything else is an extension (Extension).
// Backend authors in Go implement the few methods of sdk/engine instead of this package; sdk/serve turns the result into a plugin process.
package core

import (
	"context"

	"github.com/goburn/burn/core/op"
)

// Backend is an implementation of the ops on one kind of hardware, with any number of devices of that kind.
//
// All methods are safe for concurrent use.
type Backend interface {
	// Info describes the backend and its devices. It does not block for long. While the backend is open, only memory figures change.
	Info() Info
	// Open opens the device with that index of Info. Each call returns a Device with separate tensors and programs, even if the index is
	// already open. If the index does not exist, it returns ErrNotFound. The context bounds the call only.
	Open(ctx context.Context, device int) (Device, error)
	// Close closes all devices. Later calls, also of Close, return ErrClosed or nil.
	Close() error
}

// Device owns tensors and programs. Their ids are valid on all of its streams.
//
// All methods are safe for concurrent use.
type Device interface {
	// Capabilities returns what the device claims. The host trusts it and does not change it: a node that the document allows is
	// submitted without a query (see Selective for devices whose document cannot say everything).
	Capabilities() *Capabilities
	// NewIDs returns the first of n new consecutive tensor ids. All tensors of the device have ids from this method; the host and
	// decorators call it too. Ids carry the generation of the connection to the device.
	NewIDs(n int) op.TensorID
	// OpenStream starts a queue. The context bounds the call only.
	OpenStream(ctx context.Context) (Stream, error)
	// Extend sets *target, which is a pointer to one of the extension interfaces of this package, and reports whether the device has that
	// extension. A decorator supports only the extensions that it knows. The function Extension is the typed form.
	Extend(target any) bool
	// Close ends all streams and frees all tensors and programs. Later calls return ErrClosed.
	Close() error
}

// Stream is one ordered queue of work on a Device. Commands take effect in the order of the calls. Commands return before their work is
// done. If a command returns an error, it was not accepted and has no effect.
//
// Streams of a device run concurrently. If a command uses a tensor that another stream creates, or frees one that another stream uses,
// Signal and Wait must order the two commands; decorators/verify finds violations. Otherwise the tensor may not exist yet, and the command
// fails with ErrUnknownTensor.
//
// A node that fails poisons its outputs. A node with a poisoned input poisons its own outputs with the same error. The error is a
// *NodeError that names the node that failed first. If the device cannot say which node failed, the error names only the program. It never
// names another node. Every Read of a poisoned tensor reports the error; the next event of the stream that the host waits for reports it
// once. Other tensors remain valid, and the stream continues.
//
// The methods of a Stream are called by one goroutine at a time. Any goroutine may wait for the tickets and events that they return.
type Stream interface {
	// Submit appends nodes, then frees the tensors of free. Every node has passed op.Check, is allowed by the device's Capabilities, and
	// uses ids that earlier commands defined. The stream does not keep or change the slices after it returned, but may keep the memory that
	// Inputs, Outputs and Attrs of nodes point to. If an id in free is unknown, the next event returns ErrUnknownTensor.
	Submit(nodes []op.Node, free []op.TensorID) error
	// Write creates tensor d.ID from d.Bytes() bytes of data: elements in row-major order, little-endian, bool one byte. data may be reused
	// when Write returns; HostMemory.Adopt does not copy first. The context bounds the wait for memory.
	Write(ctx context.Context, d op.Desc, data []byte) error
	// Read requests the elements of tensor id, in the format of Write, and returns at once. The ticket reads the tensor as of this position
	// in the queue, regardless of later commands. dst, whose length is exactly the tensor's size in bytes, is written only by Ticket.Wait.
	Read(id op.TensorID, dst []byte) Ticket
	// Signal marks this position in the queue. Waiting for the event on the host waits for all commands before it and reports the first
	// failure among them that was not reported before.
	Signal() Event
	// Wait makes all later commands wait for e, an event of a stream of the same backend. It does not block the host, and does not
	// propagate failures. For an event of another backend it returns ErrAttr.
	Wait(e Event) error
	// Close waits for the running work, drops the rest and releases the queue. Tensors stay alive, except those that dropped
	// commands would have freed. Tickets and events that were not reached, and later calls, return ErrClosed.
	Close() error
}

// Ticket is a pending result of a stream.
type Ticket interface {
	// Wait waits for the result. If ctx ends first, it returns ErrCanceled, which wraps the context's cause. It is called once, from any
	// goroutine. A ticket of Read holds the tensor's memory until then. After Wait has returned, with any error or none, nothing writes to
	// its destination.
	Wait(ctx context.Context) error
}

// Event is a position in a stream. Its Wait may be called any number of times. It may be passed to Stream.Wait of other streams before it
// is reached.
type Event interface {
	Ticket
}

// Sync waits until all commands of s are done and returns the first failure that was not returned before.
func Sync(ctx context.Context, s Stream) error { return s.Signal().Wait(ctx) }

// Read waits until tensor id is computed on s and fills dst with its elements.
func Read(ctx context.Context, s Stream, id op.TensorID, dst []byte) error {
	return s.Read(id, dst).Wait(ctx)
}

// Failed returns a Ticket or Event whose Wait returns err, for a request that was not accepted.
func Failed(err error) Event { return failed{err} }

type failed struct{ err error }

func (f failed) Wait(context.Context) error { return f.err }
