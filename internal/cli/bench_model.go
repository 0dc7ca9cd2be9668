package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/internal/bench"
	"github.com/goburn/burn/internal/plain"
	"github.com/goburn/burn/model/onnx"
	"github.com/spf13/cobra"
)

// benchModelFlags are the flags of burn bench model.
type benchModelFlags struct {
	benchFlags
	batch     int
	callers   int
	against   string
	precision string
}

func (a *app) benchModelCommand() *cobra.Command {
	var f benchModelFlags
	cmd := &cobra.Command{
		Use:   "model MODEL...",
		Short: "Measure the speed of ONNX models",
		Long: `Measure the time of a model from inputs on the device to outputs in host memory. The table has the median of many
runs, the spread (the distance of the quartiles, relative to the median) and the best run. The first run, which prepares the model for
the shapes of its inputs, is not counted.

Inputs come from the folder test_data_set_0 beside the model, if it exists. Otherwise they are generated: numbers from -1 to 1 for
floats, zeros for other types. Open dimensions are 1. --batch sets the first dimension, even if it is fixed; a graph that depends on
its batch in other ways than by reshapes refuses that.

With --callers N, N goroutines run one session at the same time, in turns with a single caller that uses all threads. The table has the runs
per second of both, and the memory in use. With --against a second device runs the same model in turns, and its results must agree.
An interrupt ends the run; the table has the results so far.

` + exitHelp,
		Example: `  burn bench model resnet.onnx --threads 2
  burn bench model a.onnx b.onnx --batch 64 --device process:cpu --json models.json
  burn bench model a.onnx --device builtin:cpu --against process:cpu --threads 1`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: completeModels,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.benchModels(cmd.Context(), args, f) },
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.IntVar(&f.batch, "batch", 0, "`N` for the first dimensions of inputs")
	precisionFlag(cmd, &f.precision)
	fl.IntVar(&f.callers, "callers", 0, "also run from `N` goroutines at the same time")
	fl.StringVar(&f.against, "against", "", "`DEVICE` to compare with, as for --device")
	f.add(cmd)
	a.deviceFlags(cmd)
	return cmd
}

func (a *app) benchModels(ctx context.Context, paths []string, f benchModelFlags) (err error) {
	if err := f.check(); err != nil {
		return err
	}
	if f.batch < 0 || f.batch > 1<<20 {
		return usage("--batch: want 1 to %d, got %d", 1<<20, f.batch)
	}
	if f.callers < 0 || f.callers > 1<<12 {
		return usage("--callers: want 1 to %d, got %d", 1<<12, f.callers)
	}
	narrow, err := precision(f.precision)
	if err != nil {
		return err
	}
	models, err := loadModels(paths, onnx.Options{Precision: narrow, Batch: f.batch})
	if err != nil {
		return err
	}
	threads, err := a.benchThreads()
	if err != nil {
		return err
	}
	d, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := d.Close(); err == nil {
			err = cerr
		}
	}()
	ds := []*core.Place{d}
	if f.against != "" {
		o, err := a.openSpec(ctx, f.against, true)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, o.Close()) }()
		ds = append(ds, o)
	}
	r := bench.NewReport(d, threads)
	if f.table() {
		plain.Fprintf(a.out, "%s on %s\n%-40s %10s %7s %10s %9s  %s\n", r.Device, count(threads, "thread"), "model", "median", "spread", "best", "per s", "inputs")
	}
	bar := newProgress(a.err, len(paths))
	for i, path := range paths {
		bar.step(path)
		rows, merr := bench.MeasureModel(ctx, ds, models[i], path, f.batch, f.minTime)
		bar.clear()
		if merr != nil {
			return a.finishBench(ctx, r, f.benchFlags, lost(d, benchFault(path, merr)))
		}
		if f.callers > 0 {
			c, cerr := bench.MeasureCallers(ctx, d, models[i], path, f.batch, f.callers, f.minTime)
			if cerr != nil {
				return a.finishBench(ctx, r, f.benchFlags, lost(d, benchFault(path, cerr)))
			}
			rows[0].Callers = &c
		}
		r.Models = append(r.Models, rows...)
		if !f.table() {
			continue
		}
		for k, row := range rows {
			note := row.Input
			if k > 0 {
				note = fmt.Sprintf("%s: %.2f times as long, %+.0f µs", row.Device, row.Median.Seconds()/rows[0].Median.Seconds(),
					(row.Median-rows[0].Median).Seconds()*1e6)
			}
			plain.Fprintf(a.out, "%-40s %10s %5.0f %% %10s %9.1f  %s\n", row.Name[max(0, len(row.Name)-40):], duration(row.Median), 100*row.Spread(),
				duration(row.Best), row.PerSecond, note)
			if c := row.Callers; c != nil {
				plain.Fprintf(a.out, "  %d callers: %.1f runs per s, one alone %.1f, %.2f times as many; memory %s, one alone %s\n", c.Callers, c.Together, c.Alone,
					c.Together/c.Alone, bytesText(c.Memory), bytesText(c.MemoryAlone))
			}
		}
	}
	return a.finishBench(ctx, r, f.benchFlags, nil)
}

func loadModels(paths []string, o onnx.Options) ([]*onnx.Model, error) {
	var models []*onnx.Model
	for _, path := range paths {
		m, err := loadModel(path, o)
		if err != nil {
			return nil, err
		}
		if err := m.Unsupported(); err != nil {
			return nil, badModel(fmt.Errorf("%s: %w", path, err))
		}
		models = append(models, m)
	}
	return models, nil
}

// benchFault wraps errors of loading and running with their exit codes.
func benchFault(path string, err error) error {
	if errors.Is(err, bench.ErrBatch) {
		return usage("--batch: %s: %w", path, err)
	}
	return modelFault(path, err)
}
