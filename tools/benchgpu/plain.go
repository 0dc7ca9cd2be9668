package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/tensor"
)

// plainCase is a measurement of a device that is not a case of a single program.
type plainCase struct {
	name    string
	size    int // number n that measure receives, of f32 elements or of ops
	measure func(ctx context.Context, o *opFlags, dev *tensor.Device, n int) ([]float64, error)
	bytes   int64
	target  millis
}

func plainCases(z sizes) []plainCase {
	list := []plainCase{
		{"copy_up", z.elements, up, 4 * int64(z.elements), 0},
		{"copy_down", z.elements, down, 4 * int64(z.elements), 0},
		{"host_run", 1024, hostRun, 0, 0.015},
		{"round_trip", 1024, roundTrip, 0, 0},
		{"tiny_eager_1000", 1000, eager, 0, 0},
	}
	return list
}

// plain measures the plain cases.
func (o *opFlags) plain(ctx context.Context, dev *tensor.Device, z sizes, keep func(figure)) {
	for _, c := range plainCases(z) {
		if !o.match.MatchString(c.name) || ctx.Err() != nil {
			continue
		}
		fig := figure{Name: c.name, Side: "burn"}
		within, stop := context.WithTimeout(ctx, o.limit)
		var s []float64
		var err error
		terr := tensor.Try(func() { s, err = c.measure(within, o, dev, c.size) })
		stop()
		fig.fill(s)
		if err = errors.Join(err, terr); err != nil {
			fig.Error = err.Error()
		}
		keep(fig)
	}
}

func up(ctx context.Context, o *opFlags, dev *tensor.Device, n int) ([]float64, error) {
	data := make([]byte, 4*n)
	return o.sample(ctx, dev, func() error {
		x, err := dev.FromBytes(ctx, dtype.F32, shape.Of(n), data)
		if err == nil {
			x.Release()
		}
		return err
	})
}

func down(ctx context.Context, o *opFlags, dev *tensor.Device, n int) ([]float64, error) {
	x := dev.Full(dtype.F32, 1.5, n)
	defer x.Release()
	dst := make([]float32, n)
	return o.sample(ctx, dev, func() error {
		err := tensor.Read(ctx, x, dst)
		if err == nil && dst[n-1] != 1.5 {
			err = fmt.Errorf("read %v, want 1.5", dst[n-1])
		}
		return err
	})
}

// one returns a small program, the chain of gelu on n elements, with its input. The caller releases both.
func one(ctx context.Context, dev *tensor.Device, n int) (*tensor.Executable, []*tensor.Tensor, error) {
	c := chain(sizes{elements: n})
	p, err := c.program()
	if err != nil {
		return nil, nil, err
	}
	e, err := dev.Compile(ctx, p, nil)
	if err != nil {
		return nil, nil, err
	}
	return e, []*tensor.Tensor{dev.Full(dtype.F32, 0.5, n)}, nil
}

// hostRun measures the time that the caller needs to queue a program run, without waiting for it.
func hostRun(ctx context.Context, o *opFlags, dev *tensor.Device, n int) (samples []float64, err error) {
	e, in, err := one(ctx, dev, n)
	if err != nil {
		return nil, err
	}
	defer func() {
		in[0].Release()
		err = errors.Join(err, e.Close())
	}()
	const calls = 200 // less than the capacity of any queue
	for k := range o.repeats + 3 {
		start := time.Now()
		for range calls {
			outs, err := e.RunOn(dev, in, nil)
			if err != nil {
				return nil, err
			}
			outs[0].Release()
		}
		took := time.Since(start)
		if err := dev.Sync(ctx); err != nil {
			return nil, err
		}
		if k >= 3 {
			samples = append(samples, took.Seconds()*1e3/calls)
		}
	}
	return samples, nil
}

// roundTrip measures a program run, including the wait for its result on the host.
func roundTrip(ctx context.Context, o *opFlags, dev *tensor.Device, n int) (samples []float64, err error) {
	e, in, err := one(ctx, dev, n)
	if err != nil {
		return nil, err
	}
	defer func() {
		in[0].Release()
		err = errors.Join(err, e.Close())
	}()
	return o.sample(ctx, dev, func() error {
		outs, err := e.RunOn(dev, in, nil)
		if err != nil {
			return err
		}
		defer outs[0].Release()
		_, err = outs[0].Bytes(ctx)
		return err
	})
}

// eager measures n ops that are submitted one by one.
func eager(ctx context.Context, o *opFlags, dev *tensor.Device, n int) ([]float64, error) {
	x, y := dev.Full(dtype.F32, 0.5, 1024), dev.Full(dtype.F32, 1, 1024)
	defer x.Release()
	defer y.Release()
	return o.sample(ctx, dev, func() error {
		z := x.Mul(y)
		for range n - 1 {
			next := z.Mul(y)
			z.Release()
			z = next
		}
		z.Release()
		return nil
	})
}
