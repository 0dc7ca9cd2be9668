package client_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	fake "github.com/goburn/burn/internal/fakeplugin"
)

func tensors(t *testing.T, s opened) int64 {
	t.Helper()
	m, ok := core.Extension[core.MemoryStats](s.dev)
	require.True(t, ok)
	return m.Memory().Tensors
}

// TestLateWrite cancels a write whose data has all been sent, and checks that the tensor that the plugin creates nevertheless is freed.
func TestLateWrite(t *testing.T) {
	g := fake.NewGate()
	s := open(t, inProcessOver(t, "socket", map[string]string{"gate_write": g.Name()}))
	defer g.Open()
	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-g.Reached(); cancel() }()
	const n = 1 << 16
	require.ErrorIs(t, s.Write(ctx, desc(1, n), make([]byte, 4*n)), core.ErrCanceled)
	g.Open()
	require.NoError(t, core.Sync(context.Background(), s), "after the answer to the write")
	require.Eventually(t, func() bool { return tensors(t, s) == 0 }, patience, time.Millisecond)
	require.NoError(t, core.Sync(context.Background(), s))
}

// TestRefusedBatch has a backend refuse nodes that drop their inputs, and checks that the plugin frees the inputs itself.
func TestRefusedBatch(t *testing.T) {
	s := open(t, inProcess(t, map[string]string{"panic_submit": "1"}))
	ctx := context.Background()
	require.NoError(t, s.Write(ctx, desc(1, 2), f32(1, 2)))
	a, b := node(t, "neg", 2, []op.Desc{desc(1, 2)}), node(t, "neg", 3, []op.Desc{desc(2, 2)})
	a.Drop, b.Drop = 1, 1
	require.NoError(t, s.Submit([]op.Node{a, b}, nil))
	require.ErrorIs(t, core.Sync(ctx, s), core.ErrKernel)
	require.ErrorIs(t, core.Read(ctx, s, id(3), make([]byte, 8)), core.ErrKernel)
	require.NoError(t, s.Submit(nil, []op.TensorID{id(3)}))
	require.NoError(t, core.Sync(ctx, s), "the poisoned tensor and nothing else is left to free")
	require.ErrorIs(t, core.Read(ctx, s, id(1), make([]byte, 8)), core.ErrUnknownTensor, "it was dropped")
}
