// Command benchtrain measures training steps side by side with PyTorch: the same weights, batch and threads, in turns, in one run, on one
// machine, after a check that loss and gradients agree. It writes a part of docs/BENCHMARKS.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/goburn/burn/internal/bench"
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

// figure is the outcome of a contest.
type figure struct {
	contest
	threads    int
	burn, peer bench.Stats
	difference float64
	memory     int64 // that the device took from the system at most
}

func run(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("benchtrain", flag.ContinueOnError)
	python := f.String("python", "python3", "Python `PROGRAM` with torch")
	threads := f.String("threads", "1,2", "`LIST` of thread counts")
	names := f.String("cases", "mnist_cnn,transformer", "`LIST` of cases")
	seconds := f.Duration("time", 8*time.Second, "how long each contestant runs each case")
	out := f.String("out", "", "`FILE` whose part for training is replaced; else it is printed")
	if err := f.Parse(args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "benchtrain")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var figures []figure
	var version string
	load := peer.Load()
	for _, text := range strings.Split(*threads, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return fmt.Errorf("-threads: got %q, want numbers from 1", text)
		}
		p, err := startLibrary(ctx, *python, dir, n)
		if err != nil {
			return err
		}
		defer p.Close()
		version = p.Version
		for _, name := range strings.Split(*names, ",") {
			c, err := find(name)
			if err != nil {
				return err
			}
			fig, err := race(ctx, c, n, p, *seconds)
			if err != nil {
				return fmt.Errorf("%s, %d threads: %w", name, n, err)
			}
			fmt.Fprintf(os.Stderr, "%s, %d threads: burn %v, torch %v\n", name, n, fig.burn.Median, fig.peer.Median)
			figures = append(figures, fig)
		}
	}
	text := report(figures, version, load)
	if *out == "" {
		_, err := os.Stdout.WriteString(text)
		return err
	}
	return section.Replace(*out, text)
}

// race runs a contest on n threads.
func race(ctx context.Context, c contest, n int, p *library, total time.Duration) (fig figure, err error) {
	t, err := newTrainer(ctx, c, n)
	if err != nil {
		return fig, err
	}
	defer t.close()
	dir, err := os.MkdirTemp("", "benchtrain")
	if err != nil {
		return fig, err
	}
	defer os.RemoveAll(dir)
	params, x, y, err := t.files(ctx, dir)
	if err != nil {
		return fig, err
	}
	out := filepath.Join(dir, "grads")
	if err := os.Mkdir(out, 0o700); err != nil {
		return fig, err
	}
	var a answer
	err = p.Open(map[string]any{"name": c.name, "params": params, "x": x, "y": y, "out": out}, &a)
	if err != nil {
		return fig, err
	}
	fig = figure{contest: c, threads: n}
	if fig.difference, err = t.agree(ctx, a); err != nil {
		return fig, err
	}
	for range 3 { // warm, as the peer does
		if _, err := t.step(ctx); err != nil {
			return fig, err
		}
	}
	if err := bench.Race(ctx, total, 100*time.Millisecond, t, p); err != nil {
		return fig, err
	}
	fig.burn, fig.peer = t.Stats(), p.Stats()
	if m, ok := t.dev.Memory(); ok {
		fig.memory = m.Reserved
	}
	return fig, nil
}
