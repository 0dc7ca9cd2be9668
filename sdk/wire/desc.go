package wire

import (
	"encoding/binary"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// appendType writes element type, rank and dimensions.
func appendType(b []byte, d op.Desc) []byte {
	b = append(b, byte(d.DType), byte(len(d.Shape)))
	for _, n := range d.Shape {
		b = binary.AppendUvarint(b, uint64(n))
	}
	return b
}

func (r *reader) dtype() dtype.DType {
	d := dtype.DType(r.byte())
	if r.err == nil && !d.Valid() {
		r.fail("element type %d", d)
	}
	return d
}

// shape reads rank and dimensions into a slice from alloc, and refuses illegal shapes. The shape of a scalar is nil.
func (r *reader) shape(alloc func(int) shape.Shape) shape.Shape {
	rank := int(r.byte())
	if rank > shape.MaxRank {
		r.fail("rank %d, at most %d", rank, shape.MaxRank)
	}
	if r.err != nil || rank == 0 {
		return nil
	}
	s := alloc(rank)
	for i := range s {
		n := r.uvarint()
		if n > 1<<62 {
			r.fail("dimension %d", n)
			return nil
		}
		s[i] = int(n)
	}
	if r.err == nil {
		if err := s.Check(); err != nil {
			r.fail("%v", err)
		}
	}
	return s
}
