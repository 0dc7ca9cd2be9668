package verify

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/decorators/internal/order"
)

// Audit computes a share of the work, from 0 to 1, a second time on d, a device of another backend or of a reference, and compares the
// results. It chooses nodes that are submitted by themselves, and runs of programs, at random. Other work is passed on unchanged.
// Chosen work also runs unchanged on the checked device: operands are read after it, except those that it drops. A result that is too
// far off is a fault of kind Difference.
//
// Nodes are compared within the tolerance of their rows, as with Against. The outputs of a program have no such tolerance: they are
// compared with d's results for the same inputs and constants, within a multiple of the difference that a rounding error in these inputs
// and constants causes. Elements that such an error changes completely, such as the index of a maximum, are not compared.
//
// Constants of programs are read once, when they are defined, and kept in the memory of this process. Work that Against does not compare is
// not compared either. audited is called like compared of Against. The caller still owns d, and closes it after the checked device. Audit
// and Against exclude each other; the last option takes effect.
func Audit(d core.Device, share float64, audited func(what string, skipped error)) Option {
	if audited == nil {
		audited = func(string, error) {}
	}
	return func(c *config) {
		c.second = nil
		c.audit = &audit{second: second{dev: d, target: core.TargetOf("the second backend", d), compared: audited}, share: share}
	}
}

// audit computes a share of the work again.
type audit struct {
	second
	share float64
}

// picks chooses at random whether to compare a node or run.
func (a *audit) picks() bool { return a.share >= 1 || rand.Float64() < a.share }

// submitAudited submits nodes in order. It divides them such that those picked for comparison are submitted alone.
func (s *stream) submitAudited(x *change, nodes []op.Node, free []op.TensorID) error {
	picked := -1
	for i := range nodes {
		if s.audit.picks() {
			picked = i
			break
		}
	}
	if picked < 0 {
		return s.inner.Submit(nodes, free)
	}
	m := x.touched()
	done := 0
	for i := picked; i < len(nodes); i++ {
		if i > picked && !s.audit.picks() {
			continue
		}
		if i > done {
			if err := s.inner.Submit(nodes[done:i], nil); err != nil {
				return err
			}
		}
		if err := s.auditNode(x.cmd, m, nodes[i:i+1]); err != nil {
			return err
		}
		done = i + 1
	}
	return s.inner.Submit(nodes[done:], free)
}

// auditNode submits one node and compares its results.
func (s *stream) auditNode(cmd order.Command, m map[op.TensorID]*tensor, one []op.Node) error {
	n := &one[0]
	in := make([]op.Desc, len(n.Inputs))
	known := true
	for k, id := range n.Inputs {
		if m[id] == nil {
			known = false // already reported
			continue
		}
		in[k] = m[id].desc
	}
	large := slices.ContainsFunc(slices.Concat(in, n.Outputs), func(d op.Desc) bool { return d.Bytes() > maxRead })
	if !known || large {
		if large {
			s.audit.compared(n.Op.String(), errLarge)
		}
		return s.inner.Submit(one, nil)
	}
	data := make([][]byte, len(in))
	given := map[op.TensorID]bool{}
	for k, id := range n.Inputs {
		given[id] = given[id] || k < 64 && n.Drop>>k&1 != 0
	}
	for k, d := range in {
		if given[d.ID] {
			data[k] = s.fetch(d)
		}
	}
	if err := s.inner.Submit(one, nil); err != nil {
		return err
	}
	got := make([][]byte, len(n.Outputs))
	for i, o := range n.Outputs {
		if got[i] = s.fetch(o); got[i] == nil {
			return nil // the caller that reads it gets the error
		}
	}
	for k, d := range in {
		if !given[d.ID] {
			data[k] = s.fetch(d)
		}
		if data[k] == nil {
			return nil
		}
	}
	want, err := s.audit.compute(n, in, data)
	s.audit.compared(n.Op.String(), err)
	if err != nil {
		return nil
	}
	cmd.What = n.Op.String()
	for i, o := range n.Outputs {
		if err := differ(n, in, data, o, want[i], got[i]); err != nil {
			s.later(&Fault{Kind: Difference, Tensor: o.ID, Command: cmd.String(), Err: fmt.Errorf("%v %v: %w: %w", o.ID, o, err, core.ErrKernel)}, cmd)
			return nil
		}
	}
	return nil
}

