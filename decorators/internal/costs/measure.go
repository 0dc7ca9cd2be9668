package costs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

const (
	enough     = 5 * time.Millisecond // the time for which runs are repeated
	maxRepeats = 50                   // greatest number of runs in all batches together
	batches    = 3
)

// Program measures one run of a program on device d, with operands of zeros. A first run, which does not count, compiles the program. A few
// batches of runs follow, which take some milliseconds together. Program returns the least mean time of a run in a batch, because other
// work on the machine can only make runs longer. s is a stream of d. Program frees its tensors and undefines the program.
func Program(ctx context.Context, d core.Device, s core.Stream, p *program.Program) (seconds float64, err error) {
	programs, ok := core.Extension[core.Programs](d)
	if !ok {
		return 0, fmt.Errorf("costs: measure: the device has no programs: %w", core.ErrUnsupported)
	}
	var all []op.TensorID
	make0 := func(ds []op.Desc) (ids []op.TensorID, err error) {
		for _, x := range ds {
			x.ID = d.NewIDs(1)
			if err := s.Write(ctx, x, make([]byte, x.Bytes())); err != nil {
				return nil, err
			}
			ids, all = append(ids, x.ID), append(all, x.ID)
		}
		return ids, nil
	}
	defer func() {
		err = errors.Join(err, s.Submit(nil, all))
	}()
	in, err := make0(p.Inputs)
	if err != nil {
		return 0, err
	}
	consts, err := make0(p.Consts)
	if err != nil {
		return 0, err
	}
	id, err := programs.Define(ctx, s, p, consts)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, programs.Undefine(id)) }()
	n := len(p.Outputs)
	runs := func(count int) (time.Duration, error) {
		first := d.NewIDs(n * count)
		out := make([]op.TensorID, n*count)
		for i := range out {
			out[i] = first + op.TensorID(i)
		}
		start := time.Now()
		for i := range count {
			o := out[i*n : i*n+n]
			if err := programs.Run(s, core.Run{Program: id, Inputs: in, Outputs: o}); err != nil {
				return 0, err
			}
			if err := s.Submit(nil, o); err != nil {
				return 0, err
			}
		}
		err := core.Sync(ctx, s)
		return time.Since(start), err
	}
	if _, err := runs(1); err != nil { // compiles the program, and causes page faults
		return 0, err
	}
	once, err := runs(1)
	if err != nil {
		return 0, err
	}
	least, size, left := once.Seconds(), 1, batches
	if once < enough {
		size = (min(maxRepeats, 1+int(enough/max(once, 1))) + batches - 1) / batches
	} else {
		left = 1
	}
	for range left {
		total, err := runs(size)
		if err != nil {
			return 0, err
		}
		least = min(least, total.Seconds()/float64(size))
	}
	return least, nil
}

// Link measures the transfer time of a link, from the fastest of several transfers of a small and of a large tensor. transfer transfers one
// tensor.
func Link(transfer func(d op.Desc) (seconds float64, err error)) (l Line, err error) {
	const small, large = 1 << 10, 1 << 20 // elements
	var took [2]float64
	for i, n := range [2]int{small, large} {
		for range 3 {
			t, err := transfer(op.DescOf(dtype.F32, n))
			if err != nil {
				return l, err
			}
			if took[i] == 0 || t < took[i] {
				took[i] = t
			}
		}
	}
	l[1] = max(0, (took[1]-took[0])/(4*(large-small)))
	l[0] = max(0, took[0]-4*small*l[1])
	return l, nil
}
