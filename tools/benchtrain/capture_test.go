package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A step as one program continues where the recorded steps ended: without dropout the losses equal those of training op by op.
func TestCompiled(t *testing.T) {
	ctx := context.Background()
	c, err := find("gpt2_tiny")
	require.NoError(t, err)
	plain, err := newTrainer(ctx, c, here)
	require.NoError(t, err)
	defer plain.close()
	for range 4 {
		_, err := plain.step(ctx)
		require.NoError(t, err)
	}
	x, err := newCompiled(ctx, c, here)
	require.NoError(t, err)
	defer x.close()
	require.Greater(t, x.nodes, 100)
	first, last := 0., 0.
	for i := range 20 {
		want, err := plain.step(ctx)
		require.NoError(t, err)
		got, err := x.step(ctx)
		require.NoError(t, err)
		require.InDelta(t, want, got, 0.3, "step %d", i) // the step count of Adam stays at the fourth
		if i == 0 {
			first = want
			require.InDelta(t, want, got, 1e-4)
		}
		last = float64(got)
	}
	require.Less(t, last, first-0.05)
	m, ok := x.dev.Memory()
	require.True(t, ok)
	n := m.Tensors
	_, err = x.step(ctx)
	require.NoError(t, err)
	m, _ = x.dev.Memory()
	require.Equal(t, n, m.Tensors, "nothing stays behind")
}

// All lines except PyTorch's are measured, briefly.
func TestFusionTable(t *testing.T) {
	out := filepath.Join(t.TempDir(), "doc.md")
	require.NoError(t, os.WriteFile(out, []byte(fusionPart.Begin()+fusionPart.End()), 0o600))
	require.NoError(t, run(context.Background(), []string{"-table", "fusion", "-python", "", "-threads", "1", "-time", "1ms", "-cases", "gpt2_tiny", "-out", out}))
	b, err := os.ReadFile(out)
	require.NoError(t, err)
	for _, want := range []string{"| GPT-2 of 2 layers, d 64, 4 x 32 tokens | 1 | compiled step |", "16 Mi elements | 1 | fused |", "never repeat | 1 | fused |", "| router, split |"} {
		require.Contains(t, string(b), want)
	}
	require.Error(t, run(context.Background(), []string{"-table", "other"}))
}
