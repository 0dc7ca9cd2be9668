package engine_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/sdk/engine"
)

// TestCloseFreesWhatABatchDrops closes a stream while the first node of a batch computes. The nodes that will not run would have
// dropped tensors, which nobody can free afterwards.
func TestCloseFreesWhatABatchDrops(t *testing.T) {
	begun, release := make(chan struct{}), make(chan struct{})
	r := open(t, &driver{execute: func(c *engine.Call[*buffer]) {
		if c.Node.Op == op.Abs {
			close(begun)
			<-release
		}
	}})
	stats, _ := core.Extension[core.MemoryStats](r.dev)
	x, y, z := r.put(1, 2), r.put(3, 4), r.put(5, 6)
	require.NoError(t, core.Sync(t.Context(), r.stream))
	s, err := r.dev.OpenStream(t.Context())
	require.NoError(t, err)
	require.NoError(t, s.Submit([]op.Node{r.node(op.Abs, 1, x), r.node(op.Neg, 1, y), r.node(op.Add, 1, z, z)}, nil))
	<-begun
	closed := make(chan error)
	go func() { closed <- s.Close() }()
	for s.Submit(nil, nil) == nil { // until the stream is being closed
		runtime.Gosched()
	}
	close(release)
	require.NoError(t, <-closed)
	require.EqualValues(t, 1, stats.Memory().Tensors, "the result of the node that ran")
	r.closed()
}
