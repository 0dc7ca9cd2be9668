package libtorch

import (
	"maps"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/libtorch/internal/torch"
)

// kernel computes the node w.n from the operands w.in and sets w.out.
type kernel func(w *worker)

// need is a feature of torch that a kernel requires.
type need uint8

const (
	needsLists need = 1 << iota // calls of operators with lists or strings
	needsAdd                    // the function add_Tensor of the ABI
	needsFlash                  // attention on a cpu without stored scores
)

// rule describes how torch computes an op of burn.
type rule struct {
	run   kernel
	types dtype.Set // types of the first operand or, for ops without operands, of the result
	needs need
}

// flashSymbol is a function that torch exports if it has the operator for attention without stored scores.
const flashSymbol = "aoti_torch_cpu__scaled_dot_product_flash_attention_for_cpu"

// runs reports whether lib has the features that the kernel needs.
func (r *rule) runs(lib *torch.Library) bool {
	return (r.needs&needsLists == 0 || lib.Lists()) && (r.needs&needsAdd == 0 || lib.Symbol("aoti_torch_cpu_add_Tensor") != 0)
}

// Sets of element types that torch computes with.
var (
	floats  = dtype.Floats
	ints    = dtype.Ints & held
	numbers = dtype.Numbers & held
	signeds = dtype.Signeds & held
	anyType = dtype.Any & held
)

// rules contains the ops that torch computes. The host decomposes all other ops.
var rules = join(
	creation, movement, indexing,
	unary(floats, map[op.Code]string{
		op.Exp: "exp", op.Log: "log", op.Log1p: "log1p", op.Expm1: "expm1", op.Sqrt: "sqrt", op.Sin: "sin", op.Cos: "cos", op.Tan: "tan",
		op.Asin: "asin", op.Acos: "acos", op.Atan: "atan", op.Sinh: "sinh", op.Cosh: "cosh", op.Tanh: "tanh", op.Erf: "erf",
		op.Floor: "floor", op.Ceil: "ceil", op.Round: "round",
	}),
	unary(signeds, map[op.Code]string{op.Neg: "neg"}),
	unary(numbers, map[op.Code]string{op.Abs: "abs"}),
	unary(ints|dtype.Bools, map[op.Code]string{op.Not: "bitwise_not"}),
	dyadic(floats, map[op.Code]string{op.Atan2: "atan2"}),
	dyadic(numbers, map[op.Code]string{op.Mul: "mul.Tensor", op.Pow: "pow.Tensor_Tensor"}),
	dyadic(ints|dtype.Bools, map[op.Code]string{op.And: "bitwise_and.Tensor", op.Or: "bitwise_or.Tensor", op.Xor: "bitwise_xor.Tensor"}),
	dyadic(ints, map[op.Code]string{op.Shl: "bitwise_left_shift.Tensor", op.Shr: "bitwise_right_shift.Tensor"}),
	arithmetic, reductions, scans, contractions, windows,
	elementwise, norms, layers, sequences, spectra, algebra,
)

// join returns the union of several tables.
func join(tables ...map[op.Code]rule) map[op.Code]rule {
	all := map[op.Code]rule{}
	for _, t := range tables {
		maps.Copy(all, t)
	}
	return all
}

// unary returns the rules of ops that torch computes by a unary operator.
func unary(types dtype.Set, names map[op.Code]string) map[op.Code]rule {
	m := map[op.Code]rule{}
	for code, name := range names {
		o := aten(name)
		m[code] = rule{run: func(w *worker) { w.out[0] = w.un(o, w.in[0]) }, types: types}
	}
	return m
}

// dyadic returns the rules of ops that torch computes by a binary operator whose operands and result have the same type.
func dyadic(types dtype.Set, names map[op.Code]string) map[op.Code]rule {
	m := map[op.Code]rule{}
	for code, name := range names {
		o := aten(name)
		m[code] = rule{run: func(w *worker) { w.out[0] = w.bin(o, w.in[0], w.in[1], w.in[0].d) }, types: types}
	}
	return m
}
