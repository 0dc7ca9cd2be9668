package elementwise_test

import (
	"math/rand/v2"
	"testing"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/cpu/internal/kerneltest"
)

// TestQuantizePerElement has a scale and a zero point for each element, by an axis that is the whole tensor and by blocks of
// one. There are more elements than a block of workspace holds, and more than one thread computes.
func TestQuantizePerElement(t *testing.T) {
	b, r := newBench(t), rand.New(rand.NewPCG(41, 42))
	for _, c := range []struct {
		dims, scale []int
		axis, block int
	}{
		{[]int{1025}, []int{1025}, 0, 0}, {[]int{5000}, []int{5000}, 0, 0}, {[]int{1, 3000}, []int{3000}, 1, 0}, {[]int{2100, 1}, []int{2100}, 0, 0},
		{[]int{40, 50}, []int{40, 50}, 1, 1}, {[]int{40, 50}, []int{40, 50}, 0, 1}, {[]int{9000}, []int{9000}, 0, 1},
	} {
		attrs := []op.Attr{op.Int("axis", c.axis), op.Int("block", c.block)}
		for _, d := range []dtype.DType{dtype.F32, dtype.F64, dtype.BF16} {
			for _, z := range []dtype.DType{dtype.U8, dtype.I8, dtype.I16} {
				x, scale := kerneltest.Random(r, d, -30, 30, c.dims...), kerneltest.Random(r, d, 0.1, 0.5, c.scale...)
				zero := kerneltest.Random(r, z, 0, 100, c.scale...)
				b.Check(op.Quantize, list{x, scale, zero}, attrs...)
				b.Check(op.Dequantize, list{kerneltest.Random(r, z, 0, 100, c.dims...), scale, zero}, attrs...)
			}
		}
	}
}
