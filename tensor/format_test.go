package tensor_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/tensor"
)

func TestPrintOptions(t *testing.T) {
	d := open(t)
	x := tensor.From(d, []float64{1.23456, -20, 300.5})
	elements := func(x *tensor.Tensor, o tensor.PrintOptions) string {
		b, err := x.Bytes(ctx)
		require.NoError(t, err)
		return tensor.Elements(x.DType(), x.Shape(), b, o)
	}
	long := d.Iota(dtype.I64, 12)
	for _, c := range []struct {
		x    *tensor.Tensor
		o    tensor.PrintOptions
		want string
	}{
		{x, tensor.PrintOptions{}, "[  1.2346, -20.0000, 300.5000]"},
		{x, tensor.PrintOptions{Precision: 2}, "[  1.23, -20.00, 300.50]"},
		{x, tensor.PrintOptions{Precision: -1}, "[  1., -20., 300.]"},
		{x, tensor.PrintOptions{Precision: 1, Notation: tensor.Scientific}, "[ 1.2e+00, -2.0e+01,  3.0e+02]"},
		{tensor.From(d, []float64{1e-9, 0.5}), tensor.PrintOptions{Notation: tensor.Fixed}, "[0.0000, 0.5000]"},
		{tensor.From(d, []float64{1e9, 2}), tensor.PrintOptions{Notation: tensor.Fixed}, "[1000000000.,          2.]"},
		{tensor.From(d, []float64{1e9, 2}), tensor.PrintOptions{}, "[1.0000e+09, 2.0000e+00]"},
		{long, tensor.PrintOptions{Threshold: 10}, "[ 0,  1,  2, ...,  9, 10, 11]"},
		{long, tensor.PrintOptions{Threshold: 10, EdgeItems: 1}, "[ 0, ..., 11]"},
		{d.Iota(dtype.U8, 3), tensor.PrintOptions{Threshold: -1}, "[0, 1, 2]"},
		{tensor.From(d, []float64{math.Inf(1), 1}), tensor.PrintOptions{Notation: tensor.Scientific, Precision: 1}, "[    inf, 1.0e+00]"},
	} {
		require.Equal(t, c.want, elements(c.x, c.o))
	}
	all := elements(d.Iota(dtype.I32, 1500), tensor.PrintOptions{Threshold: -1})
	require.NotContains(t, all, "...")

	tensor.SetPrintOptions(tensor.PrintOptions{Precision: 1})
	defer tensor.SetPrintOptions(tensor.PrintOptions{})
	require.Equal(t, "tensor([  1.2, -20.0, 300.5], shape=[3], dtype=f64, device=builtin:cpu:0)", x.String())
}
