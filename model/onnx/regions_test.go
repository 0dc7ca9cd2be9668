package onnx_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/model/onnx"
	"github.com/goburn/burn/model/onnx/pb"
	"github.com/goburn/burn/tensor"
)

// Slice clamps a start before the first element to the first element, for steps of both signs, whereas Python's slices with a negative
// step would be empty. ONNX Runtime 1.32 and the shape inference of onnx 1.23 do the same.
func TestSliceFromBeforeTheStart(t *testing.T) {
	dev := onStream(t, openRef(t))
	for _, c := range []struct {
		start, end, step float64
		want             []float64
	}{
		{-7, -8, -3, []float64{0}}, {-4, -100, -1, []float64{0}}, {-3, -100, -1, []float64{0}}, {-9, 0, -1, []float64{}}, {-9, 2, 1, []float64{0, 1}},
		{9, -9, -2, []float64{2, 0}}, {2, -9, -1, []float64{2, 1, 0}}, {-9, -9, 1, []float64{}}, {3, 9, 1, []float64{}}, {3, 0, -1, []float64{2, 1}},
	} {
		in := args(xs([]int{3}, 0, 1, 2), n(c.start), n(c.end), n(0), n(c.step))
		got := compute(t, dev, 13, "Slice", 1, in, nil)[0]
		compare(t, got, result{dtype.F32, []int{len(c.want)}, c.want})
	}
	empty := compute(t, dev, 13, "Slice", 1, args(x(0, 2), n(-7), n(-8), n(0), n(-3)), nil)[0]
	compare(t, empty, result{dtype.F32, []int{0, 2}, nil})
}

// cell returns the range of elements that cell k of a region covers, computed with exact fractions.
func cell(k, cells, first, last, size int) (from, to int) {
	width := big.NewRat(int64(max(last-first+1, 1)), int64(cells))
	edge := func(k int, up bool) int {
		r := new(big.Rat).Mul(width, big.NewRat(int64(k), 1))
		q := new(big.Int).Div(r.Num(), r.Denom())
		if up && !r.IsInt() {
			q.Add(q, big.NewInt(1))
		}
		return min(max(first+int(q.Int64()), 0), size)
	}
	return edge(k, false), edge(k+1, true)
}

// Random regions inside a small image and beyond it are compared with the definition of Fast R-CNN's pooling.
func TestMaxRoiPoolByDefinition(t *testing.T) {
	dev := onStream(t, openRef(t))
	r := rand.New(rand.NewPCG(61, 62))
	const height, width = 5, 6
	image := make([]float64, 2*2*height*width)
	for i := range image {
		image[i] = r.Float64()*8 - 4
	}
	for _, scale := range []float32{1, 0.5, 0.7} {
		for _, cells := range [][2]int{{1, 1}, {2, 3}, {3, 2}, {7, 5}} {
			rois, want := []float64{}, []float64{}
			for range 12 {
				left, top := float64(r.IntN(12)-3), float64(r.IntN(12)-3)
				roi := []float64{float64(r.IntN(2)), left, top, left + float64(r.IntN(9)), top + float64(r.IntN(9))}
				rois = append(rois, roi...)
				var at [4]int
				for k := range at {
					at[k] = int(math.Round(float64(float32(roi[k+1]) * scale)))
				}
				for c := range 2 {
					for i := range cells[0] {
						for j := range cells[1] {
							y0, y1 := cell(i, cells[0], at[1], at[3], height)
							x0, x1 := cell(j, cells[1], at[0], at[2], width)
							most, any := 0.0, false
							for y := y0; y < y1; y++ {
								for x := x0; x < x1; x++ {
									if v := image[((int(roi[0])*2+c)*height+y)*width+x]; v > most || !any {
										most, any = v, true
									}
								}
							}
							want = append(want, most)
						}
					}
				}
			}
			in := args(xs([]int{2, 2, height, width}, image...), xs([]int{12, 5}, rois...))
			got := compute(t, dev, 1, "MaxRoiPool", 1, in, attrs(intsAttr("pooled_shape", int64(cells[0]), int64(cells[1])), floatAttr("spatial_scale", scale)))[0]
			compare(t, got, result{dtype.F32, []int{12, 2, cells[0], cells[1]}, want})
		}
	}
}

// runAndRead returns the error of a run, or the error that arrives when its output y0 is read.
func runAndRead(t *testing.T, dev *tensor.Device, m *pb.Model, feed map[string]onnx.Value) error {
	t.Helper()
	parsed, err := parse(m, onnx.Options{})
	require.NoError(t, err)
	s, err := parsed.Open(dev)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	out, err := s.Run(t.Context(), feed)
	if err == nil {
		_, err = out["y0"].Tensor().Bytes(t.Context())
	}
	return err
}

// MaxRoiPool and RoiAlign, with any sampling ratio, refuse a region whose image index is out of range.
func TestRegionsOfOtherImages(t *testing.T) {
	dev := onStream(t, openRef(t))
	image := xs([]int{2, 1, 2, 2}, 1, 2, 3, 4, 5, 6, 7, 8)
	for _, at := range []float64{-1, 2, 1e9} {
		m, feed := single(t, dev, 1, "MaxRoiPool", 1, args(image, xs([]int{1, 5}, at, 0, 0, 1, 1)), attrs(intsAttr("pooled_shape", 1, 1)))
		err := runOnce(t, dev, m, feed)
		require.ErrorIs(t, err, core.ErrIndex, "%v", at)
		require.ErrorContains(t, err, "want one in [0,2)")
		for samples := range int64(2) {
			batch := arg{d: pb.Int64, dims: []int{1}, v: []float64{at}}
			m, feed = single(t, dev, 16, "RoiAlign", 1, args(image, xs([]int{1, 4}, 0, 0, 1, 1), batch), attrs(intAttr("sampling_ratio", samples)))
			require.ErrorIs(t, runAndRead(t, dev, m, feed), core.ErrIndex, fmt.Sprint(at, " with samples ", samples))
		}
	}
	for _, far := range []float64{1e30, -1e30, math.Inf(1), math.NaN()} { // such a region covers no element or all elements, and never causes a panic
		m, feed := single(t, dev, 1, "MaxRoiPool", 1, args(image, xs([]int{1, 5}, 0, far, 0, far, 1)), attrs(intsAttr("pooled_shape", 2, 2)))
		require.NoError(t, runOnce(t, dev, m, feed))
	}
}
