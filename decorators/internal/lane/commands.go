package lane

import (
	"errors"
	"slices"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// failure is a refusal, and the number of marks before it.
type failure struct {
	marks int
	err   error
}

// maxFailures bounds the failures that a lane keeps.
const maxFailures = 16

// Submit passes nodes and frees to the device. If they are passed at once, Submit returns a refusal; if they are queued, a refusal poisons
// the results and the next gate reports it.
func (l *Lane) Submit(nodes []op.Node, free []op.TensorID) (refused error) {
	straight := l.Do(func() {
		refused = l.give(nodes, free)
	})
	if straight {
		return refused
	}
	l.push(command{do: func(dropped error) {
		if dropped != nil {
			l.abandon(nodes, free)
			return
		}
		if err := l.give(nodes, free); err != nil {
			l.refuse(err, nodes)
		}
	}})
	return nil
}

// Refuse treats nodes as refused with err at this position of the lane: their results are poisoned, and the next gate reports err.
func (l *Lane) Refuse(err error, nodes []op.Node) {
	l.push(command{do: func(error) { l.refuse(err, nodes) }})
}

// refuse poisons the results of nodes that the device did not accept. The caller executes a command of the lane.
func (l *Lane) refuse(err error, nodes []op.Node) {
	for i := range nodes {
		for _, d := range nodes[i].Outputs {
			l.Device.Poison(d.ID, err)
		}
	}
	l.fail(err)
}

// fail keeps an error for the next gate that the host waits for. The caller executes a command of the lane.
func (l *Lane) fail(err error) {
	l.failing.Lock()
	defer l.failing.Unlock()
	if len(l.failures) < maxFailures {
		l.failures = append(l.failures, failure{l.marks, err})
	}
}

// report returns the error that a gate reports to the host, given the device's answer err. It reports a failure once, and, while
// other devices are left, the loss of the device once.
func (l *Lane) report(g *Gate, err error, others bool) error {
	l.failing.Lock()
	defer l.failing.Unlock()
	told := func() bool { return errors.Is(err, core.ErrBackendLost) && l.told && others }
	l.failures = slices.DeleteFunc(l.failures, func(f failure) bool {
		if f.marks >= g.marks {
			return false
		}
		if err == nil || told() {
			err = f.err
		}
		return true
	})
	if told() {
		return nil
	}
	l.told = l.told || errors.Is(err, core.ErrBackendLost)
	return err
}

// abandon frees the tensors that dropped commands would have freed.
func (l *Lane) abandon(nodes []op.Node, free []op.TensorID) {
	for i := range nodes {
		free = append(free, dropped(&nodes[i])...)
	}
	_ = l.Device.Note(l.Stream.Submit(nil, l.Device.forget(free))) // the stream is closing: no caller could get the error
}

// give passes nodes and frees to the device, except nodes with missing operands.
func (l *Lane) give(nodes []op.Node, free []op.TensorID) error {
	d := l.Device
	if d.poisonedN.Load() == 0 {
		return d.Note(l.Stream.Submit(nodes, free))
	}
	var good []op.Node
	flush := func(free []op.TensorID) {
		if len(good)+len(free) == 0 {
			return
		}
		if err := d.Note(l.Stream.Submit(good, free)); err != nil {
			l.refuse(err, good)
		}
		good = nil
	}
	for i := range nodes {
		n := &nodes[i]
		err := d.Missing(n.Inputs...)
		if err == nil {
			good = append(good, *n)
			continue
		}
		gone := d.forget(dropped(n))
		for _, o := range n.Outputs {
			d.Poison(o.ID, err)
		}
		if len(gone) > 0 {
			flush(gone)
		}
	}
	flush(d.forget(free))
	return nil
}

// Produce appends a command that creates the tensors in out from the operands in, and frees the tensors in gone. call executes it, and may
// use the stream; an error poisons the results. If an operand is missing, call is not called. done, which may be nil, is called at the end.
func (l *Lane) Produce(in, gone []op.TensorID, out []op.Desc, call func() error, done func()) {
	l.push(command{do: func(dropped error) {
		if done != nil {
			defer done()
		}
		err := dropped
		if err == nil {
			err = l.Device.Missing(in...)
		}
		if err == nil {
			if err = l.Device.Note(call()); err == nil {
				return
			}
			l.fail(err)
		}
		for _, d := range out {
			l.Device.Poison(d.ID, err)
		}
		if there := l.Device.forget(gone); len(there) > 0 {
			_ = l.Device.Note(l.Stream.Submit(nil, there)) // the results report the error
		}
	}})
}
