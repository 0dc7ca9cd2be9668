package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/goburn/burn"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/decorators/router"
	"github.com/goburn/burn/internal/bench"
	"github.com/goburn/burn/internal/peer"
	"github.com/goburn/burn/tensor"
)

// line is a measurement in the table: its description, and the times of its contestants in the order of names.
type line struct {
	text    string
	threads int
	names   []string
	stats   []bench.Stats
}

// loop is a contestant that calls f repeatedly.
type loop struct {
	f       func() error
	samples []time.Duration
}

// Turn implements bench.Contestant.
func (l *loop) Turn(_ context.Context, d time.Duration) error {
	for end := time.Now().Add(d); ; {
		start := time.Now()
		if err := l.f(); err != nil {
			return err
		}
		l.samples = append(l.samples, time.Since(start))
		if time.Now().After(end) {
			return nil
		}
	}
}

// Stats implements bench.Contestant.
func (l *loop) Stats() bench.Stats { return bench.Summarize(l.samples) }

// contestants holds the contestants of a line while it is measured.
type contestants struct {
	names []string
	list  []bench.Contestant
	close []func() error
}

func (cs *contestants) add(name string, c bench.Contestant, close func() error) {
	cs.names, cs.list, cs.close = append(cs.names, name), append(cs.list, c), append(cs.close, close)
}

func (cs *contestants) end() (err error) {
	for _, c := range cs.close {
		err = errors.Join(err, c())
	}
	return err
}

// measure runs a warm-up and lets the contestants take turns.
func (cs *contestants) measure(ctx context.Context, text string, threads int, total time.Duration) (line, error) {
	l := line{text: text, threads: threads, names: cs.names}
	for _, c := range cs.list {
		if err := c.Turn(ctx, 300*time.Millisecond); err != nil { // fusion compiles programs when code repeats
			return l, err
		}
		switch c := c.(type) {
		case *loop:
			c.samples = nil
		case *trainer:
			c.samples = nil
		case *compiled:
			c.samples = nil
		}
	}
	if err := bench.Race(ctx, total, 100*time.Millisecond, cs.list...); err != nil {
		return l, err
	}
	for i, c := range cs.list {
		l.stats = append(l.stats, c.Stats())
		fmt.Fprintf(os.Stderr, "%s, %d threads: %s %v\n", text, threads, cs.names[i], l.stats[i].Median)
	}
	return l, nil
}

// fusionTable measures the table that -table fusion selects.
func fusionTable(ctx context.Context, o flags) error {
	var lines []line
	var failed []error
	load := peer.Load()
	for _, n := range o.threads {
		o.settings.threads = n
		for _, measure := range []func(context.Context, flags) ([]line, error){steps, chain, never, divided} {
			more, err := measure(ctx, o)
			lines = append(lines, more...)
			if err != nil {
				failed = append(failed, fmt.Errorf("%d threads: %w", n, err))
				fmt.Fprintln(os.Stderr, "benchtrain:", failed[len(failed)-1])
			}
		}
	}
	text := fusionReport(lines, load)
	var err error
	if o.out == "" {
		_, err = os.Stdout.WriteString(text)
	} else if len(failed) == 0 {
		err = fusionPart.Replace(o.out, text)
	}
	return errors.Join(append(failed, err)...)
}

// steps measures training steps: op by op, with fusion, as one program, and in PyTorch.
func steps(ctx context.Context, o flags) (lines []line, err error) {
	for _, name := range o.names {
		c, err := find(name)
		if err != nil {
			return lines, err
		}
		l, err := step(ctx, o, c)
		if err != nil {
			return lines, fmt.Errorf("%s: %w", name, err)
		}
		lines = append(lines, l)
	}
	return lines, nil
}

