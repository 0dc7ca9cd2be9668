package onnx

import (
	"fmt"
	"math"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

func init() { register("RoiAlign", 10, roiAlignNode) }

// roiAlign holds the attributes of a RoiAlign node.
type roiAlign struct {
	height, width int
	samples       int // per cell and axis; 0 means one per element of the cell
	scale         float64
	halfPixel     bool
	max           bool
}

// roiAlignNode samples x on a regular grid of points in each region and combines the samples of each cell. A number of points
// that depends on the regions is computed on the host.
func roiAlignNode(t *tracer, n *node) []value {
	t.need(n, 0, 1, 2)
	x, rois, batch := n.input(0), n.input(1), n.input(2)
	if x.rank() != 4 || rois.rank() != 2 || rois.shape()[1] != 4 || batch.rank() != 1 || batch.shape()[0] != rois.shape()[0] {
		t.fail("x is %v, rois %v and batch_indices %v, want [N, C, H, W], [R, 4] and [R]", x.shape(), rois.shape(), batch.shape())
	}
	if x.shape()[2]*x.shape()[3] == 0 {
		t.fail("x is %v, want elements in its images", x.shape())
	}
	def := "half_pixel"
	if n.opset() < 16 {
		def = "output_half_pixel"
	}
	r := roiAlign{height: n.int("output_height", 1), width: n.int("output_width", 1), samples: n.int("sampling_ratio", 0),
		scale: n.float("spatial_scale", 1), halfPixel: n.str("coordinate_transformation_mode", def) == "half_pixel"}
	switch mode := n.str("mode", "avg"); mode {
	case "avg", "max":
		r.max = mode == "max"
	default:
		t.fail("mode is %q, want avg or max", mode)
	}
	if r.height < 1 || r.width < 1 || r.samples < 0 || r.samples > maxSamples {
		t.fail("output %d by %d with sampling_ratio %d", r.height, r.width, r.samples)
	}
	t.reserve(x.dtype(), rois.shape()[0], x.shape()[1], r.height, r.width)
	t.reserve(dtype.F64, r.height, max(1, r.samples))
	t.reserve(dtype.F64, r.width, max(1, r.samples))
	if r.samples == 0 {
		return t.hostOp([]value{x, rois, batch}, r.host)
	}
	return []value{r.emit(calc{t}, x, rois, batch)}
}

// edge contains the taps of one axis for every region: the elements below and above each sample [R, P], and the weight of the element
// above. Samples far outside are not valid and count as 0.
type edge struct{ low, high, weight, valid value }

func (r roiAlign) emit(c calc, x, rois, batch value) value {
	s, count := x.shape(), rois.shape()[0]
	rois = c.mulN(c.wide(rois), r.scale)
	if r.halfPixel {
		rois = c.addN(rois, -0.5)
	}
	y := r.edge(c, c.narrow(rois, 1, 1, 1), c.narrow(rois, 1, 3, 1), r.height, s[2])
	z := r.edge(c, c.narrow(rois, 1, 0, 1), c.narrow(rois, 1, 2, 1), r.width, s[3])
	ny, nz := r.height*r.samples, r.width*r.samples
	rows := func(v value) value { return c.reshape(v, count, ny, 1) }
	cols := func(v value) value { return c.reshape(v, count, 1, nz) }
	valid := c.and(rows(y.valid), cols(z.valid))
	// all is [C, N·H·W]: for each channel, the planes of all images.
	image := c.mulN(c.reshape(c.cast(batch, dtype.I64), count, 1, 1), float64(s[2]*s[3]))
	all := c.reshape(c.permute(c.wide(x), 1, 0, 2, 3), s[1], s[0]*s[2]*s[3])
	var joined value
	for _, corner := range []struct{ py, pz, wy, wz value }{
		{y.low, z.low, c.sub(c.like(y.weight, 1), y.weight), c.sub(c.like(z.weight, 1), z.weight)},
		{y.low, z.high, c.sub(c.like(y.weight, 1), y.weight), z.weight},
		{y.high, z.low, y.weight, c.sub(c.like(z.weight, 1), z.weight)},
		{y.high, z.high, y.weight, z.weight},
	} {
		index := c.add(image, c.add(c.mulN(rows(corner.py), float64(s[3])), cols(corner.pz)))
		weight := c.mul(rows(corner.wy), cols(corner.wz))
		weight = c.cast(c.where(valid, weight, c.like(weight, 0)), all.dtype())
		v := c.mul(c.gather(all, index, 1, 0), weight) // [C, R, ny, nz]
		switch {
		case !joined.present():
			joined = v
		case r.max:
			joined = c.max(joined, v)
		default:
			joined = c.add(joined, v)
		}
	}
	joined = c.reshape(joined, s[1], count, r.height, r.samples, r.width, r.samples)
	how := op.Mean
	if r.max {
		how = op.ReduceMax
	}
	return c.cast(c.permute(c.reduce(how, joined, false, 3, 5), 1, 0, 2, 3), x.dtype())
}

// edge places the samples of one axis between start and end [R, 1].
func (r roiAlign) edge(c calc, start, end value, cells, size int) edge {
	length := c.sub(end, start)
	if !r.halfPixel {
		length = c.maxN(length, 1)
	}
	at := make([]float64, cells*r.samples)
	for i := range at {
		at[i] = (float64(i/r.samples) + (float64(i%r.samples)+0.5)/float64(r.samples)) / float64(cells)
	}
	p := c.add(start, c.mul(length, c.constFloats(start.dtype(), []int{1, len(at)}, at)))
	valid := c.and(c.atMost(c.like(p, -1), p), c.atMost(p, c.like(p, float64(size))))
	p = c.clamp(p, 0, float64(size-1))
	low := c.floor(p)
	return edge{low: c.cast(low, dtype.I64), high: c.cast(c.minN(c.addN(low, 1), float64(size-1)), dtype.I64), weight: c.sub(p, low), valid: valid}
}

// host computes the result on the host, for any number of samples.
func (r roiAlign) host(in []hostTensor) ([]hostTensor, error) {
	x, rois, batch := toFloats(in[0].DType, in[0].Data), toFloats(in[1].DType, in[1].Data), toInts(in[2].DType, in[2].Data)
	s, out := in[0].Shape, []byte{}
	for i, image := range batch {
		y := r.samplesOf(rois[4*i+1], rois[4*i+3], r.height, s[2])
		z := r.samplesOf(rois[4*i], rois[4*i+2], r.width, s[3])
		if y == nil || z == nil {
			return nil, fmt.Errorf("roi %d: more than %d samples in a cell: %w", i, maxSamples, ErrLimit)
		}
		for c := range s[1] {
			base := (image*s[1] + c) * s[2] * s[3]
			if image < 0 || image >= s[0] {
				return nil, fmt.Errorf("batch_indices has %d, want one in [0,%d): %w", image, s[0], core.ErrIndex)
			}
			plane := x[base : base+s[2]*s[3]]
			for p := range r.height {
				for q := range r.width {
					out = appendFloat(out, in[0].DType, r.join(plane, s[3], y[p], z[q]))
				}
			}
		}
	}
	return []hostTensor{{DType: in[0].DType, Shape: shape.Of(len(batch), s[1], r.height, r.width), Data: out}}, nil
}

// point is a sample on one axis.
type point struct {
	low, high int
	weight    float64 // weight of the element at high
	valid     bool
}

// maxSamples is the greatest number of samples of a cell along an axis.
const maxSamples = 1 << 12

// samplesOf returns the samples of each cell between start and end, or nil if there are too many.
func (r roiAlign) samplesOf(start, end float64, cells, size int) [][]point {
	start, end = start*r.scale, end*r.scale
	if r.halfPixel {
		start, end = start-0.5, end-0.5
	}
	length := end - start
	if !r.halfPixel {
		length = max(length, 1)
	}
	if !(length/float64(cells) <= maxSamples) {
		return nil
	}
	count := max(0, int(math.Ceil(max(length, 0)/float64(cells))))
	out := make([][]point, cells)
	for i := range out {
		for k := range count {
			p := start + length/float64(cells)*(float64(i)+(float64(k)+0.5)/float64(count))
			pt := point{valid: p >= -1 && p <= float64(size)}
			p = max(0, min(p, float64(size-1)))
			pt.low = int(p)
			pt.high, pt.weight = min(pt.low+1, size-1), p-float64(pt.low)
			out[i] = append(out[i], pt)
		}
	}
	return out
}

// join returns the mean over the samples of a cell, or the greatest of their weighted corners; 0 without samples.
func (r roiAlign) join(plane []float64, width int, ys, zs []point) float64 {
	sum, best := 0.0, math.Inf(-1)
	for _, y := range ys {
		for _, z := range zs {
			if !y.valid || !z.valid {
				best = max(best, 0)
				continue
			}
			for _, c := range [4]float64{(1 - y.weight) * (1 - z.weight) * plane[y.low*width+z.low], (1 - y.weight) * z.weight * plane[y.low*width+z.high],
				y.weight * (1 - z.weight) * plane[y.high*width+z.low], y.weight * z.weight * plane[y.high*width+z.high]} {
				sum, best = sum+c, max(best, c)
			}
		}
	}
	switch count := len(ys) * len(zs); {
	case count == 0:
		return 0
	case r.max:
		return best
	default:
		return sum / float64(count)
	}
}
