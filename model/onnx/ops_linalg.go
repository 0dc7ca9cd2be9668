package onnx

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

func init() {
	register("Det", 11, detNode)
	register("Col2Im", 18, col2imNode)
	register("CenterCropPad", 18, centerCropPadNode)
}

// detNode computes determinants on the host, by Gaussian elimination with pivoting.
func detNode(t *tracer, n *node) []value {
	t.need(n, 0)
	x := n.input(0)
	r := x.rank()
	if r < 2 || x.shape()[r-1] != x.shape()[r-2] {
		t.fail("x is %v, want square matrices", x.shape())
	}
	size := x.shape()[r-1]
	return t.hostOp([]value{x}, func(in []hostTensor) ([]hostTensor, error) {
		s := in[0].Shape[:r-2].Clone()
		v, out := toFloats(in[0].DType, in[0].Data), []byte{}
		for i := range s.Size() {
			out = appendFloat(out, in[0].DType, determinant(v[i*size*size:(i+1)*size*size], size))
		}
		return []hostTensor{{DType: in[0].DType, Shape: s, Data: out}}, nil
	})
}

// determinant returns the determinant of the n by n matrix m, which it overwrites.
func determinant(m []float64, n int) float64 {
	det := 1.0
	for k := range n {
		pivot := k
		for i := k + 1; i < n; i++ {
			if math.Abs(m[i*n+k]) > math.Abs(m[pivot*n+k]) {
				pivot = i
			}
		}
		if m[pivot*n+k] == 0 {
			return 0
		}
		if pivot != k {
			for j := range n {
				m[k*n+j], m[pivot*n+j] = m[pivot*n+j], m[k*n+j]
			}
			det = -det
		}
		det *= m[k*n+k]
		for i := k + 1; i < n; i++ {
			f := m[i*n+k] / m[k*n+k]
			for j := k; j < n; j++ {
				m[i*n+j] -= f * m[k*n+j]
			}
		}
	}
	return det
}

// col2imNode adds blocks [N, C·block, L] to an image: one scatter into the planes of the image, each with one more element for the
// positions outside the image.
func col2imNode(t *tracer, n *node) []value {
	t.need(n, 0, 1, 2)
	x, c := n.input(0), calc{t}
	image, block := shape.Shape(t.hostDims(n.input(1))), shape.Shape(t.hostDims(n.input(2)))
	w := t.window(n, image, block)
	t.reserve(dtype.I64, block...)
	t.within(x.dtype(), image...)
	taps, steps := block.Size(), make(shape.Shape, len(image))
	for i, d := range image {
		steps[i], _ = w.pooled(i, d, false)
	}
	if x.rank() != 3 || x.shape()[1]%taps != 0 || x.shape()[2] != steps.Size() {
		t.fail("x is %v, want [N, C·%d, %d]", x.shape(), taps, steps.Size())
	}
	t.reserve(dtype.I64, taps, steps.Size())
	batch, channels := x.shape()[0], x.shape()[1]/taps
	index := make([]int, 0, taps*steps.Size())
	for k := range taps {
		for p := range steps.Size() {
			flat := 0
			for d, size := range image {
				at := digit(steps, p, d)*w.strides[d] - w.lo[d] + digit(block, k, d)*w.dilation[d]
				if at < 0 || at >= size {
					flat = image.Size()
					break
				}
				flat = flat*size + at
			}
			index = append(index, flat)
		}
	}
	planes := batch * channels
	y := t.do(op.Scatter, []value{c.zeros(x.dtype(), []int{planes, image.Size() + 1}), t.constInts(dtype.I64, []int{len(index)}, index),
		t.reshape(x, planes, taps*steps.Size())}, op.Int("axis", 1), op.Str("mode", "add"))
	return []value{t.reshape(t.narrow(y, 1, 0, image.Size()), append([]int{batch, channels}, image...)...)}
}

// centerCropPadNode crops or pads with zeros on both sides; the odd element is at the end.
func centerCropPadNode(t *tracer, n *node) []value {
	t.need(n, 0, 1)
	x, want := n.input(0), t.hostDims(n.input(1))
	axes := span(0, x.rank())
	if n.has("axes") {
		axes = t.axes(n.ints("axes"), x.rank())
	}
	if len(want) != len(axes) {
		t.fail("shape has %d entries, want %d", len(want), len(axes))
	}
	lo, hi := make([]int, x.rank()), make([]int, x.rank())
	for i, a := range axes {
		more := want[i] - x.shape()[a]
		if want[i] < 0 {
			t.fail("shape is %v", want)
		}
		lo[a] = more / 2 // rounded toward zero
		hi[a] = more - lo[a]
	}
	return []value{t.pad(x, lo, hi, op.ScalarInt("value", 0))}
}
