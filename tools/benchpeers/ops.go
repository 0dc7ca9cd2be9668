package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/host"
	"github.com/goburn/burn/internal/bench"
	"github.com/goburn/burn/model/onnx/onnxtest"
	_ "github.com/goburn/burn/plugins/cpu"
)

// The times between turns, in which the threads of the previous contestant stop spinning. The threads of ONNX Runtime spin for 50
// ms after a run, and the threads of PyTorch for 10 ms (measured by the processor time of an idle process).
const (
	pauseOps    = 20 * time.Millisecond
	pauseModels = 100 * time.Millisecond
)

// runOps measures the op set against PyTorch.
func runOps(ctx context.Context, o options, s *scripts, r *Result) error {
	files := newStore(s.dir)
	for _, threads := range o.threads {
		if err := opsOn(ctx, o, s, r, files, threads); err != nil {
			return fmt.Errorf("%d threads: %w", threads, err)
		}
	}
	return nil
}

func opsOn(ctx context.Context, o options, s *scripts, r *Result, files *store, threads int) error {
	runtime.GOMAXPROCS(threads)
	d, err := host.Open(ctx, "builtin:cpu", host.Options{Config: core.Config{Threads: threads}})
	if err != nil {
		return err
	}
	defer d.Close()
	p, err := s.start(ctx, "torch", threads, s.dir)
	if err != nil {
		return err
	}
	defer p.Close()
	r.Torch = p.Version
	l, err := bench.Measure(ctx, threads, max(o.seconds/4, 100*time.Millisecond))
	if err != nil {
		return err
	}
	r.Limits = append(r.Limits, l)
	for _, c := range bench.Select(bench.Cases(), "", o.filter) {
		row, err := raceOp(ctx, d, p, files, c, threads, o.seconds)
		if ctx.Err() != nil || p.Ended {
			return err
		}
		if err != nil {
			r.fail(c.Name, threads, err)
			continue
		}
		fmt.Fprintf(os.Stderr, "%d  %-34s %11.2f µs  torch %11.2f µs  speed %5.2f  %3.0f %% of %s\n", threads, c.Name,
			micros(row.Median), micros(row.Torch.Median), row.Speed(), 100*row.OfLimit, row.Limit)
		r.Ops = append(r.Ops, row)
	}
	return nil
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

func raceOp(ctx context.Context, d *core.Place, p *library, files *store, c bench.Case, threads int, total time.Duration) (OpResult, error) {
	r := OpResult{Threads: threads, Memory: c.Memory, Row: bench.Row{Name: c.Name, Set: c.Set, Op: c.Op.String()}}
	o, err := bench.OpenOp(ctx, d, c)
	if err != nil {
		return r, err
	}
	defer o.Close()
	var inputs []string
	for i, x := range c.In {
		f, err := files.operand(x, i)
		if err != nil {
			return r, err
		}
		inputs = append(inputs, f)
	}
	outputs, err := p.open(map[string]any{"op": c.Op.String(), "attrs": c.Attributes(), "copied": c.Copied, "inputs": inputs})
	if err != nil {
		return r, err
	}
	if err := agreeOp(ctx, o, outputs); err != nil {
		return r, err
	}
	limit, err := bench.LimitOf(c, threads)
	if err != nil {
		return r, err
	}
	if err := bench.Race(ctx, total, pauseOps, o, p, limit); err != nil {
		return r, err
	}
	r.Torch = p.Stats()
	return r, r.Fill(o, limit)
}

// agreeOp compares the results of both sides.
func agreeOp(ctx context.Context, o *bench.Op, outputs []string) error {
	descs, data, err := o.Results(ctx)
	if err != nil {
		return err
	}
	if len(outputs) != len(descs) {
		return fmt.Errorf("PyTorch gives %d results, burn %d", len(outputs), len(descs))
	}
	for i, path := range outputs {
		want, err := readArray(path)
		if err != nil {
			return err
		}
		got := onnxtest.Value{Tensor: onnxtest.Array{DType: descs[i].DType, Shape: descs[i].Shape, Data: data[i]}}
		if m := onnxtest.CompareValues(fmt.Sprintf("result %d", i), got, want, toleranceOf(o.Case, descs)); m != nil {
			return errors.Join(errors.New("PyTorch and burn differ"), m)
		}
	}
	return nil
}

// toleranceOf returns a tolerance that grows with the number of products that are summed, whose terms are at most 1.
func toleranceOf(c bench.Case, out []op.Desc) *onnxtest.Tolerance {
	terms := float64(c.Terms) / float64(max(1, out[0].Shape.Size()))
	return &onnxtest.Tolerance{Rel: 1e-3, Abs: 1e-5 * math.Sqrt(max(1, terms))}
}
