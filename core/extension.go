package core

import (
	"context"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// Extension returns the extension T of a device, one of the interfaces below, and whether there is one. The comment of
// each says what the host does without it.
func Extension[T any](d Device) (T, bool) {
	var t T
	ok := d.Extend(&t)
	return t, ok
}

// WrapExtension sets target to wrap of the extension T of the device below, and reports whether that device has one. It
// is the answer of a decorator's Extend for an extension that the decorator passes on changed.
func WrapExtension[T any](below Device, target *T, wrap func(T) T) bool {
	t, ok := Extension[T](below)
	if ok {
		*target = wrap(t)
	}
	return ok
}

// Selective is for a device that can say only of a concrete node whether it runs it. Without it, the Capabilities say
// all, and no node is asked about. Every backend of this module is without.
type Selective interface {
	// Supports answers for a node that the Capabilities allow, with inputs in: nil, or an error that wraps ErrUnsupported
	// and means that the host should decompose the node or run it elsewhere. Any other error is a fault of the node.
	Supports(n *op.Node, in []op.Desc) error
}

// Programs runs whole programs. Without it, the host submits the nodes of a program each time anew. Every backend over
// sdk/engine has it.
type Programs interface {
	// Define passes the whole program to the device, which may choose layouts, fuse, plan memory and pack constants. consts are
	// tensors of the device that exist at this place of s, one for each entry of p.Consts in order. The device keeps the data
	// that it needs, so the host may free them afterwards. The program is not changed by either side from then on. Define waits
	// for the commands of s before it. Faults of the program are returned here.
	Define(ctx context.Context, s Stream, p *program.Program, consts []op.TensorID) (ProgramID, error)
	// Run appends one execution to s. One-way; failures poison the outputs.
	Run(s Stream, r Run) error
	// Undefine releases the program. Runs that were accepted complete.
	Undefine(id ProgramID) error
}

// ProgramID names a program on the device that defined it.
type ProgramID uint64

// Run is one execution of a program.
type Run struct {
	Program ProgramID
	// Inputs are bound to the program's inputs in order.
	Inputs []op.TensorID
	// Donated says which inputs the host donates to the run, exactly as if it freed them right after it: outputs may reuse their
	// memory. It is nil for none, else as long as Inputs. A donated id must occur only once among Inputs, else Run returns
	// ErrAttr.
	Donated []bool
	// Outputs are new ids for the program's outputs in order.
	Outputs []op.TensorID
}

// MemoryStats reports memory use. Without it the host says that memory use is unknown.
type MemoryStats interface {
	// Memory returns the current use of the device. It may be called at any time.
	Memory() Memory
}

// Memory is the memory use of a device in bytes.
type Memory struct {
	InUse    int64 // held by live tensors and programs
	Reserved int64 // held from the system, pools included
	Tensors  int64 // number of live tensors
}

// HostMemory is for devices that work with memory of the host's process. Without it, and wherever a method returns
// ErrUnsupported, the host copies with Write and Read.
type HostMemory interface {
	// Adopt makes tensor d.ID from data, in the format of Write. The caller lends data: the device uses it in place or copies it
	// while other work goes on, never writes to it, and calls release once, from any goroutine, when it will not read it any
	// more: at the latest when the device is closed. With an error nothing is made, and release is not called.
	Adopt(s Stream, d op.Desc, data []byte, release func()) error
	// View waits until tensor id is computed on s and calls use once with its elements in place, in the format of Read. They are
	// valid and must not be changed until use returns. The error of use is returned. ErrUnsupported (the elements are not in
	// row-major order, or not in host memory) means that the caller should use Read.
	View(ctx context.Context, s Stream, id op.TensorID, use func(data []byte) error) error
}

// Pinning is for devices that copy faster from and to host memory that was registered with them. Without it memory is
// used as it is.
type Pinning interface {
	// Pin registers data. The caller calls unpin once, when no command that uses data is open any more.
	Pin(data []byte) (unpin func(), err error)
}

// PeerCopy copies between devices of one backend without a way through the host. Without it the host reads and writes.
type PeerCopy interface {
	// CopyFrom makes tensor d.ID at this place of s, a stream of this device, from tensor id of device src. What makes id
	// is ordered before it by an event that s waits for; src keeps id until an event of s after the copy. A device of
	// another backend is ErrUnsupported.
	CopyFrom(s Stream, d op.Desc, src Device, id op.TensorID) error
}

// Collectives lets devices compute together, one rank each. Without it the host reads, combines and writes.
type Collectives interface {
	// Join makes the device one of size ranks that meet under key, and waits for the others. Every rank is there once,
	// on devices of one backend or of backends that reach each other; ranks that differ in size are ErrAttr. The ranks
	// call the same methods in the same order.
	Join(ctx context.Context, key string, rank, size int) (Group, error)
}

// Group is a device's place among ranks. Its methods append to a stream of the device and are one-way; a rank that fails
// or leaves poisons the outputs of all. They are called by one goroutine at a time.
type Group interface {
	// AllReduce makes out, of the type and shape of in, the sum, product, least or greatest over all ranks, element by
	// element, in the order of ranks: all ranks get the same bits.
	AllReduce(s Stream, by Reduction, in op.TensorID, out op.Desc) error
	// AllGather makes out of the inputs of all ranks, joined along axis 0 in the order of ranks.
	AllGather(s Stream, in op.TensorID, out op.Desc) error
	// Broadcast makes out, on every rank, a copy of tensor in of rank root. Other ranks pass an in of the same type and shape.
	Broadcast(s Stream, root int, in op.TensorID, out op.Desc) error
	// Close leaves the group. Work that waits for the rank fails with ErrClosed on the others.
	Close() error
}

// Reduction describes how AllReduce combines elements.
type Reduction uint8

// The reductions.
const (
	ReduceSum Reduction = iota
	ReduceProd
	ReduceMax
	ReduceMin
)

// Op returns the binary op of the contract that combines two tensors: add, mul, max or min.
func (r Reduction) Op() op.Code {
	switch r {
	case ReduceProd:
		return op.Mul
	case ReduceMax:
		return op.Max
	case ReduceMin:
		return op.Min
	}
	return op.Add
}

// String prints "sum", "prod", "max" or "min".
func (r Reduction) String() string {
	switch r {
	case ReduceSum:
		return "sum"
	case ReduceProd:
		return "prod"
	case ReduceMax:
		return "max"
	case ReduceMin:
		return "min"
	}
	return "unknown"
}
