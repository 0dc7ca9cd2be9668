package fusion

import (
	"context"
	"errors"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// ran is a run of a plan. Errors of its tensors name the original nodes.
type ran struct {
	plan *plan
	ids  []op.TensorID // by number
}

// note records a run.
func (d *device) note(p *plan, ids []op.TensorID) {
	d.failing.Lock()
	defer d.failing.Unlock()
	r := &d.recent[d.runs%len(d.recent)]
	r.plan, r.ids = p, append(r.ids[:0], ids...)
	d.runs++
}

// lose records that the stream below refused nodes which this stream had accepted. The tensors that they were to free are not freed.
func (s *stream) lose(nodes []op.Node, err error) {
	d := s.dev
	d.failing.Lock()
	defer d.failing.Unlock()
	for i := range nodes {
		fault := &core.NodeError{Op: nodes[i].Op.String(), Outputs: nodes[i].Outputs, Err: err}
		if s.fault == nil {
			s.fault = fault
		}
		for _, o := range nodes[i].Outputs {
			if len(d.failed) < maxFailed {
				d.failed[o.ID] = fault
			}
		}
	}
}

const maxFailed = 1 << 16

// failure returns the reason why a tensor was not created, or nil if it may exist.
func (d *device) failure(id op.TensorID) error {
	d.failing.Lock()
	defer d.failing.Unlock()
	return d.failed[id]
}

// explain returns err with the names of original nodes in place of nodes of a program. id is the tensor that was read, zero for none. A
// plan that failed does not run again: single nodes give more precise errors, and only results that depend on the failed node are lost.
func (d *device) explain(err error, id op.TensorID) error {
	var n *core.NodeError
	if err == nil || !errors.As(err, &n) || n.Program == "" {
		return err
	}
	p := d.cache.named(n.Program)
	if p == nil {
		return err
	}
	d.cache.refuse(p, "it failed when it ran")
	if len(n.Outputs) == 0 || n.Op == "" {
		return err
	}
	at, ok := p.owner[n.Outputs[0].ID]
	if !ok {
		return err
	}
	node := &p.Nodes[at]
	found := &core.NodeError{Op: node.Op.String(), Err: n.Err}
	ids := d.idsOf(p, id)
	for _, local := range p.Results(at) {
		o := p.Types[local]
		if ids != nil {
			o.ID = ids[local]
		}
		found.Outputs = append(found.Outputs, o)
	}
	return found
}

// idsOf returns the tensors of a run of p: of the recorded run that tensor id belongs to, or else of the only run of p. It returns nil if
// the run is ambiguous.
func (d *device) idsOf(p *plan, id op.TensorID) []op.TensorID {
	d.failing.Lock()
	defer d.failing.Unlock()
	var found []op.TensorID
	runs := 0
	for i := range d.recent {
		r := &d.recent[i]
		if r.plan != p {
			continue
		}
		runs++
		found = r.ids
		for _, x := range r.ids {
			if x == id && id != 0 {
				return append([]op.TensorID(nil), r.ids...)
			}
		}
	}
	if runs != 1 || d.runs > len(d.recent) {
		return nil
	}
	return append([]op.TensorID(nil), found...)
}

// ticket is a read.
type ticket struct {
	dev   *device
	inner core.Ticket
	id    op.TensorID
}

// Wait implements core.Ticket.
func (t *ticket) Wait(ctx context.Context) error { return t.dev.explain(t.inner.Wait(ctx), t.id) }

// event is a position in a stream.
type event struct {
	dev   *device
	inner core.Event
	fault error // fault of nodes that were refused after they were accepted
}

// Wait implements core.Event.
func (e *event) Wait(ctx context.Context) error {
	err := e.dev.explain(e.inner.Wait(ctx), 0)
	if err == nil {
		err = e.fault
	}
	return err
}
