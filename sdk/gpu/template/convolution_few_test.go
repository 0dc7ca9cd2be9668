package template_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/internal/long"
	"github.com/goburn/burn/sdk/gpu/template"
)

// TestFewChannels computes convolutions of few channels, whose kernels hold rows in shared memory.
func TestFewChannels(t *testing.T) {
	base := convolutionCase{batch: 9, channels: 3, results: 4, in: []int{26, 26}, window: []int{3, 3}, stride: []int{1, 1}, padLow: []int{0, 0}, padHigh: []int{0, 0},
		dilation: []int{1, 1}, imageDilation: []int{1, 1}, groups: 1, typ: dtype.F32, compute: dtype.F32, units: 2, kernel: "convolution_rows"}
	for i, x := range []struct {
		name string
		set  func(p *convolutionCase)
	}{
		{"plain", func(p *convolutionCase) {}},
		{"one channel", func(p *convolutionCase) { p.channels, p.results = 1, 8 }},
		{"odd", func(p *convolutionCase) { p.channels, p.results, p.in, p.batch = 2, 3, []int{15, 27}, 13 }},
		{"padded", func(p *convolutionCase) { p.padLow, p.padHigh, p.results = []int{2, 2}, []int{2, 2}, 6 }},
		{"padded on one side", func(p *convolutionCase) { p.padLow, p.padHigh = []int{1, 0}, []int{0, 3} }},
		{"cropped", func(p *convolutionCase) { p.padLow, p.padHigh, p.batch = []int{-1, -2}, []int{1, -1}, 10 }},
		{"strides", func(p *convolutionCase) { p.stride, p.padLow, p.batch = []int{2, 2}, []int{1, 1}, 28 }},
		{"dilated filter", func(p *convolutionCase) { p.dilation, p.batch = []int{2, 1}, 10 }},
		{"strides and dilation", func(p *convolutionCase) {
			p.stride, p.dilation, p.batch, p.in = []int{1, 2}, []int{2, 2}, 9, []int{26, 52}
		}},
		{"wide filter", func(p *convolutionCase) { p.window, p.padLow, p.channels = []int{2, 7}, []int{1, 3}, 2 }},
		{"turned filter", func(p *convolutionCase) { p.turned, p.padLow, p.padHigh = true, []int{2, 2}, []int{2, 2} }},
	} {
		for n := range 2 {
			if (n+i)%2 != 0 && long.Every(2) > 1 {
				continue
			}
			p := base
			x.set(&p)
			p.body, p.web = n > 0, n == i/2%2
			t.Run(fmt.Sprintf("%s_%v_%v", x.name, p.body, p.web), func(t *testing.T) {
				t.Parallel()
				testConvolution(t, p)
			})
		}
	}
}

