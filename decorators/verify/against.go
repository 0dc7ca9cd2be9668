package verify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/decorators/internal/order"
)

// Against computes each node a second time on d, a device of another backend or of a reference, from the operands that the checked device
// holds, and compares the results. A result outside the tolerance of the op's row is a fault of kind Difference. The absolute tolerance is
// multiplied by the greatest magnitude of each operand if that is above 1, because sums of large terms cancel.
//
// Programs run node by node, and every command waits, as with NotFinite. Nodes with an operand or result of more than a gibibyte and nodes
// that d cannot compute are not compared, nor are programs if the checked device lacks the op copy.
//
// compared, unless it is nil, is called with the op of each node. skipped is nil if its results were compared, and the reason otherwise. A
// program that does not run node by node is reported by its name. compared must be safe for concurrent use.
//
// The caller still owns d, and closes it after the checked device.
func Against(d core.Device, compared func(what string, skipped error)) Option {
	if compared == nil {
		compared = func(string, error) {}
	}
	return func(c *config) {
		c.audit = nil
		c.second = &second{dev: d, target: core.TargetOf("the second backend", d), compared: compared}
	}
}

// second computes nodes on the second device.
type second struct {
	dev      core.Device
	target   program.Target
	compared func(what string, skipped error)

	mu     sync.Mutex // held while a node is computed
	stream core.Stream
}

// errLarge is the reason that a node with a large tensor is not compared.
var errLarge = fmt.Errorf("a tensor has more than %d bytes: %w", maxRead, core.ErrOutOfMemory)

// fetch returns the elements of a tensor, nil if they cannot be read or are too many.
func (s *stream) fetch(d op.Desc) []byte {
	if d.Bytes() > maxRead {
		return nil
	}
	data := make([]byte, d.Bytes())
	if core.Read(context.Background(), s.inner, d.ID, data) != nil {
		return nil
	}
	return data
}

// operands returns the elements of the operands of a node. ok is false if the node is not to be compared, for instance because an operand
// is poisoned.
func (s *stream) operands(n *op.Node, in []op.Desc) (data [][]byte, ok bool) {
	if s.second == nil {
		return nil, false
	}
	if slices.ContainsFunc(slices.Concat(in, n.Outputs), func(d op.Desc) bool { return d.Bytes() > maxRead }) {
		s.second.compared(n.Op.String(), errLarge)
		return nil, false
	}
	for _, d := range in {
		x := s.fetch(d)
		if x == nil {
			return nil, false
		}
		data = append(data, x)
	}
	return data, true
}

// compare computes a node that the checked device has accepted on the second device too.
func (s *stream) compare(cmd order.Command, n *op.Node, in []op.Desc, data [][]byte) {
	want, err := s.second.compute(n, in, data)
	s.second.compared(n.Op.String(), err)
	if err != nil {
		return
	}
	for i, o := range n.Outputs {
		got := s.fetch(o)
		if got == nil {
			return // the caller that reads it gets the error
		}
		if err := differ(n, in, data, o, want[i], got); err != nil {
			s.later(&Fault{Kind: Difference, Tensor: o.ID, Command: cmd.String(), Err: fmt.Errorf("%v %v: %w: %w", o.ID, o, err, core.ErrKernel)}, cmd)
			return
		}
	}
}

// later reports a fault of a command that was accepted. The next event returns it.
func (s *stream) later(f *Fault, cmd order.Command) {
	if s.refuse(f) != nil {
		s.mu.Lock()
		s.values = append(s.values, late{cmd.Tick, f})
		s.mu.Unlock()
	}
}

// compute returns the results of a node with operands of the given elements.
func (c *second) compute(n *op.Node, in []op.Desc, data [][]byte) (results [][]byte, err error) {
	ctx := context.Background()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stream == nil {
		if c.stream, err = c.dev.OpenStream(ctx); err != nil {
			return nil, err
		}
	}
	next := func() op.TensorID { return c.dev.NewIDs(1) }
	own := *n
	own.Drop, own.Inputs, own.Outputs = 0, nil, nil
	var descs []op.Desc
	var made []op.TensorID
	defer func() { err = errors.Join(err, c.stream.Submit(nil, made)) }()
	for i, d := range in {
		d.ID = next()
		if err := c.stream.Write(ctx, d, data[i]); err != nil {
			return nil, err
		}
		descs, made, own.Inputs = append(descs, d), append(made, d.ID), append(own.Inputs, d.ID)
	}
	for _, o := range n.Outputs {
		o.ID = next()
		own.Outputs = append(own.Outputs, o)
	}
	nodes, free, err := program.LowerNode(c.target, &own, descs, next)
	if err != nil {
		return nil, err
	}
	if err := c.stream.Submit(nodes, free); err != nil {
		return nil, err
	}
	for _, o := range own.Outputs {
		made = append(made, o.ID)
		x := make([]byte, o.Bytes())
		if err := core.Read(ctx, c.stream, o.ID, x); err != nil {
			return nil, err
		}
		results = append(results, x)
	}
	return results, nil
}

// differ returns an error for the first element of a result that is not within the tolerance of the row.
func differ(n *op.Node, in []op.Desc, data [][]byte, out op.Desc, want, got []byte) error {
	if bytes.Equal(want, got) {
		return nil
	}
	tolerance, terms := op.Lookup(n.Op).Tolerance, 1
	if tolerance.PerTerm {
		terms = op.Terms(n, in)
	}
	rel, abs := tolerance.Bounds(out.DType, terms)
	for i, d := range in {
		abs *= max(1, magnitude(d.DType, data[i]))
	}
	size := out.DType.Size()
	for i := range len(want) / size {
		if w, g := want[i*size:][:size], got[i*size:][:size]; bytes.Equal(w, g) {
			continue
		} else if !dtype.AnyFloats.Has(out.DType) {
			return fmt.Errorf("got %x at element %d, the second backend %x (bytes of %v)", g, i, w, out.DType)
		}
		x, y := dtype.FloatAt(out.DType, want, i), dtype.FloatAt(out.DType, got, i)
		if x != y && !(x != x && y != y) && !(math.Abs(x-y) <= rel*math.Abs(x)+abs) {
			return fmt.Errorf("got %v at element %d, the second backend %v, want them within %.3g·|x| + %.3g", y, i, x, rel, abs)
		}
	}
	return nil
}

// magnitude returns the greatest finite magnitude of elements of a float type, and 1 for other types.
func magnitude(d dtype.DType, data []byte) float64 {
	if !dtype.AnyFloats.Has(d) {
		return 1
	}
	m := 0.0
	for i := range len(data) / d.Size() {
		if v := math.Abs(dtype.FloatAt(d, data, i)); v > m && !math.IsInf(v, 0) {
			m = v
		}
	}
	return m
}
