package onnx

import (
	"math"
	"math/rand/v2"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

func init() {
	register("RandomUniform", 1, func(t *tracer, n *node) []value { return randomNode(t, n, uniformIn) })
	register("RandomUniformLike", 1, func(t *tracer, n *node) []value { return randomNode(t, n, uniformIn) })
	register("RandomNormal", 1, func(t *tracer, n *node) []value { return randomNode(t, n, normalAround) })
	register("RandomNormalLike", 1, func(t *tracer, n *node) []value { return randomNode(t, n, normalAround) })
	register("Bernoulli", 15, bernoulli)
	register("Multinomial", 7, multinomial)
	register("Dropout", 7, func(t *tracer, n *node) []value { return dropped(t, n, n.input(0), n.input(0).dtype()) })
	register("Dropout", 10, func(t *tracer, n *node) []value { return dropped(t, n, n.input(0), dtype.Bool) })
	register("Dropout", 12, dropout)
}

// source generates random numbers.
type source interface {
	Float64() float64
	NormFloat64() float64
}

// fresh draws from the generator of the Go runtime.
type fresh struct{}

func (fresh) Float64() float64     { return rand.Float64() }
func (fresh) NormFloat64() float64 { return rand.NormFloat64() }

// draw returns a tensor of type d and shape s whose elements f draws. With a seed it is a constant, equal in every run; without a seed,
// each run draws new elements.
func (t *tracer) draw(seed uint32, seeded bool, d dtype.DType, s shape.Shape, f func(g source) float64) value {
	if err := s.Check(); err != nil {
		t.fail("%v", err)
	}
	t.fits(op.Desc{DType: d, Shape: s})
	fill := func(g source) []byte {
		b := make([]byte, 0, s.Size()*d.Size())
		for range s.Size() {
			b = appendFloat(b, d, f(g))
		}
		return b
	}
	size := volume(append(s.Clone(), d.Size())...)
	if seeded {
		t.take(size)
		return t.counted(d, s, fill(newTwister(seed)))
	}
	budget := t.s.model.budget
	return t.hostOp(nil, func([]hostTensor) ([]hostTensor, error) {
		if err := budget.take(size); err != nil {
			return nil, err
		}
		defer budget.give(size)
		return []hostTensor{{DType: d, Shape: s, Data: fill(fresh{})}}, nil
	})[0]
}

// seed returns the float attribute seed, converted to an integer as the reference does.
func (n *node) seed() (uint32, bool) { return uint32(int64(n.float("seed", 0))), n.has("seed") }

func uniformIn(n *node) func(g source) float64 {
	low, high := n.float("low", 0), n.float("high", 1)
	return func(g source) float64 { return low + (high-low)*g.Float64() }
}

func normalAround(n *node) func(g source) float64 {
	mean, scale := n.float("mean", 0), n.float("scale", 1)
	return func(g source) float64 { return mean + scale*g.NormFloat64() }
}

// randomNode reads the shape from its input or, without an input, from the attribute shape. The type is the attribute dtype or, without
// it, the type of the input or f32.
func randomNode(t *tracer, n *node, make func(n *node) func(g source) float64) []value {
	s, d := shape.Shape(n.ints("shape")), dtype.F32
	if len(n.in) > 0 {
		t.need(n, 0)
		s, d = n.input(0).shape(), n.input(0).dtype()
	} else if !n.has("shape") {
		t.fail("shape is missing")
	}
	if n.has("dtype") {
		d = t.elementType(n.int("dtype", 1))
	}
	seed, seeded := n.seed()
	return []value{t.draw(seed, seeded, d, s, make(n))}
}

// chances draws numbers in [0, 1), to be compared with probabilities.
func (t *tracer) chances(seed uint32, seeded bool, s shape.Shape) value {
	return t.draw(seed, seeded, dtype.F32, s, func(g source) float64 {
		return math.Floor(g.Float64()*0x1p24) / 0x1p24 // never rounds to 1
	})
}

func bernoulli(t *tracer, n *node) []value {
	t.need(n, 0)
	x := n.input(0)
	d := x.dtype()
	if n.has("dtype") {
		d = t.elementType(n.int("dtype", 1))
	}
	seed, seeded := n.seed()
	return []value{t.cast(t.do(op.Less, []value{t.chances(seed, seeded, x.shape()), t.cast(x, dtype.F32)}), d)}
}

// multinomial counts, for each number drawn, the classes whose cumulative probability is at most that number: this inverts the
// distribution function.
func multinomial(t *tracer, n *node) []value {
	t.need(n, 0)
	x := t.cast(n.input(0), dtype.F32)
	if x.rank() != 2 || x.shape()[1] == 0 {
		t.fail("input is %v, want [batch, classes]", x.shape())
	}
	d := t.elementType(n.int("dtype", 6))
	batch, classes, samples := x.shape()[0], x.shape()[1], n.int("sample_size", 1)
	if samples < 0 {
		t.fail("sample_size is %d", samples)
	}
	below := t.do(op.CumSum, []value{t.do(op.Softmax, []value{x}, op.Int("axis", 1))}, op.Int("axis", 1))
	below = t.reshape(t.narrow(below, 1, 0, classes-1), batch, 1, classes-1) // the last cumulative probability is 1
	seed, seeded := n.seed()
	drawn := t.reshape(t.chances(seed, seeded, shape.Of(batch, samples)), batch, samples, 1)
	above := t.do(op.LessEqual, []value{below, drawn})
	return []value{t.cast(t.reduce(op.Sum, t.cast(above, dtype.I32), false, 2), d)}
}

// dropped returns the outputs of a Dropout that drops nothing.
func dropped(t *tracer, n *node, x value, mask dtype.DType) []value {
	t.need(n, 0)
	return []value{x, t.do(op.Full, nil, op.ScalarInt("value", 1), op.Type("dtype", mask), op.Dims("shape", x.shape()))}
}

func dropout(t *tracer, n *node) []value {
	t.need(n, 0)
	x, ratio, training := n.input(0), n.input(1), n.input(2)
	if !training.present() || !t.hostBool(training) {
		return dropped(t, n, x, dtype.Bool)
	}
	r := t.scalar(dtype.F32, 0.5)
	if ratio.present() {
		t.need(n, 1)
		r = t.reshape(t.cast(ratio, dtype.F32))
	}
	y, mask := t.drop(x, r, uint32(n.int("seed", 0)), n.has("seed"))
	return []value{y, mask}
}

// drop zeroes each element of x with probability r (f32) and scales the others; mask is true where an element stays.
func (t *tracer) drop(x, r value, seed uint32, seeded bool) (y, mask value) {
	mask = t.do(op.LessEqual, []value{r, t.chances(seed, seeded, x.shape())})
	scale := t.do(op.Div, []value{t.scalar(dtype.F32, 1), t.do(op.Sub, []value{t.scalar(dtype.F32, 1), r})})
	y = t.do(op.Mul, []value{x, t.cast(scale, x.dtype())})
	return t.do(op.Where, []value{mask, y, t.scalar(x.dtype(), 0)}), mask
}
