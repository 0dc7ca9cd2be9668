package op

import (
	"fmt"
	"strings"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
)

// TensorID names a tensor of one device. The host assigns ids and never uses one twice. The upper 16 bits are the generation of the
// connection to the backend: an id from before a restart is stale, never another tensor.
type TensorID uint64

const sequenceBits = 48

// NewTensorID joins a generation and a sequence number. Sequence numbers start at 1; an id of zero means no tensor.
func NewTensorID(generation uint16, sequence uint64) TensorID {
	return TensorID(uint64(generation)<<sequenceBits | sequence&(1<<sequenceBits-1))
}

// Generation returns the generation of id.
func (id TensorID) Generation() uint16 { return uint16(id >> sequenceBits) }

// Sequence returns the number of id within its generation.
func (id TensorID) Sequence() uint64 { return uint64(id) & (1<<sequenceBits - 1) }

// String prints "t12", or "t12/3" in generation 3.
func (id TensorID) String() string {
	if g := id.Generation(); g != 0 {
		return fmt.Sprintf("t%d/%d", id.Sequence(), g)
	}
	return fmt.Sprintf("t%d", id.Sequence())
}

// Desc describes a tensor: its id, element type and shape. Where only type and shape matter (inference, program signatures), ID is zero. A
// Shape in a Desc is shared and must not be changed.
type Desc struct {
	ID    TensorID
	DType dtype.DType
	Shape shape.Shape
}

// DescOf returns a Desc without an id.
func DescOf(d dtype.DType, dims ...int) Desc { return Desc{DType: d, Shape: dims} }

// Bytes returns the size of the tensor's elements in row-major order without gaps.
func (d Desc) Bytes() int { return d.Shape.Size() * d.DType.Size() }

// SameType reports whether d and e agree in element type and shape; ids do not matter.
func (d Desc) SameType(e Desc) bool { return d.DType == e.DType && d.Shape.Equal(e.Shape) }

// String prints type and shape: "f32[2,3]".
func (d Desc) String() string { return d.DType.String() + d.Shape.String() }

// Node is one application of an op to tensors of a stream. It is plain data. Nodes that are passed to a backend have passed Check, and have
// every attribute of their row's schema, defaults included.
type Node struct {
	Op      Code
	Version uint16
	Inputs  []TensorID
	Outputs []Desc
	Attrs   Attrs
	// Drop has bit i set when the host releases Inputs[i] with this node, exactly as if it called Free right after it: the backend may
	// reuse the buffer for an output. Only the first 64 inputs have a bit.
	Drop uint64
}

// String prints the node on one line: "t3 f32[2] = add(t1, t2)".
func (n *Node) String() string {
	var b strings.Builder
	for i, o := range n.Outputs {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%v %v", o.ID, o)
	}
	fmt.Fprintf(&b, " = %v(", n.Op)
	for i, id := range n.Inputs {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(id.String())
		if i < 64 && n.Drop>>i&1 != 0 {
			b.WriteByte('!')
		}
	}
	b.WriteByte(')')
	if len(n.Attrs) > 0 {
		fmt.Fprintf(&b, " %v", n.Attrs)
	}
	return b.String()
}
