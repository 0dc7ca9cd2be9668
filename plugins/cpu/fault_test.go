package cpu

import (
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
)

// replace replaces the kernel of an op with f until the test ends.
func replace(t *testing.T, c op.Code, f kernel.Func) {
	table := ruleTable()
	old := table[c].Prepare
	table[c].Prepare = func(*op.Node, []op.Desc) kernel.Func { return f }
	t.Cleanup(func() { table[c].Prepare = old })
}

func TestPanicIsTheNodesError(t *testing.T) {
	for name, f := range map[string]kernel.Func{
		"here": func(c *kernel.Call) error {
			c.Alloc(0)
			c.Temp(c.Desc[0].DType, c.Desc[0].Shape)
			panic("lost my marbles")
		},
		"on a worker": func(c *kernel.Call) error {
			c.Alloc(0)
			c.Pool.For(1000, 1, func(lo, hi int) {
				if hi == 1000 {
					panic("lost my marbles")
				}
			})
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			replace(t, op.Cos, f)
			b := newBed(t)
			x := put(b, []float32{1, 2}, 2)
			y := b.do(op.Cos, list(x))[0]
			err := b.Read(ctx, y.ID, make([]byte, 8))
			require.ErrorIs(t, err, core.ErrKernel)
			require.ErrorContains(t, err, "lost my marbles")
			require.ErrorIs(t, b.Sync(ctx), core.ErrKernel)
			require.Equal(t, []float32{-1, -2}, get[float32](b, b.do(op.Neg, list(x))[0]), "the stream still works")
			require.NoError(t, b.Free([]op.TensorID{x.ID, y.ID, y.ID + 1}))
			require.NoError(t, b.Sync(ctx))
			require.Zero(t, b.Memory().InUse, "the memory of the kernel was released")
		})
	}
}

func TestConcurrentStreams(t *testing.T) {
	backend, _ := open(t, core.Config{Threads: 4})
	var wg sync.WaitGroup
	for k := range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			b := openBed(t, backend, nil)
			for range 20 {
				x := put(b, []float32{float32(k)}, 1)
				wide := b.do(op.Expand, list(x), dims(200, 300))[0]
				y := b.do(op.Add, list(wide, wide))[0]
				z := b.do(op.MatMul, list(y, y), op.Flag("transpose_b", true))[0]
				sum := b.do(op.Sum, list(z), op.Ints("axes", 0, 1))[0]
				want := float32(200 * 200 * 300 * 4 * k * k)
				if got := get[float32](b, sum)[0]; math.Abs(float64(got-want)) > 1e-3*float64(want) {
					t.Errorf("stream %d: got %g, want %g", k, got, want)
				}
				if err := b.Free([]op.TensorID{x.ID, wide.ID, y.ID, z.ID, sum.ID}); err != nil {
					t.Error(err)
				}
			}
			if err := b.Sync(ctx); err != nil {
				t.Error(err)
			}
			if m := b.Memory(); m.InUse != 0 {
				t.Errorf("stream %d holds %d bytes", k, m.InUse)
			}
			b.dev.Close()
		}()
	}
	wg.Wait()
}

func TestBackendCloseEndsAWaitingRead(t *testing.T) {
	backend, b := open(t, core.Config{Threads: 1})
	begun, proceed := make(chan struct{}), make(chan struct{})
	replace(t, op.Cos, func(c *kernel.Call) error {
		close(begun)
		<-proceed
		c.Alloc(0)
		return nil
	})
	y := b.do(op.Cos, list(put(b, []float32{1}, 1)))[0]
	after := b.do(op.Neg, list(y))[0]
	done := make(chan error)
	<-begun
	go func() { done <- b.Read(ctx, after.ID, make([]byte, 4)) }()
	closed := make(chan error)
	go func() { closed <- backend.Close() }()
	close(proceed)
	err := <-done
	if err != nil { // the read may have been served before the close
		require.ErrorIs(t, err, core.ErrClosed)
	}
	require.NoError(t, <-closed)
	require.Zero(t, b.Memory().InUse)
	require.ErrorIs(t, b.Read(ctx, after.ID, make([]byte, 4)), core.ErrClosed)
}
