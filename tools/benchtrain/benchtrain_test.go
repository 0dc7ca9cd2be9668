package main

import (
	"context"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/internal/bench"
)

func TestReport(t *testing.T) {
	path := filepath.Join(t.TempDir(), "doc.md")
	require.NoError(t, os.WriteFile(path, []byte("head\n"+section.Begin()+"old\n"+section.End()+"tail\n"), 0o600))
	fig := figure{contest: contest{name: "x", text: "a model"}, settings: settings{device: "here", threads: 2, narrow: dtype.BF16},
		burn: bench.Stats{Median: 2 * time.Millisecond}, used: 3 * time.Millisecond, many: time.Millisecond, difference: 2e-6, memory: 3 << 20, curve: []float64{3, 2},
		peers: []side{{mode: "eager", version: "9.9", stats: bench.Stats{Median: 5 * time.Millisecond}, used: 6 * time.Millisecond, many: 4 * time.Millisecond,
			reserved: 7 << 20, curve: []float64{3, 1}, difference: 1}, {mode: "default", err: errors.New("no compiler")}}}
	require.NoError(t, section.Replace(path, report([]figure{fig}, "1.00")))
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(b), "| a model, bf16 | here | 2 | eager | 2.000 | 5.000 | 2.50 | 3.0 | 6.0 | 2.00 | 1.000 | 4.000 | 4.00 | 2e-06 | 3 | 7 |")
	require.Contains(t, string(b), "| a model, bf16 | here | 2 | default | | failed |")
	require.Contains(t, string(b), "| a model, bf16 | eager | 2 | 3.00000 | 3.00000 | 2.00000 | 1.00000 | 1.0e+00 |")
	require.Contains(t, string(b), "PyTorch 9.9.")
	require.NotContains(t, string(b), "old")
	require.Regexp(t, `(?s)^head\n.*tail\n$`, string(b))
	require.NoError(t, os.WriteFile(path, []byte("no marks"), 0o600))
	require.ErrorContains(t, section.Replace(path, ""), "want the lines")
}

func TestStatTime(t *testing.T) {
	for line, want := range map[string]time.Duration{
		"42 (a) b) S 1 42 42 0 -1 4194560 100 0 0 0 7 5 900 900 20 0 1 0 5 6 7": 120 * time.Millisecond,
		"1 (x) R 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0":                           0,
	} {
		got, err := statTime(line)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, line := range []string{"", "42 (a) S 1 2 3", "42 (a) S 1 42 42 0 -1 4194560 100 0 0 0 x 5 900"} {
		_, err := statTime(line)
		require.Error(t, err, line)
	}
}

// here holds the settings of tests.
var here = settings{device: "builtin:cpu", threads: 1, narrow: dtype.F32}

// A step learns: the loss on one batch decreases.
func TestStep(t *testing.T) {
	ctx := context.Background()
	c, err := find("mnist_cnn")
	require.NoError(t, err)
	b, err := newTrainer(ctx, c, here)
	require.NoError(t, err)
	defer b.close()
	b.rate = 3e-3
	first, err := b.step(ctx)
	require.NoError(t, err)
	last := first
	for range 40 {
		last, err = b.step(ctx)
		require.NoError(t, err)
	}
	require.Less(t, last, first*0.97)
	_, err = find("gpt3")
	require.Error(t, err)
}

// With BURN_PYTHON, a Python with torch, the whole comparison runs briefly, and a wrong gradient is detected.
func TestAgrees(t *testing.T) {
	python := os.Getenv("BURN_PYTHON")
	if python == "" || exec.Command(python, "-c", "import torch").Run() != nil {
		t.Skip("BURN_PYTHON is not set, or lacks torch: it names a Python with numpy and torch")
	}
	ctx := context.Background()
	for name, want := range map[string]float64{"mnist_cnn": 1e-3, "gpt2_tiny": 1e-3} {
		c, err := find(name)
		require.NoError(t, err)
		for _, narrow := range []dtype.DType{dtype.F32, dtype.BF16} {
			o := flags{python: python, torch: "cpu", modes: []string{"eager"}, seconds: 50 * time.Millisecond, settings: here, steps: 30, curve: t.TempDir()}
			o.settings.narrow = narrow
			fig, err := race(ctx, c, o)
			require.NoError(t, err)
			require.Less(t, fig.difference, want)
			p := fig.peers[0]
			require.NoError(t, p.err)
			require.Positive(t, p.stats.Median)
			require.Positive(t, p.many)
			if c.words == nil {
				continue
			}
			require.Len(t, p.curve, 30)
			require.Less(t, p.curve[29], 0.97*p.curve[0])
			for i := range p.curve { // the same steps
				require.InDelta(t, p.curve[i], fig.curve[i], map[dtype.DType]float64{dtype.F32: 1e-4, dtype.BF16: 2e-2}[narrow], "step %d", i)
			}
		}
	}
	c, err := find("mnist_cnn")
	require.NoError(t, err)
	b, err := newTrainer(ctx, c, here)
	require.NoError(t, err)
	defer b.close()
	_, err = b.agree(ctx, answer{Loss: 1})
	require.Error(t, err)
}

// The distance of curves is the distance of their means, and a NaN is not a small distance.
func TestApart(t *testing.T) {
	a := make([]float64, 25)
	b := make([]float64, 25)
	a[3], b[4] = 1, 1
	require.Zero(t, apart(a, b))
	b[13] = 5
	require.InDelta(t, 0.5, apart(a, b), 1e-12)
	b[2] = math.NaN()
	require.True(t, math.IsNaN(apart(a, b)))
}

// Tokens can be learned: each has at most four successors.
func TestTokens(t *testing.T) {
	follow := map[int64]map[int64]bool{}
	steps := tiny.tokens(40)
	require.Len(t, steps, 80)
	for s := 0; s < len(steps); s += 2 {
		for i, v := range steps[s] {
			if follow[v] == nil {
				follow[v] = map[int64]bool{}
			}
			follow[v][steps[s+1][i]] = true
			if i%tiny.length > 0 {
				require.Equal(t, v, steps[s+1][i-1])
			}
		}
	}
	require.Len(t, follow, 8)
	for _, next := range follow {
		require.LessOrEqual(t, len(next), 4)
		require.Greater(t, len(next), 1)
	}
}
