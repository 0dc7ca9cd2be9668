package bench

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// Op is a case on a stream of its own, its operands uploaded. It is used by one goroutine.
type Op struct {
	sampler
	Case    Case
	backend core.Backend
	stream  core.Stream
	in      []op.Desc
	node    op.Node  // without ids of outputs
	copy    *op.Node // of the result, for a Copied case
	last    uint64
	native  bool // the backend has the op: it is not decomposed
}

// OpenOp puts a case on a device. The caller closes it.
func OpenOp(ctx context.Context, d *core.Device, c Case) (o *Op, err error) {
	s, err := d.Backend.OpenStream(ctx, d.Index)
	if err != nil {
		return nil, fmt.Errorf("bench: open a stream on %s: %w", d.Spec, err)
	}
	o = &Op{Case: c, backend: d.Backend, stream: s}
	defer func() {
		if err != nil {
			_ = s.Close()
		}
	}()
	for i, x := range c.In {
		data, err := x.Data(i)
		if err != nil {
			return nil, err
		}
		desc := op.Desc{ID: o.id(), DType: x.DType, Shape: x.Shape}
		if err := s.Write(ctx, desc, data); err != nil {
			return nil, fmt.Errorf("bench: case %s: operand %d: %w", c.Name, i, err)
		}
		o.in = append(o.in, desc)
	}
	if o.node, err = c.Node(o.in); err != nil {
		return nil, err
	}
	o.native = d.Backend.Supports(&o.node, o.in) == nil
	if c.Copied {
		n, err := op.New(op.Copy, o.node.Outputs)
		if err != nil {
			return nil, err
		}
		o.copy = &n
	}
	return o, nil
}

// Native reports whether the device has the op itself, not its decomposition alone.
func (o *Op) Native() bool { return o.native }

func (o *Op) id() op.TensorID {
	o.last++
	return op.NewTensorID(0, o.last)
}

// submit queues the op once and gives the ids of its results.
func (o *Op) submit() ([]op.TensorID, error) {
	n := o.node
	n.Outputs = slices.Clone(n.Outputs)
	ids := make([]op.TensorID, len(n.Outputs))
	for i := range n.Outputs {
		n.Outputs[i].ID = o.id()
		ids[i] = n.Outputs[i].ID
	}
	if o.copy != nil {
		c := *o.copy
		c.Inputs, c.Drop = ids, 1
		c.Outputs = slices.Clone(c.Outputs)
		c.Outputs[0].ID = o.id()
		return []op.TensorID{c.Outputs[0].ID}, o.stream.Submit([]op.Node{n, c})
	}
	if o.native {
		return ids, o.stream.Submit([]op.Node{n})
	}
	nodes, free, err := core.Lower(o.backend, &n, o.in, o.id)
	if err != nil {
		return nil, err
	}
	if err := o.stream.Submit(nodes); err != nil {
		return nil, err
	}
	if len(free) > 0 {
		err = o.stream.Free(free)
	}
	return ids, err
}

// Turn submits the op again and again for about d; results are given up at once, so that their memory is used anew.
func (o *Op) Turn(ctx context.Context, d time.Duration) error {
	return o.turn(ctx, d, func(calls int) error {
		for range calls {
			ids, err := o.submit()
			if err != nil {
				return err
			}
			if err := o.stream.Free(ids); err != nil {
				return err
			}
		}
		return o.stream.Sync(ctx)
	})
}

// Results runs the op once and reads what it gives.
func (o *Op) Results(ctx context.Context) ([]op.Desc, [][]byte, error) {
	ids, err := o.submit()
	if err != nil {
		return nil, nil, err
	}
	var data [][]byte
	for i, id := range ids {
		b := make([]byte, o.node.Outputs[i].Bytes())
		if err := o.stream.Read(ctx, id, b); err != nil {
			return nil, nil, err
		}
		data = append(data, b)
	}
	return o.node.Outputs, data, o.stream.Free(ids)
}

// Close ends the stream.
func (o *Op) Close() error { return o.stream.Close() }
