package onnx

import (
	"context"
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/model/onnx/pb"
)

// tracer walks a graph with the inputs of one run and turns it into steps. One goroutine uses it for one run. Its methods panic
// with a fault; the walk turns the fault into an error that names the node.
type tracer struct {
	ctx context.Context
	s   *Session
	now *run

	scopes []*scope
	frames []*frame
	spent  int   // nodes converted
	held   int64 // bytes that count against the budget, without the bytes of frames
	stays  int64 // part of held that the plan keeps

	seg    *segment
	at     link    // place of the next step in the plan
	done   int     // steps of the plan that were executed before tracing began
	seen   int     // number of answers of the run that were used
	slots  []*data // data in each slot of the run; nil once it was released
	open   []int   // slots that are neither released nor owned by the caller
	inputs int     // slots owned by the caller

	claimed *link   // the place in the plan for which other runs wait
	made    []*data // constants whose tensors this trace owns
	report  *Report // report of Explain, or nil
}

// do emits one contract op and returns its first result. If all operands are constant, it is computed at once and the result is
// constant.
func (t *tracer) do(c op.Code, in []value, attrs ...op.Attr) value { return t.all(c, in, attrs...)[0] }

// all is like do, but returns all results.
func (t *tracer) all(c op.Code, in []value, attrs ...op.Attr) []value {
	for len(in) > 0 && !in[len(in)-1].present() {
		in = in[:len(in)-1]
	}
	descs := make([]op.Desc, len(in))
	constant := true
	for i, v := range in {
		if !v.isTensor() {
			t.fail("%v: operand %d is %v, want a tensor", c, i, v.kind)
		}
		descs[i] = v.data.desc()
		constant = constant && v.data.constant
	}
	n, err := op.New(c, descs, attrs...)
	if err != nil {
		t.throw(err)
	}
	for _, d := range n.Outputs {
		t.fits(d)
	}
	if window := shape.Shape(n.Attrs.Ints("window")); window != nil { // the work is much greater than the number of elements of the padded operand
		if err := window.Check(); err != nil {
			t.throw(err)
		}
		t.fits(op.Desc{DType: descs[0].DType, Shape: window})
	}
	if constant {
		return t.fold(&n, in)
	}
	for i, v := range in {
		n.Inputs[i] = t.use(v.data)
	}
	return t.record(n)
}

// fits checks a tensor against the options.
func (t *tracer) fits(d op.Desc) {
	if limit := t.s.options.MaxTensorBytes; int64(d.Shape.Size()) > limit/int64(max(1, d.DType.Size())) {
		t.throw(fmt.Errorf("a tensor of %v is above %d bytes: %w", d, limit, ErrLimit))
	}
}

// fail ends the conversion: the node is illegal.
func (t *tracer) fail(format string, args ...any) {
	t.throw(fmt.Errorf("%w: "+format, append([]any{ErrModel}, args...)...))
}

// unsupported ends the conversion: the node is legal, but burn does not implement it.
func (t *tracer) unsupported(format string, args ...any) {
	t.throw(fmt.Errorf("%w: "+format, append([]any{core.ErrUnsupported}, args...)...))
}

func (t *tracer) throw(err error) { panic(fault{err}) }

// need checks that these inputs of n are tensors.
func (t *tracer) need(n *node, inputs ...int) {
	for _, i := range inputs {
		if v := n.input(i); !v.isTensor() {
			t.fail("input %d is %v, want a tensor", i, v.kind)
		}
	}
}

// hostInts returns the content of an integer, bool or float tensor, with floats truncated. For a live value this ends the
// segment.
func (t *tracer) hostInts(v value) []int {
	b := t.hostBytes(v)
	t.scratch(8, v.shape()...)
	return toInts(v.dtype(), b)
}

// hostDims is like hostInts, for a list with one entry per dimension: shapes, axes, repeats, pads.
func (t *tracer) hostDims(v value) []int {
	if n := v.shape().Size(); v.isTensor() && n > 2*shape.MaxRank {
		t.unsupported("a list of %d entries for the dimensions of a tensor, of which there are at most %d", n, shape.MaxRank)
	}
	return t.hostInts(v)
}

// hostFloats returns the content of a tensor of any type.
func (t *tracer) hostFloats(v value) []float64 {
	b := t.hostBytes(v)
	t.scratch(8, v.shape()...)
	return toFloats(v.dtype(), b)
}

// hostBool returns the only element of a tensor as a bool.
func (t *tracer) hostBool(v value) bool {
	if !v.isTensor() || v.shape().Size() != 1 {
		t.fail("%v of shape %v, want a tensor of one element", v.kind, v.shape())
	}
	return t.hostFloats(v)[0] != 0
}

