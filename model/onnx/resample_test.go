package onnx

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The tables were worked out by hand from the formulas of Resize.
func TestResampleTables(t *testing.T) {
	for _, c := range []struct {
		name   string
		r      resampling
		index  []int
		weight []float64
	}{
		{"nearest, ties to the left", resampling{in: 2, out: 4, scale: 2, transform: "asymmetric", interpolate: "nearest",
			nearest: "round_prefer_floor"}, []int{0, 0, 1, 1}, []float64{1, 1, 1, 1}},
		{"nearest, ties to the right", resampling{in: 2, out: 4, scale: 2, transform: "asymmetric", interpolate: "nearest",
			nearest: "round_prefer_ceil"}, []int{0, 1, 1, 1}, []float64{1, 1, 1, 1}},
		{"before opset 11, smaller", resampling{in: 4, out: 2, scale: 0.6, transform: "asymmetric", interpolate: "nearest", nearest: "simple"},
			[]int{0, 2}, []float64{1, 1}},
		{"linear at the edge", resampling{in: 2, out: 4, scale: 2, transform: "half_pixel", interpolate: "linear"},
			[]int{0, 0, 0, 1, 0, 1, 1, 1}, []float64{0.25, 0.75, 0.75, 0.25, 0.25, 0.75, 0.75, 0.25}},
		{"linear over whole pixels", resampling{in: 3, out: 2, scale: 2.0 / 3, transform: "align_corners", interpolate: "linear"},
			[]int{0, 0, 1, 2}, []float64{0, 1, 0, 1}},
		{"antialias halves", resampling{in: 4, out: 2, scale: 0.5, transform: "half_pixel", interpolate: "linear", antialias: true},
			[]int{0, 0, 1, 2, 1, 2, 3, 3}, []float64{0.125, 0.375, 0.375, 0.125, 0.125, 0.375, 0.375, 0.125}},
	} {
		got := c.r.table()
		require.Equal(t, c.index, got.index, c.name)
		require.InDeltaSlice(t, c.weight, got.weight, 1e-12, c.name)
	}
	crop := resampling{in: 3, out: 3, scale: 1, transform: "tf_crop_and_resize", interpolate: "nearest", start: 0.5, end: 1.5}
	require.Equal(t, []bool{false, false, true}, func() []bool { v := crop.table(); return v.outside }())
}

func TestDeterminant(t *testing.T) {
	for _, c := range []struct {
		m    []float64
		n    int
		want float64
	}{{nil, 0, 1}, {[]float64{3}, 1, 3}, {[]float64{0, 2, 3, 0}, 2, -6}, {[]float64{1, 2, 2, 4}, 2, 0}, {[]float64{2, 0, 1, 1, 3, 2, 1, 1, 1}, 3, 0},
		{[]float64{0, 1, 0, 0, 0, 1, 5, 0, 0}, 3, 5}} {
		require.InDelta(t, c.want, determinant(append([]float64(nil), c.m...), c.n), 1e-12)
	}
}

func TestPooledWindows(t *testing.T) {
	for _, c := range []struct {
		name             string
		w                window
		size             int
		ceil             bool
		out, overhanging int
	}{
		{"exact", window{kernel: []int{2}, strides: []int{2}, dilation: []int{1}, lo: []int{0}, hi: []int{0}}, 4, true, 2, 0},
		{"ceil", window{kernel: []int{2}, strides: []int{2}, dilation: []int{1}, lo: []int{0}, hi: []int{0}}, 5, true, 3, 1},
		{"floor", window{kernel: []int{2}, strides: []int{2}, dilation: []int{1}, lo: []int{0}, hi: []int{0}}, 5, false, 2, -1},
		{"last window would start in the padding", window{kernel: []int{1}, strides: []int{2}, dilation: []int{1}, lo: []int{0}, hi: []int{1}}, 2, true, 1, -1},
		{"does not fit", window{kernel: []int{3}, strides: []int{1}, dilation: []int{2}, lo: []int{0}, hi: []int{0}}, 4, false, 0, 0},
	} {
		out, reach := c.w.pooled(0, c.size, c.ceil)
		require.Equal(t, []int{c.out, c.overhanging}, []int{out, reach}, c.name)
	}
}
