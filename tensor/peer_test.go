package tensor_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/tensor"
)

// Copies between devices of one backend are ordered after the computation of the source and before its release, in both
// directions concurrently.
func TestPeers(t *testing.T) {
	p, err := core.OpenPlace("cpu", core.Config{Threads: 1})
	require.NoError(t, err)
	defer p.Close()
	var ds [2]*tensor.Device
	for i := range ds {
		ds[i], err = tensor.On(ctx, p)
		require.NoError(t, err)
	}
	var wg sync.WaitGroup
	for i := range ds {
		wg.Go(func() {
			from, to := ds[i], ds[1-i]
			for k := range 50 {
				x := tensor.From(from, []float32{float32(k), 2}).AddScalar(1)
				y, err := x.To(ctx, to)
				if err != nil {
					t.Error(err)
					return
				}
				x.Release()
				z := y.MulScalar(3)
				y.Release()
				got, err := tensor.Data[float32](ctx, z)
				if err != nil || got[0] != 3*float32(k+1) || got[1] != 9 {
					t.Errorf("round %d: %v, %v", k, got, err)
				}
				z.Release()
			}
		})
	}
	wg.Wait()
	for _, d := range ds {
		require.NoError(t, d.Sync(ctx))
		empty(t, d)
		require.NoError(t, d.Close())
	}
}