// keep reads the constants of a program for audits of its runs.
func (s *stream) keep(p *defined, consts []op.TensorID) {
	for i, d := range p.p.Consts {
		d.ID = consts[i]
		data := s.fetch(d)
		if data == nil {
			p.unaudited = fmt.Errorf("constant %d cannot be read: %w", i, errLarge)
			return
		}
		p.constants = append(p.constants, data)
	}
}

// runAudited runs a program that was picked, and compares its outputs.
func (s *stream) runAudited(inner core.Programs, x *change, p *defined, r core.Run) error {
	large := slices.ContainsFunc(slices.Concat(p.p.Inputs, p.outs), func(d op.Desc) bool { return d.Bytes() > maxRead })
	switch {
	case large:
		s.audit.compared(x.cmd.What, errLarge)
		return inner.Run(s.inner, r)
	case p.unaudited != nil:
		s.audit.compared(x.cmd.What, p.unaudited)
		return inner.Run(s.inner, r)
	}
	data := make([][]byte, len(r.Inputs))
	read := func(donated bool) (ok bool) {
		for i, d := range p.p.Inputs {
			if (r.Donated != nil && r.Donated[i]) != donated {
				continue
			}
			d.ID = r.Inputs[i]
			if data[i] = s.fetch(d); data[i] == nil {
				return false
			}
		}
		return true
	}
	readable := read(true)
	if err := inner.Run(s.inner, r); err != nil || !readable {
		return err
	}
	got := make([][]byte, len(p.outs))
	for i, d := range p.outs {
		d.ID = r.Outputs[i]
		if got[i] = s.fetch(d); got[i] == nil {
			return nil // the caller that reads it gets the error
		}
	}
	if !read(false) {
		return nil
	}
	differences, err := s.audit.compareRun(p, data, got)
	s.audit.compared(x.cmd.What, err)
	for i, err := range differences {
		if err != nil {
			f := &Fault{Kind: Difference, Tensor: r.Outputs[i], Command: x.cmd.String(), Err: fmt.Errorf("output %d, %v %v: %w: %w", i, r.Outputs[i], p.outs[i], err, core.ErrKernel)}
			s.later(f, x.cmd)
			break
		}
	}
	return nil
}

// run computes a program on the second device and returns its outputs.
func (c *second) run(p *defined, inputs, consts [][]byte) (results [][]byte, err error) {
	ctx := context.Background()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stream == nil {
		if c.stream, err = c.dev.OpenStream(ctx); err != nil {
			return nil, err
		}
	}
	low, err := p.lowered(c.target)
	if err != nil {
		return nil, err
	}
	ids := map[op.TensorID]op.TensorID{}
	at := func(id op.TensorID) op.TensorID {
		if ids[id] == 0 {
			ids[id] = c.dev.NewIDs(1)
		}
		return ids[id]
	}
	alive := map[op.TensorID]bool{}
	defer func() {
		var left []op.TensorID
		for id := range alive {
			left = append(left, id)
		}
		err = errors.Join(err, c.stream.Submit(nil, left))
	}()
	for _, side := range []struct {
		descs []op.Desc
		data  [][]byte
	}{{low.Inputs, inputs}, {low.Consts, consts}} {
		for i, d := range side.descs {
			d.ID = at(d.ID)
			if err := c.stream.Write(ctx, d, side.data[i]); err != nil {
				return nil, err
			}
			alive[d.ID] = true
		}
	}
	last := low.LastUse()
	for i := range low.Nodes {
		n := low.Nodes[i]
		n.Inputs, n.Outputs = slices.Clone(n.Inputs), slices.Clone(n.Outputs)
		for k, id := range n.Inputs {
			n.Inputs[k] = at(id)
		}
		for k := range n.Outputs {
			n.Outputs[k].ID = at(n.Outputs[k].ID)
		}
		var free []op.TensorID
		for _, id := range last[i] {
			free = append(free, at(id))
			delete(alive, at(id))
		}
		if err := c.stream.Submit([]op.Node{n}, free); err != nil {
			return nil, err
		}
		for _, o := range n.Outputs {
			if !slices.Contains(free, o.ID) {
				alive[o.ID] = true
			}
		}
	}
	for i, o := range p.outs {
		x := make([]byte, o.Bytes())
		if err := core.Read(ctx, c.stream, at(low.Outputs[i]), x); err != nil {
			return nil, err
		}
		results = append(results, x)
	}
	return results, nil
}
