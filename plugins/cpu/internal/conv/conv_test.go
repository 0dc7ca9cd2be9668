package conv

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
	"github.com/goburn/burn/plugins/cpu/internal/par"
)

// spec is a case: the shapes of the input and the weights, and the parameters.
type spec struct {
	name string
	x, w []int
	p    Params
}

var specs = []spec{
	{"1d", []int{2, 3, 9}, []int{4, 3, 3}, Params{}},
	{"1d one", []int{1, 1, 1}, []int{1, 1, 1}, Params{}},
	{"1d pads", []int{2, 3, 9}, []int{5, 3, 4}, Params{PadLo: []int{2}, PadHi: []int{1}, Stride: []int{2}}},
	{"2d", []int{1, 3, 8, 7}, []int{6, 3, 3, 3}, Params{PadLo: []int{1, 1}, PadHi: []int{1, 1}}},
	{"2d batch", []int{9, 3, 8, 7}, []int{6, 3, 3, 3}, Params{PadLo: []int{1, 0}, PadHi: []int{0, 2}, Stride: []int{2, 1}}},
	{"2d pointwise", []int{3, 20, 6, 5}, []int{11, 20, 1, 1}, Params{}},
	{"2d pointwise groups", []int{1, 20, 6, 5}, []int{10, 10, 1, 1}, Params{Groups: 2}},
	{"2d pointwise stride", []int{1, 20, 6, 5}, []int{10, 20, 1, 1}, Params{Stride: []int{2, 3}}},
	{"2d groups", []int{2, 6, 7, 7}, []int{9, 2, 2, 3}, Params{Groups: 3, PadHi: []int{1, 1}}},
	{"2d dilated", []int{1, 2, 11, 12}, []int{3, 2, 3, 2}, Params{KernelDilation: []int{2, 3}, PadLo: []int{2, 2}}},
	{"2d input dilated", []int{2, 3, 4, 5}, []int{5, 3, 3, 3}, Params{InputDilation: []int{2, 3}, PadLo: []int{2, 2}, PadHi: []int{3, 2}}},
	{"2d negative pads", []int{1, 3, 9, 9}, []int{5, 3, 3, 3}, Params{PadLo: []int{-1, 1}, PadHi: []int{1, -2}}},
	{"2d negative pads, dilated", []int{1, 2, 6, 6}, []int{3, 2, 2, 2}, Params{InputDilation: []int{3, 2}, PadLo: []int{-4, -3}, PadHi: []int{-2, -1}}},
	{"2d all cut away", []int{1, 2, 3, 3}, []int{3, 2, 1, 1}, Params{PadLo: []int{-5, 3}, PadHi: []int{4, 0}}},
	{"2d only padding", []int{1, 2, 0, 3}, []int{3, 2, 2, 2}, Params{PadLo: []int{2, 0}, PadHi: []int{1, 0}}},
	{"2d no output", []int{1, 2, 2, 3}, []int{3, 2, 3, 3}, Params{}},
	{"2d no batch", []int{0, 2, 5, 5}, []int{3, 2, 3, 3}, Params{}},
	{"2d no channels", []int{1, 0, 5, 5}, []int{3, 0, 3, 3}, Params{}},
	{"2d no outputs", []int{1, 2, 5, 5}, []int{0, 2, 3, 3}, Params{}},
	{"2d empty kernel", []int{1, 2, 5, 5}, []int{3, 2, 0, 3}, Params{}},
	{"depthwise 3x3", []int{2, 7, 9, 10}, []int{7, 1, 3, 3}, Params{Groups: 7, PadLo: []int{1, 1}, PadHi: []int{1, 1}}},
	{"depthwise 5x5 stride", []int{1, 6, 11, 9}, []int{12, 1, 5, 5}, Params{Groups: 6, Stride: []int{2, 2}, PadLo: []int{2, 2}, PadHi: []int{2, 2}}},
	{"depthwise dilated", []int{1, 4, 11, 12}, []int{4, 1, 3, 4}, Params{Groups: 4, KernelDilation: []int{2, 3}, PadLo: []int{2, 4}, PadHi: []int{2, -1}}},
	{"depthwise 1d", []int{3, 4, 11}, []int{8, 1, 2}, Params{Groups: 4, InputDilation: []int{2}}},
	{"depthwise pointwise", []int{3, 4, 5, 2}, []int{4, 1, 1, 1}, Params{Groups: 4}},
	{"one channel, many outputs", []int{2, 1, 9, 9}, []int{16, 1, 3, 3}, Params{PadLo: []int{1, 1}, PadHi: []int{1, 1}}},
	{"3d", []int{1, 2, 5, 6, 7}, []int{4, 2, 2, 3, 3}, Params{PadLo: []int{1, 0, 1}, Stride: []int{1, 2, 1}}},
	{"4d", []int{1, 2, 3, 4, 3, 4}, []int{4, 1, 2, 2, 2, 1}, Params{Groups: 2, PadHi: []int{0, 1, 0, 1}}},
	{"6d", []int{1, 1, 2, 2, 2, 3, 2, 3}, []int{5, 1, 2, 1, 2, 2, 1, 2}, Params{}},
	{"2d strides", []int{2, 5, 13, 45}, []int{7, 5, 3, 3}, Params{Stride: []int{2, 2}, PadLo: []int{1, 1}, PadHi: []int{1, 1}}},
	{"2d strides, dilated", []int{1, 5, 13, 45}, []int{7, 5, 3, 4}, Params{Stride: []int{1, 3}, PadLo: []int{1, 2}, KernelDilation: []int{1, 2}, InputDilation: []int{1, 2}}},
	{"2d sampled", []int{1, 6, 9, 8}, []int{5, 6, 1, 1}, Params{Stride: []int{2, 2}}},
	{"2d sampled, padded", []int{1, 6, 9, 8}, []int{5, 6, 1, 1}, Params{Stride: []int{3, 2}, PadLo: []int{1, 1}, PadHi: []int{2, 0}}},
	{"2d sampled, wide", []int{1, 3, 11, 77}, []int{5, 3, 1, 1}, Params{Stride: []int{2, 2}, PadLo: []int{1, -1}, PadHi: []int{0, 1}}},
	{"2d sampled, rows of thirds", []int{1, 3, 12, 50}, []int{5, 3, 1, 1}, Params{Stride: []int{3, 2}, PadLo: []int{-2, 3}, PadHi: []int{2, -1}}},
	{"3d sampled", []int{1, 3, 5, 6, 21}, []int{5, 3, 1, 1, 1}, Params{Stride: []int{2, 2, 2}, PadLo: []int{1, 0, 1}}},
	{"few channels, padded in parts", []int{1, 2, 150, 140}, []int{3, 2, 3, 3}, Params{Stride: []int{2, 2}, PadLo: []int{1, 1}, PadHi: []int{1, 1}}},
	{"few channels, a line", []int{1, 1, 40000}, []int{6, 1, 3}, Params{PadLo: []int{-5}, PadHi: []int{2}, InputDilation: []int{1}}},
	{"2d thin", []int{1, 9, 12, 70}, []int{2, 9, 3, 3}, Params{PadLo: []int{1, 1}, PadHi: []int{1, 1}}},
	{"2d thin pointwise", []int{2, 9, 12, 7}, []int{1, 9, 1, 1}, Params{}},
	{"3d thin strides", []int{1, 3, 5, 6, 21}, []int{2, 3, 2, 3, 3}, Params{PadLo: []int{1, 0, 1}, Stride: []int{1, 2, 2}}},
	{"1d thin strides", []int{2, 4, 300}, []int{1, 4, 7}, Params{Stride: []int{2}}},
	{"1d framed", []int{1, 1, 200}, []int{6, 1, 20}, Params{Stride: []int{10}}},
	{"1d framed, neighbours", []int{1, 1, 200}, []int{6, 1, 20}, Params{}},
	{"depthwise strides", []int{1, 9, 14, 37}, []int{9, 1, 5, 5}, Params{Groups: 9, Stride: []int{2, 2}, PadLo: []int{2, 2}, PadHi: []int{2, 2}}},
	{"wide", []int{1, 6, 11, 40}, []int{17, 6, 3, 3}, Params{PadLo: []int{1, 1}, PadHi: []int{1, 1}}},
	{"turned", []int{2, 5, 7, 7}, []int{70, 5, 3, 3}, Params{PadLo: []int{1, 1}, PadHi: []int{1, 1}}},
	{"turned, deep", []int{1, 50, 5, 5}, []int{64, 50, 3, 3}, Params{PadLo: []int{1, 1}, PadHi: []int{1, 1}, Stride: []int{2, 2}}},
	{"turned pointwise", []int{1, 33, 7, 7}, []int{96, 33, 1, 1}, Params{}},
	{"turned groups", []int{1, 34, 7, 7}, []int{136, 17, 1, 1}, Params{Groups: 2}},
	{"turned sampled", []int{1, 33, 13, 13}, []int{96, 33, 1, 1}, Params{Stride: []int{2, 2}}},
	{"long", []int{5, 3, 14, 13}, []int{20, 3, 12, 11}, Params{}},
	{"long, padded", []int{3, 2, 12, 13}, []int{4, 2, 12, 13}, Params{PadLo: []int{1, 1}, PadHi: []int{1, 1}}},
	{"long, of strides", []int{3, 2, 16, 17}, []int{4, 2, 8, 8}, Params{PadLo: []int{1, 1}, KernelDilation: []int{2, 2}}},
	{"long, cut", []int{1, 4, 16, 18}, []int{33, 4, 6, 8}, Params{PadLo: []int{1, 1}, PadHi: []int{-4, -1}, KernelDilation: []int{2, 2}}},
	{"dots", []int{1, 3, 12, 13}, []int{5, 3, 11, 10}, Params{}},
	{"dots, padded", []int{1, 3, 9, 10}, []int{2, 3, 9, 10}, Params{PadLo: []int{1, 1}, PadHi: []int{1, 2}}},
	{"dots, depthwise", []int{1, 6, 12, 9}, []int{3, 2, 12, 9}, Params{Groups: 3, PadLo: []int{1, 1}, PadHi: []int{1, 1}}},
	{"long, tall", []int{40, 2, 13, 15}, []int{3, 2, 12, 12}, Params{Stride: []int{1, 1}, PadHi: []int{3, 0}}},
	{"phases of strides", []int{2, 5, 7, 6}, []int{9, 5, 3, 3}, Params{InputDilation: []int{2, 2}, PadLo: []int{1, 1}, PadHi: []int{2, 1}}},
	{"phases, some without taps", []int{1, 3, 5, 4}, []int{4, 3, 2, 1}, Params{InputDilation: []int{3, 2}, PadLo: []int{0, 2}, PadHi: []int{1, 1}}},
	{"phases in groups, cut", []int{2, 6, 5, 9}, []int{8, 3, 4, 3}, Params{InputDilation: []int{2, 3}, PadLo: []int{-3, 1}, PadHi: []int{2, -4}, Groups: 2}},
	{"phases 1d", []int{2, 3, 9}, []int{4, 3, 7}, Params{InputDilation: []int{4}, PadLo: []int{5}, PadHi: []int{3}}},
	{"placed", []int{1, 50, 2, 16}, []int{17, 50, 3, 3}, Params{PadLo: []int{1, 1}, PadHi: []int{1, 1}}},
	{"placed, wide", []int{1, 3, 6, 64}, []int{16, 3, 3, 3}, Params{PadLo: []int{1, 1}, PadHi: []int{1, 1}}},
	{"placed, strides", []int{1, 3, 9, 65}, []int{20, 3, 3, 5}, Params{Stride: []int{2, 2}, PadLo: []int{1, 2}, PadHi: []int{1, 1}}},
	{"placed, with gaps", []int{2, 6, 9, 22}, []int{20, 6, 3, 3}, Params{PadLo: []int{1, 1}, PadHi: []int{1, 1}}},
	{"placed, with gaps, deep", []int{1, 50, 3, 20}, []int{17, 50, 3, 3}, Params{PadLo: []int{1, 1}, PadHi: []int{1, 1}}},
	{"placed 1d", []int{1, 4, 50}, []int{5, 4, 3}, Params{}},
	{"placed groups", []int{1, 12, 4, 34}, []int{9, 4, 2, 3}, Params{Groups: 3}},
	{"deep", []int{1, 70, 6, 6}, []int{9, 70, 3, 3}, Params{PadLo: []int{1, 1}, PadHi: []int{1, 1}}},
}

