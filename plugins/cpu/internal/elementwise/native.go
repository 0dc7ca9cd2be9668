package elementwise

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/cpu/internal/vector"
)

// pairs contains the binary ops of float32 that are in assembly on this processor.
var pairs = assemble()

func assemble() map[op.Code]*pair[float32, float32] {
	if !vector.Has() {
		return nil
	}
	found := map[op.Code]*pair[float32, float32]{}
	for c, p := range map[op.Code]vector.Pair{op.Add: vector.Add(), op.Sub: vector.Sub(), op.Mul: vector.Mul(), op.Div: vector.Div(),
		op.Max: vector.Max(), op.Min: vector.Min()} {
		found[c] = &pair[float32, float32]{p.Both, p.To, p.From}
	}
	return found
}

// native32 returns the loops of a binary op from pairs, or nil.
func native32(c op.Code) *pair[float32, float32] { return pairs[c] }

// functions maps the unary ops of float32 that are in assembly to their loops.
var functions = map[op.Code]vector.Function{op.Log1p: vector.Log1p, op.Expm1: vector.Expm1, op.Neg: vector.Neg, op.Abs: vector.Abs,
	op.Square: vector.Square, op.Sqrt: vector.Sqrt, op.Rsqrt: vector.Rsqrt, op.Reciprocal: vector.Reciprocal, op.Round: vector.Round,
	op.Floor: vector.Floor, op.Ceil: vector.Ceil, op.Trunc: vector.Trunc, op.Softplus: vector.Softplus, op.Mish: vector.Mish}

// nativeUnary returns the loop in assembly of a unary op on this processor, or nil if there is none.
func nativeUnary(c op.Code) func(d, x []float32) {
	if !vector.Has() {
		return nil
	}
	if f, ok := functions[c]; ok {
		return func(d, x []float32) { f.Apply(d[:len(x)], x) }
	}
	switch c {
	case op.Sin:
		return reaching(vector.Sine, transcendental[float32](c))
	case op.Cos:
		return reaching(vector.Cosine, transcendental[float32](c))
	}
	return nil
}

// reaching returns a loop that uses f for blocks whose arguments are all in its domain, and the loop in Go, far, for others.
func reaching(f vector.Function, far func(d, x []float32)) func(d, x []float32) {
	return func(d, x []float32) {
		for len(x) > 0 {
			n := min(len(x), block)
			if m := vector.Greatest(x[:n]); m <= vector.Reach && vector.Least(x[:n]) >= -vector.Reach {
				f.Apply(d[:n], x[:n])
			} else {
				far(d[:n], x[:n])
			}
			d, x = d[n:], x[n:]
		}
	}
}

// nativeActivation returns the loop in assembly of an activation with coefficients for elements of type T, or nil if there is none.
func nativeActivation[T float](c op.Code, dt dtype.DType, a op.Attrs) func(d, x []T) {
	var f func(d, x []float32)
	alpha := a.Float("alpha")
	if !vector.Has() {
		return nil
	}
	switch c {
	case op.LeakyRelu:
		al := float32(coefficient(dt, alpha))
		if !(al > 0 && al < 1) {
			return nil
		}
		f = func(d, x []float32) { vector.Leaky(d[:len(x)], x, al) }
	case op.Elu:
		f = func(d, x []float32) { vector.Elu(d[:len(x)], x, float32(alpha), 1, 1) }
	case op.Selu:
		gamma := float32(a.Float("gamma"))
		f = func(d, x []float32) { vector.Elu(d[:len(x)], x, float32(alpha), gamma, 1) }
	case op.Celu:
		f = func(d, x []float32) { vector.Elu(d[:len(x)], x, float32(alpha), 1, float32(alpha)) }
	case op.HardSigmoid:
		beta := a.Float("beta")
		if !isModerate(alpha) || !isModerate(beta) {
			return nil
		}
		f = func(d, x []float32) { vector.Gate(d[:len(x)], x, alpha, beta, false) }
	case op.HardSwish:
		f = func(d, x []float32) { vector.Gate(d[:len(x)], x, 1.0/6, 0.5, true) }
	default:
		return nil
	}
	loop, _ := any(f).(func(d, x []T))
	return loop
}

// isModerate reports whether a coefficient is zero, or far enough from the bounds of float32 for its products to keep their digits.
func isModerate(f float64) bool { return f == 0 || math.Abs(f) > 1e-6 && math.Abs(f) < 1e6 }

// powers raises elements to a common exponent, in assembly for blocks whose numbers allow it.
func powers(d, x []float32, y float64) {
	for len(x) > 0 {
		n, done := min(len(x), block), 0
		if vector.Has() && math.Abs(y) <= math.MaxFloat32 {
			least := vector.Least(x[:n])
			if (least > 0 || least == 0 && !math.Signbit(float64(least)) && y > 0.2) && vector.Greatest(x[:n]) <= math.MaxFloat32 {
				done = vector.Pow(d[:n], x[:n], y)
			}
		}
		for i := done; i < n; i++ {
			d[i] = float32(math.Pow(float64(x[i]), y))
		}
		d, x = d[n:], x[n:]
	}
}

// nativeClamp is like clampLoop, in assembly. It returns nil if there is no such loop.
func nativeClamp[T number](lo, hi T) func(d, x []T) {
	least, ok := any(lo).(float32)
	if !ok || !vector.Has() {
		return nil
	}
	most := any(hi).(float32)
	f := func(d, x []float32) { vector.Clamp(d[:len(x)], x, least, most) }
	return any(f).(func(d, x []T))
}

// nativeRelu returns relu in assembly, or nil if there is no such loop.
func nativeRelu[T number]() func(d, x []T) {
	if !vector.Has() {
		return nil
	}
	greater := vector.Max().To
	f, _ := any(func(d, x []float32) { greater(d[:len(x)], x, 0) }).(func(d, x []T))
	return f
}
