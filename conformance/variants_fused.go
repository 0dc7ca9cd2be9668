package conformance

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

func bodied(name, text string, results []int, types dtype.Set, in ...shape.Shape) variant {
	return v(name, in, op.Str("body", text), op.Ints("results", results...)).within(types)
}

var fusedPlans = map[op.Code]plan{op.Fused: {variants: []variant{
	bodied("chain", "add(0,1);relu(2);mul(3,0)", l(4), dtype.Numbers, dims(3, 5), dims(3, 5)),
	bodied("broadcast", "mul(0,1);add(3,2)", l(4), dtype.Numbers, dims(2, 3), dims(3), dims(2, 1)),
	bodied("sum", "mul(0,0);sum(1){axes=[1]}", l(2), dtype.Numbers, dims(3, 7)),
	bodied("mean-kept", "sub(0,1);square(2);mean(3){axes=[0,1],keep_dims=true}", l(4), dtype.Floats, dims(4, 5), dims(5)),
	bodied("select", "less(0,1);where(2,0,1);not(2)", l(3, 4), dtype.Numbers, dims(3, 4), dims(4)),
	bodied("half", "full(){value=0.5,dtype=f32,shape=[]};mul(0,1);gelu(2){approximate=\"tanh\"};tanh(0)", l(3, 4), dtype.SetOf(dtype.F32), dims(3, 5)),
	bodied("cast", "cast(0){dtype=f32};sigmoid(1);cast(2){dtype=f16}", l(2, 3), dtype.Numbers, dims(2, 6)),
	bodied("logic", "and(0,1);xor(2,0)", l(3), dtype.Bools, dims(3, 5), dims(5)),
	bodied("argmax", "abs(0);argmax(1){axis=1}", l(2), dtype.Numbers, dims(3, 6)),
	bodied("rank0", "neg(0);exp(1)", l(2), dtype.Floats, dims()),
	bodied("empty", "add(0,0);clamp(1){min=-1,max=0.5}", l(2), dtype.Numbers, dims(0, 3)),
}}}

func init() {
	register(fusedPlans, map[op.Code]termCount{op.Fused: func(_ *op.Node, in []op.Desc) int { return in[0].Shape.Size() + 16 }})
}
