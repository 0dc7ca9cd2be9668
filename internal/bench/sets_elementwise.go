package bench

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

func unaryOps() []Case {
	return both(func(n int, size string) []Case {
		one := func(name string, c op.Code, x Operand, attrs ...op.Attr) Case {
			return of("unary", name+"/"+size, c, in(x), attrs...)
		}
		half, full := op.Type("dtype", dtype.F16), op.Type("dtype", dtype.F32)
		return append(memory(
			one("copy", op.Copy, f32(n, n)), one("relu", op.Relu, f32(n, n)),
			one("cast_f16", op.Cast, f32(n, n), half), one("cast_from_f16", op.Cast, tensor(dtype.F16, Signed, n, n), full)),
			one("sqrt", op.Sqrt, positive(n, n)), one("exp", op.Exp, f32(n, n)),
			one("log", op.Log, positive(n, n)), one("tanh", op.Tanh, f32(n, n)), one("sigmoid", op.Sigmoid, f32(n, n)),
			one("erf", op.Erf, f32(n, n)), one("gelu", op.Gelu, f32(n, n)), one("sin", op.Sin, f32(n, n)),
		)
	})
}

func binaryOps() []Case {
	return both(func(n int, size string) []Case {
		two := func(name string, c op.Code, a, b Operand) Case { return of("binary", name+"/"+size, c, in(a, b)) }
		return memory(
			two("add", op.Add, f32(n, n), f32(n, n)), two("mul", op.Mul, f32(n, n), f32(n, n)),
			two("add_row", op.Add, f32(n, n), f32(n)), two("add_column", op.Add, f32(n, n), f32(n, 1)), two("mul_scalar", op.Mul, f32(n, n), f32()),
		)
	})
}

// rows returns the cases of softmax and the norms, along the last axis unless another is named.
func rows() []Case {
	eps := op.Float("epsilon", 1e-5)
	return both(func(n int, size string) []Case {
		return []Case{
			of("norm", "softmax/"+size, op.Softmax, in(f32(n, n)), op.Int("axis", 1)),
			of("norm", "softmax/axis0/"+size, op.Softmax, in(f32(n, n)), op.Int("axis", 0)),
			of("norm", "layer_norm/"+size, op.LayerNorm, in(f32(n, n), f32(n), f32(n)), op.Int("axis", 1), eps),
			of("norm", "rms_norm/"+size, op.RMSNorm, in(f32(n, n), f32(n)), op.Int("axis", 1), eps),
			of("norm", "batch_norm/"+size, op.BatchNorm, in(f32(n/64, n, 8, 8), f32(n), f32(n), f32(n), positive(n)), eps),
		}
	})
}
