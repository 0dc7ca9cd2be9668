package router

import (
	"context"
	"errors"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

const (
	mostMeasured = 300 * time.Millisecond // that measurements of one program may take on a member
	enough       = 5 * time.Millisecond   // that runs are repeated for
	mostRepeats  = 50
)

// measure returns the time of one run of a program on a member, with operands of zeros, in seconds. s is the router's own stream.
func (s *stream) measure(ctx context.Context, m *member, p *program.Program) (seconds float64, err error) {
	l := s.lane(m)
	if err := l.settle(ctx); err != nil {
		return 0, err
	}
	var all []op.TensorID
	make0 := func(ds []op.Desc) (ids []op.TensorID, err error) {
		for _, d := range ds {
			d.ID = m.dev.NewIDs(1)
			if err := l.inner.Write(ctx, d, make([]byte, d.Bytes())); err != nil {
				return nil, err
			}
			ids, all = append(ids, d.ID), append(all, d.ID)
		}
		return ids, nil
	}
	defer func() {
		err = errors.Join(m.note(err), l.inner.Submit(nil, all))
	}()
	in, err := make0(p.Inputs)
	if err != nil {
		return 0, err
	}
	consts, err := make0(p.Consts)
	if err != nil {
		return 0, err
	}
	id, err := m.programs.Define(ctx, l.inner, p, consts)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, m.programs.Undefine(id)) }()
	n := len(p.Outputs)
	runs := func(count int) (time.Duration, error) {
		first := m.dev.NewIDs(n * count)
		out := make([]op.TensorID, n*count)
		for i := range out {
			out[i] = first + op.TensorID(i)
		}
		start := time.Now()
		for i := range count {
			o := out[i*n : i*n+n]
			if err := m.programs.Run(l.inner, core.Run{Program: id, Inputs: in, Outputs: o}); err != nil {
				return 0, err
			}
			if err := l.inner.Submit(nil, o); err != nil {
				return 0, err
			}
		}
		err := core.Sync(ctx, l.inner)
		return time.Since(start), err
	}
	if _, err := runs(1); err != nil { // compiles, and faults memory in
		return 0, err
	}
	once, err := runs(1)
	if err != nil || once >= enough {
		return once.Seconds(), err
	}
	count := min(mostRepeats, 1+int(enough/max(once, 1)))
	total, err := runs(count)
	return total.Seconds() / float64(count), err
}

// measureLink returns the time of a transfer, and that of each byte, in seconds. s is the router's own stream.
func (s *stream) measureLink(ctx context.Context, from, to *member) (times [2]float64, err error) {
	const small, large = 1 << 10, 1 << 20 // elements
	var took [2]float64
	for i, n := range [2]int{small, large} {
		for range 3 {
			t, err := s.transfer(ctx, from, to, op.DescOf(dtype.F32, n))
			if err != nil {
				return times, err
			}
			if took[i] == 0 || t < took[i] {
				took[i] = t
			}
		}
	}
	times[1] = max(0, (took[1]-took[0])/(4*(large-small)))
	times[0] = max(0, took[0]-4*small*times[1])
	return times, nil
}

// transfer returns the time in which a new tensor goes from one member to another.
func (s *stream) transfer(ctx context.Context, from, to *member, d op.Desc) (seconds float64, err error) {
	d.ID = s.dev.NewIDs(1)
	on := &stream{s.queue, from.index}
	if err := on.Write(ctx, d, make([]byte, d.Bytes())); err != nil {
		return 0, err
	}
	if err := core.Sync(ctx, s); err != nil {
		return 0, err
	}
	start := time.Now()
	err = s.command(func(*change) error {
		s.bring(s.dev.tensors[d.ID], to)
		return nil
	})
	if err == nil {
		err = core.Sync(ctx, s)
	}
	took := time.Since(start)
	return took.Seconds(), errors.Join(err, s.Submit(nil, []op.TensorID{d.ID}))
}
