package cli

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/goburn/burn/internal/bench"
	"github.com/goburn/burn/internal/plain"
	"github.com/spf13/cobra"
)

// benchOpsFlags are the flags of burn bench ops.
type benchOpsFlags struct {
	benchFlags
	set, filter string
	list        bool
}

func (a *app) benchOpsCommand() *cobra.Command {
	var f benchOpsFlags
	cmd := &cobra.Command{
		Use:   "ops",
		Short: "Measure the speed of ops",
		Long: `Measure the speed of ops on shapes of common models, in cache and in memory: the median time of one call, the spread
(the distance of the quartiles, relative to the median) and the rate. For a processor of this machine the table also compares the best call
with the limit of the machine: the peak of multiply-adds for contractions that reuse their operands, a copy of as many bytes for other ops.
The measurements of limit and op alternate, so that other work affects both.

Ops that the device does not claim are marked with *: they run decomposed. An interrupt ends the run; the table has the results so far.

` + exitHelp,
		Example: `  burn bench ops
  burn bench ops --set matmul --threads 1
  burn bench ops --filter '^softmax|^layer_norm' --device process:cpu --json ops.json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.benchOps(cmd.Context(), f) },
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.set, "set", "", "one `NAME` of "+strings.Join(bench.Sets(), ", "))
	fl.StringVar(&f.filter, "filter", "", "measure the cases whose name matches the regular expression `RE`")
	fl.BoolVar(&f.list, "list", false, "list the cases and measure nothing")
	f.add(cmd)
	a.deviceFlags(cmd)
	must(cmd.RegisterFlagCompletionFunc("set", cobra.FixedCompletions(bench.Sets(), cobra.ShellCompDirectiveNoFileComp)))
	return cmd
}

func (f *benchOpsFlags) cases() ([]bench.Case, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	pattern, err := regexp.Compile(f.filter)
	if err != nil {
		return nil, usage("--filter: %w", err)
	}
	cases := bench.Select(bench.Cases(), f.set, pattern)
	if len(cases) == 0 {
		return nil, usage("bench: set %q, filter %q: %w; --list names all, the sets are %s", f.set, f.filter, errNoCase, strings.Join(bench.Sets(), ", "))
	}
	return cases, nil
}

func (a *app) benchOps(ctx context.Context, f benchOpsFlags) (err error) {
	cases, err := f.cases()
	if err != nil {
		return err
	}
	if f.list {
		for _, c := range cases {
			plain.Fprintf(a.out, "%-10s %s\n", c.Set, c.Name)
		}
		return nil
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
	r := bench.NewReport(d, threads)
	if !bench.Host(d) {
		threads = 0 // no limits: those of this machine do not apply to the device
	} else if r.Limits, err = a.limits(ctx, threads, f.benchFlags); err != nil {
		return a.finishBench(ctx, r, f.benchFlags, err)
	}
	if f.table() {
		plain.Fprintf(a.out, "%s on %s\n%-34s %10s %7s %9s %9s  %s\n", r.Device, count(r.Threads, "thread"), "op", "median", "spread", "GB/s", "GFLOP/s", "of limit")
	}
	bar := newProgress(a.err, len(cases))
	for _, c := range cases {
		bar.step(c.Name)
		row, merr := bench.MeasureOp(ctx, d, c, threads, f.minTime)
		bar.clear()
		if merr != nil {
			return a.finishBench(ctx, r, f.benchFlags, merr)
		}
		r.Ops = append(r.Ops, row)
		if f.table() {
			a.printOp(row)
		}
		if row.Error != "" {
			err = fmt.Errorf("bench: a case failed: %s: %s", row.Name, row.Error)
		}
	}
	return a.finishBench(ctx, r, f.benchFlags, err)
}

func (a *app) printOp(r bench.Row) {
	name := r.Name
	if !r.Native {
		name += " *"
	}
	if r.Error != "" {
		plain.Fprintf(a.out, "%-34s %s\n", r.Name, r.Error)
		return
	}
	flops, limit := "", ""
	if r.Flops > 0 {
		flops = fmt.Sprintf("%.1f", r.GFlops)
	}
	if r.Limit != "" {
		limit = fmt.Sprintf("%3.0f %% of %s", 100*r.OfLimit, r.Limit)
	}
	plain.Fprintf(a.out, "%-34s %10s %5.0f %% %9.1f %9s  %s\n", name, duration(r.Median), 100*r.Spread(), r.GBps, flops, limit)
}
