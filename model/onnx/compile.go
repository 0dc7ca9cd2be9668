package onnx

import (
	"context"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/tensor"
)

// compiled is a program on the device. Steps share it.
type compiled struct {
	key   string
	exec  *tensor.Executable // nil before it is compiled, and after a failure
	uses  int                // number of steps that refer to it; guarded by Session.mu
	ready chan struct{}      // closed when it is compiled or compiling has failed
}

// compile returns the compiled program for p, and compiles it on the device if no equal program exists. The caller holds tracing;
// compile releases it while it waits.
func (s *Session) compile(t *tracer, p *program.Program, consts []*data) (*compiled, error) {
	key := keyOf(p, consts)
	for {
		s.mu.Lock()
		c := s.programs[key]
		if c == nil {
			c = &compiled{key: key, uses: 1, ready: make(chan struct{})}
			s.programs[key] = c
			s.mu.Unlock()
			return c, s.define(t, c, p, consts)
		}
		c.uses++
		s.mu.Unlock()
		var err error
		t.aside(func() { err = c.wait(t.ctx) })
		if err == nil && c.exec != nil {
			return c, nil
		}
		var gone trash
		s.mu.Lock()
		s.dropProgram(c, &gone)
		s.mu.Unlock()
		gone.empty()
		if err != nil {
			return nil, err
		}
	}
}

func (c *compiled) wait(ctx context.Context) error {
	select {
	case <-c.ready:
		return nil
	case <-ctx.Done():
		return canceled(ctx)
	}
}

// define compiles p into c and closes c.ready. After an error or panic it forgets c, so that the next caller tries again.
func (s *Session) define(t *tracer, c *compiled, p *program.Program, consts []*data) (err error) {
	defer func() {
		if c.exec == nil {
			s.mu.Lock()
			delete(s.programs, c.key)
			s.mu.Unlock()
		}
		close(c.ready)
	}()
	p, consts = s.composed(t, p, consts)
	if p, consts, err = s.narrowed(t, p, consts); err != nil {
		return err
	}
	args := make([]*tensor.Tensor, len(consts))
	for i, d := range consts {
		args[i] = t.device(d)
	}
	var exec *tensor.Executable
	t.aside(func() { exec, err = t.now.dev.Compile(t.ctx, p, args) })
	if err == nil {
		c.exec = exec
	}
	return err
}

// composed replaces patterns that exporters write by composite ops that the device supports. It returns the new program and its constants.
func (s *Session) composed(t *tracer, p *program.Program, consts []*data) (*program.Program, []*data) {
	target, w := s.dev.Target(), withOrigins(p, consts)
	q := w.p.Rewrite(func(i int) []byte { return t.content(w.consts[i]) },
		func(n *op.Node, in []op.Desc) bool { return target.Supports(n, in) == nil })
	if q == &w.p {
		return p, consts
	}
	return w.settle(q)
}

// dropProgram ends one use of c, which may be nil. The caller holds mu.
func (s *Session) dropProgram(c *compiled, gone *trash) {
	if c == nil {
		return
	}
	if c.uses--; c.uses == 0 && s.programs[c.key] == c {
		delete(s.programs, c.key)
		gone.programs = append(gone.programs, c.exec)
	}
}

// trash collects resources that are released after mu is unlocked.
type trash struct {
	programs []*tensor.Executable
	tensors  []*tensor.Tensor
}

func (x *trash) empty() {
	for _, e := range x.programs {
		_ = e.Close() // it fails only if the device is lost, which every later call reports
	}
	for _, t := range x.tensors {
		t.Release()
	}
}
