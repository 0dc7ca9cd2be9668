package tensor

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// Executable is a program that was defined on a device. It can run on several queues of the device concurrently, and is safe for
// concurrent use.
type Executable struct {
	dev      *device
	compiled *program.Compiled // lowered for the device
	closed   atomic.Bool

	// For backends with core.Programs:
	programs core.Programs
	id       core.ProgramID

	// For other backends: the constants are kept, and each run submits all nodes.
	consts []*Tensor
}

// Compile defines p on the device, with consts for p.Consts in order; the caller may release them afterwards. Ops that the device
// lacks are decomposed. It returns an error for a program that is illegal or cannot run on the device. It waits for the queue of
// d.
func (d *Device) Compile(ctx context.Context, p *program.Program, consts []*Tensor) (*Executable, error) {
	if len(consts) != len(p.Consts) {
		return nil, fmt.Errorf("tensor: program %q: %d constants, want %d: %w", p.Name, len(consts), len(p.Consts), core.ErrShape)
	}
	for i, c := range consts {
		if c.queue.dev != d.dev || !c.desc.SameType(p.Consts[i]) {
			return nil, fmt.Errorf("tensor: program %q: constant %d is %v on %s, want %v on %s: %w", p.Name, i, c.desc, c.queue,
				p.Consts[i], d, core.ErrShape)
		}
	}
	compiled, err := program.Compile(p, d.dev.target, program.Options{})
	if err != nil {
		return nil, err
	}
	e := &Executable{dev: d.dev, compiled: compiled}
	var ok bool
	if e.programs, ok = core.Extension[core.Programs](d.dev.core); ok {
		e.id, err = d.defineProgram(ctx, e.programs, compiled.Program, consts)
		return e, err
	}
	for _, c := range consts { // separate handles, so that the caller may release its own
		e.consts = append(e.consts, d.Op(op.Copy, []*Tensor{c})[0].Keep())
	}
	return e, nil
}

func (q *queue) defineProgram(ctx context.Context, ps core.Programs, p *program.Program, consts []*Tensor) (core.ProgramID, error) {
	q.lockFor(consts)
	defer q.mu.Unlock()
	if q.closed.Load() {
		return 0, q.closedError()
	}
	q.flush()
	ids, err := q.operands(consts, nil, "constant")
	if err == nil {
		err = q.dev.faults.first(ids)
	}
	if err != nil {
		return 0, fmt.Errorf("tensor: program %q: %w", p.Name, err)
	}
	q.sent++
	id, err := ps.Define(ctx, q.stream, p, ids)
	runtime.KeepAlive(consts)
	return id, err
}

// operands records that the next command of q uses ts, and returns their ids. The tensors that own selects have been claimed
// already. The caller holds mu.
func (q *queue) operands(ts []*Tensor, own []bool, what string) ([]op.TensorID, error) {
	ids := make([]op.TensorID, len(ts))
	for i, t := range ts {
		if (own == nil || !own[i]) && !t.state.use(q, q.sent+1) {
			return nil, fmt.Errorf("%s %d, %v, was released: %w", what, i, t.desc, core.ErrUnknownTensor)
		}
		ids[i] = t.desc.ID
	}
	return ids, nil
}

// Program returns the program as it was defined on the device, lowered to ops that the device supports.
func (e *Executable) Program() *program.Program { return e.compiled.Program }

// Run is RunOn without donations, on the queue of the first input, or on the first queue of the device if there are no inputs.
func (e *Executable) Run(inputs []*Tensor) ([]*Tensor, error) {
	q := e.dev.first
	if len(inputs) > 0 {
		q = inputs[0].queue.live()
	}
	return e.RunOn(&Device{queue: q}, inputs, nil)
}

// RunOn queues one execution on the queue of d. inputs correspond to the inputs of the program. donated selects the inputs to
// donate, nil for none: results may reuse their memory, and all handles on them become invalid, as if they had been released. A
// donated tensor must occur only once among the inputs. The results are new tensors in the innermost of the scopes of the inputs
// and of d; if d is in a NoGrad scope, nothing is recorded for gradients. RunOn does not wait; errors of the execution are
// returned when results are read. If RunOn returns an error, nothing was queued or donated.
func (e *Executable) RunOn(d *Device, inputs []*Tensor, donated []bool) ([]*Tensor, error) {
	q := d.queue
	if err := e.check(q, inputs, donated); err != nil {
		return nil, fmt.Errorf("tensor: program %q: %w", e.compiled.Program.Name, err)
	}
	var s *scope
	for _, t := range inputs {
		s = deeper(s, t.scope)
	}
	s = deeper(s, d.scope)
	given, err := give(inputs, donated)
	if err == nil {
		for _, t := range given {
			t.state.settle(q)
		}
		var outs []op.Desc
		var n uint64
		if outs, n, err = e.run(q, inputs, donated, d.scope != nil && d.scope.mute); err == nil {
			for _, t := range given {
				t.gone()
			}
			results := make([]*Tensor, len(outs))
			for i, o := range outs {
				results[i] = q.handle(o, n, s)
			}
			runtime.KeepAlive(inputs)
			return results, nil
		}
	}
	for _, t := range given {
		t.state.released.Store(false)
	}
	return nil, fmt.Errorf("tensor: program %q: %w", e.compiled.Program.Name, err)
}

