package router_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/decorators/router"
)

// BenchmarkNode measures a small node on a device alone, on a router with equal members, on a router with different members that both claim
// the op, and on a router where each node falls back to the second member.
func BenchmarkNode(b *testing.B) {
	for _, c := range []struct {
		name string
		open func() core.Backend
	}{
		{"alone", func() core.Backend { return processor(b) }},
		{"uniform", func() core.Backend { return routed(b, two(b)) }},
		{"claimed", func() core.Backend {
			return routed(b, []*core.Place{place("a", plant(b, "sort")), place("b", processor(b))})
		}},
		{"fallback", func() core.Backend {
			return routed(b, []*core.Place{place("a", plant(b, "neg")), place("b", processor(b))})
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			x := c.open()
			defer func() { _ = x.Close() }()
			d, err := x.Open(ctx, 0)
			require.NoError(b, err)
			s, err := d.OpenStream(ctx)
			require.NoError(b, err)
			in := op.Desc{ID: d.NewIDs(1), DType: dtype.F32, Shape: []int{4}}
			require.NoError(b, s.Write(ctx, in, make([]byte, 16)))
			n, err := op.New(op.Neg, []op.Desc{in})
			require.NoError(b, err)
			free := make([]op.TensorID, 1)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				id := d.NewIDs(1)
				n.Inputs, n.Outputs = []op.TensorID{in.ID}, []op.Desc{{ID: id, DType: dtype.F32, Shape: in.Shape}}
				free[0] = id
				require.NoError(b, s.Submit([]op.Node{n}, free))
				if i%256 == 255 {
					require.NoError(b, core.Sync(ctx, s))
				}
			}
			require.NoError(b, core.Sync(ctx, s))
		})
	}
}

func routed(b *testing.B, places []*core.Place) core.Backend {
	r, err := router.New(places)
	require.NoError(b, err)
	return r
}
