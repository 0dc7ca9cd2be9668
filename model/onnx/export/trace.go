package export

import (
	"context"
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// backend is a device that remembers what it is told and computes nothing. It supports the nodes that the exporter has an operator
// for: whatever else a pass does is decomposed before it arrives.
type backend struct{ stream *recorder }

func (*backend) Info() core.Info {
	return core.Info{Name: "onnx-export", Version: "1.0.0", Devices: []core.DeviceInfo{{Name: "export", Kind: "export"}}}
}

func (*backend) Capabilities() *core.Capabilities {
	c := &core.Capabilities{Types: dtype.Any, Ops: map[string]core.OpCapability{}, MaxRank: shape.MaxRank}
	for code := range rules {
		row := op.Lookup(code)
		c.Ops[row.Name] = core.OpCapability{Version: row.Version, Types: dtype.Any}
	}
	return c
}

func (*backend) Supports(n *op.Node, in []op.Desc) error {
	r, ok := rules[n.Op]
	if !ok || r.fits != nil && !r.fits(n, in) {
		return fmt.Errorf("ONNX has no operator for %v: %w", n.Op, core.ErrUnsupported)
	}
	for _, ds := range [][]op.Desc{in, n.Outputs} {
		for _, d := range ds {
			if elementType(d.DType) == 0 {
				return fmt.Errorf("%v of %v: %w", n.Op, d, core.ErrUnsupported)
			}
		}
	}
	return nil
}

func (b *backend) OpenStream(context.Context, int) (core.Stream, error) { return b.stream, nil }
func (*backend) Close() error                                           { return nil }

// recorder is the stream: everything that is defined, in order.
type recorder struct {
	defs  []definition
	nodes []op.Node
	index map[op.TensorID]int // into defs
}

// definition is a tensor that was written, or result number out of a node.
type definition struct {
	desc op.Desc
	data []byte // of what was written
	node int    // -1 for what was written
}

func (r *recorder) define(d definition) {
	if r.index == nil {
		r.index = map[op.TensorID]int{}
	}
	r.index[d.desc.ID] = len(r.defs)
	r.defs = append(r.defs, d)
}

func (r *recorder) Submit(nodes []op.Node) error {
	for _, n := range nodes {
		n.Inputs = append([]op.TensorID(nil), n.Inputs...)
		for _, o := range n.Outputs {
			r.define(definition{desc: o, node: len(r.nodes)})
		}
		r.nodes = append(r.nodes, n)
	}
	return nil
}

func (r *recorder) Free([]op.TensorID) error { return nil }

func (r *recorder) Write(_ context.Context, d op.Desc, data []byte) error {
	r.define(definition{desc: d, data: append([]byte{}, data...), node: -1})
	return nil
}

func (*recorder) Read(context.Context, op.TensorID, []byte) error {
	return fmt.Errorf("export: the forward pass reads a tensor, which has no value while it is traced: compute with tensors alone: %w", core.ErrUnsupported)
}

func (*recorder) Sync(context.Context) error { return nil }
func (*recorder) Close() error               { return nil }
