package tensor

import (
	"context"
	"fmt"
	"runtime"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// Executable is a program that was defined on a device. It is safe for concurrent use.
type Executable struct {
	dev     *engine
	program *program.Program // lowered for the device
	outputs []op.Desc
	closed  bool // guarded by the device

	// With core.Programs:
	programs core.Programs
	id       core.ProgramID

	// Without: the constants are kept, and each run submits all nodes.
	consts []op.TensorID
	last   [][]op.TensorID
}

// Compile defines p on the device, with consts for p.Consts in order; the caller may release them afterwards. Ops that
// the device lacks are decomposed. A program that is not legal, or that cannot run on the device, is an error here.
func (d *Device) Compile(ctx context.Context, p *program.Program, consts []*Tensor) (*Executable, error) {
	if len(consts) != len(p.Consts) {
		return nil, fmt.Errorf("tensor: program %q: %d constants, want %d: %w", p.Name, len(consts), len(p.Consts), core.ErrShape)
	}
	for i, c := range consts {
		if c.dev != d.engine || !c.desc.SameType(p.Consts[i]) {
			return nil, fmt.Errorf("tensor: program %q: constant %d is %v on %s, want %v on %s: %w", p.Name, i, c.desc, c.dev,
				p.Consts[i], d.engine, core.ErrShape)
		}
	}
	if err := p.Check(); err != nil {
		return nil, err
	}
	lowered, err := core.LowerProgram(d.device.Backend, p.Live())
	if err != nil {
		return nil, err
	}
	e := &Executable{dev: d.engine, program: lowered, outputs: lowered.OutputDescs()}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.flush(); err != nil {
		return nil, err
	}
	if ps, ok := core.As[core.Programs](d.stream); ok {
		ids := make([]op.TensorID, len(consts))
		for i, c := range consts {
			ids[i] = c.desc.ID
		}
		e.programs = ps
		e.id, err = ps.Define(ctx, lowered, ids)
		runtime.KeepAlive(consts)
		return e, err
	}
	e.last = lowered.LastUse()
	for i, c := range consts { // tensors of its own, so that the caller may release its
		n, err := op.New(op.Copy, []op.Desc{c.desc})
		if err != nil {
			return nil, err
		}
		n.Outputs[0].ID = d.nextID()
		if err := d.enqueue(&n, []op.Desc{c.desc}, false); err != nil {
			return nil, err
		}
		desc := p.Consts[i]
		desc.ID = n.Outputs[0].ID
		e.consts = append(e.consts, desc.ID)
	}
	runtime.KeepAlive(consts)
	return e, nil
}

// Program is the program as it was defined: lowered to what the device supports.
func (e *Executable) Program() *program.Program { return e.program }

// Run queues one execution. inputs fit p.Inputs in order and are not consumed. The results are new tensors. It waits for
// nothing; faults arrive with the results.
func (e *Executable) Run(inputs []*Tensor) ([]*Tensor, error) {
	p := e.program
	if len(inputs) != len(p.Inputs) {
		return nil, fmt.Errorf("tensor: program %q: %d inputs, want %d: %w", p.Name, len(inputs), len(p.Inputs), core.ErrShape)
	}
	d := &Device{engine: e.dev}
	var s *scope
	ids := make([]op.TensorID, len(inputs))
	e.dev.mu.Lock()
	for i, t := range inputs {
		if t.dev != e.dev || !t.desc.SameType(p.Inputs[i]) || t.state.released.Load() {
			e.dev.mu.Unlock()
			return nil, fmt.Errorf("tensor: program %q: input %d is %v on %s, want %v on %s, not released: %w", p.Name, i, t.desc, t.dev,
				p.Inputs[i], e.dev, core.ErrShape)
		}
		s = deeper(s, t.scope)
		ids[i] = t.desc.ID
	}
	outs := make([]op.Desc, len(e.outputs))
	copy(outs, e.outputs)
	var err error
	if e.closed {
		err = fmt.Errorf("tensor: program %q: %w", p.Name, core.ErrClosed)
	} else {
		err = e.submit(ids, outs)
	}
	e.dev.mu.Unlock()
	if err != nil {
		return nil, err
	}
	results := make([]*Tensor, len(outs))
	for i, o := range outs {
		results[i] = d.handle(o, s)
	}
	runtime.KeepAlive(inputs)
	return results, nil
}

// submit assigns ids to outs and queues the run. The caller holds the device.
func (e *Executable) submit(inputs []op.TensorID, outs []op.Desc) error {
	if err := e.dev.flush(); err != nil {
		return err
	}
	ids := make([]op.TensorID, len(outs))
	for i := range outs {
		outs[i].ID = e.dev.nextID()
		ids[i] = outs[i].ID
	}
	if e.programs != nil {
		return e.programs.Run(e.id, inputs, ids)
	}
	return e.replay(inputs, ids)
}

// replay submits all nodes with fresh ids. The results are copied to ids of their own, as an output may be an input, a
// constant, or given twice.
func (e *Executable) replay(inputs, outs []op.TensorID) error {
	p := e.program
	at := make(map[op.TensorID]op.TensorID, len(p.Nodes)+len(inputs))
	for i, d := range p.Inputs {
		at[d.ID] = inputs[i]
	}
	for i, d := range p.Consts {
		at[d.ID] = e.consts[i]
	}
	var temporary []op.TensorID
	held := map[op.TensorID]bool{}
	nodes := make([]op.Node, 0, len(p.Nodes)+len(outs))
	for i := range p.Nodes {
		n := p.Nodes[i]
		n.Inputs = append([]op.TensorID(nil), n.Inputs...)
		n.Outputs = append([]op.Desc(nil), n.Outputs...)
		for k, o := range n.Outputs {
			n.Outputs[k].ID = e.dev.nextID()
			at[o.ID] = n.Outputs[k].ID
		}
		for k, id := range n.Inputs {
			n.Inputs[k] = at[id]
		}
		for _, id := range e.last[i] {
			dropped := false
			for k, in := range n.Inputs {
				if in == at[id] && k < 64 {
					n.Drop |= 1 << k
					dropped = true
					break
				}
			}
			if !dropped {
				temporary = append(temporary, at[id])
			}
		}
		nodes = append(nodes, n)
	}
	for i, id := range p.Outputs {
		d := e.outputs[i]
		d.ID = at[id]
		c, err := op.New(op.Copy, []op.Desc{d})
		if err != nil {
			return err
		}
		c.Outputs[0].ID = outs[i]
		nodes = append(nodes, c)
		held[id] = true
	}
	for i := range p.Nodes {
		for _, o := range p.Nodes[i].Outputs {
			if held[o.ID] {
				temporary = append(temporary, at[o.ID])
			}
		}
	}
	if err := e.dev.stream.Submit(nodes); err != nil {
		return err
	}
	if len(temporary) == 0 {
		return nil
	}
	return e.dev.stream.Free(temporary)
}

// Close gives the program up. Runs that are queued still complete.
func (e *Executable) Close() error {
	e.dev.mu.Lock()
	defer e.dev.mu.Unlock()
	if e.closed || e.dev.closed {
		return nil
	}
	e.closed = true
	if e.programs == nil {
		for _, id := range e.consts {
			e.dev.release(id)
		}
		return nil
	}
	return e.programs.Undefine(e.id)
}
