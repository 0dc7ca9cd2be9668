package template_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/internal/long"
	"github.com/goburn/burn/sdk/gpu/ir"
	"github.com/goburn/burn/sdk/gpu/template"
)

// convolutionCase is a convolution. Lists have an entry for each spatial dimension.
type convolutionCase struct {
	name                           string
	batch, channels, results       int
	in, window                     []int
	stride, padLow, padHigh        []int
	dilation, imageDilation        []int
	groups                         int
	typ, compute                   dtype.DType
	lastImage, lastFilter, lastOut bool // channels come last in memory
	units                          int
	web, exact, body               bool
	turned                         bool   // filters have their spatial axes reversed and their first two axes exchanged in memory
	exchanged                      bool   // images and filters have their first two axes exchanged in memory
	kernel                         string // prefix of the name of the first kernel
}

// exchangedTensor returns memory for a tensor of shape (first, second, spatial...) with the second axis before the first in memory.
func exchangedTensor(t dtype.DType, dims []int) tensor {
	axes := []int{1, 0}
	for i := 2; i < len(dims); i++ {
		axes = append(axes, i)
	}
	v := shape.Contiguous(shape.Of(append([]int{dims[1], dims[0]}, dims[2:]...)...)).Permute(axes)
	return tensor{template.Operand{Type: t, View: v}, make([]byte, v.Shape.Size()*t.Size())}
}

// channelsTensor returns memory for a tensor of shape (first, channels, spatial...), with the channels last in memory if last is true.
func channelsTensor(t dtype.DType, dims []int, last bool) tensor {
	v := shape.Contiguous(shape.Of(dims...))
	if last {
		moved := append([]int{dims[0]}, append(slices.Clone(dims[2:]), dims[1])...)
		axes := []int{0, len(dims) - 1}
		for i := 1; i < len(dims)-1; i++ {
			axes = append(axes, i)
		}
		v = shape.Contiguous(shape.Of(moved...)).Permute(axes)
	}
	return tensor{template.Operand{Type: t, View: v}, make([]byte, v.Shape.Size()*t.Size())}
}

