package onnx

import (
	"fmt"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/model/onnx/pb"
)

// fromSparse returns a dense constant for a sparse tensor of the model.
func (t *tracer) fromSparse(p *pb.SparseTensor) value {
	if d := t.s.constants[p]; d != nil {
		return tensorOf(d)
	}
	if p.Values == nil || p.Indices == nil {
		t.fail("a sparse tensor has no values or no indices")
	}
	et, err := elementType(p.Values.DataType)
	if err != nil {
		t.throw(err)
	}
	dims := make(shape.Shape, len(p.Dims))
	for i, v := range p.Dims {
		dims[i] = toInt(v)
	}
	if err := dims.Check(); err != nil {
		t.throw(err)
	}
	t.fits(op.Desc{DType: et, Shape: dims})
	values, err := p.Values.Bytes(nil)
	if err != nil {
		t.throw(err)
	}
	raw, err := p.Indices.Bytes(nil)
	if err != nil {
		t.throw(err)
	}
	size := et.Size()
	count := len(values) / size
	if p.Indices.DataType != pb.Int64 {
		t.fail("indices of a sparse tensor are %v, want INT64", p.Indices.DataType)
	}
	t.scratch(8, len(raw)/8)
	idx := toInts(dtype.I64, raw)
	per, linear := len(dims), len(p.Indices.Dims) == 1 // a position in row-major order, or an index per dimension
	switch {
	case linear && len(idx) == count:
		per = 1
	case len(p.Indices.Dims) == 2 && p.Indices.Dims[0] == int64(count) && p.Indices.Dims[1] == int64(per):
	default:
		t.fail("indices of a sparse tensor of %v with %d values are %v, want [%d] or [%d %d]", dims, count, p.Indices.Dims, count, count, per)
	}
	taken := volume(dims.Size(), size)
	t.take(taken)
	dense := make([]byte, dims.Size()*size)
	for k := range count {
		at, err := sparseOffset(dims, idx[k*per:(k+1)*per], linear)
		if err != nil {
			t.throw(err)
		}
		copy(dense[at*size:(at+1)*size], values[k*size:])
	}
	t.held -= taken
	t.s.held += taken
	return tensorOf(t.s.shared(p, et, dims, dense))
}

func sparseOffset(dims shape.Shape, idx []int, linear bool) (int, error) {
	at := 0
	for k, i := range idx {
		n := dims.Size()
		if !linear {
			n = dims[k]
		}
		if i < 0 || i >= n {
			return 0, fmt.Errorf("%w: index %d of a sparse tensor, want one in [0,%d)", ErrModel, i, n)
		}
		at = at*n + i
	}
	return at, nil
}
