package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/goburn/burn"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// watched is a backend that stores the device that it opens, so that the device can be profiled.
type watched struct {
	core.Backend
	dev core.Device
}

func (w *watched) Open(ctx context.Context, i int) (core.Device, error) {
	d, err := w.Backend.Open(ctx, i)
	w.dev = d
	return d, err
}

// profileRows is the number of rows of a profile that are printed.
const profileRows = 60

// profiledSteps is the number of training steps of a profile.
const profiledSteps = 10

// profiles prints a profile of each case.
func profiles(ctx context.Context, o flags) error {
	o.settings.threads = o.threads[0]
	for _, name := range o.names {
		c, err := find(name)
		if err == nil {
			err = profile(ctx, os.Stdout, c, o.settings, profiledSteps)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// profile prints how n training steps spend their time: each unit of work that the device reports, with its time per training
// step.
func profile(ctx context.Context, out io.Writer, c contest, s settings, n int) (err error) {
	w := &watched{}
	t, err := newTrainer(ctx, c, s, burn.WithDecorator(func(p *core.Place) *core.Place {
		return p.With(func(b core.Backend) core.Backend { w.Backend = b; return w })
	}))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	for range 6 { // the host runs repeated code as a program
		if _, err := t.step(ctx); err != nil {
			return err
		}
	}
	p, ok := core.Extension[core.Profiling](w.dev)
	if !ok {
		return fmt.Errorf("%s does not report its steps", s.device)
	}
	if err := errors.Join(t.dev.Sync(ctx), p.StartProfile(ctx)); err != nil {
		return err
	}
	for range n {
		if _, err := t.step(ctx); err != nil {
			return err
		}
	}
	if err := t.dev.Sync(ctx); err != nil {
		return err
	}
	got, err := p.StopProfile(ctx)
	if err != nil {
		return err
	}
	_, err = io.WriteString(out, profileText(c.text, got, n))
	return err
}

// profileText returns the lines of a profile of n training steps: the units of work by their total time, longest first.
func profileText(name string, p *core.Profile, n int) string {
	type sum struct {
		step  *core.ProfileStep
		calls int
		time  time.Duration
	}
	sums := make([]sum, len(p.Steps))
	var all, whole time.Duration
	for _, r := range p.Records {
		s := &sums[r.Step]
		if s.step = &p.Steps[r.Step]; s.step.Index == core.WholeRun {
			whole += r.Duration
			continue
		}
		s.calls++
		s.time += r.Duration
		all += r.Duration
	}
	slices.SortStableFunc(sums, func(a, b sum) int { return cmp.Compare(b.time, a.time) })
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d steps of %.3f ms on the device, %.3f ms in programs; %d records are missing\n", name, n, millis(all, n), millis(whole, n), p.Dropped)
	for i, s := range sums {
		if s.calls == 0 || i == profileRows {
			break
		}
		seconds := s.time.Seconds() / float64(s.calls)
		fmt.Fprintf(&b, "%9.4f ms %5.1f calls %8.0f GB/s %8.2f TFLOP/s  %s  %v -> %v\n", millis(s.time, n), float64(s.calls)/float64(n),
			float64(s.step.Bytes)/seconds/1e9, float64(s.step.Flops)/seconds/1e12, strings.Join(s.step.Ops, " "), types(s.step.In), types(s.step.Out))
	}
	return b.String()
}

func millis(d time.Duration, n int) float64 { return d.Seconds() * 1e3 / float64(n) }

// types returns the types and shapes of tensors.
func types(ds []op.Desc) string {
	var l []string
	for _, d := range ds {
		l = append(l, fmt.Sprint(d.DType, d.Shape))
	}
	return strings.Join(l, " ")
}
