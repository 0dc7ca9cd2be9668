package onnx

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
)

func init() {
	register("NonMaxSuppression", 10, nonMaxSuppressionNode)
	register("MaxRoiPool", 1, maxRoiPoolNode)
}

// nonMaxSuppressionNode selects boxes on the host, see RATIONALE.md, "Why is NonMaxSuppression not the contract's nms?". The
// limits are inputs of the host op, not constants of the program.
func nonMaxSuppressionNode(t *tracer, n *node) []value {
	t.need(n, 0, 1)
	boxes, scores := n.input(0), n.input(1)
	if boxes.rank() != 3 || boxes.shape()[2] != 4 || scores.rank() != 3 || scores.shape()[0] != boxes.shape()[0] ||
		scores.shape()[2] != boxes.shape()[1] {
		t.fail("boxes are %v and scores %v, want [N, B, 4] and [N, C, B]", boxes.shape(), scores.shape())
	}
	in := []value{boxes, scores}
	var given [3]int
	for i := range given {
		if v := n.input(2 + i); v.present() {
			if v.shape().Size() != 1 {
				t.fail("input %d is %v, want one element", 2+i, v.shape())
			}
			given[i] = len(in)
			in = append(in, v)
		}
	}
	centred := n.int("center_point_box", 0) != 0
	return t.hostOp(in, func(in []hostTensor) ([]hostTensor, error) {
		number := func(i int, def float64) float64 {
			if given[i] == 0 {
				return def
			}
			v := in[given[i]]
			return toFloats(v.DType, v.Data)[0]
		}
		most, overlap, least := number(0, 0), number(1, 0), number(2, math.Inf(-1))
		b, s := toFloats(in[0].DType, in[0].Data), toFloats(in[1].DType, in[1].Data)
		count, classes := in[0].Shape[1], in[1].Shape[1]
		out, rows := []byte{}, 0
		for i := range in[0].Shape[0] {
			for c := range classes {
				for _, k := range suppress(b[i*count*4:(i+1)*count*4], s[(i*classes+c)*count:(i*classes+c+1)*count], most, overlap, least, centred) {
					for _, v := range []int{i, c, k} {
						out = binary.LittleEndian.AppendUint64(out, uint64(v))
					}
					rows++
				}
			}
		}
		return []hostTensor{{DType: dtype.I64, Shape: shape.Of(rows, 3), Data: out}}, nil
	})
}

// suppress returns the indices of the selected boxes of one class, in order of decreasing score, and stops at the limit most. It leaves out
// boxes whose score is not above least, and boxes that overlap a selected box by more than the limit overlap.
func suppress(boxes, scores []float64, most, overlap, least float64, centred bool) []int {
	var order, kept []int
	for i, s := range scores {
		if s > least {
			order = append(order, i)
		}
	}
	sort.SliceStable(order, func(i, j int) bool { return scores[order[i]] > scores[order[j]] })
	for _, i := range order {
		if float64(len(kept)) >= most {
			break
		}
		a := corners(boxes[4*i:], centred)
		if !slices.ContainsFunc(kept, func(k int) bool { return overlapOf(a, corners(boxes[4*k:], centred)) > overlap }) {
			kept = append(kept, i)
		}
	}
	return kept
}

// corners returns the least and greatest y and x of a box, which is given as two opposite corners (y, x) or as centre and size
// (x, y, width, height).
func corners(b []float64, centred bool) [4]float64 {
	if centred {
		return [4]float64{b[1] - b[3]/2, b[0] - b[2]/2, b[1] + b[3]/2, b[0] + b[2]/2}
	}
	return [4]float64{min(b[0], b[2]), min(b[1], b[3]), max(b[0], b[2]), max(b[1], b[3])}
}

// overlapOf returns the area of the intersection divided by the area of the union.
func overlapOf(a, b [4]float64) float64 {
	h, w := min(a[2], b[2])-max(a[0], b[0]), min(a[3], b[3])-max(a[1], b[1])
	if h <= 0 || w <= 0 {
		return 0
	}
	area := func(c [4]float64) float64 { return (c[2] - c[0]) * (c[3] - c[1]) }
	return h * w / (area(a) + area(b) - h*w)
}

// maxRoiPoolNode returns the maximum of each cell of a grid over each region; empty cells are 0.
func maxRoiPoolNode(t *tracer, n *node) []value {
	t.need(n, 0, 1)
	x, rois, pooled := n.input(0), n.input(1), n.ints("pooled_shape")
	if x.rank() != 4 || rois.rank() != 2 || rois.shape()[1] != 5 || len(pooled) != 2 {
		t.fail("x is %v, rois %v and pooled_shape %v, want [N, C, H, W], [R, 5] and 2 entries", x.shape(), rois.shape(), pooled)
	}
	if x.shape().Size() == 0 {
		t.fail("x is %v, want elements", x.shape())
	}
	if pooled[0] < 1 || pooled[1] < 1 {
		t.fail("pooled_shape is %v", pooled)
	}
	t.reserve(x.dtype(), rois.shape()[0], x.shape()[1], pooled[0], pooled[1])
	scale := n.float("spatial_scale", 1)
	return t.hostOp([]value{x, rois}, func(in []hostTensor) ([]hostTensor, error) {
		v, r, s := toFloats(in[0].DType, in[0].Data), toFloats(in[1].DType, in[1].Data), in[0].Shape
		out := []byte{}
		for i := range in[1].Shape[0] {
			roi := r[5*i : 5*i+5]
			var at [4]int
			for k := range at {
				at[k] = roiCorner(roi[1+k], scale)
			}
			image := int(roi[0])
			if image < 0 || image >= s[0] {
				return nil, fmt.Errorf("roi %d is of image %v, want one in [0,%d): %w", i, roi[0], s[0], core.ErrIndex)
			}
			for c := range s[1] {
				plane := v[(image*s[1]+c)*s[2]*s[3]:]
				for y := range pooled[0] {
					for z := range pooled[1] {
						top, bottom := cellRange(y, pooled[0], at[1], at[3], s[2])
						left, right := cellRange(z, pooled[1], at[0], at[2], s[3])
						best := math.Inf(-1)
						for p := top; p < bottom; p++ {
							for q := left; q < right; q++ {
								best = max(best, plane[p*s[3]+q])
							}
						}
						if top >= bottom || left >= right {
							best = 0
						}
						out = appendFloat(out, in[0].DType, best)
					}
				}
			}
		}
		return []hostTensor{{DType: in[0].DType, Shape: shape.Of(in[1].Shape[0], s[1], pooled[0], pooled[1]), Data: out}}, nil
	})
}

// roiCorner returns the element that a coordinate times a scale rounds to, halves away from zero. The product is computed in f32.
func roiCorner(v, scale float64) int {
	const far = 1 << 30
	return int(math.Round(float64(max(-far, min(float32(v)*float32(scale), far)))))
}

// cellRange returns the half-open range of elements that cell k covers when first to last (inclusive) are divided into cells, cut
// to [0, size).
func cellRange(k, cells, first, last, size int) (from, to int) {
	length := max(last-first+1, 1)
	from = first + k*length/cells
	to = first + ((k+1)*length+cells-1)/cells
	return max(0, min(from, size)), max(0, min(to, size))
}
