package libtorch

import (
	"slices"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

var movement = map[op.Code]rule{
	op.Reshape: {run: func(w *worker) { w.out[0] = w.reshape(w.in[0], w.n.Outputs[0].Shape) }, types: anyType},
	op.Permute: {run: func(w *worker) { w.out[0] = w.permute(w.in[0], w.n.Attrs.Ints("axes")) }, types: anyType},
	op.Expand:  {run: func(w *worker) { w.out[0] = w.expand(w.in[0], w.n.Outputs[0].Shape) }, types: anyType},
	op.Slice:   {run: sliceKernel, types: anyType},
	op.Pad:     {run: pad, types: anyType},
	op.Flip:    {run: func(w *worker) { w.out[0] = w.flip(w.in[0], w.n.Attrs.Ints("axes")...) }, types: anyType},
	op.Concat:  {run: concat, types: anyType},
	op.Copy:    {run: func(w *worker) { w.out[0] = w.convert(w.in[0], w.in[0].d) }, types: anyType},
	op.Cast:    {run: func(w *worker) { w.out[0] = w.cast(w.in[0], w.n.Outputs[0].DType) }, types: anyType},
}

// sliceKernel computes slice as a view. Axes with negative steps are flipped in a copy, because torch has no negative strides.
func sliceKernel(w *worker) {
	a, x, s := w.n.Attrs, w.in[0], w.n.Outputs[0].Shape
	start, step := slices.Clone(a.Ints("start")), slices.Clone(a.Ints("step"))
	var back []int
	for i, d := range step {
		if s[i] <= 1 {
			step[i] = 1
		} else if d < 0 {
			start[i] += d * (s[i] - 1)
			step[i] = -d
			back = append(back, i)
		}
	}
	w.out[0] = w.flip(w.seen(x, w.view(x).Slice(start, step, s)), back...)
}

func pad(w *worker) {
	a := w.n.Attrs
	w.out[0] = w.spread(w.in[0], nil, a.Ints("lo"), a.Ints("hi"), a.Value("value"))
}

// spread returns x with dilation-1 elements of value between its elements along the last dimensions (none without a dilation), then
// padded, or cropped where lo and hi are negative.
func (w *worker) spread(x val, dilation, lo, hi []int, value op.Value) val {
	lead := len(x.s) - len(lo)
	s, at, step := x.s.Clone(), make([]int, len(x.s)), make([]int, len(x.s))
	from, take, to := make([]int, len(x.s)), x.s.Clone(), make([]int, len(x.s))
	grown := false
	for i := range step {
		step[i] = 1
	}
	for i := range lo {
		k, d := lead+i, 1
		if dilation != nil {
			d = dilation[i]
		}
		step[k] = d
		n := x.s[k]
		s[k] = max(0, (n-1)*d+1) + lo[i] + hi[i]
		if n == 0 {
			s[k] = lo[i] + hi[i]
		}
		grown = grown || lo[i] > 0 || hi[i] > 0 || d > 1 && n > 1
		// The remaining elements are at positions lo+j·d within [0, s).
		first, last := 0, n
		for first < n && lo[i]+first*d < 0 {
			first++
		}
		for last > first && lo[i]+(last-1)*d >= s[k] {
			last--
		}
		from[k], take[k], to[k] = first, last-first, lo[i]+first*d
	}
	copy(at, to)
	part := w.seen(x, w.view(x).Slice(from, ones(len(x.s)), take))
	if !grown {
		return part
	}
	y := w.fill(x.d, s, value)
	if take.Size() > 0 {
		w.assign(w.seen(y, shape.Contiguous(s).Slice(at, step, take)), part)
	}
	return y
}

func ones(n int) []int { return slices.Repeat([]int{1}, n) }

func concat(w *worker) {
	d, axis := w.n.Outputs[0], w.n.Attrs.Int("axis")
	y := w.empty(d.DType, d.Shape)
	at := 0
	for _, x := range w.in {
		if n := x.s[axis]; n > 0 && x.s.Size() > 0 {
			w.assign(w.cut(y, axis, at, at+n), x)
			at += n
		}
	}
	w.out[0] = y
}