func step(ctx context.Context, o flags, c contest) (l line, err error) {
	cs := &contestants{}
	defer func() { err = errors.Join(err, cs.end()) }()
	eager, err := newTrainer(ctx, c, o.settings)
	if err != nil {
		return l, err
	}
	cs.add("eager", eager, eager.close)
	with := o.settings
	with.fusion = true
	fused, err := newTrainer(ctx, c, with)
	if err != nil {
		return l, err
	}
	cs.add("fused", fused, fused.close)
	whole, err := newCompiled(ctx, c, o.settings)
	if err != nil {
		return l, err
	}
	cs.add("compiled step", whole, whole.close)
	dir, err := os.MkdirTemp("", "benchtrain")
	if err != nil {
		return l, err
	}
	defer os.RemoveAll(dir)
	params, x, y, err := eager.files(ctx, dir, c.words != nil)
	if err != nil {
		return l, err
	}
	request := map[string]any{"name": c.name, "params": params, "x": x, "y": y, "precision": "f32", "out": dir}
	var a answer
	if err := o.peer(ctx, cs, dir, request, &a); err != nil {
		return l, err
	}
	if cs.names[len(cs.names)-1] == "PyTorch eager" {
		if _, err := eager.agree(ctx, a); err != nil {
			return l, err
		}
	}
	return cs.measure(ctx, c.text, o.settings.threads, o.seconds)
}

// peer starts PyTorch and adds it to cs, unless -python is empty.
func (o *flags) peer(ctx context.Context, cs *contestants, dir string, request map[string]any, a *answer) error {
	if o.python == "" {
		return nil
	}
	p, err := startLibrary(ctx, o.python, dir, o.settings.threads, "cpu", "eager")
	if err != nil {
		return err
	}
	cs.add("PyTorch eager", p, func() error { p.Close(); return nil })
	return p.Open(request, a)
}

const chainSize = 16 << 20

// links applies the ops of the chain, which peer.py has as well.
func links(x *tensor.Tensor) *tensor.Tensor {
	return x.MulScalar(2).AddScalar(1).Abs().Sqrt().Neg().Relu().AddScalar(3).MulScalar(0.5).Square().SubScalar(1)
}

// eagerAndFused lists the ways to run code that is written op by op.
var eagerAndFused = []struct {
	name    string
	options []burn.Option
}{{"eager", []burn.Option{burn.WithoutFusion()}}, {"fused", nil}}

// open opens burn's device with the settings.
func (s *settings) open(ctx context.Context, more ...burn.Option) (*tensor.Device, error) {
	return burn.Open(ctx, s.device, append(more, burn.WithHost(s.host()))...)
}

// chain measures ten elementwise ops in a row.
func chain(ctx context.Context, o flags) (lines []line, err error) {
	cs := &contestants{}
	defer func() { err = errors.Join(err, cs.end()) }()
	for _, m := range eagerAndFused {
		dev, err := o.settings.open(ctx, m.options...)
		if err != nil {
			return nil, err
		}
		x := dev.Uniform(dtype.F32, 0, 1, chainSize)
		cs.add(m.name, &loop{f: func() error {
			y := tensor.Scope(dev, func(d *tensor.Device) []*tensor.Tensor { return []*tensor.Tensor{links(x.In(d))} })
			defer y[0].Release()
			return dev.Sync(ctx)
		}}, dev.Close)
	}
	dir, err := os.MkdirTemp("", "benchtrain")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := o.peer(ctx, cs, dir, map[string]any{"name": "chain", "size": chainSize}, &answer{}); err != nil {
		return nil, err
	}
	l, err := cs.measure(ctx, "ten elementwise ops over 16 Mi elements", o.settings.threads, o.seconds)
	return []line{l}, err
}

// never measures small ops whose attributes always differ, so that nothing repeats.
func never(ctx context.Context, o flags) (lines []line, err error) {
	cs := &contestants{}
	defer func() { err = errors.Join(err, cs.end()) }()
	for _, m := range eagerAndFused {
		dev, err := o.settings.open(ctx, m.options...)
		if err != nil {
			return nil, err
		}
		x, alpha := dev.Uniform(dtype.F32, -1, 1, 64, 64), 0.0
		cs.add(m.name, &loop{f: func() error {
			y := tensor.Scope(dev, func(d *tensor.Device) []*tensor.Tensor {
				y := x.In(d)
				for range 256 {
					alpha += 1e-6
					y = y.LeakyRelu(alpha).Tanh()
				}
				return []*tensor.Tensor{y}
			})
			defer y[0].Release()
			return dev.Sync(ctx)
		}}, dev.Close)
	}
	l, err := cs.measure(ctx, "512 small ops that never repeat", o.settings.threads, o.seconds)
	return []line{l}, err
}