func testConvolution(t *testing.T, p convolutionCase) {
	t.Helper()
	r := rand.New(rand.NewPCG(3, uint64(p.channels)))
	out := []int{p.batch, p.results}
	for i, n := range p.in {
		wide := (n-1)*p.imageDilation[i] + 1 + p.padLow[i] + p.padHigh[i]
		out = append(out, max(0, (wide-(p.window[i]-1)*p.dilation[i]-1)/p.stride[i]+1))
	}
	x := channelsTensor(p.typ, append([]int{p.batch, p.channels}, p.in...), p.lastImage).fill(r, 2)
	w := channelsTensor(p.typ, append([]int{p.results, p.channels / p.groups}, p.window...), p.lastFilter).fill(r, 2)
	if p.exchanged {
		x = exchangedTensor(p.typ, append([]int{p.batch, p.channels}, p.in...)).fill(r, 2)
		w = exchangedTensor(p.typ, append([]int{p.results, p.channels}, p.window...)).fill(r, 2)
	}
	if p.turned {
		w = exchangedTensor(p.typ, append([]int{p.results, p.channels}, p.window...))
		w.operand.View = w.operand.View.Flip([]int{2, 3})
		w.fill(r, 2)
	}
	y := channelsTensor(p.typ, out, p.lastOut)
	target := hopper(p.units)
	if p.web {
		target = web(p.units)
	}
	operands := []tensor{x, w}
	v := template.Convolution{X: x.operand, W: w.operand, Stride: p.stride, Pad: p.padLow, Dilation: p.dilation, InputDilation: p.imageDilation,
		Groups: p.groups, Compute: p.compute, Out: []template.Operand{y.operand}, Exact: p.exact}
	bias := func(at []int) float64 { return 0 }
	if p.body {
		b := channelsTensor(p.compute, []int{1, p.results}, false).fill(r, 3)
		residual := channelsTensor(p.typ, out, p.lastOut).fill(r, 2)
		one := slices.Repeat([]int{1}, len(out))
		one[1] = p.results
		view, _ := b.operand.View.Reshape(shape.Of(one...))
		b.operand.View = view.Expand(shape.Of(out...))
		operands = append(operands, b, residual)
		v.Extra = []template.Operand{b.operand, residual.operand}
		v.Body = func(b *ir.Builder, in []ir.Value, index func(int) ir.Value) []ir.Value {
			s := b.Add(b.Add(in[0], in[1]), b.Cast(p.compute, in[2]))
			for axis := range out {
				s = b.Add(s, b.Cast(p.compute, b.Rem(index(axis), b.Int(2+axis))))
			}
			return []ir.Value{b.Cast(p.typ, s)}
		}
		bias = func(at []int) float64 {
			s := b.get(at) + residual.get(at)
			for axis, i := range at {
				s += float64(i % (2 + axis))
			}
			return s
		}
	}
	work, err := v.Build(target)
	require.NoError(t, err)
	if p.kernel != "" {
		require.True(t, strings.HasPrefix(work.Launches[0].Kernel.Name, p.kernel), work.Launches[0].Kernel.Name)
		require.True(t, v.Direct(target))
	}
	run(t, work, limitsOf(target), operands, []tensor{y})

	bad, per := 0, p.channels/p.groups
	each(out, func(at []int) {
		sum := bias(at)
		group := at[1] / (p.results / p.groups)
		each(append([]int{per}, p.window...), func(tap []int) {
			from := []int{at[0], group*per + tap[0]}
			for i, k := range tap[1:] {
				pos := at[2+i]*p.stride[i] + k*p.dilation[i] - p.padLow[i]
				if pos < 0 || pos%p.imageDilation[i] != 0 || pos/p.imageDilation[i] >= p.in[i] {
					return
				}
				from = append(from, pos/p.imageDilation[i])
			}
			sum += x.get(from) * w.get(append([]int{at[1]}, tap...))
		})
		want := newTensor(p.typ, []int{1, 1}, rowMajor)
		want.set([]int{0, 0}, sum)
		if got := y.get(at); got != want.get([]int{0, 0}) {
			if bad++; bad < 5 {
				t.Errorf("element %v: got %v, want %v", at, got, sum)
			}
		}
	})
}