func or(s []int, i, def int) int {
	if s == nil {
		return def
	}
	return s[i]
}

// naive sums over all taps for each output element. It stores no padding: for
// each tap it checks whether the tap reads an input element.
func naive[T micro.Number](x []T, xs []int, w []T, ws []int, p Params, e *micro.Epilogue[T]) ([]T, []int) {
	rank, groups := len(xs)-2, max(p.Groups, 1)
	os := []int{xs[0], ws[0]}
	for i := range rank {
		length := (xs[2+i]-1)*or(p.InputDilation, i, 1) + 1
		if xs[2+i] == 0 {
			length = 0
		}
		length += or(p.PadLo, i, 0) + or(p.PadHi, i, 0)
		reach := (ws[2+i]-1)*or(p.KernelDilation, i, 1) + 1
		if ws[2+i] == 0 {
			reach = 0
		}
		n := 0
		for at := 0; at+reach <= length; at += or(p.Stride, i, 1) {
			n++
		}
		os = append(os, n)
	}
	taps := make([][]int, count(ws[1:]))
	for k := range taps {
		taps[k] = index(k, ws[1:])
	}
	perGroup := max(ws[0]/groups, 1)
	out := make([]T, count(os))
	for o := range out {
		at := index(o, os)
		var sum T
		var exact float64
		for k, tap := range taps {
			place, inside := at[0]*xs[1]+at[1]/perGroup*ws[1]+tap[0], true
			for i := range rank {
				v := at[2+i]*or(p.Stride, i, 1) + tap[1+i]*or(p.KernelDilation, i, 1) - or(p.PadLo, i, 0)
				d := or(p.InputDilation, i, 1)
				if v < 0 || v%d != 0 || v/d >= xs[2+i] {
					inside = false
					break
				}
				place = place*xs[2+i] + v/d
			}
			if inside {
				a, b := x[place], w[at[1]*len(taps)+k]
				sum += a * b
				exact += float64(a) * float64(b)
			}
		}
		if T(1)/2 != 0 {
			sum = T(exact)
		}
		if e != nil {
			sum = min(max(sum+e.BiasRow[at[1]], e.Lo), e.Hi)
		}
		out[o] = sum
	}
	return out, os
}

