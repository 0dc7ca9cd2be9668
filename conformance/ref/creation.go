package ref

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

var creationKernels = map[op.Code]kernel{
	op.Full: direct(func(n *op.Node, _ []Tensor) Tensor {
		v := scalar(n.Attrs.Value("value"), n.Outputs[0].DType)
		out := Zeros(n.Outputs[0])
		for i := range n.Outputs[0].Shape.Size() {
			out.set(i, v, 0)
		}
		return out
	}),
	op.Iota: direct(func(n *op.Node, _ []Tensor) Tensor {
		out := Zeros(n.Outputs[0])
		each(n.Outputs[0].Shape, func(pos int, idx []int) {
			count := Tensor{Desc: op.DescOf(dtype.I64), I: []int64{int64(idx[n.Attrs.Int("axis")])}}
			out.set(pos, convert(count, 0, n.Outputs[0].DType), 0)
		})
		return out
	}),
	op.RandomBits: direct(func(n *op.Node, _ []Tensor) Tensor {
		out := Zeros(n.Outputs[0])
		seed, counter := uint64(n.Attrs.Value("seed").Int()), uint64(n.Attrs.Value("counter").Int())
		for i := range out.I {
			c := counter + uint64(i/4)
			block := philox([4]uint32{uint32(c), uint32(c >> 32), 0, 0}, [2]uint32{uint32(seed), uint32(seed >> 32)})
			out.I[i] = Wrap(n.Outputs[0].DType, int64(block[i%4]))
		}
		return out
	}),
}
