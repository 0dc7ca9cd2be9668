package ref

import (
	"context"
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// defined is a program with the constants it was defined with.
type defined struct {
	program *program.Program
	consts  []slot
}

// Define implements core.Programs.
func (s *stream) Define(ctx context.Context, p *program.Program, consts []op.TensorID) (core.ProgramID, error) {
	if err := canceled(ctx); err != nil {
		return 0, err
	}
	if err := s.enter(); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	if err := p.Check(); err != nil {
		return 0, fmt.Errorf("ref: define %q: %w", p.Name, err)
	}
	if err := s.supported(p); err != nil {
		return 0, fmt.Errorf("ref: define %q: %w", p.Name, err)
	}
	if len(consts) != len(p.Consts) {
		return 0, fmt.Errorf("ref: define %q: %d constants, want %d: %w", p.Name, len(consts), len(p.Consts), core.ErrShape)
	}
	d := &defined{program: p}
	for i, id := range consts {
		v, ok := s.tensors[id]
		switch {
		case !ok:
			return 0, fmt.Errorf("ref: define %q: constant %d is %v: %w", p.Name, i, id, core.ErrUnknownTensor)
		case v.err != nil:
			return 0, v.err
		case !v.t.Desc.SameType(p.Consts[i]):
			return 0, fmt.Errorf("ref: define %q: constant %d is %v, want %v: %w", p.Name, i, v.t.Desc, p.Consts[i], core.ErrShape)
		}
		d.consts = append(d.consts, v)
	}
	s.lastID++
	s.programs[s.lastID] = d
	return s.lastID, nil
}

// supported asks for every node of a checked program.
func (s *stream) supported(p *program.Program) error {
	descs := map[op.TensorID]op.Desc{}
	for _, d := range append(append([]op.Desc(nil), p.Inputs...), p.Consts...) {
		descs[d.ID] = d
	}
	for i := range p.Nodes {
		var in []op.Desc
		for _, id := range p.Nodes[i].Inputs {
			in = append(in, descs[id])
		}
		if err := s.backend.Supports(&p.Nodes[i], in); err != nil {
			return err
		}
		for _, d := range p.Nodes[i].Outputs {
			descs[d.ID] = d
		}
	}
	return nil
}

// Run implements core.Programs.
func (s *stream) Run(id core.ProgramID, inputs, outputs []op.TensorID) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.mu.Unlock()
	d, ok := s.programs[id]
	if !ok {
		return fmt.Errorf("ref: run of program %d: %w", id, core.ErrNotFound)
	}
	p := d.program
	if len(inputs) != len(p.Inputs) || len(outputs) != len(p.Outputs) {
		return fmt.Errorf("ref: run %q: %d inputs and %d outputs, want %d and %d: %w", p.Name, len(inputs), len(outputs), len(p.Inputs),
			len(p.Outputs), core.ErrShape)
	}
	local := map[op.TensorID]slot{}
	for i, in := range inputs {
		local[p.Inputs[i].ID] = s.bind(p, i, in)
	}
	for i, c := range d.consts {
		local[p.Consts[i].ID] = c
	}
	for i := range p.Nodes {
		s.step(&p.Nodes[i], local)
	}
	for i, out := range outputs {
		v := local[p.Outputs[i]]
		v.t.Desc.ID = out
		s.tensors[out] = v
	}
	return nil
}

// bind is the value of input i of a run.
func (s *stream) bind(p *program.Program, i int, id op.TensorID) slot {
	v, ok := s.tensors[id]
	var err error
	switch {
	case v.err != nil:
		return v
	case !ok:
		err = fmt.Errorf("ref: run %q: input %d is %v: %w", p.Name, i, id, core.ErrUnknownTensor)
	case !v.t.Desc.SameType(p.Inputs[i]):
		err = fmt.Errorf("ref: run %q: input %d is %v, want %v: %w", p.Name, i, v.t.Desc, p.Inputs[i], core.ErrShape)
	default:
		return v
	}
	s.fail(err)
	return slot{t: Tensor{Desc: p.Inputs[i]}, err: err}
}

// Undefine implements core.Programs.
func (s *stream) Undefine(id core.ProgramID) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if _, ok := s.programs[id]; !ok {
		return fmt.Errorf("ref: undefine program %d: %w", id, core.ErrNotFound)
	}
	delete(s.programs, id)
	return nil
}
