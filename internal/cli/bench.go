package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/goburn/burn/internal/bench"
	"github.com/goburn/burn/internal/config"
	"github.com/goburn/burn/internal/nearest"
	"github.com/goburn/burn/internal/plain"
	"github.com/spf13/cobra"
)

func (a *app) benchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure the speed of ops and models on a device",
		Long: `Measure the speed of a device on ops or models: the median of many repetitions after a warm-up.

` + exitHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("bench: no command %q, want ops or model%s", args[0], nearest.Hint(args[0], commandNames(cmd)))
			}
			return cmd.Help()
		},
	}
	cmd.AddCommand(a.benchOpsCommand(), a.benchModelCommand())
	return cmd
}

// benchFlags are the flags common to both subcommands.
type benchFlags struct {
	json    string
	minTime time.Duration
}

func (f *benchFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.json, "json", "", "`FILE` for the results as JSON; - for stdout instead of the table")
	fl.DurationVar(&f.minTime, "min-time", 400*time.Millisecond, "least time of each measurement")
}

func (f *benchFlags) check() error {
	if f.minTime <= 0 || f.minTime > time.Hour {
		return usage("--min-time: want a time above 0 and up to 1h, got %v", f.minTime)
	}
	return nil
}

// finishBench writes the report, also for a run that failed or was interrupted, and returns err.
func (a *app) finishBench(ctx context.Context, r *bench.Report, f benchFlags, err error) error {
	r.Interrupted = ctx.Err() != nil
	switch f.json {
	case "":
	case "-":
		if werr := r.Write(a.out); werr != nil {
			return werr
		}
	default:
		if werr := writeFile(f.json, func(w *os.File) error { return r.Write(w) }); werr != nil {
			return werr
		}
	}
	return err
}

// table reports whether a table is printed.
func (f *benchFlags) table() bool { return f.json != "-" }

// limits measures the limits of this machine, which apply only to devices that are its processors, and prints them unless f turns the table
// off.
func (a *app) limits(ctx context.Context, threads int, f benchFlags) (*bench.Limits, error) {
	l, err := bench.Measure(ctx, threads, min(f.minTime, 50*time.Millisecond))
	if err != nil {
		return nil, err
	}
	if f.table() {
		plain.Fprintf(a.out, "limits of this machine on %s\n", count(l.Threads, "thread"))
		for _, c := range l.Flops {
			plain.Fprintf(a.out, "  %-4s %-9s %10.1f GFLOP/s\n", c.Type, c.Level, c.GFlops)
		}
		for _, c := range l.Copy {
			plain.Fprintf(a.out, "  copy %-9s %10.1f GB/s\n", bench.Size(c.Bytes/2), c.GBps)
		}
		fmt.Fprintln(a.out)
	}
	return &l, nil
}

// duration formats a time in microseconds or, from 10 ms, in milliseconds.
func duration(d time.Duration) string {
	switch us := float64(d.Nanoseconds()) / 1e3; {
	case us < 100:
		return fmt.Sprintf("%.2f µs", us)
	case us < 1e4:
		return fmt.Sprintf("%.0f µs", us)
	default:
		return fmt.Sprintf("%.1f ms", us/1e3)
	}
}

// benchThreads returns the number of threads that the configuration requests. An invalid number is a usage error.
func (a *app) benchThreads() (int, error) {
	if err := config.CheckThreads(a.config.Threads); err != nil {
		return 0, usage("--threads: %w", err)
	}
	return bench.Threads(a.config.Threads), nil
}

var errNoCase = errors.New("no case is selected")
