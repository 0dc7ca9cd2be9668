package core

import (
	"context"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// Extension returns the extension T of a device, one of the interfaces below, and whether the device has it. The comment of each extension
// says what the host does without it.
func Extension[T any](d Device) (T, bool) {
	var t T
	ok := d.Extend(&t)
	return t, ok
}

// WrapExtension sets *target to wrap(x), where x is the extension T of the device below, and reports whether that device has it. Decorators
// call it in Extend for extensions that they wrap.
func WrapExtension[T any](below Device, target *T, wrap func(T) T) bool {
	t, ok := Extension[T](below)
	if ok {
		*target = wrap(t)
	}
	return ok
}

// Selective is for devices that need to see a concrete node to decide whether they support it. Without it, the Capabilities are complete,
// and the host does not query nodes. No backend of this module needs it.
type Selective interface {
	// Supports reports whether the device runs a node with inputs in, which the Capabilities allow. It returns nil, or an error that wraps
	// ErrUnsupported, which means that the host should decompose the node or run it elsewhere. Any other error means that the node is
	// invalid.
	Supports(n *op.Node, in []op.Desc) error
}

// Programs runs whole programs. Without it, the host submits the nodes of a program at each run. Every backend over sdk/engine has it.
type Programs interface {
	// Define passes the whole program to the device, which may choose layouts, fuse, plan memory and pack constants. consts are tensors of
	// the device that exist at this position of s, one for each entry of p.Consts in order. The device keeps the data that it needs, so the
	// host may free them afterwards. Neither side changes the program afterwards. Define waits for the commands of s before it. If the
	// program is invalid, Define returns the error.
	Define(ctx context.Context, s Stream, p *program.Program, consts []op.TensorID) (ProgramID, error)
	// Run appends one execution to s. It does not wait; failures poison the outputs.
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
	// Donated says which inputs the host donates to the run, exactly as if it freed them right after it: outputs may reuse their memory. It
	// is nil, which means none, or as long as Inputs. If a donated id occurs more than once among Inputs, Run returns ErrAttr.
	Donated []bool
	// Outputs are new ids for the program's outputs in order.
	Outputs []op.TensorID
}

// MemoryStats reports memory use. Without it the host reports that memory use is unknown.
type MemoryStats interface {
	// Memory returns the current use of the device. It may be called at any time.
	Memory() Memory
}

// Memory is the memory use of a device in bytes.
type Memory struct {
	InUse    int64 // held by live tensors and programs
	Reserved int64 // allocated from the system, pools included
	Tensors  int64 // number of live tensors
}

// HostMemory is for devices that can use memory of the host's process directly. Without it, and wherever a method returns ErrUnsupported,
// the host copies with Write and Read.
type HostMemory interface {
	// Adopt creates tensor d.ID from data, in the format of Write. The caller lends data: the device uses it in place or copies it
	// asynchronously, and never writes to it. It calls release once, from any goroutine, when it no longer reads data, at the latest when
	// the device is closed. If Adopt returns an error, it creates no tensor and does not call release.
	Adopt(s Stream, d op.Desc, data []byte, release func()) error
	// View waits until tensor id is computed on s and calls use once with its elements in place, in the format of Read. They are valid
	// until use returns, and must not be changed. View returns the error of use. ErrUnsupported (the elements are not in row-major order,
	// or not in host memory) means that the caller should use Read.
	View(ctx context.Context, s Stream, id op.TensorID, use func(data []byte) error) error
}

// Pinning is for devices that copy faster from and to host memory that was registered with them. Without it memory is used unregistered.
type Pinning interface {
	// Pin registers data. The caller calls unpin once, after all commands that use data have completed.
	Pin(data []byte) (unpin func(), err error)
}

// PeerCopy copies between devices of one backend without going through the host. Without it the host reads and writes.
type PeerCopy interface {
	// CopyFrom creates tensor d.ID at this position of s, a stream of this device, from tensor id of device src. s must have waited for an
	// event after the command that creates id, and the caller must not free id before an event of s after the copy. If src belongs to
	// another backend, CopyFrom returns ErrUnsupported.
	CopyFrom(s Stream, d op.Desc, src Device, id op.TensorID) error
}

// Collectives lets devices compute together, one rank each. Without it the host reads, combines and writes.
type Collectives interface {
	// Join adds the device to the group named key, which has size ranks, as the rank with number rank. It waits for the other ranks. Each
	// rank joins once, on devices of one backend or of backends that can reach each other. Join returns ErrAttr if ranks disagree about
	// size. All ranks must call the same methods of Group in the same order.
	Join(ctx context.Context, key string, rank, size int) (Group, error)
}

// Group is the membership of a device in a group of ranks. Its methods append commands to a stream of the device and do not wait. If a rank
// fails or leaves, the outputs of all ranks are poisoned. One goroutine at a time calls the methods.
type Group interface {
	// AllReduce creates out, of the type and shape of in: the sum, product, minimum or maximum over all ranks, element by element. It
	// combines in the order of ranks, so that all ranks get the same bits.
	AllReduce(s Stream, by Reduction, in op.TensorID, out op.Desc) error
	// AllGather creates out, the concatenation of the inputs of all ranks along axis 0, in the order of ranks.
	AllGather(s Stream, in op.TensorID, out op.Desc) error
	// Broadcast creates out, on every rank, as a copy of tensor in of rank root. Other ranks pass a tensor of the same type and shape as
	// in.
	Broadcast(s Stream, root int, in op.TensorID, out op.Desc) error
	// Close leaves the group. On other ranks, pending commands of the group fail with ErrClosed.
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
