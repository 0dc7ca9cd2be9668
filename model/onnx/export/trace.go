package export

import (
	"context"
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// backend has one device, which records nodes and computes nothing. It supports the nodes for which the exporter has a rule, so that all
// other nodes are decomposed before they reach it.
type backend struct{ *recorder }

func (backend) Info() core.Info {
	return core.Info{Name: "onnx-export", Version: "1.0.0", Devices: []core.DeviceInfo{{Name: "export", Kind: "export"}}}
}

func (b backend) Open(context.Context, int) (core.Device, error) {
	return device{b.recorder, core.NewIDs(0)}, nil
}

func (backend) Close() error { return nil }

type device struct {
	*recorder
	ids *core.IDs
}

func (device) Capabilities() *core.Capabilities {
	c := &core.Capabilities{Types: dtype.Any, Ops: map[string]core.OpCapability{}, Limits: core.Limits{Rank: shape.MaxRank}}
	for code := range rules {
		row := op.Lookup(code)
		c.Ops[row.Name] = core.Uniform(row.Version, dtype.Any)
	}
	return c
}

func (d device) NewIDs(n int) op.TensorID { return d.ids.New(n) }

func (d device) OpenStream(context.Context) (core.Stream, error) { return d.recorder, nil }

func (d device) Extend(target any) bool {
	s, ok := target.(*core.Selective)
	if ok {
		*s = d
	}
	return ok
}

// Supports reports whether ONNX can express node n.
func (device) Supports(n *op.Node, in []op.Desc) error {
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

// recorder is the stream of the device: it records every definition in order.
type recorder struct {
	defs  []definition
	nodes []op.Node
	index map[op.TensorID]int // index in defs
}

// definition is a tensor that was written, or a result of a node.
type definition struct {
	desc op.Desc
	data []byte // elements of a tensor that was written
	node int    // index of the node; -1 for a tensor that was written
}

func (r *recorder) define(d definition) {
	if r.index == nil {
		r.index = map[op.TensorID]int{}
	}
	r.index[d.desc.ID] = len(r.defs)
	r.defs = append(r.defs, d)
}

func (r *recorder) Submit(nodes []op.Node, _ []op.TensorID) error {
	for _, n := range nodes {
		n.Inputs = append([]op.TensorID(nil), n.Inputs...)
		for _, o := range n.Outputs {
			r.define(definition{desc: o, node: len(r.nodes)})
		}
		r.nodes = append(r.nodes, n)
	}
	return nil
}

func (r *recorder) Write(_ context.Context, d op.Desc, data []byte) error {
	r.define(definition{desc: d, data: append([]byte{}, data...), node: -1})
	return nil
}

func (*recorder) Read(op.TensorID, []byte) core.Ticket {
	return core.Failed(fmt.Errorf("export: the forward pass reads a tensor, which has no value while it is traced: compute with tensors alone: %w", core.ErrUnsupported))
}

func (*recorder) Signal() core.Event    { return core.Failed(nil) }
func (*recorder) Wait(core.Event) error { return nil }
func (*recorder) Close() error          { return nil }
