package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/internal/bench"
)

func TestReport(t *testing.T) {
	path := filepath.Join(t.TempDir(), "doc.md")
	require.NoError(t, os.WriteFile(path, []byte("head\n"+section.Begin()+"old\n"+section.End()+"tail\n"), 0o600))
	fig := figure{contest{name: "x", text: "a model"}, 2, bench.Stats{Median: 2 * time.Millisecond, Best: time.Millisecond},
		bench.Stats{Median: 5 * time.Millisecond, Best: 4 * time.Millisecond}, 2e-6, 3 << 20}
	require.NoError(t, section.Replace(path, report([]figure{fig}, "9.9", "1.00")))
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(b), "| a model | 2 | 2.00 | 5.00 | 2.50 | 4.00 | 2e-06 | 3 |")
	require.NotContains(t, string(b), "old")
	require.Regexp(t, `(?s)^head\n.*tail\n$`, string(b))
	require.NoError(t, os.WriteFile(path, []byte("no marks"), 0o600))
	require.ErrorContains(t, section.Replace(path, ""), "want the lines")
}

// A step learns: the loss on one batch falls.
func TestStep(t *testing.T) {
	ctx := context.Background()
	c, err := find("mnist_cnn")
	require.NoError(t, err)
	b, err := newTrainer(ctx, c, 1)
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
	_, err = find("gpt")
	require.Error(t, err)
}

// With BURN_PYTHON, a Python with torch, the whole comparison runs for a moment, and a wrong gradient is seen.
func TestAgrees(t *testing.T) {
	python := os.Getenv("BURN_PYTHON")
	if python == "" || exec.Command(python, "-c", "import torch").Run() != nil {
		t.Skip("BURN_PYTHON is not set, or lacks torch: it names a Python with numpy and torch")
	}
	ctx := context.Background()
	dir := t.TempDir()
	p, err := startLibrary(ctx, python, dir, 1)
	require.NoError(t, err)
	defer p.Close()
	c, err := find("mnist_cnn")
	require.NoError(t, err)
	fig, err := race(ctx, c, 1, p, 50*time.Millisecond)
	require.NoError(t, err)
	require.Less(t, fig.difference, 1e-3)
	require.Positive(t, fig.peer.Median)
	b, err := newTrainer(ctx, c, 1)
	require.NoError(t, err)
	defer b.close()
	_, err = b.agree(ctx, answer{Loss: 1})
	require.Error(t, err)
}
