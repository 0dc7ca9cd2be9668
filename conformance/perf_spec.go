package conformance

import (
	"math"
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// perfSpec returns a node of op c, with first type d, that takes long enough to be timed. It returns false if the op has no suitable variant.
func perfSpec(c op.Code, d dtype.DType) (spec, bool) {
	p, ok := planOf(c)
	if !ok {
		return spec{}, false
	}
	vs := p.variants
	if p.typed != nil {
		vs = append(slices.Clone(vs), p.typed(d, dtype.Any)...)
	}
	x, ok := primary(slices.DeleteFunc(slices.Clone(vs), func(x variant) bool { return x.types != 0 && !x.types.Has(d) }))
	big, has := perfVariants[c]
	if has {
		x, ok = big(d), true
	}
	if !ok {
		return spec{}, false
	}
	row := op.Lookup(c)
	s := spec{op: c, variant: x}
	for i, t := range assignments(row, d, dtype.Any)[0][:len(x.in)] {
		s.in = append(s.in, op.Desc{DType: t, Shape: x.in[i]})
	}
	if !has {
		s = s.grown()
	}
	return s, true
}

// perfVariants are the nodes of ops whose shapes cannot be enlarged by rule, because attributes contain lengths, or because the work is not
// proportional to the number of elements.
var perfVariants = map[op.Code]func(d dtype.DType) variant{
	op.MatMul: perfOf(shapes(dims(512, 512), dims(512, 512))), op.Linear: perfOf(shapes(dims(256, 512), dims(512, 512), dims(512))),
	op.Conv:         perfOf(shapes(dims(1, 64, 56, 56), dims(64, 64, 3, 3)), geometry(l(1, 1), l(1, 1), l(1, 1), l(1, 1), l(1, 1), 1)...),
	op.WindowReduce: perfOf(shapes(dims(1, 64, 112, 112)), sliding(l(3, 3), l(2, 2), l(1, 1), l(1, 1), l(1, 1), op.Str("reduce", "max"))...),
	op.AvgPool:      perfOf(shapes(dims(1, 64, 112, 112)), pool(l(3, 3), l(2, 2), l(1, 1), l(1, 1), l(0, 0), l(1, 1))...),
	op.DeformConv:   perfOf(shapes(dims(1, 16, 57, 56), dims(16, 16, 2, 3), dims(1, 12, 56, 54)), deformation(l(1, 1), l(0, 0), l(0, 0), l(1, 1), 1, 1)...),

	op.ConvInteger: perfOf(shapes(dims(1, 16, 56, 56), dims(32, 16, 3, 3)), geometry(l(1, 1), l(1, 1), l(1, 1), l(1, 1), l(1, 1), 1)...),
	op.Gather:      perfOf(shapes(dims(4096, 256), dims(2048)), op.Int("axis", 0)),
	op.GatherND:    perfOf(shapes(dims(64, 64, 256), dims(2048, 2))),
	op.Embedding:   perfOf(shapes(dims(4096, 256), dims(4, 512))),

	op.Slice:   perfOf(shapes(dims(1026, 1026)), op.Ints("start", 1, 2), op.Ints("size", 1024, 1024), op.Ints("step", 1, 1)),
	op.Reshape: perfOf(shapes(dims(1024, 1024)), op.Ints("shape", 1<<20)),
	op.Expand:  perfOf(shapes(dims(1024, 1)), op.Ints("shape", 1024, 1024)),
	op.Pad:     perfOf(shapes(dims(1024, 1023)), op.Ints("lo", 1, 0), op.Ints("hi", 2, 1)),
	op.FFT:     perfOf(shapes(dims(256, 1024, 2)), axis1),
	op.IRFFT:   perfOf(shapes(dims(256, 513, 2)), axis1, op.Int("n", 1024)),

	op.Full: perfMade(op.ScalarInt("value", 3), op.Ints("shape", 1024, 1024)), op.Iota: perfMade(op.Ints("shape", 1024, 1024), op.Int("axis", 1)),
	op.RandomBits:    perfMade(op.Ints("shape", 1024, 1024), op.Int("seed", 1)),
	op.RandomBitsAt:  perfOf(shapes(dims(2)), op.Ints("shape", 1024, 1024), op.Int("seed", 1)),
	op.RandomUniform: perfMade(op.Ints("shape", 1024, 1024), op.Int("seed", 1)), op.RandomNormal: perfMade(op.Ints("shape", 1024, 1024), op.Int("seed", 1)),
	op.HannWindow: perfMade(op.Int("size", 1<<20), op.Flag("periodic", true)), op.HammingWindow: perfMade(op.Int("size", 1<<20), op.Flag("periodic", true)),
	op.BlackmanWindow: perfMade(op.Int("size", 1<<20), op.Flag("periodic", true)), op.KaiserWindow: perfMade(op.Int("size", 1<<17), op.Flag("periodic", true), op.Float("beta", 5.5)),
	op.Eye:      perfMade(op.Int("rows", 1024), op.Int("columns", 1024), op.Int("diagonal", 0)),
	op.LinSpace: perfMade(op.Float("start", -1), op.Float("stop", 1), op.Int("count", 1<<20)),

	op.Cholesky: perfOf(shapes(dims(64, 64))), op.TriangularSolve: perfOf(shapes(dims(64, 64), dims(64, 64))), op.Det: perfOf(shapes(dims(64, 64))),
	op.SlogDet: perfOf(shapes(dims(64, 64))), op.Inverse: perfOf(shapes(dims(64, 64))), op.Solve: perfOf(shapes(dims(64, 64), dims(64, 64))),
	op.MatrixPower: perfOf(shapes(dims(64, 64)), op.Int("n", 3)), op.Eigh: perfOf(shapes(dims(32, 32))),
}

// perfOf returns a node of the same shapes in every type.
func perfOf(in []shape.Shape, attrs ...op.Attr) func(dtype.DType) variant {
	return func(dtype.DType) variant { return v("perf", in, attrs...) }
}

// perfMade returns a node without operands that creates a tensor of a type.
func perfMade(attrs ...op.Attr) func(dtype.DType) variant {
	return func(d dtype.DType) variant {
		return v("perf", nil, append(attrs[:len(attrs):len(attrs)], op.Type("dtype", d))...)
	}
}

// longAxis is the length, typical of a row, up to which a later axis is doubled before an earlier one.
const longAxis = 256

// grown repeatedly doubles the last axis that can be doubled, in the operands and in attributes that contain its length, while the node
// stays valid and its tensors small.
func (s spec) grown() spec {
	const enough = 4 << 20 // bytes
	for {
		if total(s.in) >= enough {
			return s
		}
		next, grew := s.longer(longAxis, 4*enough)
		if !grew {
			next, grew = s.longer(math.MaxInt, 4*enough)
		}
		if !grew {
			return s
		}
		s = next
	}
}

// longer doubles the last axis that is shorter than the limit most and can be doubled, or otherwise the first axis. The limit bytes applies
// to the size of the results. longer returns false if no axis can be doubled.
func (s spec) longer(most, bytes int) (spec, bool) {
	for axis := shape.MaxRank - 1; axis >= 0; axis-- {
		if len(s.in) == 0 || axis >= len(s.in[0].Shape) || axis > 0 && s.in[0].Shape[axis] >= most {
			continue
		}
		for _, attrs := range []bool{false, true} {
			next := s.doubled(axis, attrs)
			if len(next.in) == 0 {
				continue
			}
			if n, err := next.node(next.in); err == nil && total(n.Outputs) <= bytes && total(next.in) > total(s.in) {
				return next, true
			}
		}
	}
	return s, false
}

func total(ds []op.Desc) int {
	n := 0
	for _, d := range ds {
		n += d.Bytes()
	}
	return n
}

// doubled doubles the length of one axis of the first operand, and every dimension of that length in the others.
func (s spec) doubled(axis int, attrs bool) spec {
	if len(s.in) == 0 || axis >= len(s.in[0].Shape) || s.in[0].Shape[axis] < 2 {
		return spec{}
	}
	old := s.in[0].Shape[axis]
	in := slices.Clone(s.in)
	for i := range in {
		shp := in[i].Shape.Clone()
		for a := range shp {
			if shp[a] == old && (i > 0 || a == axis) {
				shp[a] *= 2
			}
		}
		in[i].Shape = shp
	}
	s.in = in
	if attrs {
		s.variant.attrs = slices.Clone(s.variant.attrs)
		for i, a := range s.variant.attrs {
			if a.Value.Kind() == op.KindInts {
				l := slices.Clone(a.Value.Ints())
				for k := range l {
					if l[k] == old {
						l[k] *= 2
					}
				}
				s.variant.attrs[i] = op.Ints(a.Name, l...)
			}
		}
	}
	return s
}
