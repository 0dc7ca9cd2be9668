package libtorch

import (
	"sync/atomic"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/libtorch/internal/torch"
)

// tensor is the engine's value: a tensor of torch that is there once the queue that makes it has come so far. It has one handle, which
// lives until the engine and all commands that use the tensor have given it up.
type tensor struct {
	desc  op.Desc
	queue *queue // that makes it; nil for lent memory
	users atomic.Int32
	h     torch.Handle // written by the thread of queue, before its command is done
	// failed says that the command that makes it failed. It is written with h.
	failed bool
	// finite says whether the elements are finite: 0 unknown, 1 all are, 2 some may not be.
	finite atomic.Int32
	// positive is the same of being above zero, where all are finite.
	positive atomic.Int32
	// aside is of a result of attention; nil if there is none. It is written with h.
	aside *aside
}

func newTensor(d op.Desc, q *queue) *tensor {
	t := &tensor{desc: d, queue: q}
	t.users.Store(1)
	return t
}

func (t *tensor) retain() { t.users.Add(1) }

// drop releases one use. It reports whether it was the last: then the handle is the caller's to delete.
func (t *tensor) drop() bool { return t.users.Add(-1) == 0 }

// handles returns the handles that the tensor has.
func (t *tensor) handles() []torch.Handle {
	if t.aside != nil {
		return []torch.Handle{t.h, t.aside.h}
	}
	return []torch.Handle{t.h}
}

// val is a tensor within a kernel: a handle with its type and shape. It does not own the handle.
type val struct {
	h torch.Handle
	d dtype.DType
	s shape.Shape
}

// types are torch's element types.
var types = map[dtype.DType]torch.Type{
	dtype.F64: torch.Float64, dtype.F32: torch.Float32, dtype.F16: torch.Float16, dtype.BF16: torch.BFloat16,
	dtype.I64: torch.Int64, dtype.I32: torch.Int32, dtype.I16: torch.Int16, dtype.I8: torch.Int8,
	dtype.U8: torch.Uint8, dtype.Bool: torch.Bool,
}

// typeOf is the same as an array.
var typeOf = func() (a [32]torch.Type) {
	for d, t := range types {
		a[d] = t
	}
	return a
}()

// held are the element types of burn that torch computes with.
var held = func() (s dtype.Set) {
	for d := range types {
		s |= dtype.SetOf(d)
	}
	return s
}()
