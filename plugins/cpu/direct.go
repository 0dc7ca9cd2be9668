package cpu

import (
	"context"
	"fmt"
	"unsafe"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
	"github.com/goburn/burn/plugins/cpu/internal/mem"
)

var _ core.DirectIO = (*stream)(nil)

// Adopt implements core.DirectIO. It takes memory that is aligned to 64 bytes and elements of any type but bool, whose
// bytes Write makes 0 or 1.
func (s *stream) Adopt(_ context.Context, d op.Desc, data []byte, release func()) error {
	switch {
	case s.closed.Load():
		return closedError()
	case !d.DType.Valid():
		return fmt.Errorf("cpu: adopt %v: %w", d, core.ErrDType)
	case d.Shape.Check() != nil:
		return fmt.Errorf("cpu: adopt %v: %w", d, core.ErrShape)
	case len(data) != d.Bytes():
		return fmt.Errorf("cpu: adopt %v, got %d bytes, want %d: %w", d, len(data), d.Bytes(), core.ErrShape)
	case d.DType == dtype.Bool || len(data) == 0 || uintptr(unsafe.Pointer(unsafe.SliceData(data)))%mem.Align != 0:
		return fmt.Errorf("cpu: adopt %v: %w", d, core.ErrUnsupported)
	}
	buf, err := s.env.Account.Adopt(data, release)
	if err != nil {
		return fmt.Errorf("cpu: adopt %v: %w", d, err)
	}
	a := kernel.Array{Buf: buf, DType: d.DType, View: shape.Contiguous(d.Shape.Clone())}
	err = s.push(func(q *queue) {
		q.arrays = append(q.arrays, a)
		q.commands = append(q.commands, command{kind: doWrite, from: len(q.arrays) - 1, id: uint64(d.ID)})
	})
	if err != nil {
		s.env.Account.Drop(int64(len(data))) // the buffer is not released: the caller keeps data
	}
	return err
}

// View implements core.DirectIO.
func (s *stream) View(ctx context.Context, id op.TensorID, use func(data []byte) error) error {
	if err := s.arrive(ctx); err != nil {
		return err
	}
	defer s.exec.Unlock()
	t := s.live[id]
	switch {
	case t == nil:
		return fmt.Errorf("cpu: view %v: %w", id, s.missing(id))
	case t.err != nil:
		return t.err
	case !t.View.IsContiguous():
		return fmt.Errorf("cpu: view %v: elements out of order: %w", id, core.ErrUnsupported)
	}
	size := t.DType.Size()
	if t.Size() == 0 {
		return use(nil)
	}
	from := t.View.Offset * size
	return use(t.Buf.Bytes()[from : from+t.Size()*size])
}
