package bench

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// Op is a case with its own opened device and uploaded operands. Only one goroutine may use it.
type Op struct {
	sampler
	Case   Case
	device core.Device
	target program.Target
	stream core.Stream
	in     []op.Desc
	node   op.Node  // without the ids of outputs
	copy   *op.Node // copies the result of a Copied case
	native bool     // the device has the op, so it is not decomposed
}

// OpenOp opens a case on a device. The caller closes it.
func OpenOp(ctx context.Context, p *core.Place, c Case) (o *Op, err error) {
	d, err := p.Open(ctx)
	if err != nil {
		return nil, fmt.Errorf("bench: open %s: %w", p.Spec, err)
	}
	defer func() {
		if err != nil {
			_ = d.Close()
		}
	}()
	s, err := d.OpenStream(ctx)
	if err != nil {
		return nil, fmt.Errorf("bench: open a stream on %s: %w", p.Spec, err)
	}
	o = &Op{Case: c, device: d, target: core.TargetOf(p.Backend.Info().Name, d), stream: s}
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
	o.native = o.target.Supports(&o.node, o.in) == nil
	if c.Copied {
		n, err := op.New(op.Copy, o.node.Outputs)
		if err != nil {
			return nil, err
		}
		o.copy = &n
	}
	return o, nil
}

// Native reports whether the device has the op itself, not only its decomposition.
func (o *Op) Native() bool { return o.native }

func (o *Op) id() op.TensorID { return o.device.NewIDs(1) }

// submit queues the op once and returns the ids of its results; if give is set, they are freed at once.
func (o *Op) submit(give bool) ([]op.TensorID, error) {
	n := o.node
	n.Outputs = slices.Clone(n.Outputs)
	ids := make([]op.TensorID, len(n.Outputs))
	for i := range n.Outputs {
		n.Outputs[i].ID = o.id()
		ids[i] = n.Outputs[i].ID
	}
	nodes, free := []op.Node{n}, []op.TensorID(nil)
	if !o.native {
		var err error
		if nodes, free, err = program.LowerNode(o.target, &n, o.in, o.id); err != nil {
			return nil, err
		}
	}
	if o.copy != nil {
		c := *o.copy
		c.Inputs, c.Drop = ids, 1
		c.Outputs = slices.Clone(c.Outputs)
		c.Outputs[0].ID = o.id()
		ids = []op.TensorID{c.Outputs[0].ID}
		nodes = append(nodes, c)
	}
	if give {
		free = append(free, ids...)
	}
	return ids, o.stream.Submit(nodes, free)
}

// Turn submits the op repeatedly for about d. Results are freed at once, so that their memory is reused.
func (o *Op) Turn(ctx context.Context, d time.Duration) error {
	return o.turn(ctx, d, func(calls int) error {
		for range calls {
			if _, err := o.submit(true); err != nil {
				return err
			}
		}
		return core.Sync(ctx, o.stream)
	})
}

// Results runs the op once and reads its results.
func (o *Op) Results(ctx context.Context) ([]op.Desc, [][]byte, error) {
	ids, err := o.submit(false)
	if err != nil {
		return nil, nil, err
	}
	var data [][]byte
	for i, id := range ids {
		b := make([]byte, o.node.Outputs[i].Bytes())
		if err := core.Read(ctx, o.stream, id, b); err != nil {
			return nil, nil, err
		}
		data = append(data, b)
	}
	return o.node.Outputs, data, o.stream.Submit(nil, ids)
}

// Close closes the stream and the device.
func (o *Op) Close() error { return o.device.Close() }
