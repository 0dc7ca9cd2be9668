package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/goburn/burn/internal/bench"
	"github.com/goburn/burn/internal/npy"
)

// figure is the outcome of a contest.
type figure struct {
	contest
	settings
	burn       bench.Stats
	used       time.Duration // processor time per step
	many       time.Duration // time per step of many steps without a wait between them
	difference float64       // greatest relative difference of the loss and the gradients
	memory     int64         // greatest number of bytes that the device had allocated from the system after a step
	peers      []side
	curve      []float64 // loss of each step of a curve
}

// side is PyTorch in one mode.
type side struct {
	mode, version       string
	stats               bench.Stats
	used                time.Duration // processor time per step
	many                time.Duration
	reserved, allocated int64
	curve               []float64
	difference          float64 // greatest difference of the two curves, over means of 10 steps
	err                 error   // error that the mode ended with
}

// race runs a contest. If a mode of PyTorch fails to start, the others still run.
func race(ctx context.Context, c contest, o flags) (fig figure, err error) {
	fig = figure{contest: c, settings: o.settings}
	dir, err := os.MkdirTemp("", "benchtrain")
	if err != nil {
		return fig, err
	}
	defer os.RemoveAll(dir)
	t, err := newTrainer(ctx, c, o.settings)
	if err != nil {
		return fig, err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	params, x, y, err := t.files(ctx, dir, c.words != nil)
	if err != nil {
		return fig, err
	}
	request := map[string]any{"name": c.name, "params": params, "x": x, "y": y, "precision": o.settings.narrow.String()}
	if w := c.words; w != nil {
		if o.rate > 0 {
			t.rate = o.rate
		}
		request["gpt2"] = map[string]int{"layers": w.Layers, "heads": w.Heads, "size": w.Size, "vocabulary": w.Vocabulary, "context": w.Context}
		request["decay"], request["lr"] = 0.1, t.rate
	}
	libs, sides := o.open(ctx, dir, request)
	fig.peers = sides
	defer func() {
		for _, l := range libs {
			if l.p != nil {
				l.p.Close()
			}
		}
	}()
	if err := fig.check(ctx, t, libs); err != nil {
		return fig, err
	}
	if c.words != nil && o.curve != "" {
		if err := fig.curves(ctx, t, libs, o, dir); err != nil {
			return fig, err
		}
	}
	return fig, fig.time(ctx, t, libs, o.seconds)
}

// opened is PyTorch with a case; p is nil if opening failed.
type opened struct {
	p *library
	a answer
}

// open starts PyTorch in every mode.
func (o *flags) open(ctx context.Context, dir string, request map[string]any) (libs []opened, sides []side) {
	for _, m := range o.modes {
		s, l := side{mode: m}, opened{}
		l.p, s.err = startLibrary(ctx, o.python, dir, o.settings.threads, o.torch, m)
		if s.err == nil {
			s.version = l.p.Version
			out := filepath.Join(dir, "grads_"+m)
			s.err = os.Mkdir(out, 0o700)
			request["out"] = out
			if s.err == nil {
				s.err = l.p.Open(request, &l.a)
			}
			if s.err != nil {
				l.p.Close()
				l.p = nil
			}
		}
		if s.err != nil {
			fmt.Fprintln(os.Stderr, "benchtrain:", s.err)
		}
		libs, sides = append(libs, l), append(sides, s)
	}
	return libs, sides
}

// check compares the loss and the gradients with those of the first mode of PyTorch that works.
func (fig *figure) check(ctx context.Context, t *trainer, libs []opened) (err error) {
	for _, l := range libs {
		if l.p == nil {
			continue
		}
		if l.a.Grads == nil {
			return nil // the model has too many gradients; the curves compare it
		}
		fig.difference, err = t.agree(ctx, l.a)
		return err
	}
	return errors.New("PyTorch ran in no mode")
}

// time measures steps with a wait after each, in turns, and then many steps with one wait.
func (fig *figure) time(ctx context.Context, t *trainer, libs []opened, total time.Duration) error {
	for range 5 { // warm-up, as in the peer; repeated code is a program from then on
		if _, err := t.step(ctx); err != nil {
			return err
		}
		t.memory()
	}
	contestants := []bench.Contestant{t}
	for _, l := range libs {
		if l.p != nil {
			contestants = append(contestants, l.p)
		}
	}
	if err := bench.Race(ctx, total, 100*time.Millisecond, contestants...); err != nil {
		return err
	}
	fig.burn = t.Stats()
	fig.used = t.used / time.Duration(max(1, fig.burn.Runs))
	n := max(3, min(500, int(total/4/max(fig.burn.Median, 1))))
	var own []time.Duration
	theirs := make([][]time.Duration, len(libs))
	for range 5 {
		d, err := t.many(ctx, n)
		if err != nil {
			return err
		}
		t.memory()
		own = append(own, d)
		for i, l := range libs {
			if l.p == nil {
				continue
			}
			var r result
			if err := l.p.Ask(map[string]any{"do": "many", "steps": n}, &r); err != nil {
				return err
			}
			theirs[i] = append(theirs[i], time.Duration(r.Seconds*1e9))
			fig.peers[i].reserved, fig.peers[i].allocated = r.Reserved, r.Allocated
		}
	}
	slices.Sort(own)
	fig.many = own[len(own)/2]
	for i, l := range libs {
		if l.p != nil {
			slices.Sort(theirs[i])
			p := &fig.peers[i]
			p.stats, p.many = l.p.Stats(), theirs[i][len(theirs[i])/2]
			p.used = l.p.Used / time.Duration(max(1, p.stats.Runs))
		}
	}
	fig.memory = t.most
	return nil
}

// curves trains both sides from the same weights on the same batches, and writes the losses.
func (fig *figure) curves(ctx context.Context, t *trainer, libs []opened, o flags, dir string) error {
	tokens := fig.words.tokens(o.steps)
	path := filepath.Join(dir, "tokens.npy")
	if err := writeTokens(path, tokens, fig.words); err != nil {
		return err
	}
	var err error
	if fig.curve, err = t.curve(ctx, fig.words, tokens, o.warmup); err != nil {
		return err
	}
	for i, l := range libs {
		if l.p == nil {
			continue
		}
		var r result
		if err := l.p.Ask(map[string]any{"do": "curve", "tokens": path, "warmup": o.warmup}, &r); err != nil {
			return err
		}
		fig.peers[i].curve = r.Losses
		fig.peers[i].difference = apart(fig.curve, r.Losses)
	}
	return fig.writeCurves(filepath.Join(o.curve, fmt.Sprintf("%s_%v.csv", fig.name, o.settings.narrow)))
}

func writeTokens(path string, tokens [][]int64, c *text) error {
	a := &npy.Array{DType: "i32", Shape: []int{len(tokens), c.batch, c.length}}
	for _, list := range tokens {
		for _, v := range list {
			a.Data = append(a.Data, byte(v), byte(v>>8), byte(v>>16), byte(v>>24))
		}
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(npy.Write(f, a), f.Close())
}

// apart returns the greatest distance of two curves of losses. It compares means of 10 steps, because single steps differ by
// rounding.
func apart(a, b []float64) (most float64) {
	const window = 10
	for i := window; i <= min(len(a), len(b)); i += window {
		x, y := 0., 0.
		for k := i - window; k < i; k++ {
			x, y = x+a[k]/window, y+b[k]/window
		}
		most = max(most, math.Abs(x-y)) // keeps a NaN
	}
	return most
}

// writeCurves writes the losses of all sides as CSV, with a line for each step.
func (fig *figure) writeCurves(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	b := []byte("step,burn")
	for _, s := range fig.peers {
		b = append(b, ","+s.mode...)
	}
	for i, v := range fig.curve {
		b = fmt.Appendf(b, "\n%d,%.6f", i, v)
		for _, s := range fig.peers {
			if i < len(s.curve) {
				b = fmt.Appendf(b, ",%.6f", s.curve[i])
			} else {
				b = append(b, ',')
			}
		}
	}
	return os.WriteFile(path, append(b, '\n'), 0o644)
}