// divided measures a program on each of two cpu devices, the second with half of the threads, and on a router over both that may
// divide the program.
func divided(ctx context.Context, o flags) (lines []line, err error) {
	n := o.settings.threads
	cs := &contestants{}
	defer func() { err = errors.Join(err, cs.end()) }()
	place := func(threads int) (*core.Place, error) {
		p, err := core.OpenPlace("cpu", core.Config{Threads: max(1, threads)})
		if err == nil {
			p.Spec = fmt.Sprintf("cpu with %d threads", max(1, threads))
		}
		return p, err
	}
	add := func(name string, p *core.Place, err error) error {
		if err != nil {
			return err
		}
		dev, err := tensor.Own(ctx, p)
		if err != nil {
			return err
		}
		f, err := branches(ctx, dev)
		cs.add(name, &loop{f: f}, dev.Close)
		return err
	}
	a, err := place(n)
	if err := add("first device", a, err); err != nil {
		return nil, err
	}
	b, err := place(n / 2)
	if err := add("second device", b, err); err != nil {
		return nil, err
	}
	x, xerr := place(n)
	y, yerr := place(n / 2)
	if err := errors.Join(xerr, yerr); err != nil {
		return nil, err
	}
	r, err := router.New([]*core.Place{x, y}, router.SplitMeasured(""))
	if err := add("router, split", &core.Place{Backend: r, Spec: "router"}, err); err != nil {
		return nil, err
	}
	for _, p := range r.Plans() {
		fmt.Fprint(os.Stderr, p)
	}
	l, err := cs.measure(ctx, "two branches of products, 6 of 512 each", n, o.seconds)
	return []line{l}, err
}

// branches returns a function that runs a program of two independent chains of products, whose results are subtracted at the end.
func branches(ctx context.Context, dev *tensor.Device) (func() error, error) {
	const size, depth = 512, 6
	last := op.TensorID(0)
	next := func() op.TensorID { last++; return last }
	b := op.NewBuilder(next)
	p := &program.Program{Name: "branches"}
	input := func() op.Desc {
		d := op.Desc{ID: next(), DType: dtype.F32, Shape: []int{size, size}}
		p.Inputs = append(p.Inputs, d)
		return d
	}
	x, w := input(), input()
	left, right := x, b.Do(op.Neg, x)
	for range depth {
		left, right = b.Do(op.Tanh, b.Do(op.MatMul, left, w)), b.Do(op.Tanh, b.Do(op.MatMul, right, w))
	}
	y := b.Do(op.Sub, left, right)
	p.Nodes, p.Outputs = b.Nodes, []op.TensorID{y.ID}
	if err := b.Err(); err != nil {
		return nil, err
	}
	e, err := dev.Compile(ctx, p, nil)
	if err != nil {
		return nil, err
	}
	in := []*tensor.Tensor{dev.Normal(dtype.F32, 0, 1, size, size), dev.Normal(dtype.F32, 0, 0.04, size, size)}
	return func() error {
		out, err := e.Run(in)
		if err != nil {
			return err
		}
		defer out[0].Release()
		return dev.Sync(ctx)
	}, nil
}

// fusionReport returns the table, with a row for each line and contestant.
func fusionReport(lines []line, load string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Of %s on %s (%d processors), %s/%s.", time.Now().UTC().Format("2 January 2006"), peer.Processor(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH)
	if load != "" {
		fmt.Fprintf(&b, " Load of the machine before the run: %s.", load)
	}
	b.WriteString("\n\n| what | threads | how | median, ms | best, ms | half of the times within | of the first |\n|---|---:|---|---:|---:|---:|---:|\n")
	for _, l := range lines {
		for i, s := range l.stats {
			fmt.Fprintf(&b, "| %s | %d | %s | %.3f | %.3f | %.1f %% | %.3f |\n", l.text, l.threads, l.names[i], ms(s.Median), ms(s.Best), 100*s.Spread(), ratio(s.Median, l.stats[0].Median))
		}
	}
	return b.String()
}
