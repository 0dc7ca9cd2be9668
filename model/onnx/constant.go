package onnx

import (
	"bytes"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/tensor"
)

// Constants are computed while tracing, on the device, so that they are rounded like all other values.

func (t *tracer) newData(d dtype.DType, s shape.Shape) *data {
	t.s.serial++
	return &data{dtype: d, shape: s.Clone(), serial: t.s.serial, slot: -1}
}

// fold computes a node whose operands are all constant.
func (t *tracer) fold(n *op.Node, in []value) []value {
	if d := t.foldOnHost(n, in); d != nil {
		return []value{tensorOf(d)}
	}
	args := make([]*tensor.Tensor, len(in))
	for i, v := range in {
		args[i] = t.device(v.data)
	}
	var taken int64
	for _, d := range n.Outputs {
		taken += int64(d.Bytes())
	}
	t.take(taken + nodeBytes)
	var results []*tensor.Tensor
	if err := tensor.Try(func() { results = t.now.dev.Op(n.Op, args, n.Attrs...) }); err != nil {
		t.throw(err)
	}
	out := make([]value, len(results))
	for i, r := range results {
		d := t.newData(r.DType(), r.Shape())
		d.constant, d.dev, d.origin = true, r, originOf(n, in)
		d.taken = int64(d.desc().Bytes())
		t.made = append(t.made, d)
		out[i] = tensorOf(d)
	}
	return out
}

// foldOnHost computes ops that need no arithmetic, and returns nil for other ops.
func (t *tracer) foldOnHost(n *op.Node, in []value) *data {
	out := n.Outputs[0]
	var d *data
	switch {
	case n.Op == op.Full:
		d = t.newData(out.DType, out.Shape)
		d.fill = n.Attrs.Value("value")
	case (n.Op == op.Reshape || n.Op == op.Expand) && in[0].data.fill.Kind() != 0:
		d = t.newData(out.DType, out.Shape)
		d.fill = in[0].data.fill
	case n.Op == op.Reshape && in[0].data.host != nil && in[0].data.dev == nil:
		d = t.newData(out.DType, out.Shape)
		d.host, d.origin = in[0].data.host, originOf(n, in)
	default:
		return nil
	}
	d.constant = true
	return d
}

// adoptAt is the least size in bytes for which the device uses the memory of a model constant directly instead of a copy.
const adoptAt = 4 << 10

// device returns the content of a constant as a tensor on the device.
func (t *tracer) device(d *data) *tensor.Tensor {
	if d.dev != nil {
		return d.dev
	}
	var err error
	if d.host == nil && dtype.Smalls.Has(d.dtype) { // op.Full does not support storage types
		t.content(d)
	}
	switch {
	case d.host != nil && d.shared && len(d.host) >= adoptAt: // the model's memory, which is never written and is freed by the garbage collector
		d.dev, err = t.now.dev.Adopt(t.ctx, d.dtype, d.shape, d.host, func() {})
	case d.host != nil:
		t.takeFor(d, int64(len(d.host)))
		d.dev, err = t.now.dev.FromBytes(t.ctx, d.dtype, d.shape, d.host)
	default:
		t.takeFor(d, int64(d.desc().Bytes()))
		v := op.Attr{Name: "value", Value: d.fill}
		err = tensor.Try(func() {
			d.dev = t.now.dev.Op(op.Full, nil, v, op.Type("dtype", d.dtype), op.Dims("shape", d.shape))[0]
		})
	}
	if err != nil {
		t.throw(err)
	}
	if d.shared {
		t.s.owned = append(t.s.owned, d.dev)
	} else {
		t.made = append(t.made, d)
	}
	return d.dev
}

// content returns the elements of a tensor. Live data is read from the device once, and the plan depends on its value from then
// on.
func (t *tracer) content(d *data) []byte {
	switch {
	case d.host != nil:
	case !d.constant:
		if d.slot < 0 {
			t.end(d)
		}
		d.host = t.read(d)
	case d.dev != nil:
		t.takeFor(d, int64(d.desc().Bytes()))
		var b []byte
		var err error
		t.aside(func() { b, err = d.dev.Bytes(t.ctx) })
		if err != nil {
			t.throw(err)
		}
		d.host = b
	default:
		t.takeFor(d, int64(d.desc().Bytes()))
		one := appendNumber(nil, d.dtype, d.fill)
		d.host = bytes.Repeat(one, d.shape.Size())
	}
	return d.host
}

// bind converts a constant to a live value, which is an input of programs, so that one program serves all contents. Reading the value back
// does not access the device.
func (t *tracer) bind(v value) value {
	host := t.content(v.data)
	d := t.newData(v.dtype(), v.shape())
	d.bound, d.host = true, host
	return tensorOf(d)
}
