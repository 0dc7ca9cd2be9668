// Package engine is the part of a backend that is the same for all hardware: ids, queues, events, ordering, poison, stale ids, drop and
// donation, program replay, peer copies and collectives over the host. A backend author implements Driver, Device and Queue, about ten
// methods, and New returns a core.Backend for them. For better performance, with compiled programs, lent memory or asynchronous work, the
// author implements optional interfaces of this package. The engine implements core, the contract, on top of these interfaces. The engine
// must not know any op: it passes nodes to Queue.Execute in a legal order, and never two at a time on one queue.
//
// # Files, in the order of the data
//
//	author.go             the interfaces that a backend author implements
//	backend.go, device.go the backend and its devices
//	stream.go, queue.go   a stream: commands appended by calls, executed by a worker or a waiter
//	execute.go            one command: operands gathered, a node computed, outputs defined
//	cell.go, table.go     tensors: reference-counted cells, by id
//	program.go, replay.go programs: the author's plans, or nodes one by one
//	ticket.go, event.go,  reads, events, and the latch that both wait for
//	latch.go
//	late.go               failures that asynchronous queues report late
//	hostmemory.go, peer.go, collective.go, profile.go  extensions of core
package engine

import (
	"context"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// Driver is the author's backend, passed to New. V is the author's type for the value of a tensor: a buffer, an array with
// strides, a handle.
type Driver[V any] interface {
	// Info describes the backend.
	Info() core.Info
	// Open opens the device with that index in Info. It may be called more than once for an index.
	Open(ctx context.Context, device int) (Device[V], error)
	// Close is called once, after all devices are closed.
	Close() error
}

// Device is the author's side of an opened device. All methods except Close are called concurrently.
type Device[V any] interface {
	// Capabilities returns the document of the device. It does not change.
	Capabilities() *core.Capabilities
	// Upload creates a value from host memory in the format of core.Stream.Write. data has d.Bytes() bytes and must not be kept.
	// Upload converts elements of type bool that are not 0 to 1.
	Upload(d op.Desc, data []byte) (V, error)
	// Download copies the elements of v to dst, which has d.Bytes() bytes. Nothing writes to v meanwhile.
	Download(dst []byte, d op.Desc, v V) error
	// Release frees v. The engine calls it once for every value that it owns: values from Upload, Enqueue and Adopt, and outputs of Execute
	// and Plan.Run.
	Release(v V)
	// OpenQueue opens a queue, on which one stream executes.
	OpenQueue() (Queue[V], error)
	// Close is called once, after all queues are closed and all values are released.
	Close()
}

// Queue executes commands, one at a time, not always from the same goroutine.
type Queue[V any] interface {
	// Execute computes c.Node, whose op and version the capabilities claim, and sets c.Out. After an error no entry of c.Out may hold a
	// value. A panic becomes the node's core.ErrKernel.
	Execute(c *Call[V]) error
	// Close is called once, when nothing executes.
	Close()
}

// Call is one node to be computed. It is valid until Execute returns.
type Call[V any] struct {
	Node *op.Node
	// In are the operands, and Descs their types and shapes.
	In    []V
	Descs []op.Desc
	// Owned has bit i set if nothing else uses In[i] afterwards: Execute may overwrite its memory, and may return it as an output after
	// calling Take. The engine does not know whether other values share its memory: the author must check that.
	Owned uint64
	// Out receives the results, one for each of Node.Outputs, which contains their types and shapes.
	Out []V

	taken uint64
}

// Take transfers operand i, whose bit in Owned is set, to the caller: the engine will not release it.
func (c *Call[V]) Take(i int) V {
	c.taken |= 1 << i
	return c.In[i]
}

// Interrupter is an optional interface of a Queue whose commands may run long. Without this interface, closing a stream waits for the
// command that executes.
type Interrupter interface {
	// Interrupt is called once, before Close, from any goroutine. The executing command may then end early with core.ErrCanceled.
	Interrupt()
}

// Planner is an optional interface of a Device that compiles whole programs. Without this interface, or if Plan returns
// core.ErrUnsupported, the engine runs a program node by node and releases buffers at their last use.
type Planner[V any] interface {
	// Plan compiles p, which has been checked. consts are the values of p.Consts. If the plan needs a constant after Plan returns, the
	// author calls the constant's Retain, and calls the returned function when the plan no longer needs it. Plan may use q, which executes
	// nothing else meanwhile. If q is asynchronous, the engine waits for the work that Plan started on it before the program runs on any
	// queue.
	Plan(ctx context.Context, q Queue[V], p *program.Program, consts []Const[V]) (Plan[V], error)
}

// Const is a constant of a program. Its value is never overwritten.
type Const[V any] struct {
	Value V
	Desc  op.Desc
	// Retain keeps Value alive after Plan returns, until the returned function is called.
	Retain func() (release func())
}

// Plan is a compiled program. Run may be called on several queues at once.
type Plan[V any] interface {
	// Run executes on q. in holds the program's inputs in order. Run may overwrite input i if owned[i] is set, and may take it, as with
	// Call.Take, by setting owned[i] to false. out receives the program's outputs; the engine releases each of these values. After an error
	// no entry of out may hold a value.
	Run(q Queue[V], in []V, owned []bool, out []V) error
	// Close releases the plan. It is called once, when no run is in progress.
	Close()
}

// Profiled is an optional interface of a Plan that can measure the duration of its steps. Without this interface, a profile has one record
// for each run, except for programs that the engine itself runs node by node on a synchronous queue.
type Profiled[V any] interface {
	// RunProfiled does what Run does, and reports the steps to t. It is called instead of Run while the device records a profile.
	RunProfiled(q Queue[V], in []V, owned []bool, out []V, t *Steps) error
}

// Meter is an optional interface of a Device that knows its memory use. Without this interface, the engine counts elements.
type Meter interface {
	// Memory returns the bytes used by values and plans, and the bytes allocated from the system.
	Memory() (inUse, reserved int64)
}

// Adopter is an optional interface of a Device that can compute on host memory in place. Without this interface, or if Adopt returns
// ErrUnsupported, lent memory is copied on the queue.
type Adopter[V any] interface {
	// Adopt creates a value that uses data in place. release is called once, when nothing reads data any more.
	Adopt(d op.Desc, data []byte, release func()) (V, error)
}

// Viewer is an optional interface of a Device whose values are in host memory. Without this interface, core.HostMemory.View returns
// ErrUnsupported.
type Viewer[V any] interface {
	// View returns the memory of v if its elements are in row-major order, and whether they are.
	View(d op.Desc, v V) ([]byte, bool)
}

// Extender is an optional interface of a Device with further extensions, which the engine does not implement or the author implements
// better. The extensions receive streams of the engine.
type Extender interface {
	// Extend is like core.Device.Extend.
	Extend(target any) bool
}

// Asynchronous is an optional interface of a Queue whose Execute only starts the work. The engine then does not call Upload and
// Download of the Device.
type Asynchronous[V any] interface {
	// Record returns a mark of the current position in the queue.
	Record() (Mark, error)
	// Await makes all later work wait for a mark of another queue of the backend.
	Await(m Mark) error
	// Enqueue creates a value from data, like Device.Upload, in the order of the queue. It calls done once, after data has been read.
	Enqueue(d op.Desc, data []byte, done func()) (V, error)
	// Fetch copies v to dst in the order of the queue. dst is valid until a mark recorded afterwards is reached.
	Fetch(dst []byte, d op.Desc, v V) error
}

// Checked is an optional interface of an Asynchronous queue that learns late which of its commands failed. A failure then poisons only the
// outputs of that command. Without this interface, the engine has to suspect all commands since the previous mark.
type Checked interface {
	// Check is called after each command that was started. It returns a function that returns the command's error. The engine calls that
	// function at most once, after a later mark is reached. A nil function means that the command can fail only if the device does.
	Check() func() error
}

// Mark is a position in an asynchronous queue.
type Mark interface {
	// Wait waits until the queue has reached the mark, and returns the error of the work since the previous mark, or nil. It may be called
	// more than once and from any goroutine.
	Wait() error
}