func (e *Executable) check(q *queue, inputs []*Tensor, donated []bool) error {
	p := e.compiled.Program
	switch {
	case e.closed.Load():
		return core.ErrClosed
	case q.dev != e.dev:
		return fmt.Errorf("run on %s: %w", apart(q, e.dev.first), core.ErrAttr)
	case len(inputs) != len(p.Inputs):
		return fmt.Errorf("%d inputs, want %d: %w", len(inputs), len(p.Inputs), core.ErrShape)
	case donated != nil && len(donated) != len(inputs):
		return fmt.Errorf("%d donations for %d inputs: %w", len(donated), len(inputs), core.ErrAttr)
	}
	for i, t := range inputs {
		if t.queue.dev != e.dev || !t.desc.SameType(p.Inputs[i]) {
			return fmt.Errorf("input %d is %v on %s, want %v on %s: %w", i, t.desc, t.queue, p.Inputs[i], e.dev, core.ErrShape)
		}
	}
	return nil
}

// give claims the donated inputs and returns them. If it returns an error, given contains the inputs that it has claimed so far.
func give(inputs []*Tensor, donated []bool) (given []*Tensor, err error) {
	if donated == nil {
		return nil, nil
	}
	for i, t := range inputs {
		if !donated[i] {
			continue
		}
		if !t.state.claim() {
			return given, fmt.Errorf("input %d, %v, cannot be donated: it was released, occurs twice, or has another owner: %w", i, t.desc, core.ErrAttr)
		}
		given = append(given, t)
	}
	return given, nil
}

// run queues one execution, and returns the descriptions of the results and the number of the command.
func (e *Executable) run(q *queue, inputs []*Tensor, donated []bool, mute bool) ([]op.Desc, uint64, error) {
	q.dev.sweep()
	q.lockFor(append(slices.Clip(inputs), e.consts...))
	defer q.mu.Unlock()
	if q.closed.Load() {
		return nil, 0, q.closedError()
	}
	q.record(mute)
	q.flush()
	ids, err := q.operands(inputs, donated, "input")
	if err != nil {
		return nil, 0, err
	}
	if _, err := q.operands(e.consts, nil, "constant"); err != nil {
		return nil, 0, err
	}
	outs := slices.Clone(e.compiled.Outputs)
	for i := range outs {
		outs[i].ID = q.nextID()
	}
	if err := q.dev.faults.first(ids); err != nil {
		for _, o := range outs {
			q.dev.faults.set(o.ID, err)
		}
		for i, given := range donated {
			if given {
				q.release(ids[i])
			}
		}
		return outs, q.sent, nil
	}
	made := make([]op.TensorID, len(outs))
	for i := range outs {
		made[i] = outs[i].ID
	}
	if e.programs == nil {
		err = e.replay(q, ids, donated, made)
	} else {
		err = e.programs.Run(q.to(), core.Run{Program: e.id, Inputs: ids, Donated: donated, Outputs: made})
	}
	if err != nil {
		return nil, 0, err
	}
	q.sent++
	return outs, q.sent, nil
}

// replay submits the nodes of one run. The caller holds mu of q.
func (e *Executable) replay(q *queue, inputs []op.TensorID, donated []bool, outputs []op.TensorID) error {
	consts := make([]op.TensorID, len(e.consts))
	for i, c := range e.consts {
		consts[i] = c.desc.ID
	}
	nodes, free, err := e.compiled.Instantiate(inputs, donated, consts, outputs, q.nextID)
	if err != nil {
		return err
	}
	return q.to().Submit(nodes, free)
}

// Close releases the program. Queued runs still complete.
func (e *Executable) Close() error {
	if e.closed.Swap(true) || e.dev.first.closed.Load() {
		return nil
	}
	for _, c := range e.consts {
		c.Release()
	}
	if e.programs == nil {
		return nil
	}
	err := e.programs.Undefine(e.id)
	if errors.Is(err, core.ErrClosed) {
		return nil
	}
	return err
}