func TestConvolution(t *testing.T) {
	base := convolutionCase{batch: 2, channels: 6, results: 10, in: []int{9, 7}, window: []int{3, 3}, stride: []int{1, 1}, padLow: []int{1, 1}, padHigh: []int{1, 1},
		dilation: []int{1, 1}, imageDilation: []int{1, 1}, groups: 1, typ: dtype.F32, compute: dtype.F32, units: 1}
	with := func(name string, f func(p *convolutionCase)) convolutionCase {
		p := base
		f(&p)
		p.name = name
		return p
	}
	line := func(p *convolutionCase, in, window int) {
		p.in, p.window, p.stride, p.padLow, p.padHigh, p.dilation, p.imageDilation = []int{in}, []int{window}, []int{1}, []int{2}, []int{1}, []int{1}, []int{1}
	}
	cube := func(p *convolutionCase) {
		p.in, p.window, p.stride, p.padLow, p.padHigh, p.dilation, p.imageDilation = []int{4, 5, 6}, []int{2, 3, 2}, []int{1, 2, 1}, []int{0, 1, 1}, []int{1, 1, 0}, []int{1, 1, 2}, []int{1, 1, 1}
	}
	cases := []convolutionCase{
		with("plain", func(p *convolutionCase) {}),
		with("one by one", func(p *convolutionCase) {
			p.window, p.padLow, p.padHigh, p.channels = []int{1, 1}, []int{0, 0}, []int{0, 0}, 20
		}),
		with("strides", func(p *convolutionCase) { p.stride, p.padLow, p.padHigh = []int{2, 3}, []int{3, 0}, []int{1, 2} }),
		with("cropped", func(p *convolutionCase) { p.padLow, p.padHigh = []int{-1, 2}, []int{1, -2} }),
		with("dilated filter", func(p *convolutionCase) { p.dilation = []int{2, 3} }),
		with("dilated image", func(p *convolutionCase) { p.imageDilation, p.padLow = []int{2, 3}, []int{2, 1} }),
		with("all at once", func(p *convolutionCase) {
			p.imageDilation, p.padLow, p.stride, p.dilation, p.padHigh = []int{2, 3}, []int{2, -1}, []int{2, 2}, []int{2, 1}, []int{0, 3}
		}),
		with("groups", func(p *convolutionCase) { p.groups, p.channels, p.results = 2, 12, 20 }),
		with("few results of a group", func(p *convolutionCase) { p.groups, p.channels, p.results = 3, 6, 6 }),
		with("depthwise", func(p *convolutionCase) { p.groups, p.channels, p.results = 8, 8, 16 }),
		with("depthwise, large", func(p *convolutionCase) {
			p.groups, p.channels, p.results, p.window, p.padLow = 4, 4, 4, []int{7, 5}, []int{3, 4}
		}),
		with("few channels", func(p *convolutionCase) {
			p.channels, p.results, p.window, p.stride, p.padLow = 3, 16, []int{5, 5}, []int{2, 2}, []int{2, 2}
		}),
		with("many channels", func(p *convolutionCase) { p.channels, p.results = 36, 40 }),
		with("deep and narrow", func(p *convolutionCase) { p.channels, p.results, p.units, p.batch = 120, 8, 132, 1 }),
		with("no batch", func(p *convolutionCase) { p.batch = 0 }),
		with("no channels", func(p *convolutionCase) { p.channels = 0 }),
		with("one pixel", func(p *convolutionCase) {
			p.in, p.batch, p.padLow, p.padHigh, p.channels = []int{3, 3}, 1, []int{0, 0}, []int{0, 0}, 20
		}),
		with("line", func(p *convolutionCase) { line(p, 31, 4) }),
		with("cube", cube),
		with("integers", func(p *convolutionCase) { p.typ, p.compute = dtype.I32, dtype.I32 }),
		with("doubles", func(p *convolutionCase) { p.typ, p.compute = dtype.F64, dtype.F64 }),
		with("bytes", func(p *convolutionCase) { p.typ, p.compute, p.channels = dtype.I8, dtype.I32, 20 }),
	}
	for _, typ := range []dtype.DType{dtype.F16, dtype.BF16} {
		half := func(p *convolutionCase) { p.typ, p.compute, p.channels, p.results = typ, dtype.F32, 24, 20 }
		cases = append(cases, with("fragments", half),
			with("fragments, odd channels", func(p *convolutionCase) { half(p); p.channels = 19 }),
			with("fragments, groups", func(p *convolutionCase) { half(p); p.groups, p.channels, p.results = 2, 40, 32 }),
			with("fragments, dilated", func(p *convolutionCase) {
				half(p)
				p.imageDilation, p.stride = []int{2, 1}, []int{1, 2}
			}),
			with("fragments, cube", func(p *convolutionCase) { half(p); cube(p) }),
			with("fragments, deep and narrow", func(p *convolutionCase) { half(p); p.channels, p.units, p.batch = 200, 132, 1 }),
		)
	}
	for i, c := range cases {
		for n, last := range []int{0, 7, i % 8} {
			if (n+i/2)%long.Every(3) != 0 {
				continue
			}
			c.lastImage, c.lastFilter, c.lastOut, c.body = last&1 != 0, last&2 != 0, last&4 != 0, n > 0
			c.web = n == i%3 && c.typ == dtype.F32
			t.Run(fmt.Sprintf("%s_%v_%d_%v", c.name, c.typ, last, c.body), func(t *testing.T) { testConvolution(t, c) })
		}
	}
}
