package libtorch

import (
	"fmt"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// span is the time span in which a step of a run was executed.
type span struct {
	began time.Time
	took  time.Duration
}

// program computes the steps of a plan and sets the handles of its results. It calls stopped before each step, and returns ErrCanceled if
// stopped returns true.
func (w *worker) program(c *command, stopped func() bool) error {
	x := c.plan
	frame := make([]*tensor, x.slots)
	for i, t := range c.in {
		if t.failed || t.h == 0 {
			return errPoisoned
		}
		frame[i] = t
	}
	defer func() { // also after a failure
		for _, t := range frame[len(c.in):] {
			if t != nil {
				w.thread.Delete(t.handles()...)
			}
		}
	}()
	for i := range x.steps {
		s := &x.steps[i]
		if stopped() {
			return core.ErrCanceled
		}
		var began time.Time
		if c.spans != nil {
			began = time.Now()
		}
		if err := w.step(s, frame, x.dev.limit); err != nil {
			return &core.NodeError{Op: s.node.Op.String(), Program: x.p.Name, Outputs: s.node.Outputs, Err: err}
		}
		if c.spans != nil {
			*c.spans = append(*c.spans, span{began, time.Since(began)})
		}
	}
	for i, k := range x.outputs {
		h, err := w.thread.Same(frame[k].h)
		if err != nil {
			for _, t := range c.out[:i] {
				w.thread.Delete(t.h)
				t.h = 0
			}
			return sentinel(err)
		}
		c.out[i].h = h
	}
	return nil
}

// step computes one step with the tensors of frame, and deletes tensors after their last use.
func (w *worker) step(s *step, frame []*tensor, limit int64) error {
	var bytes int64
	c := command{node: s.node}
	for _, k := range s.in {
		c.in = append(c.in, frame[k])
	}
	for i, k := range s.out {
		bytes += int64(s.node.Outputs[i].Bytes())
		frame[k] = &tensor{desc: s.node.Outputs[i]}
		c.out = append(c.out, frame[k])
	}
	if bytes > limit {
		return fmt.Errorf("results of %d bytes, at most %d: %w", bytes, limit, core.ErrOutOfMemory)
	}
	if err := w.compute(&c, s.run); err != nil {
		return err
	}
	for _, k := range s.free {
		w.thread.Delete(frame[k].handles()...)
		frame[k] = nil
	}
	return nil
}

// evaluate computes nodes whose operands are in known, and adds their results to known.
func (w *worker) evaluate(nodes []op.Node, known map[op.TensorID]val) {
	last := op.TensorID(0)
	for i := range nodes {
		for _, d := range nodes[i].Outputs {
			last = max(last, d.ID)
		}
	}
	for id := range known {
		last = max(last, id)
	}
	next := func() op.TensorID { last++; return last }
	n, in, from, out := w.n, w.in, w.from, w.out
	for i := range nodes {
		var descs []op.Desc
		for _, id := range nodes[i].Inputs {
			descs = append(descs, op.Desc{ID: id, DType: known[id].d, Shape: known[id].s})
		}
		w.part(&nodes[i], descs, known, next, w.made)
	}
	w.n, w.in, w.from, w.out = n, in, from, out
}
