// Command benchtrain measures training steps side by side with PyTorch: the same weights, batch and threads, in turns, in one
// run, on one machine, after a check that loss and gradients agree. It writes a part of docs/BENCHMARKS.md. -device selects
// another device than the cpu backend. With -curve it trains language models on both sides and compares the losses of the steps.
// With -table fusion it measures burn in several ways: op by op, with fusion, as one program, and over a router. With -table
// memory it reports the memory of burn's steps.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/internal/peer"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "benchtrain:", err)
		os.Exit(1)
	}
}

type flags struct {
	python, out, curve string
	table              string
	torch              string // device
	modes, names       []string
	threads            []int
	seconds            time.Duration
	steps              int
	rate               float64 // learning rate of language models; 0: languageRate
	warmup             int     // number of steps of a curve in which the rate increases to rate
	settings           settings
}

func parse(args []string) (o flags, err error) {
	f := flag.NewFlagSet("benchtrain", flag.ContinueOnError)
	f.StringVar(&o.python, "python", "python3", "Python `PROGRAM` with torch")
	threads := f.String("threads", "1,2", "`LIST` of thread counts")
	names := f.String("cases", "mnist_cnn,transformer", "`LIST` of cases: mnist_cnn, mnist_cnn_1024, transformer, gpt2, gpt2_tiny")
	f.DurationVar(&o.seconds, "time", 8*time.Second, "how long each contestant runs each case")
	f.StringVar(&o.out, "out", "", "`FILE` whose part for training is replaced; else it is printed")
	f.StringVar(&o.settings.device, "device", "builtin:cpu", "`DEVICE` of burn, as burn devices lists them")
	f.Func("option", "`NAME=VALUE` that burn's backend is opened with; may be repeated", func(text string) error {
		name, value, ok := strings.Cut(text, "=")
		if !ok {
			return errors.New("want NAME=VALUE")
		}
		if o.settings.options == nil {
			o.settings.options = map[string]string{}
		}
		o.settings.options[name] = value
		return nil
	})
	f.StringVar(&o.torch, "torch", "", "`DEVICE` of PyTorch (default: cuda where burn's is one, else cpu)")
	modes := f.String("modes", "eager", "`LIST` of what PyTorch is measured as: eager, default and reduce-overhead of torch.compile")
	f.BoolVar(&o.settings.fusion, "fusion", false, "burn runs what repeats as programs of the device")
	precision := f.String("precision", "f32", "f32, or bf16: mixed precision on both sides")
	f.StringVar(&o.table, "table", "training", "training; or fusion: burn op by op, with fusion and as one program, chains, what never repeats, and a router; or profile: where burn's steps spend their time on the device; or memory: what burn's steps take of the device's")
	f.StringVar(&o.curve, "curve", "", "`DIR` for the losses of language models, CASE.csv; empty: no such run")
	f.IntVar(&o.steps, "steps", 200, "number of steps in a curve")
	f.Float64Var(&o.rate, "rate", languageRate, "learning rate of language models")
	f.IntVar(&o.warmup, "warmup", 0, "steps of a curve in which the rate rises from 0")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if !slices.Contains([]string{"training", "fusion", "profile", "memory"}, o.table) {
		return o, fmt.Errorf("-table: got %q, want training, fusion, profile or memory", o.table)
	}
	switch *precision {
	case "f32":
		o.settings.narrow = dtype.F32
	case "bf16":
		o.settings.narrow = dtype.BF16
	default:
		return o, fmt.Errorf("-precision: got %q, want f32 or bf16", *precision)
	}
	for _, text := range strings.Split(*threads, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return o, fmt.Errorf("-threads: got %q, want numbers from 1", text)
		}
		o.threads = append(o.threads, n)
	}
	for _, m := range strings.Split(*modes, ",") {
		if m != "eager" && m != "default" && m != "reduce-overhead" {
			return o, fmt.Errorf("-modes: got %q, want eager, default or reduce-overhead", m)
		}
		o.modes = append(o.modes, m)
	}
	if o.names = strings.Split(*names, ","); o.torch == "" {
		o.torch = "cpu"
		if strings.Contains(o.settings.device, "cuda") {
			o.torch = "cuda"
		}
	}
	return o, nil
}

// run measures every case. It reports a case that fails, and measures the others nevertheless.
func run(ctx context.Context, args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	switch o.table {
	case "fusion":
		return fusionTable(ctx, o)
	case "profile":
		return profiles(ctx, o)
	case "memory":
		return memories(ctx, o)
	}
	var figures []figure
	var failed []error
	load := peer.Load()
	for _, n := range o.threads {
		for _, name := range o.names {
			c, err := find(name)
			if err != nil {
				return err
			}
			o.settings.threads = n
			fig, err := race(ctx, c, o)
			if err != nil {
				err = fmt.Errorf("%s, %d threads: %w", name, n, err)
				fmt.Fprintln(os.Stderr, "benchtrain:", err)
				failed = append(failed, err)
			}
			if len(fig.peers) > 0 {
				figures = append(figures, fig)
			}
		}
	}
	text := report(figures, load)
	if o.out == "" {
		_, err = os.Stdout.WriteString(text)
	} else if len(failed) == 0 {
		err = section.Replace(o.out, text)
	}
	return errors.Join(append(failed, err)...)
}
