package client

import (
	"context"
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/sdk/wire"
)

// defined is a program of a device. Programs are numbered on this side.
type defined struct {
	inputs, outputs int
	runs            uint64 // guarded by the device
}

// number returns the next number of a program or a group.
func (d *device) number() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last++
	return d.last
}

// Define implements core.Programs. It sends the whole program and waits until the backend has accepted it.
func (d *device) Define(ctx context.Context, cs core.Stream, p *program.Program, consts []op.TensorID) (core.ProgramID, error) {
	s, err := d.stream(cs)
	if err != nil {
		return 0, err
	}
	if err := s.current(consts); err != nil {
		return 0, err
	}
	if ctx.Err() != nil {
		return 0, canceled(d.b.proc.name, ctx)
	}
	ctx, cancel := bounded(ctx, d.b.defineTimeout, defineSetting)
	defer cancel()
	number := d.number()
	if err := s.begin(); err != nil {
		return 0, err
	}
	s.flush()
	// If the program is defined after the caller has stopped waiting, it is undefined again.
	r := s.requests.put(&request{settle: func(err error, dropped bool) {
		if err == nil && dropped {
			go d.end(number, 0)
		}
	}})
	if err := s.enc.Define(r.id, number, p, consts); err != nil {
		s.requests.remove(r)
		s.mu.Unlock()
		return 0, err
	}
	s.flush()
	s.mu.Unlock()
	if err := s.await(ctx, r); err != nil {
		return 0, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.programs[core.ProgramID(number)] = &defined{inputs: len(p.Inputs), outputs: len(p.Outputs)}
	return core.ProgramID(number), nil
}

// check returns an error for an invalid run.
func (p *defined) check(r core.Run) error {
	if len(r.Inputs) != p.inputs || len(r.Outputs) != p.outputs || r.Donated != nil && len(r.Donated) != p.inputs {
		return fmt.Errorf("run: %d inputs, %d donations and %d outputs, want %d inputs and %d outputs: %w",
			len(r.Inputs), len(r.Donated), len(r.Outputs), p.inputs, p.outputs, core.ErrAttr)
	}
	var seen map[op.TensorID]bool // values: whether the id is donated
	for i, id := range r.Inputs {
		if r.Donated == nil {
			break
		}
		if seen == nil {
			seen = make(map[op.TensorID]bool, len(r.Inputs))
		}
		donated, twice := seen[id]
		if twice && (donated || r.Donated[i]) {
			return fmt.Errorf("run: input %d, %v, is donated and listed twice among the inputs: %w", i, id, core.ErrAttr)
		}
		seen[id] = r.Donated[i]
	}
	return wire.FitsRun(len(r.Inputs), len(r.Outputs))
}

// Run implements core.Programs.
func (d *device) Run(cs core.Stream, r core.Run) error {
	s, err := d.stream(cs)
	if err != nil {
		return err
	}
	if err := s.current(r.Inputs); err != nil {
		return err
	}
	if err := s.current(r.Outputs); err != nil {
		return err
	}
	d.mu.Lock()
	p := d.programs[r.Program]
	d.mu.Unlock()
	if p == nil {
		return fmt.Errorf("plugin %s: run: program %d: %w", d.b.proc.name, r.Program, core.ErrNotFound)
	}
	if err := p.check(r); err != nil {
		return fmt.Errorf("plugin %s: %w", d.b.proc.name, err)
	}
	if err := s.begin(); err != nil {
		return err
	}
	d.mu.Lock()
	live := d.programs[r.Program] == p
	if live {
		p.runs++
	}
	d.mu.Unlock()
	if !live {
		s.mu.Unlock()
		return fmt.Errorf("plugin %s: run: program %d: %w", d.b.proc.name, r.Program, core.ErrNotFound)
	}
	s.enc.Run(uint64(r.Program), r.Inputs, r.Outputs, r.Donated)
	for i, donated := range r.Donated {
		if donated {
			s.givenUp(r.Inputs[i : i+1])
		}
	}
	s.ahead.run(uint64(r.Program), r.Outputs)
	return s.added()
}

// Undefine implements core.Programs. It sends the number of accepted runs to the plugin, because some may not have arrived yet.
func (d *device) Undefine(id core.ProgramID) error {
	d.mu.Lock()
	p := d.programs[id]
	delete(d.programs, id)
	d.mu.Unlock()
	if p == nil {
		return fmt.Errorf("plugin %s: undefine: program %d: %w", d.b.proc.name, id, core.ErrNotFound)
	}
	if err := d.gone(); err != nil {
		return err
	}
	return d.end(uint64(id), p.runs)
}

func (d *device) end(number, runs uint64) error {
	ctx, cancel := d.call()
	defer cancel()
	answer, err := d.b.caller.Undefine(ctx, d.handle, number, runs)
	if err != nil {
		return d.callError(ctx, err)
	}
	return answer
}