func count(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

func index(i int, shape []int) []int {
	at := make([]int, len(shape))
	for d := len(shape) - 1; d >= 0; d-- {
		at[d] = i % shape[d]
		i /= shape[d]
	}
	return at
}

func random[T micro.Number](rng *rand.Rand, n int) []T {
	s := make([]T, n)
	for i := range s {
		if T(1)/2 != 0 {
			s[i] = T(rng.Float64()*2 - 1)
		} else {
			s[i] = T(rng.Uint64())
		}
	}
	return s
}

func near[T micro.Number](t *testing.T, want, got []T) {
	t.Helper()
	require.Len(t, got, len(want))
	for i := range want {
		if want[i] != got[i] && (T(1)/2 == 0 || !(math.Abs(float64(want[i])-float64(got[i])) <= 2e-4)) {
			t.Fatalf("element %d, got %v, want %v", i, got[i], want[i])
		}
	}
}

func check[T micro.Number](t *testing.T, pool *par.Pool, s spec) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	x, w := random[T](rng, count(s.x)), random[T](rng, count(s.w))
	for _, e := range []*micro.Epilogue[T]{nil, {BiasRow: random[T](rng, s.w[0]), HasClamp: true, Lo: 0, Hi: 100}} {
		want, shape := naive(x, s.x, w, s.w, s.p, e)
		got, err := OutShape(s.x, s.w, s.p)
		require.NoError(t, err)
		require.Equal(t, shape, got)
		out := random[T](rng, len(want))
		require.NoError(t, Run(pool, x, s.x, w, s.w, s.p, out, e))
		near(t, want, out)

		plan, err := New(s.x, s.w, s.p)
		require.NoError(t, err)
		ready := PackWeights(pool, plan, w)
		for range 2 { // the second run reuses the workspace of the first
			out = random[T](rng, len(want))
			require.NoError(t, RunPacked(pool, plan, x, ready, out, e))
			near(t, want, out)
		}
		checkSum(t, pool, plan, x, w, e, s)
	}
}

// checkSum checks the sum of a convolution and the previous content of the output.
func checkSum[T micro.Number](t *testing.T, pool *par.Pool, plan *Plan, x, w []T, e *micro.Epilogue[T], s spec) {
	t.Helper()
	want, _ := naive(x, s.x, w, s.w, s.p, nil)
	held := random[T](rand.New(rand.NewPCG(5, 6)), len(want))
	for i := range want {
		want[i] += held[i]
		if e != nil {
			want[i] = min(max(want[i]+e.BiasRow[i/max(plan.outSize, 1)%s.w[0]], e.Lo), e.Hi)
		}
	}
	out := append([]T(nil), held...)
	if !plan.Adds() {
		require.Error(t, AddPlan(pool, plan, x, w, out, e))
		return
	}
	require.NoError(t, AddPlan(pool, plan, x, w, out, e))
	near(t, want, out)
	copy(out, held)
	require.NoError(t, AddPacked(pool, plan, x, PackWeights(pool, plan, w), out, e))
	near(t, want, out)
}
