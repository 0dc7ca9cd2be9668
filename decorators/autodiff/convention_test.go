package autodiff_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/tensor"
)

// Where there is no derivative, the gradient follows PyTorch's conventions.
func TestConventions(t *testing.T) {
	un := func(c op.Code, attrs ...op.Attr) func(x *tensor.Tensor) *tensor.Tensor {
		return func(x *tensor.Tensor) *tensor.Tensor { return tensor.Op(c, []*tensor.Tensor{x}, attrs...)[0] }
	}
	axis := op.Ints("axes", 0)
	for _, c := range []struct {
		name string
		f    func(x *tensor.Tensor) *tensor.Tensor
		x    []float64
		want []float64
	}{
		{"relu is flat at zero", un(op.Relu), []float64{0, 1, -1}, []float64{0, 1, 0}},
		{"abs is flat at zero", un(op.Abs), []float64{0, 2, -2}, []float64{0, 1, -1}},
		{"relu6 is flat at both ends", un(op.Relu6), []float64{0, 6, 3}, []float64{0, 0, 1}},
		{"clamp has slope one at its bounds", un(op.Clamp, op.ScalarFloat("min", -1), op.ScalarFloat("max", 1)), []float64{-1, 1, 2}, []float64{1, 1, 0}},
		{"equal maxima share", un(op.ReduceMax, axis), []float64{3, 1, 3}, []float64{0.5, 0, 0.5}},
		{"equal minima share", un(op.ReduceMin, axis), []float64{3, 1, 1}, []float64{0, 0.5, 0.5}},
		{"std of equal elements is flat", un(op.Std, axis), []float64{2, 2, 2}, []float64{0, 0, 0}},
		{"steps are flat", un(op.Floor), []float64{0.5, 1, -1}, []float64{0, 0, 0}},
		{"sign is flat", un(op.Sign), []float64{0, 1, -1}, []float64{0, 0, 0}},
		{"both operands of max share", func(x *tensor.Tensor) *tensor.Tensor { return x.Maximum(x.Detach()) }, []float64{1, 2}, []float64{0.5, 0.5}},
		{"a product of a zero", un(op.Prod, axis), []float64{0, 2, 3}, []float64{6, 0, 0}},
		{"a product of two zeros", un(op.Prod, axis), []float64{0, 2, 0}, []float64{0, 0, 0}},
		{"running products of a zero", un(op.CumProd, op.Int("axis", 0)), []float64{2, 0, 3}, []float64{1, 8, 0}},
		{"dropout of everything", un(op.Dropout, op.Float("p", 1), op.Int("seed", 1)), []float64{1, 2}, []float64{0, 0}},
		{"the first of equal maxima in a window", un(op.MaxPool, op.Ints("window", 2), op.Ints("strides", 2), op.Ints("pad_lo", 0), op.Ints("pad_hi", 0),
			op.Ints("overhang", 0), op.Ints("dilation", 1)), []float64{4, 4}, []float64{1, 0}},
	} {
		dev := open(t, 1)
		x := tensor.From(dev, c.x, len(c.x)).RequireGrad()
		assert.Equal(t, c.want, values(t, backward(t, c.f(x)).Of(x)), c.name)
	}
}

// Of several assigned updates with the same index, only the last has a gradient. All multiplied updates have one.
func TestScatterOfEqualIndices(t *testing.T) {
	dev := open(t, 1)
	x := tensor.From(dev, []float64{1, 2, 3}, 3).RequireGrad()
	u := tensor.From(dev, []float64{10, 20, 30}, 3).RequireGrad()
	at := tensor.From(dev, []int64{1, 1, 2}, 3)
	y := tensor.Op(op.Scatter, []*tensor.Tensor{x, at, u}, op.Int("axis", 0))[0]
	g := backward(t, y)
	assert.Equal(t, []float64{1, 0, 0}, values(t, g.Of(x)))
	assert.Equal(t, []float64{0, 1, 1}, values(t, g.Of(u)))
	zero := tensor.From(dev, []float64{0, 5, 7}, 3).RequireGrad()
	y = tensor.Op(op.Scatter, []*tensor.Tensor{x, at, zero}, op.Int("axis", 0), op.Str("mode", "mul"))[0] // [1, 2·0·5, 3·7]
	g = backward(t, y)
	assert.Equal(t, []float64{1, 0, 7}, values(t, g.Of(x)))
	assert.Equal(t, []float64{10, 0, 3}, values(t, g.Of(zero)))
}

// The gradient of FakeQuantize is 1 where the number is not clipped, and 0 elsewhere.
func TestFakeQuantize(t *testing.T) {
	dev := open(t, 1)
	x := tensor.From(dev, []float32{0.26, -3, 1e6, -1e6}, 4).RequireGrad()
	scale := tensor.From(dev, []float32{0.5}, 1)
	zero := tensor.From(dev, []int8{0}, 1)
	y := tensor.Op(op.FakeQuantize, []*tensor.Tensor{x, scale.Reshape(), zero.Reshape()})[0]
	assert.Equal(t, []float64{1, 1, 0, 0}, values(t, backward(t, y).Of(x).Cast(dtype.F64)))
}
