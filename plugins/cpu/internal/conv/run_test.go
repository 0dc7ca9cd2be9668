package conv

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
	"github.com/goburn/burn/plugins/cpu/internal/par"
)

func TestRun(t *testing.T) {
	for _, threads := range []int{1, 3} {
		pool := par.New(threads)
		for _, s := range specs {
			t.Run(fmt.Sprintf("%s/threads=%d", s.name, threads), func(t *testing.T) {
				check[float32](t, pool, s)
				check[float64](t, pool, s)
				check[int32](t, pool, s)
				check[int8](t, pool, s)
			})
		}
		pool.Close()
	}
}

func TestRandomShapes(t *testing.T) {
	pool := par.New(2)
	defer pool.Close()
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range 150 {
		rank, groups := 1+rng.IntN(3), 1+rng.IntN(3)
		perGroup := 1 + rng.IntN(3)
		s := spec{
			x: []int{rng.IntN(4), groups * perGroup},
			w: []int{groups * (1 + rng.IntN(6)), perGroup},
			p: Params{Groups: groups},
		}
		for range rank {
			s.x = append(s.x, rng.IntN(9))
			s.w = append(s.w, 1+rng.IntN(4))
			s.p.Stride = append(s.p.Stride, 1+rng.IntN(3))
			s.p.PadLo = append(s.p.PadLo, rng.IntN(6)-2)
			s.p.PadHi = append(s.p.PadHi, rng.IntN(6)-2)
			s.p.KernelDilation = append(s.p.KernelDilation, 1+rng.IntN(2))
			s.p.InputDilation = append(s.p.InputDilation, 1+rng.IntN(3))
		}
		t.Run(fmt.Sprintf("%d %v %v %+v", i, s.x, s.w, s.p), func(t *testing.T) { check[float32](t, pool, s) })
	}
}

func TestErrors(t *testing.T) {
	cases := []struct {
		x, w []int
		p    Params
		want string
	}{
		{[]int{1, 2}, []int{3, 2}, Params{}, "conv: input rank, got 2, want 3 to 8"},
		{[]int{1, 2, 3}, []int{3, 2}, Params{}, "conv: weight rank, got 2, want 3"},
		{[]int{1, -2, 3}, []int{3, 2, 1}, Params{}, "want no negative size"},
		{[]int{1, 4, 3}, []int{3, 2, 1}, Params{Groups: 2}, "conv: groups, got 2, want a divisor of 4 channels and 3 outputs"},
		{[]int{1, 4, 3}, []int{4, 3, 1}, Params{Groups: 2}, "conv: weight channels, got 3, want 2"},
		{[]int{1, 4, 3}, []int{4, 4, 1}, Params{Groups: -1}, "conv: groups, got -1"},
		{[]int{1, 4, 3}, []int{4, 4, 1}, Params{Stride: []int{0}}, "conv: stride of axis 0, got 0, want 1"},
		{[]int{1, 4, 3}, []int{4, 4, 1}, Params{PadLo: []int{0, 0}}, "conv: low padding, got 2 values, want 1"},
		{[]int{1, 4, 3, 3}, []int{4, 4, 1, 1}, Params{InputDilation: []int{1 << 20, 1 << 20}}, "conv: padded input is too large"},
	}
	for _, c := range cases {
		_, err := OutShape(c.x, c.w, c.p)
		require.ErrorContains(t, err, c.want)
		require.ErrorContains(t, Run[float32](nil, nil, c.x, nil, c.w, c.p, nil, nil), c.want)
	}
	pool := par.New(1)
	p, err := New([]int{1, 1, 3}, []int{8, 1, 1}, Params{})
	require.NoError(t, err)
	other, err := New([]int{1, 1, 3}, []int{8, 1, 2}, Params{})
	require.NoError(t, err)
	x, w, out := make([]float32, 3), make([]float32, 16), make([]float32, 24)
	require.ErrorContains(t, RunPacked(pool, p, x, PackWeights(pool, other, w), out, nil), "conv: prepared weights")
	require.ErrorContains(t, RunPlan(pool, p, x, w, out, &micro.Epilogue[float32]{BiasCol: x}), "conv: epilogue")
}

func TestConcurrentStreams(t *testing.T) {
	pool := par.New(3)
	defer pool.Close()
	s := specs[3]
	plan, err := New(s.x, s.w, s.p)
	require.NoError(t, err)
	rng := rand.New(rand.NewPCG(5, 6))
	x, w := random[float32](rng, count(s.x)), random[float32](rng, count(s.w))
	want, _ := naive(x, s.x, w, s.w, s.p, nil)
	ready := PackWeights(pool, plan, w)
	var streams sync.WaitGroup
	for range 6 {
		streams.Go(func() {
			for range 20 {
				out := make([]float32, len(want))
				if err := RunPacked(pool, plan, x, ready, out, nil); err != nil {
					t.Error(err)
					return
				}
				for i := range out {
					if d := out[i] - want[i]; d > 1e-4 || d < -1e-4 {
						t.Errorf("element %d, got %v, want %v", i, out[i], want[i])
						return
					}
				}
			}
		})
	}
	streams.Wait()
}

func BenchmarkRun(b *testing.B) {
	pad1 := Params{PadLo: []int{1, 1}, PadHi: []int{1, 1}}
	shapes := []spec{
		{"3x3/64@56", []int{1, 64, 56, 56}, []int{64, 64, 3, 3}, pad1},
		{"3x3/256@14", []int{1, 256, 14, 14}, []int{256, 256, 3, 3}, pad1},
		{"3x3/512@7", []int{1, 512, 7, 7}, []int{512, 512, 3, 3}, pad1},
		{"1x1/64-256@56", []int{1, 64, 56, 56}, []int{256, 64, 1, 1}, Params{}},
		{"1x1/1024-256@14", []int{1, 1024, 14, 14}, []int{256, 1024, 1, 1}, Params{}},
		{"7x7/3-64@224", []int{1, 3, 224, 224}, []int{64, 3, 7, 7}, Params{Stride: []int{2, 2}, PadLo: []int{3, 3}, PadHi: []int{3, 3}}},
		{"depthwise/96@112s2", []int{1, 96, 112, 112}, []int{96, 1, 3, 3}, Params{Groups: 96, Stride: []int{2, 2}, PadLo: []int{1, 1}, PadHi: []int{1, 1}}},
		{"depthwise/144@56", []int{1, 144, 56, 56}, []int{144, 1, 3, 3}, Params{Groups: 144, PadLo: []int{1, 1}, PadHi: []int{1, 1}}},
	}
	for _, threads := range []int{1, 2} {
		pool := par.New(threads)
		for _, s := range shapes {
			b.Run(fmt.Sprintf("%s/threads=%d", s.name, threads), func(b *testing.B) {
				plan, err := New(s.x, s.w, s.p)
				require.NoError(b, err)
				rng := rand.New(rand.NewPCG(7, 8))
				x, ready := random[float32](rng, count(s.x)), PackWeights(pool, plan, random[float32](rng, count(s.w)))
				out := make([]float32, count(plan.OutShape()))
				b.ReportAllocs()
				for b.Loop() {
					if err := RunPacked(pool, plan, x, ready, out, nil); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(2*float64(len(out)*plan.depth())*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			})
		}
		pool.Close()
	}
}
