package core

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goburn/burn/core/op"
)

// The closed set of sentinels. Every error of a backend, a plugin or a decorator wraps exactly one of them, and errors.Is works on both
// sides of a process boundary. Test with errors.Is, never by text.
var (
	// ErrShape: shapes, axes or strides do not fit the op.
	ErrShape = op.ErrShape
	// ErrDType: the op is not defined for this element type, or operands differ in type.
	ErrDType = op.ErrDType
	// ErrAttr: an attribute is missing, of the wrong kind, or out of range.
	ErrAttr = op.ErrAttr
	// ErrUnsupported: this backend does not support the request; decompose the node or run it on another backend. It is
	// errors.ErrUnsupported.
	ErrUnsupported = op.ErrUnsupported
	// ErrIndex: an index tensor holds a value outside the indexed dimension.
	ErrIndex = errors.New("index out of range")
	// ErrOutOfMemory: the device or the process limit is exhausted; a retry may succeed after tensors are freed.
	ErrOutOfMemory = errors.New("out of memory")
	// ErrBackendLost: the backend's process or device is lost, with all of its tensors.
	ErrBackendLost = errors.New("backend lost")
	// ErrStale: the tensor id is from before a restart of the backend.
	ErrStale = errors.New("stale tensor")
	// ErrUnknownTensor: no such tensor on this device: never created, or already freed.
	ErrUnknownTensor = errors.New("unknown tensor")
	// ErrProtocol: the peer broke the wire protocol, or speaks another version.
	ErrProtocol = errors.New("protocol error")
	// ErrClosed: the stream, backend or program was closed.
	ErrClosed = errors.New("closed")
	// ErrCanceled: the context ended before the call did.
	ErrCanceled = errors.New("canceled")
	// ErrNotFound: no backend, device or program of that name or index.
	ErrNotFound = errors.New("not found")
	// ErrKernel: a kernel failed or panicked: a bug of the backend.
	ErrKernel = errors.New("kernel fault")
)

// Sentinels lists the set in the order of their wire codes, which start at 1 and never change.
func Sentinels() []error {
	return []error{ErrShape, ErrDType, ErrAttr, ErrUnsupported, ErrIndex, ErrOutOfMemory, ErrBackendLost, ErrStale,
		ErrUnknownTensor, ErrProtocol, ErrClosed, ErrCanceled, ErrNotFound, ErrKernel}
}

// NodeError is the failure of one node, or of a program if the device cannot say which node failed. It is sticky: each Read of a
// dependent result, and the next wait for an event after it, returns it.
type NodeError struct {
	Op      string // name of the op; empty where only the program is known
	Program string // name of the program that the node belongs to, if there is one
	Outputs []op.Desc
	Err     error
}

// maxNamed is the greatest number of outputs that a NodeError prints.
const maxNamed = 4

// Error prints "add t3 f32[2]: cause", or `program "step": add t3 f32[2]: cause`.
func (e *NodeError) Error() string {
	var b strings.Builder
	if e.Program != "" {
		fmt.Fprintf(&b, "program %q: ", e.Program)
	}
	if e.Op != "" {
		b.WriteString(e.Op)
		for i, d := range e.Outputs {
			if i == maxNamed {
				fmt.Fprintf(&b, " and %d more", len(e.Outputs)-i)
				break
			}
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, " %v %v", d.ID, d)
		}
		b.WriteString(": ")
	}
	return b.String() + e.Err.Error()
}

// Unwrap returns the cause.
func (e *NodeError) Unwrap() error { return e.Err }
