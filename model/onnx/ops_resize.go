package onnx

import (
	"math"
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

func init() {
	register("Upsample", 1, func(t *tracer, n *node) []value {
		return t.upsample(n, []float64{1, 1, n.float("height_scale", 1), n.float("width_scale", 1)})
	})
	register("Upsample", 7, func(t *tracer, n *node) []value { return t.upsample(n, n.floats("scales")) })
	register("Upsample", 9, func(t *tracer, n *node) []value {
		t.need(n, 1)
		return t.upsample(n, t.hostFloats(n.input(1)))
	})
	register("Resize", 10, func(t *tracer, n *node) []value {
		t.need(n, 1)
		return t.upsample(n, t.hostFloats(n.input(1)))
	})
	register("Resize", 11, resizeNode)
}

// upsample implements Resize of opsets before 11, with asymmetric coordinates.
func (t *tracer) upsample(n *node, scales []float64) []value {
	t.need(n, 0)
	x, mode := n.input(0), n.str("mode", "nearest")
	if mode == "bilinear" {
		mode = "linear"
	}
	if mode != "nearest" && mode != "linear" {
		t.fail("mode is %q, want nearest or linear", mode)
	}
	if len(scales) != x.rank() {
		t.fail("%d scales for rank %d", len(scales), x.rank())
	}
	axes := make([]resampling, x.rank())
	for i, s := range scales {
		axes[i] = resampling{in: x.shape()[i], out: t.scaled(x.shape()[i], s), scale: s, transform: "asymmetric", interpolate: mode,
			nearest: "simple"}
	}
	return []value{t.resample(x, axes, 0)}
}

// scaled returns the length of an axis after scaling.
func (t *tracer) scaled(in int, scale float64) int {
	out := math.Floor(float64(in) * scale)
	if !(scale > 0) || out > math.MaxInt32 {
		t.fail("scale %v for a dimension of %d", scale, in)
	}
	return int(out)
}

func resizeNode(t *tracer, n *node) []value {
	t.need(n, 0)
	x := n.input(0)
	proto := resampling{transform: n.str("coordinate_transformation_mode", "half_pixel"), interpolate: n.str("mode", "nearest"),
		nearest: n.str("nearest_mode", "round_prefer_floor"), cubicA: n.float("cubic_coeff_a", -0.75),
		antialias: n.int("antialias", 0) != 0, exclude: n.int("exclude_outside", 0) != 0, end: 1}
	if !slices.Contains([]string{"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
		"tf_crop_and_resize", "tf_half_pixel_for_nn"}, proto.transform) {
		t.fail("coordinate_transformation_mode is %q", proto.transform)
	}
	if !slices.Contains([]string{"nearest", "linear", "cubic"}, proto.interpolate) {
		t.fail("mode is %q, want nearest, linear or cubic", proto.interpolate)
	}
	if !slices.Contains([]string{"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}, proto.nearest) {
		t.fail("nearest_mode is %q", proto.nearest)
	}
	which := span(0, x.rank())
	if n.has("axes") {
		which = t.axes(n.ints("axes"), x.rank())
	}
	axes := make([]resampling, x.rank())
	for i, d := range x.shape() {
		axes[i] = proto
		axes[i].in, axes[i].out, axes[i].scale = d, d, 1
		if !slices.Contains(which, i) && proto.transform == "tf_crop_and_resize" {
			axes[i].transform = "half_pixel" // the whole axis
		}
	}
	if roi := n.input(1); roi.present() && proto.transform == "tf_crop_and_resize" {
		corners := t.hostFloats(roi)
		if len(corners) != 2*len(which) {
			t.fail("roi has %d entries, want %d", len(corners), 2*len(which))
		}
		for k, a := range which {
			axes[a].start, axes[a].end = corners[k], corners[len(which)+k]
		}
	}
	scales, sizes := n.input(2), n.input(3)
	switch {
	case sizes.present() && sizes.shape().Size() > 0:
		t.resizeTo(n, axes, which, t.hostDims(sizes))
	case scales.present() && scales.shape().Size() > 0:
		s := t.hostFloats(scales)
		if len(s) != len(which) {
			t.fail("%d scales for %d axes", len(s), len(which))
		}
		for k, a := range which {
			axes[a].scale, axes[a].out = s[k], t.scaled(axes[a].in, s[k])
		}
	default:
		t.fail("neither scales nor sizes are given")
	}
	return []value{t.resample(x, axes, n.float("extrapolation_value", 0))}
}

// resizeTo sets the lengths and scales of axes: the given sizes or, by keep_aspect_ratio_policy, one common scale for which no axis is
// longer, or no axis is shorter, than its size.
func (t *tracer) resizeTo(n *node, axes []resampling, which, sizes []int) {
	if len(sizes) != len(which) {
		t.fail("%d sizes for %d axes", len(sizes), len(which))
	}
	policy, common := n.str("keep_aspect_ratio_policy", "stretch"), math.NaN()
	for k, a := range which {
		r := &axes[a]
		if sizes[k] < 0 || r.in == 0 && sizes[k] > 0 {
			t.fail("size %d for a dimension of %d", sizes[k], r.in)
		}
		r.out = sizes[k]
		if r.in > 0 {
			r.scale = float64(sizes[k]) / float64(r.in)
		}
		switch {
		case k == 0:
			common = r.scale
		case policy == "not_larger":
			common = min(common, r.scale)
		default:
			common = max(common, r.scale)
		}
	}
	switch policy {
	case "stretch":
		return
	case "not_larger", "not_smaller":
	default:
		t.fail("keep_aspect_ratio_policy is %q", policy)
	}
	for _, a := range which {
		axes[a].scale, axes[a].out = common, int(math.Floor(common*float64(axes[a].in)+0.5))
	}
}

// resample applies one table of taps per axis: a few gathers if there are few taps, otherwise a product with a dense matrix.
func (t *tracer) resample(x value, axes []resampling, extrapolation float64) value {
	c, given := calc{t}, x.dtype()
	dims := x.shape().Clone()
	for i := range axes {
		dims[i] = axes[i].out
	}
	t.within(x.dtype(), dims...)
	repeats, lists, outside := ones(x.rank()), make([]*taps, x.rank()), value{}
	for i := range axes {
		r := &axes[i]
		if r.identity() {
			continue
		}
		if r.in == 0 && r.out > 0 {
			t.fail("axis %d is empty and becomes %d long", i, r.out)
		}
		t.scratch(32, r.out, r.reach())
		list := r.table()
		if k := list.repeat(r.in); k > 0 && x.rank() < shape.MaxRank {
			repeats[i] = k
			continue
		}
		lists[i] = &list
		if list.outside != nil {
			mask := make([]int, r.out)
			for k, o := range list.outside {
				if o {
					mask[k] = 1
				}
			}
			dims := ones(x.rank() - i)
			dims[0] = r.out
			m := t.constInts(dtype.Bool, dims, mask)
			if outside.present() {
				m = c.bin(op.Or, outside, m)
			}
			outside = m
		}
	}
	for i, list := range lists {
		if list == nil {
			continue
		}
		if list.width == 1 {
			x = c.gather(x, t.constInts(dtype.I64, []int{len(list.index)}, list.index), i, 0)
			continue
		}
		if !x.dtype().IsFloat() {
			x = t.cast(x, dtype.F32)
		}
		x = t.weigh(c.wide(x), i, list)
	}
	x = t.cast(x, given)
	if outside.present() {
		x = c.where(outside, t.cast(t.scalar(dtype.F64, extrapolation), given), x)
	}
	return t.repeatAll(x, repeats)
}

// gathered is the greatest number of taps that are gathered one by one.
const gathered = 4

func (t *tracer) weigh(x value, axis int, list *taps) value {
	c, s := calc{t}, x.shape()
	out := len(list.index) / list.width
	if list.width <= gathered {
		var sum value
		for k := range list.width {
			index, weight := make([]int, out), make([]float64, out)
			for i := range out {
				index[i], weight[i] = list.index[i*list.width+k], list.weight[i*list.width+k]
			}
			dims := ones(len(s) - axis)
			dims[0] = out
			term := c.mul(c.gather(x, t.constInts(dtype.I64, []int{out}, index), axis, 0), t.constFloats(x.dtype(), dims, weight))
			if sum.present() {
				term = c.add(sum, term)
			}
			sum = term
		}
		return sum
	}
	t.reserve(x.dtype(), out, s[axis])
	m := t.constFloats(x.dtype(), []int{out, s[axis]}, list.matrix(s[axis]))
	before, after := s[:axis].Size(), s[axis+1:].Size()
	var y value
	if after == 1 {
		y = c.matmul(t.reshape(x, before, s[axis]), m, false, true)
	} else {
		y = c.matmul(m, t.reshape(x, before, s[axis], after), false, false)
	}
	dims := s.Clone()
	dims[axis] = out
	return t.reshape(y, dims...)
}

// repeatAll repeats each element k[i] times along axis i. The rank of x must be below the maximum, unless all k are 1.
func (t *tracer) repeatAll(x value, k []int) value {
	for i := 0; i < len(k); {
		var split, wide shape.Shape
		to := x.shape().Clone()
		j := 0
		for ; j < len(k); j++ { // as many axes at once as the maximum rank allows
			d := x.shape()[j]
			if j < i || k[j] == 1 {
				split, wide = append(split, d), append(wide, d)
				continue
			}
			if len(split)+1+len(k)-j > shape.MaxRank {
				break
			}
			split, wide = append(split, d, 1), append(wide, d, k[j])
			to[j] = d * k[j]
		}
		split, wide = append(split, x.shape()[j:]...), append(wide, x.shape()[j:]...)
		x = t.reshape(t.expand(t.reshape(x, split...), wide), to...)
		i = j
	}
	return x
}
