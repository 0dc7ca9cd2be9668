package core

import (
	"sync/atomic"

	"github.com/goburn/burn/core/op"
)

// IDs allocates the tensor ids of one device. It is safe for concurrent use. In most backends, Device.NewIDs calls New.
type IDs struct {
	generation uint16
	last       atomic.Uint64
}

// NewIDs returns an allocator of ids of one generation.
func NewIDs(generation uint16) *IDs { return &IDs{generation: generation} }

// Generation returns the generation of all ids of x.
func (x *IDs) Generation() uint16 { return x.generation }

// New returns the first of n new consecutive ids.
func (x *IDs) New(n int) op.TensorID {
	return op.NewTensorID(x.generation, x.last.Add(uint64(n))-uint64(n)+1)
}
