package verify

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"sync"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// Against computes each node a second time on d, a device of another backend or of a reference, from the operands that the
// checked device holds, and compares the results. A result outside the tolerance of the op's row is a fault of kind
// Difference. The tolerance per term grows with the greatest magnitudes of the operands, as sums of large terms cancel.
//
// Programs run node by node, and every command waits, as with NotFinite. Not compared are nodes with an operand or result
// of more than a gibibyte, nodes that d cannot compute, and programs where the checked device lacks the op copy; skipped is
// called with the name of the op, or of the program, and the reason, unless it is nil. It must be safe for concurrent use.
//
// d stays the caller's, who closes it after the checked device.
func Against(d core.Device, skipped func(what string, reason error)) Option {
	if skipped == nil {
		skipped = func(string, error) {}
	}
	return func(c *config) {
		c.second = &second{dev: d, target: core.TargetOf("the second backend", d), skipped: skipped}
	}
}

// second computes nodes again.
type second struct {
	dev     core.Device
	target  program.Target
	skipped func(what string, reason error)

	mu     sync.Mutex // held while a node is computed
	stream core.Stream
}

// errLarge is why a node with a large tensor is not compared.
var errLarge = fmt.Errorf("a tensor has more than %d bytes: %w", mostRead, core.ErrOutOfMemory)

// fetch returns the elements of a tensor, nil where they cannot be read.
func (s *stream) fetch(d op.Desc) []byte {
	data := make([]byte, d.Bytes())
	if core.Read(context.Background(), s.inner, d.ID, data) != nil {
		return nil
	}
	return data
}

// operands returns the elements of the operands of a node that is to be compared; ok is false where it is not. That of a
// node with a poisoned operand is no fault of its own.
func (s *stream) operands(n *op.Node, in []op.Desc) (data [][]byte, ok bool) {
	if s.second == nil {
		return nil, false
	}
	for _, list := range [][]op.Desc{in, n.Outputs} {
		for _, d := range list {
			if d.Bytes() > mostRead {
				s.second.skipped(n.Op.String(), errLarge)
				return nil, false
			}
		}
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
func (s *stream) compare(cmd command, n *op.Node, in []op.Desc, data [][]byte) {
	want, err := s.second.compute(n, in, data)
	if err != nil {
		s.second.skipped(n.Op.String(), err)
		return
	}
	for i, o := range n.Outputs {
		got := s.fetch(o)
		if got == nil {
			return // the read of whoever wants it says why
		}
		if err := differ(n, in, data, o, want[i], got); err != nil {
			s.later(&Fault{Kind: Difference, Tensor: o.ID, Command: cmd.String(), Err: fmt.Errorf("%v %v: %w: %w", o.ID, o, err, core.ErrKernel)}, cmd)
			return
		}
	}
}

// later reports a fault of a command that was accepted. The next event returns it.
func (s *stream) later(f *Fault, cmd command) {
	if s.refuse(f) != nil {
		s.mu.Lock()
		s.values = append(s.values, late{cmd.tick, f})
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
	own, drop := *n, map[op.TensorID]bool{}
	own.Drop, own.Inputs, own.Outputs = 0, nil, nil
	descs, at := make([]op.Desc, len(in)), map[op.TensorID]op.TensorID{}
	defer func() {
		free := make([]op.TensorID, 0, len(drop))
		for id := range drop {
			free = append(free, id)
		}
		if e := c.stream.Submit(nil, free); err == nil {
			err = e
		}
	}()
	for i, d := range in {
		id, written := at[d.ID]
		if !written {
			id = next()
			at[d.ID] = id
		}
		descs[i] = d
		descs[i].ID = id
		own.Inputs = append(own.Inputs, id)
		if !written {
			if err := c.stream.Write(ctx, descs[i], data[i]); err != nil {
				return nil, err
			}
			drop[id] = true
		}
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
		drop[o.ID] = true
		x := make([]byte, o.Bytes())
		if err := core.Read(ctx, c.stream, o.ID, x); err != nil {
			return nil, err
		}
		results = append(results, x)
	}
	return results, nil
}

// differ returns the first element of a result that is not within the tolerance of the row.
func differ(n *op.Node, in []op.Desc, data [][]byte, out op.Desc, want, got []byte) error {
	if bytes.Equal(want, got) {
		return nil
	}
	row := op.Lookup(n.Op)
	w, g := floats(out.DType, want), floats(out.DType, got)
	if w == nil {
		size := out.DType.Size()
		for i := 0; i < len(want); i += size {
			if !bytes.Equal(want[i:i+size], got[i:i+size]) {
				return fmt.Errorf("got %x at element %d, the second backend %x (bytes of %v)", got[i:i+size], i/size, want[i:i+size], out.DType)
			}
		}
	}
	terms := 1
	if row.Tolerance.PerTerm {
		terms = op.Terms(n, in)
	}
	rel, abs := row.Tolerance.Bounds(out.DType, terms)
	for i, d := range in {
		abs *= max(1, magnitude(floats(d.DType, data[i])))
	}
	for i, x := range w {
		if y := g[i]; x != y && !(x != x && y != y) && !(math.Abs(x-y) <= rel*math.Abs(x)+abs) {
			return fmt.Errorf("got %v at element %d, the second backend %v, want them within %.3g·|x| + %.3g", y, i, x, rel, abs)
		}
	}
	return nil
}

// magnitude returns the greatest finite magnitude.
func magnitude(values []float64) (m float64) {
	for _, v := range values {
		if v = math.Abs(v); v > m && !math.IsInf(v, 0) {
			m = v
		}
	}
	return m
}

// floats returns elements of a float type, nil for another.
func floats(d dtype.DType, data []byte) []float64 {
	if !d.IsFloat() && !dtype.SmallFloats.Has(d) {
		return nil
	}
	size := d.Size()
	out := make([]float64, len(data)/size)
	small := make([]float32, 0)
	if dtype.SmallFloats.Has(d) {
		small = make([]float32, len(data))
		dtype.FromSmall(d, data, small)
	}
	for i := range out {
		b := data[i*size:]
		switch d {
		case dtype.F64:
			out[i] = math.Float64frombits(binary.LittleEndian.Uint64(b))
		case dtype.F32:
			out[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
		case dtype.F16:
			out[i] = float64(dtype.Float16(binary.LittleEndian.Uint16(b)).Float32())
		case dtype.BF16:
			out[i] = float64(dtype.BFloat16(binary.LittleEndian.Uint16(b)).Float32())
		default:
			out[i] = float64(small[i])
		}
	}
	return out
}