// hostBytes returns the content of a tensor: row-major, little-endian. It must not be changed.
func (t *tracer) hostBytes(v value) []byte {
	if !v.isTensor() {
		t.fail("the content of %v is asked for, want a tensor", v.kind)
	}
	return t.content(v.data)
}

// constant returns a constant and takes ownership of data.
func (t *tracer) constant(d dtype.DType, s shape.Shape, data []byte) value {
	t.take(int64(len(data)))
	return t.counted(d, s, data)
}

// counted is like constant, for data that the budget has already counted.
func (t *tracer) counted(d dtype.DType, s shape.Shape, data []byte) value {
	c := t.newData(d, s)
	if len(data) != c.desc().Bytes() {
		t.fail("%d bytes for %v, want %d", len(data), c.desc(), c.desc().Bytes())
	}
	c.constant, c.host, c.taken = true, data, int64(len(data))
	return tensorOf(c)
}

// constInts returns a constant of numbers, converted by the rules of cast.
func (t *tracer) constInts(d dtype.DType, s shape.Shape, v []int) value {
	t.take(volume(len(v), d.Size()))
	b := make([]byte, 0, len(v)*d.Size())
	for _, e := range v {
		b = appendInt(b, d, int64(e))
	}
	return t.counted(d, s, b)
}

// constFloats returns a constant of numbers, converted by the rules of cast.
func (t *tracer) constFloats(d dtype.DType, s shape.Shape, v []float64) value {
	t.take(volume(len(v), d.Size()))
	b := make([]byte, 0, len(v)*d.Size())
	for _, e := range v {
		b = appendFloat(b, d, e)
	}
	return t.counted(d, s, b)
}

// scalar returns a constant of rank 0.
func (t *tracer) scalar(d dtype.DType, v float64) value {
	return t.do(op.Full, nil, op.ScalarFloat("value", v), op.Type("dtype", d), op.Ints("shape"))
}

// scalarInt returns a constant of rank 0 from an integer; an unsigned 64-bit number is passed as an int64 with the same bits.
func (t *tracer) scalarInt(d dtype.DType, v int64) value {
	return t.do(op.Full, nil, op.ScalarInt("value", v), op.Type("dtype", d), op.Ints("shape"))
}

// fromPB returns a constant for a tensor of the model.
func (t *tracer) fromPB(p *pb.Tensor) value {
	if p == nil {
		t.fail("a tensor is missing")
	}
	c, err := t.s.tensorOf(p)
	if err != nil {
		t.throw(err)
	}
	return tensorOf(c)
}

// elementType returns the element type of an ONNX TensorProto.DataType. Strings, complex numbers and 6-bit floats are
// unsupported.
func (t *tracer) elementType(onnxType int) dtype.DType {
	d, err := elementType(pb.DataType(onnxType))
	if err != nil {
		t.throw(err)
	}
	return d
}

var elementTypes = map[pb.DataType]dtype.DType{
	pb.Float: dtype.F32, pb.Double: dtype.F64, pb.Float16: dtype.F16, pb.BFloat16: dtype.BF16, pb.Bool: dtype.Bool,
	pb.Int64: dtype.I64, pb.Int32: dtype.I32, pb.Int16: dtype.I16, pb.Int8: dtype.I8,
	pb.Uint64: dtype.U64, pb.Uint32: dtype.U32, pb.Uint16: dtype.U16, pb.Uint8: dtype.U8,
	pb.Float8E4M3FN: dtype.F8E4M3FN, pb.Float8E5M2: dtype.F8E5M2, pb.Float8E4M3FNUZ: dtype.F8E4M3FNUZ,
	pb.Float8E5M2FNUZ: dtype.F8E5M2FNUZ, pb.Float8E8M0: dtype.F8E8M0, pb.Float4E2M1: dtype.F4E2M1,
	pb.Int4: dtype.I4, pb.Uint4: dtype.U4, pb.Int2: dtype.I2, pb.Uint2: dtype.U2,
}

// ElementType returns the element type of an ONNX tensor type, and whether burn supports it.
func ElementType(p pb.DataType) (dtype.DType, bool) {
	d, ok := elementTypes[p]
	return d, ok
}

func elementType(p pb.DataType) (dtype.DType, error) {
	if d, ok := elementTypes[p]; ok {
		return d, nil
	}
	if !p.Known() {
		return dtype.Invalid, fmt.Errorf("%w: element type %v", ErrModel, p)
	}
	return dtype.Invalid, fmt.Errorf("%w: element type %v", core.ErrUnsupported, p)
}
