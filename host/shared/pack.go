package shared

import (
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

func (a *arena) desc(d op.Desc) uintptr {
	c := cDesc{head: headOf[cDesc](), id: uint64(d.ID), dtype: uint32(d.DType), rank: uint32(len(d.Shape))}
	for i, n := range d.Shape[:min(len(d.Shape), maxRank)] {
		c.dims[i] = int64(n)
	}
	return put(a, c)
}

func (a *arena) descs(ds []op.Desc) uintptr {
	list := make([]uintptr, len(ds))
	for i, d := range ds {
		list[i] = a.desc(d)
	}
	return putAll(a, list)
}

func (a *arena) attr(name uintptr, v op.Value) uintptr {
	c := cAttr{head: headOf[cAttr](), name: name, kind: uint32(v.Kind())}
	switch v.Kind() {
	case op.KindString:
		c.text, c.count = a.text(v.Str()), uint64(len(v.Str()))
	case op.KindInts:
		ints := make([]int64, len(v.Ints()))
		for i, n := range v.Ints() {
			ints[i] = int64(n)
		}
		c.ints, c.count = putAll(a, ints), uint64(len(ints))
	case op.KindFloats:
		c.floats, c.count = putAll(a, v.Floats()), uint64(len(v.Floats()))
	case op.KindScalar:
		c.f = v.Float()
		if _, isInt := v.Bits(); isInt {
			c.isInt, c.i = 1, v.Int()
		} else {
			c.i = toInt64(c.f)
		}
	case op.KindFloat:
		c.f = v.Float()
	default:
		c.i = v.Int()
	}
	return put(a, c)
}

// node packs n under the number that the backend gave its op.
func (a *arena) node(number uint32, n *op.Node, names map[string]uintptr) uintptr {
	inputs, attrs := make([]uint64, len(n.Inputs)), make([]uintptr, len(n.Attrs))
	for i, id := range n.Inputs {
		inputs[i] = uint64(id)
	}
	for i, at := range n.Attrs {
		name, ok := names[at.Name]
		if !ok {
			name = a.text(at.Name)
			names[at.Name] = name
		}
		attrs[i] = a.attr(name, at.Value)
	}
	return put(a, cNode{head: headOf[cNode](), op: number, nInputs: uint32(len(inputs)), nOutputs: uint32(len(n.Outputs)),
		nAttrs: uint32(len(attrs)), inputs: putAll(a, inputs), outputs: a.descs(n.Outputs), attrs: putAll(a, attrs), drop: n.Drop})
}

func (a *arena) config(c core.Config) uintptr {
	var names, values []uintptr
	for k, v := range c.Options {
		names, values = append(names, a.text(k)), append(values, a.text(v))
	}
	return put(a, cConfig{head: headOf[cConfig](), threads: uint32(max(0, c.Threads)), nOptions: uint64(len(names)),
		names: putAll(a, names), values: putAll(a, values)})
}

// failure is the error of a call that answered with code. ops are the backend's claims by number.
func (e *cError) failure(code int32, ops []string) error {
	if code == 0 {
		return nil
	}
	err := core.ErrKernel
	if s := core.Sentinels(); code >= 1 && int(code) <= len(s) {
		err = s[code-1]
	}
	n := 0
	for n < errorText && e.text[n] != 0 {
		n++
	}
	if n > 0 {
		err = fmt.Errorf("%s: %w", e.text[:n], err)
	}
	if e.nOutputs == 0 || int(e.op) >= len(ops) {
		return err
	}
	node := &core.NodeError{Op: ops[e.op], Err: err}
	for _, d := range e.outputs[:min(e.nOutputs, errorOutputs)] {
		s := make(shape.Shape, min(d.rank, maxRank))
		for i := range s {
			s[i] = int(d.dims[i])
		}
		node.Outputs = append(node.Outputs, op.Desc{ID: op.TensorID(d.id), DType: dtype.DType(d.dtype), Shape: s})
	}
	return node
}
