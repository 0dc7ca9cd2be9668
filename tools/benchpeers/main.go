// Command benchpeers measures burn side by side with PyTorch and ONNX Runtime: the same inputs and threads, in turns, in one
// run, on one machine, after a check that the results agree. It writes the generated part of docs/BENCHMARKS.md.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goburn/burn/internal/peer"
)

// options are the command line.
type options struct {
	python, models, weights, burn string
	parts                         []string
	threads                       []int
	filter                        *regexp.Regexp
	seconds                       time.Duration // time of each contestant
	out, json, from               string
}

// The parts of a run.
var parts = []string{"ops", "models", "cold"}

func parse(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("benchpeers", flag.ContinueOnError)
	f.StringVar(&o.python, "python", "python3", "Python `PROGRAM` with onnx, onnxruntime and torch")
	data := f.String("data", "", "`DIR` of the test data, with models/NAME/model.onnx and weights")
	f.StringVar(&o.burn, "burn", "", "the burn `PROGRAM` whose cold start is measured")
	which := f.String("parts", strings.Join(parts, ","), "`LIST` of parts to measure")
	threads := f.String("threads", "", "`LIST` of thread counts; empty: 1 and 2, or 1 where there is one processor")
	filter := f.String("filter", "", "regular expression `RE` of the names of ops and models")
	f.DurationVar(&o.seconds, "time", 400*time.Millisecond, "how long each contestant runs each case")
	f.StringVar(&o.out, "out", "", "`FILE` whose generated part is replaced when all parts are measured; else the report is printed")
	f.StringVar(&o.json, "json", "", "`FILE` for all figures")
	f.StringVar(&o.from, "from", "", "`FILE` of -json whose report is written; nothing is measured")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	o.parts = strings.Split(*which, ",")
	for _, p := range o.parts {
		if !slices.Contains(parts, p) {
			return o, fmt.Errorf("-parts: got %q, want some of %v", p, parts)
		}
	}
	if *data != "" {
		o.models, o.weights = filepath.Join(*data, "models"), filepath.Join(*data, "weights")
	}
	o.threads = []int{1, 2}[:min(2, runtime.NumCPU())]
	if *threads != "" {
		o.threads = nil
		for _, t := range strings.Split(*threads, ",") {
			n, err := strconv.Atoi(t)
			if err != nil || n < 1 {
				return o, fmt.Errorf("-threads: got %q, want numbers from 1", t)
			}
			o.threads = append(o.threads, n)
		}
	}
	var err error
	o.filter, err = regexp.Compile(*filter)
	return o, err
}

func main() {
	o, err := parse(os.Args[1:])
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		err = run(ctx, o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "benchpeers:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	if o.from != "" {
		b, err := os.ReadFile(filepath.Clean(o.from))
		if err != nil {
			return err
		}
		var r Result
		if err := json.Unmarshal(b, &r); err != nil {
			return fmt.Errorf("%s: %w", o.from, err)
		}
		return publish(ctx, o, &r)
	}
	dir, err := os.MkdirTemp("", "benchpeers")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s, err := newScripts(dir, o.python)
	if err != nil {
		return err
	}
	r := &Result{Time: time.Now().UTC().Truncate(time.Second), Platform: runtime.GOOS + "/" + runtime.GOARCH, CPU: peer.Processor(), CPUs: runtime.NumCPU(), Load: peer.Load()}
	for _, part := range o.parts {
		switch part {
		case "ops":
			err = runOps(ctx, o, s, r)
		case "models":
			err = runModels(ctx, o, s, r)
		case "cold":
			err = runCold(ctx, o, s, r)
		}
		if ctx.Err() != nil {
			fmt.Fprintln(os.Stderr, "benchpeers: interrupted; what was measured is kept")
			break
		}
		if err != nil {
			return fmt.Errorf("%s: %w", part, err)
		}
	}
	if o.json != "" {
		b, err := json.MarshalIndent(r, "", " ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(o.json, append(b, '\n'), 0o644); err != nil {
			return err
		}
	}
	if err := publish(ctx, o, r); err != nil {
		return err
	}
	if n := len(r.Failed); n > 0 {
		return fmt.Errorf("%d cases have no figures: see the failures of the report", n)
	}
	return nil
}

// section is the part of docs/BENCHMARKS.md that receives the report.
const section peer.Section = "make bench-peers"

// publish writes the report. As it replaces the section completely, the run must be complete too.
func publish(ctx context.Context, o options, r *Result) error {
	var text strings.Builder
	writeReport(&text, r)
	if o.out == "" || ctx.Err() != nil || len(o.parts) < len(parts) {
		_, err := os.Stdout.WriteString(text.String())
		return err
	}
	return section.Replace(o.out, text.String())
}
