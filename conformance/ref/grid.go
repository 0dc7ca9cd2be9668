package ref

import (
	"math"
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

var gridKernels = map[op.Code]kernel{
	op.AffineGrid: direct(func(n *op.Node, in []Tensor) Tensor {
		out, size := Zeros(n.Outputs[0]), n.Attrs.Ints("size")
		d := len(size)
		each(n.Outputs[0].Shape, func(pos int, idx []int) {
			terms := []float64{in[0].F[at(in[0].Desc.Shape, []int{idx[0], idx[1+d], d})]}
			for k, places := range size {
				i, p := float64(idx[1+k]), 0.0
				switch {
				case !n.Attrs.Bool("align_corners"):
					p = (2*i+1)/float64(places) - 1
				case places > 1:
					p = 2*i/float64(places-1) - 1
				}
				terms = append(terms, p*in[0].F[at(in[0].Desc.Shape, []int{idx[0], idx[1+d], d - 1 - k})])
			}
			out.F[pos] = total(terms)
		})
		return out
	}),
	op.GridSample: direct(func(n *op.Node, in []Tensor) Tensor {
		x, g, out := in[0], in[1], Zeros(n.Outputs[0])
		dims := x.Desc.Shape[2:]
		round := func(f float64) float64 { // coordinates have at least the precision of f32
			if g.Desc.DType == dtype.F64 {
				return f
			}
			return Round(dtype.F32, f)
		}
		each(n.Outputs[0].Shape, func(pos int, idx []int) {
			p := make([]float64, len(dims))
			for k, size := range dims {
				v := g.F[at(g.Desc.Shape, slices.Concat(idx[:1], idx[2:], []int{len(dims) - 1 - k}))]
				v = round(v + 1)
				if n.Attrs.Bool("align_corners") {
					p[k] = round(v*float64(size-1)) / 2
				} else {
					p[k] = round(round(v*float64(size))-1) / 2
				}
			}
			out.F[pos] = sampled(n.Attrs, x, idx[:2], p)
		})
		return out
	}),
	op.RoiAlign: roiAlign,
	op.DeformConv: direct(func(n *op.Node, in []Tensor) Tensor {
		x, w, offset, out := in[0], in[1], in[2], Zeros(n.Outputs[0])
		xs, ws, a := x.Desc.Shape, w.Desc.Shape, n.Attrs
		groups, shared := a.Int("groups"), xs[1]/a.Int("offset_groups")
		each(n.Outputs[0].Shape, func(pos int, idx []int) {
			var terms []float64
			each(ws[1:], func(_ int, k []int) {
				channel := idx[1]/(ws[0]/groups)*ws[1] + k[0]
				which := channel/shared*ws[2]*ws[3] + k[1]*ws[3] + k[2] // kernel element within all offset groups
				p := make([]float64, 2)
				for d := range p {
					p[d] = float64(idx[2+d]*a.Ints("strides")[d]-a.Ints("pad_lo")[d]+k[1+d]*a.Ints("dilation")[d]) +
						offset.F[at(offset.Desc.Shape, []int{idx[0], 2*which + d, idx[2], idx[3]})]
				}
				v := linearAt(x, []int{idx[0], channel}, p) * w.F[at(ws, []int{idx[1], k[0], k[1], k[2]})]
				if len(in) > 3 {
					v *= in[3].F[at(in[3].Desc.Shape, []int{idx[0], which, idx[2], idx[3]})]
				}
				terms = append(terms, v)
			})
			out.F[pos] = total(terms)
		})
		return out
	}),
}

// sampled returns the value that grid_sample computes for x at point p, in units of elements. plane is the batch and the channel.
func sampled(a op.Attrs, x Tensor, plane []int, p []float64) float64 {
	dims := x.Desc.Shape[2:]
	mode, padding, align := a.Str("mode"), a.Str("padding"), a.Bool("align_corners")
	if mode != "cubic" && padding != "zeros" {
		p = slices.Clone(p)
		for d := range p {
			p[d] = padCoordinate(p[d], dims[d], padding, align)
		}
	}
	switch mode {
	case "nearest":
		for d := range p {
			p[d] = math.RoundToEven(p[d])
		}
		v, _ := pixelAt(x, plane, p)
		return v
	case "linear":
		return linearAt(x, plane, p)
	}
	around := make(shape.Shape, len(p))
	for d := range around {
		around[d] = 4
	}
	var terms []float64
	each(around, func(_ int, k []int) {
		q, w := make([]float64, len(p)), 1.0
		for d := range p {
			q[d] = math.Floor(p[d]) + float64(k[d]-1)
			w *= cubic(math.Abs(q[d]-p[d]), a.Float("cubic_a"))
			if padding != "zeros" {
				q[d] = padCoordinate(q[d], dims[d], padding, align)
			}
		}
		if v, ok := pixelAt(x, plane, q); ok && w != 0 {
			terms = append(terms, w*v)
		}
	})
	return total(terms)
}

// padCoordinate moves a coordinate into a dimension of n elements by a padding mode other than zeros.
func padCoordinate(p float64, n int, padding string, align bool) float64 {
	if padding == "reflection" {
		lo, hi := -0.5, float64(n)-0.5
		if align {
			lo, hi = 0, float64(n-1)
		}
		if lo == hi {
			return lo
		}
		p = math.Mod(math.Abs(p-lo), 2*(hi-lo)) // one period of reflection
		p = lo + min(p, 2*(hi-lo)-p)
	}
	return min(max(p, 0), float64(n-1))
}

// pixelAt returns the element of x at a whole point, or 0 and false outside; NaN is outside.
func pixelAt(x Tensor, plane []int, p []float64) (float64, bool) {
	idx := slices.Clone(plane)
	for d, q := range p {
		if !(q >= 0 && q <= float64(x.Desc.Shape[2+d]-1)) {
			return 0, false
		}
		idx = append(idx, int(q))
	}
	return x.F[at(x.Desc.Shape, idx)], true
}

// linearAt returns the linear interpolation of the elements around p. Elements outside are 0.
func linearAt(x Tensor, plane []int, p []float64) float64 {
	corners := make(shape.Shape, len(p))
	for d := range corners {
		corners[d] = 2
	}
	var terms []float64
	each(corners, func(_ int, k []int) {
		q, w := make([]float64, len(p)), 1.0
		for d := range p {
			q[d] = math.Floor(p[d]) + float64(k[d])
			w *= 1 - math.Abs(p[d]-q[d])
		}
		if v, ok := pixelAt(x, plane, q); ok && w != 0 {
			terms = append(terms, w*v)
		}
	})
	return total(terms)
}

func roiAlign(n *op.Node, in []Tensor) (_ []Tensor, err error) {
	x, batch, rois, out, a := in[0], in[1], in[2], Zeros(n.Outputs[0]), n.Attrs
	s, samples := x.Desc.Shape, a.Int("samples")
	each(n.Outputs[0].Shape, func(pos int, idx []int) {
		image := batch.I[idx[0]]
		if image < 0 || image >= int64(s[0]) {
			err = outside(n, image, s[0])
			return
		}
		sum, best := 0.0, math.Inf(-1)
		each(shape.Of(samples, samples), func(_ int, k []int) {
			p, valid := make([]float64, 2), true
			for d := range p {
				corner := 1 - d // rois have the coordinate across first
				start, end := rois.F[4*idx[0]+corner]*a.Float("scale"), rois.F[4*idx[0]+2+corner]*a.Float("scale")
				length := end - start
				if a.Bool("half_pixel") {
					start -= 0.5
				} else {
					length = max(length, 1)
				}
				cell := length / float64(a.Ints("size")[d])
				p[d] = start + cell*float64(idx[2+d]) + cell*(float64(k[d])+0.5)/float64(samples)
				valid = valid && p[d] >= -1 && p[d] <= float64(s[2+d])
				p[d] = min(max(p[d], 0), float64(s[2+d]-1))
			}
			if !valid {
				best = max(best, 0)
				return
			}
			each(shape.Of(2, 2), func(_ int, c []int) {
				w, q := 1.0, []int{int(image), idx[1], 0, 0}
				for d := range p {
					base := math.Floor(p[d])
					q[2+d] = min(int(base)+c[d], s[2+d]-1)
					if c[d] == 1 {
						w *= p[d] - base
					} else {
						w *= 1 - (p[d] - base)
					}
				}
				v := w * x.F[at(s, q)]
				sum, best = sum+v, max(best, v)
			})
		})
		if out.F[pos] = sum / float64(samples*samples); a.Str("reduce") == "max" {
			out.F[pos] = best
		}
	})
	return []Tensor{out}, err
}
