package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/tensor"
)

// sets is the number of sets of inputs. Runs use the sets in turn, so that no input is still in the cache of the device.
const sets = 3

// measure runs a case as a program, which it defines once and runs many times, with one wait at the end of each sample. It stores
// the times and the greatest error in fig.
func (o *opFlags) measure(ctx context.Context, dev *tensor.Device, c *opCase, z sizes, fig *figure) (err error) {
	p, err := c.program()
	if err != nil {
		return err
	}
	exec, err := dev.Compile(ctx, p, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, exec.Close()) }()
	hosts, inputs := c.upload(ctx, dev, z)
	defer func() {
		for _, set := range inputs {
			for _, x := range set {
				x.Release()
			}
		}
	}()
	if fig.Off, err = c.check(ctx, dev, exec, inputs[0], hosts); err != nil {
		return err
	}
	at := 0
	s, err := o.sample(ctx, dev, func() error {
		at++
		outs, err := exec.RunOn(dev, inputs[at%sets], nil)
		for _, y := range outs {
			y.Release()
		}
		return err
	})
	fig.fill(s)
	return err
}

func (fig *figure) fill(samples []float64) {
	if len(samples) > 0 {
		slices.Sort(samples)
		fig.Millis, fig.Best = samples[len(samples)/2], samples[0]
	}
}

// program returns the case as a program of one result.
func (c *opCase) program() (*program.Program, error) {
	last := op.TensorID(0)
	next := func() op.TensorID { last++; return last }
	p := &program.Program{Name: c.name}
	for _, d := range c.in {
		d.ID = next()
		p.Inputs = append(p.Inputs, d)
	}
	b := op.NewBuilder(next)
	y := c.build(b, p.Inputs)
	p.Nodes, p.Outputs = b.Nodes, []op.TensorID{y.ID}
	return p, b.Err()
}

// upload returns the inputs on the host, and sets copies of them on the device. All copies contain the same values in separate
// memory.
func (c *opCase) upload(ctx context.Context, dev *tensor.Device, z sizes) (hosts [][]float32, inputs [sets][]*tensor.Tensor) {
	for k, d := range c.in {
		v := values(k, d, z.rows)
		hosts = append(hosts, v)
		x := tensor.From(dev, v, d.Shape...)
		y := x.Cast(d.DType)
		for s := range inputs {
			inputs[s] = append(inputs[s], dev.Op(op.Copy, []*tensor.Tensor{y})[0])
		}
		if y != x {
			y.Release()
		}
		x.Release()
	}
	return hosts, inputs
}

// check compares samples of the result with the expected values. It returns the greatest error relative to the permitted error,
// and an error for a value outside the tolerance.
func (c *opCase) check(ctx context.Context, dev *tensor.Device, exec *tensor.Executable, in []*tensor.Tensor, hosts [][]float32) (worst float64, err error) {
	outs, err := exec.RunOn(dev, in, nil)
	if err != nil {
		return 0, err
	}
	defer outs[0].Release()
	wide := outs[0].Cast(dtype.F32)
	defer wide.Release()
	got, err := tensor.Data[float32](ctx, wide)
	if err != nil {
		return 0, err
	}
	if c.want == nil { // sorted
		if !slices.IsSorted(got) {
			return math.Inf(1), errors.New("the result is not sorted")
		}
		return 0, nil
	}
	const samples = 64
	for k := range samples {
		i := int(uint64(mix(uint32(k)+77)) * uint64(len(got)) >> 32)
		if k < 2 {
			i = k * (len(got) - 1)
		}
		want := c.want(hosts, i)
		off := math.Abs(float64(got[i]) - want)
		if allowed := c.tolerance * max(math.Abs(want), c.scale); !(off <= allowed) {
			return math.Inf(1), fmt.Errorf("element %d is %v, want %v within %.2g", i, got[i], want, allowed)
		} else if allowed > 0 {
			worst = max(worst, off/allowed)
		}
		if len(got) == 1 {
			break
		}
	}
	return worst, nil
}

// sample measures run and returns the milliseconds per call of each sample. A sample consists of as many calls as take the time
// o.atLeast, and one wait.
func (o *opFlags) sample(ctx context.Context, dev *tensor.Device, run func() error) (samples []float64, err error) {
	batch := func(n int) (time.Duration, error) {
		start := time.Now()
		for range n {
			if err := run(); err != nil {
				return 0, err
			}
		}
		err := dev.Sync(ctx)
		return time.Since(start), err
	}
	for range 3 { // the first runs compile, capture and choose kernels
		if _, err := batch(2); err != nil {
			return nil, err
		}
	}
	n := 1
	for {
		took, err := batch(n)
		if err != nil {
			return nil, err
		}
		if took >= o.atLeast/2 || n >= 4096 {
			n = max(1, min(4096, int(float64(n)*float64(o.atLeast)/float64(max(took, 1)))))
			break
		}
		n *= 4
	}
	for range o.repeats {
		took, err := batch(n)
		if err != nil {
			return samples, err
		}
		samples = append(samples, took.Seconds()*1e3/float64(n))
		if err := ctx.Err(); err != nil {
			return samples, nil // the samples so far are valid
		}
	}
	return samples, nil
}

// parallel divides [0, n) into a part for each processor, and calls f on the parts concurrently.
func parallel(n int, f func(from, to int)) {
	var wait sync.WaitGroup
	parts := runtime.GOMAXPROCS(0)
	for k := range parts {
		wait.Go(func() { f(n*k/parts, n*(k+1)/parts) })
	}
	wait.Wait()
}
