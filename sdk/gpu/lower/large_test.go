package lower

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/sdk/gpu/ir"
	"github.com/goburn/burn/sdk/gpu/template"
)

// big has the properties of an H200 that lowering reads.
var big = func() template.Target {
	t := tiny
	t.Units, t.Blocks, t.Shared = 132, 8, 227<<10
	return t
}()

// TestLarge proves launches for tensors with more elements than 32-bit indices reach, without allocating them.
func TestLarge(t *testing.T) {
	softmax := func(b *sketch, x op.Desc) []op.Desc {
		e := b.Do(op.Exp, b.Do(op.Sub, x, b.Reduce(op.ReduceMax, x, true, 1)))
		return []op.Desc{b.Do(op.Div, e, b.Reduce(op.Sum, e, true, 1))}
	}
	for name, c := range map[string]struct {
		dims  []int
		build func(b *sketch, x op.Desc) []op.Desc
	}{
		"one":         {[]int{1<<31 + 5}, func(b *sketch, x op.Desc) []op.Desc { return []op.Desc{b.Do(op.Neg, x)} }},
		"just below":  {[]int{1<<31 - 1}, func(b *sketch, x op.Desc) []op.Desc { return []op.Desc{b.Do(op.Neg, x)} }},
		"bias":        {[]int{1<<16 + 1, 1 << 15}, func(b *sketch, x op.Desc) []op.Desc { return []op.Desc{b.Do(op.Add, x, b.input(dtype.BF16, 1<<15))} }},
		"turned":      {[]int{1<<16 + 1, 1<<15 + 3}, func(b *sketch, x op.Desc) []op.Desc { return []op.Desc{b.Permute(x, 1, 0)} }},
		"sum of all":  {[]int{1<<16 + 1, 1<<15 + 3}, func(b *sketch, x op.Desc) []op.Desc { return []op.Desc{b.Reduce(op.Sum, x, false, 0, 1)} }},
		"rows":        {[]int{1<<20 + 1, 1 << 11}, func(b *sketch, x op.Desc) []op.Desc { return []op.Desc{b.Reduce(op.Sum, x, false, 1)} }},
		"columns":     {[]int{1<<20 + 1, 1 << 11}, func(b *sketch, x op.Desc) []op.Desc { return []op.Desc{b.Reduce(op.Sum, x, false, 0)} }},
		"softmax":     {[]int{1<<20 + 1, 1 << 11}, softmax},
		"long rows":   {[]int{1 << 12, 1<<19 + 1}, softmax},
		"many blocks": {[]int{1<<30 + 1, 3}, softmax},
		"random": {[]int{3}, func(b *sketch, x op.Desc) []op.Desc {
			return []op.Desc{b.Do(op.Neg, x), b.With(op.RandomBits, nil, op.Int("seed", 1), op.Ints("shape", 1<<31+3))}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newSketch()
			g := b.graph(t, c.build(b, b.input(dtype.BF16, c.dims...))...)
			for _, x := range g.Decide(Policy(big)) {
				w, err := groupOf(big, g, x)
				require.NoError(t, err)
				var bytes []int64
				for _, id := range x.Inputs {
					bytes = append(bytes, int64(g.Desc(id).Bytes()))
				}
				for _, d := range x.Outputs {
					bytes = append(bytes, int64(d.Bytes()))
				}
				for _, l := range w.Launches {
					require.NoError(t, ir.Check(l, append(bytes, w.Temps...), limits(big)), "grid %v args %v\n%v", l.Grid, l.Args, l.Kernel)
				}
			}
		})
	}
}

// TestSameText checks that kernels which differ only in lengths or in scalar operands have the same text, and that kernels with different
// attributes do not.
func TestSameText(t *testing.T) {
	kernel := func(target template.Target, build func(b *sketch) op.Desc) string {
		b := newSketch()
		g := b.graph(t, build(b))
		all := ""
		for _, x := range g.Decide(Policy(target)) {
			if _, ok := Immediate(g, x.Outputs[0].ID); ok {
				continue
			}
			w, err := groupOf(target, g, x)
			require.NoError(t, err)
			for _, l := range w.Launches {
				all += l.Kernel.String()
			}
		}
		return all
	}
	scaled := func(n int, by float64) func(b *sketch) op.Desc {
		return func(b *sketch) op.Desc { x := b.input(dtype.F32, n); return b.Do(op.Mul, x, b.Like(x, by)) }
	}
	require.Equal(t, kernel(big, scaled(4096, 2)), kernel(big, scaled(8192, 3)))
	leaky := func(alpha float64) func(b *sketch) op.Desc {
		return func(b *sketch) op.Desc { return b.Un(op.LeakyRelu, b.input(dtype.F32, 64), op.Float("alpha", alpha)) }
	}
	require.NotEqual(t, kernel(big, leaky(0.1)), kernel(big, leaky(0.2)), "attributes are in the text")
	bias := func(h, w int) func(b *sketch) op.Desc {
		return func(b *sketch) op.Desc { return b.Do(op.Add, b.input(dtype.F32, h, w), b.input(dtype.F32, w)) }
	}
	require.Equal(t, kernel(big, bias(64, 128)), kernel(big, bias(96, 256)))
	sum := func(n int) func(b *sketch) op.Desc {
		return func(b *sketch) op.Desc { return b.Reduce(op.Sum, b.input(dtype.F32, 4096, n), false, 1) }
	}
	require.Equal(t, kernel(big, sum(4096)), kernel(big, sum(4092)))
}
