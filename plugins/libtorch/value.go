package libtorch

import (
	"sync/atomic"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/libtorch/internal/torch"
)

// tensor is the engine's value: a tensor of torch, which exists once its queue has executed the command that creates it. The value owns the
// handles, which are deleted when neither the engine nor a command uses the tensor any more.
type tensor struct {
	desc  op.Desc
	queue *queue       // the queue that creates the tensor; nil for memory of the caller
	users atomic.Int32 // number of uses by the engine and by commands
	h     torch.Handle // written by the thread of queue, before its command is done
	// failed reports that the command that creates the tensor failed. It is written together with h.
	failed bool
	// lost reports that the command failed because its stream, or the stream of an operand, was closed first. The engine does not know of
	// such a failure. lost is written together with h.
	lost bool
	// finite says whether the elements are finite: 0 unknown, 1 all are, 2 some may not be.
	finite atomic.Int32
	// positive says in the same way whether all elements are greater than zero; it is valid if all are finite.
	positive atomic.Int32
	// aside is set for results of flash attention, and nil otherwise. It is written together with h.
	aside *aside
}

func newTensor(d op.Desc, q *queue) *tensor {
	t := &tensor{desc: d, queue: q}
	t.users.Store(1)
	return t
}

func (t *tensor) retain() { t.users.Add(1) }

// drop releases one use, and reports whether no use is left. If so, the caller must delete the handles.
func (t *tensor) drop() bool { return t.users.Add(-1) == 0 }

// handles returns all handles of the tensor.
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

// types maps burn's element types to torch's.
var types = map[dtype.DType]torch.Type{
	dtype.F64: torch.Float64, dtype.F32: torch.Float32, dtype.F16: torch.Float16, dtype.BF16: torch.BFloat16,
	dtype.I64: torch.Int64, dtype.I32: torch.Int32, dtype.I16: torch.Int16, dtype.I8: torch.Int8,
	dtype.U8: torch.Uint8, dtype.Bool: torch.Bool,
}

// typeOf contains types as an array, for speed.
var typeOf = func() (a [32]torch.Type) {
	for d, t := range types {
		a[d] = t
	}
	return a
}()

// held is the set of burn's element types that torch computes with.
var held = func() (s dtype.Set) {
	for d := range types {
		s |= dtype.SetOf(d)
	}
	return s
}()