// TestFilterGradient computes gradients of small filters: convolutions in which batch and channels are exchanged in operands and result.
func TestFilterGradient(t *testing.T) {
	for i, x := range []struct {
		name                                   string
		images, channels, results              int
		high, wide                             int // of the gradient of the result
		rows, cols                             int // of the filter
		stride, dilation, pad, over, batchUnit int // of the convolution, and columns of the image that no window meets
	}{
		{name: "plain", images: 15, channels: 3, results: 4, high: 24, wide: 24, rows: 3, cols: 3},
		{name: "one channel", images: 13, channels: 1, results: 8, high: 26, wide: 26, rows: 3, cols: 3},
		{name: "odd", images: 25, channels: 2, results: 5, high: 19, wide: 19, rows: 2, cols: 3},
		{name: "padded", images: 12, channels: 2, results: 6, high: 28, wide: 28, rows: 3, cols: 3, pad: 1},
		{name: "strides", images: 36, channels: 2, results: 4, high: 16, wide: 16, rows: 3, cols: 3, stride: 2, pad: 1, over: 1},
		{name: "dilated", images: 36, channels: 2, results: 4, high: 16, wide: 16, rows: 2, cols: 2, dilation: 2, pad: 1},
		{name: "large filter", images: 9, channels: 1, results: 2, high: 32, wide: 32, rows: 5, cols: 5, pad: 2},
		{name: "tall filter", images: 9, channels: 1, results: 4, high: 32, wide: 32, rows: 7, cols: 2},
	} {
		for _, web := range []bool{false, true} {
			if web != (i%2 == 0) && long.Every(2) > 1 {
				continue
			}
			t.Run(fmt.Sprintf("%s_%v", x.name, web), func(t *testing.T) {
				t.Parallel()
				stride, dilation := max(x.stride, 1), max(x.dilation, 1)
				in := func(n, k int) int { return (n-1)*stride + (k-1)*dilation + 1 - 2*x.pad + x.over }
				high := x.pad - x.over
				p := convolutionCase{batch: x.channels, channels: x.images, results: x.results, in: []int{in(x.high, x.rows), in(x.wide, x.cols)}, window: []int{x.high, x.wide},
					stride: []int{dilation, dilation}, padLow: []int{x.pad, x.pad}, padHigh: []int{high, high}, dilation: []int{stride, stride}, imageDilation: []int{1, 1},
					groups: 1, typ: dtype.F32, compute: dtype.F32, units: 3, exchanged: true, kernel: "convolution_sums", web: web, body: i%3 == 1, lastOut: i%4 == 3}
				testConvolution(t, p)
			})
		}
	}
}

// TestDirect checks which convolutions have direct kernels: those of the Book's CNN, by their shapes.
func TestDirect(t *testing.T) {
	of := func(x, w []int, out ...int) template.Convolution {
		one := []int{1, 1}
		o := func(s []int) template.Operand {
			return template.Operand{Type: dtype.F32, View: shape.Contiguous(shape.Of(s...))}
		}
		pad := []int{0, 0}
		for i := range pad {
			pad[i] = (out[2+i] - x[2+i] + w[2+i] - 1) / 2
		}
		return template.Convolution{X: o(x), W: o(w), Out: []template.Operand{o(out)}, Stride: one, Pad: pad, Dilation: one, InputDilation: one, Groups: 1, Compute: dtype.F32}
	}
	for _, batch := range []int{64, 1024} {
		for _, c := range []template.Convolution{
			of([]int{batch, 1, 28, 28}, []int{8, 1, 3, 3}, batch, 8, 26, 26),
			of([]int{batch, 8, 26, 26}, []int{16, 8, 3, 3}, batch, 16, 24, 24),
			of([]int{batch, 16, 24, 24}, []int{8, 16, 3, 3}, batch, 8, 26, 26),
			of([]int{8, batch, 26, 26}, []int{16, batch, 24, 24}, 8, 16, 3, 3),
			of([]int{1, batch, 28, 28}, []int{8, batch, 26, 26}, 1, 8, 3, 3),
		} {
			require.True(t, c.Direct(hopper(132)), "%v %v", c.X.View.Shape, c.W.View.Shape)
			products := hopper(132)
			products.Products = true
			require.False(t, c.Direct(products))
			w, err := c.Build(products)
			require.NoError(t, err)
			require.False(t, strings.HasPrefix(w.Launches[0].Kernel.Name, "convolution_rows") || strings.HasPrefix(w.Launches[0].Kernel.Name, "convolution_sums"))
		}
	}
	for _, c := range []template.Convolution{
		of([]int{64, 64, 56, 56}, []int{64, 64, 3, 3}, 64, 64, 56, 56),
		of([]int{64, 3, 224, 224}, []int{64, 3, 7, 7}, 64, 64, 224, 224),
		of([]int{64, 64, 56, 56}, []int{64, 64, 56, 56}, 64, 64, 3, 3),
		of([]int{1, 8, 14, 14}, []int{8, 8, 3, 3}, 1, 8, 12, 12),
	} {
		require.False(t, c.Direct(hopper(132)), "%v %v", c.X.View.Shape, c.W.View.Shape)
	}
}
