package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/internal/bench"
	"github.com/goburn/burn/internal/plain"
	"github.com/goburn/burn/model/onnx"
	"github.com/goburn/burn/model/onnx/onnxtest"
	"github.com/spf13/cobra"
)

// profileFlags are the flags of burn profile.
type profileFlags struct {
	precision string
	inputs    []string
	batch     int
	runs      int
	rows      int
	trace     string
	image     imageFlags
}

func (a *app) profileCommand() *cobra.Command {
	var f profileFlags
	cmd := &cobra.Command{
		Use:   "profile MODEL",
		Short: "Show the time of each step of a model",
		Long: `Run an ONNX model a few times and show the time of its steps: first by ops, then step by step. A step
is one kernel of the device: an op, or several fused ops. The tables have the number of executions, their total and
average time, the share of the time of all steps, and the rates: GFLOP/s for products of matrices, convolutions and
attention, GB/s by the size of operands and results. --trace writes every execution to a file for chrome://tracing and
https://ui.perfetto.dev.

The first run, which prepares the model, is not counted. While steps are timed, an asynchronous device waits after each command.
A device that does not report its steps is timed by whole runs; the output states that.

--input is as in burn run. Without it inputs come from the folder test_data_set_0 beside the model, if it exists. Otherwise they are
generated: numbers from -1 to 1 for floats, zeros for other types. Open dimensions are 1; --batch sets an open
first one.

` + exitHelp,
		Example: `  burn profile resnet.onnx
  burn profile digits.onnx --batch 64 --runs 50 --trace trace.json --device process:cpu`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeModels,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			switch {
			case f.runs < 1 || f.runs > 1<<16:
				return usage("--runs: want 1 to %d, got %d", 1<<16, f.runs)
			case f.rows < 0:
				return usage("--rows: want 0 for all, or more, got %d", f.rows)
			case f.batch < 0 || f.batch > 1<<20:
				return usage("--batch: want 1 to %d, got %d", 1<<20, f.batch)
			case f.batch > 0 && len(f.inputs) > 0:
				return usage("--batch: want it without --input, whose files have a size of their own")
			}
			m, feed, err := a.profileInputs(args[0], f)
			if err != nil {
				return err
			}
			d, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, d.Close()) }()
			return lost(d, a.profile(cmd.Context(), args[0], m, d, feed, f))
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringArrayVarP(&f.inputs, "input", "i", nil, "`NAME=FILE` with the value of an input, as in burn run; may be repeated")
	fl.IntVar(&f.batch, "batch", 0, "`N` for the first dimensions of generated inputs")
	precisionFlag(cmd, &f.precision)
	fl.IntVar(&f.runs, "runs", 10, "record `N` runs")
	fl.IntVar(&f.rows, "rows", 30, "at most `N` rows in each table, 0 for all")
	fl.StringVar(&f.trace, "trace", "", "`FILE` for a trace in the Chrome trace event format")
	a.deviceFlags(cmd)
	f.image.add(cmd)
	return cmd
}

// profileInputs loads the model and its inputs.
func (a *app) profileInputs(path string, f profileFlags) (*onnx.Model, map[string]onnxtest.Value, error) {
	narrow, err := precision(f.precision)
	if err != nil {
		return nil, nil, err
	}
	ms, err := loadModels([]string{path}, onnx.Options{Precision: narrow, Batch: f.batch})
	if err != nil {
		return nil, nil, err
	}
	m := ms[0]
	if len(f.inputs) > 0 {
		feed, err := a.readInputs(path, m, runFlags{inputs: f.inputs, image: f.image})
		return m, feed, err
	}
	feed, _, err := bench.Inputs(m, path, f.batch)
	if err != nil {
		return nil, nil, benchFault(path, err)
	}
	return m, feed, nil
}

// profile runs the model, and prints and writes the measurements. An interrupt ends the runs, and keeps completed ones.
func (a *app) profile(ctx context.Context, path string, m *onnx.Model, d *core.Place, feed map[string]onnxtest.Value, f profileFlags) (err error) {
	b, err := bench.OpenModel(ctx, d, m, feed)
	if err != nil {
		return modelFault(path, err)
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	if _, err := b.Once(ctx); err != nil { // warm-up
		return modelFault(path, err)
	}
	x, reports := core.Extension[core.Profiling](b.Core())
	p := &profiled{Model: path, Device: d.Spec, Steps: reports}
	began := time.Now()
	if reports {
		if err := x.StartProfile(ctx); err != nil {
			return fmt.Errorf("%s: %w", d.Spec, err)
		}
	}
	for range f.runs {
		start := time.Now()
		if _, err = b.Once(ctx); err != nil {
			err = modelFault(path, err)
			break
		}
		p.Runs = append(p.Runs, span{start.Sub(began), time.Since(start)})
	}
	if reports {
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		defer cancel()
		got, serr := x.StopProfile(stopping)
		if serr != nil {
			return errors.Join(err, fmt.Errorf("%s: %w", d.Spec, serr))
		}
		p.Profile = *got
	}
	if len(p.Runs) == 0 {
		return err
	}
	a.printProfile(p, f.rows)
	if f.trace != "" {
		if werr := writeTrace(f.trace, p); werr != nil {
			return errors.Join(err, fmt.Errorf("--trace: %w", werr))
		}
		plain.Fprintf(a.out, "\ntrace written to %s; open it in chrome://tracing or https://ui.perfetto.dev\n", f.trace)
	}
	return err
}

// span is a time interval relative to the start of a recording.
type span struct{ Start, Duration time.Duration }

// profiled holds the measurements of burn profile.
type profiled struct {
	Model, Device string
	Runs          []span // runs of the whole model, by the host's clock
	Steps         bool   // the device reports steps
	core.Profile
}

// total returns the time of all runs as measured on the host.
func (p *profiled) total() (t time.Duration) {
	for _, r := range p.Runs {
		t += r.Duration
	}
	return t
}

func (a *app) printProfile(p *profiled, rows int) {
	times := make([]time.Duration, len(p.Runs))
	for i, r := range p.Runs {
		times[i] = r.Duration
	}
	stats := bench.Summarize(times)
	plain.Fprintf(a.out, "%s on %s: %s, mean %s, median %s, best %s\n", p.Model, p.Device, count(len(times), "run"),
		duration(p.total()/time.Duration(len(times))), duration(stats.Median), duration(stats.Best))
	if !p.Steps {
		plain.Fprintf(a.out, "%s does not report its steps: these are times of whole runs, measured on the host\n", p.Device)
		return
	}
	steps := sumSteps(p)
	var all time.Duration
	for _, s := range steps {
		all += s.total
	}
	if len(steps) == 0 {
		plain.Fprintf(a.out, "%s reported whole programs instead of steps: %s\n", p.Device, duration(p.programs()))
		return
	}
	each := time.Duration(len(times))
	plain.Fprintf(a.out, "steps %s a run, the rest %s: starting steps, copies, the host\n", duration(all/each), duration(max(0, p.total()-all)/each))
	if p.Dropped > 0 {
		plain.Fprintf(a.out, "%d executions are not shown: the recording was full; use fewer --runs\n", p.Dropped)
	}
	a.printSteps("by op", mergeSteps(steps), all, rows, false)
	a.printSteps("by step", steps, all, rows, true)
}

// programs returns the total time of whole programs.
func (p *profiled) programs() (t time.Duration) {
	for _, r := range p.Records {
		if p.Profile.Steps[r.Step].Index == core.WholeRun {
			t += r.Duration
		}
	}
	return t
}
