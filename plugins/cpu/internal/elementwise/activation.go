package elementwise

import (
	"math"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/cpu/internal/vecmath"
)

// activation gives the loop of a composite with coefficients. They are converted to T, as the ops that it stands for do.
func activation[T float](c op.Code, a op.Attrs) func(d, x []T) {
	al := T(a.Float("alpha"))
	switch c {
	case op.LeakyRelu:
		return func(d, x []T) {
			d = d[:len(x)]
			for i, v := range x {
				if v < 0 {
					v *= al
				}
				d[i] = v
			}
		}
	case op.Elu:
		return func(d, x []T) {
			for i, v := range x {
				if v < 0 {
					v = al * T(math.Expm1(float64(v)))
				}
				d[i] = v
			}
		}
	case op.Selu:
		gamma := T(a.Float("gamma"))
		return func(d, x []T) {
			for i, v := range x {
				if v < 0 {
					v = al * T(math.Expm1(float64(v)))
				}
				d[i] = gamma * v
			}
		}
	case op.Celu:
		return func(d, x []T) {
			for i, v := range x {
				if v < 0 {
					v = al * T(math.Expm1(float64(v/al)))
				}
				d[i] = v
			}
		}
	case op.HardSigmoid:
		return hardSigmoid(al, T(a.Float("beta")))
	case op.HardSwish:
		gate := hardSigmoid(T(1.0/6), T(0.5))
		return func(d, x []T) {
			var g [256]T
			for len(x) > 0 {
				n := min(len(x), len(g))
				gate(g[:n], x[:n])
				for i, v := range x[:n] {
					d[i] = v * g[i]
				}
				d, x = d[n:], x[n:]
			}
		}
	case op.Softsign:
		return func(d, x []T) {
			for i, v := range x {
				d[i] = v / (1 + T(math.Abs(float64(v))))
			}
		}
	case op.ThresholdedRelu:
		return func(d, x []T) {
			for i, v := range x {
				if !(v > al) {
					v = 0
				}
				d[i] = v
			}
		}
	}
	return smooth[T](c, al, a)
}

func hardSigmoid[T float](alpha, beta T) func(d, x []T) {
	return func(d, x []T) {
		d = d[:len(x)]
		for i, v := range x {
			v = T(v*alpha) + beta
			if v < 0 {
				v = 0
			}
			if v > 1 {
				v = 1
			}
			d[i] = v
		}
	}
}

func smooth[T float](c op.Code, al T, a op.Attrs) func(d, x []T) {
	switch c {
	case op.Sigmoid:
		return func(d, x []T) {
			for i, v := range x {
				d[i] = T(1 / (1 + math.Exp(-float64(v))))
			}
		}
	case op.Silu:
		if f, ok := any(siluBy(float32(al))).(func(d, x []T)); ok {
			return f
		}
		return func(d, x []T) {
			for i, v := range x {
				d[i] = v * T(1/(1+math.Exp(-float64(al*v))))
			}
		}
	case op.Softplus:
		return func(d, x []T) {
			for i, v := range x {
				d[i] = T(softplus(float64(v)))
			}
		}
	case op.Mish:
		return func(d, x []T) {
			for i, v := range x {
				d[i] = v * T(math.Tanh(softplus(float64(v))))
			}
		}
	case op.Gelu:
		if a.Str("approximate") == "tanh" {
			return geluTanh[T]
		}
		return func(d, x []T) {
			for i, v := range x {
				d[i] = v / 2 * T(1+math.Erf(float64(v)*(math.Sqrt2/2)))
			}
		}
	}
	return nil
}

func siluBy(alpha float32) func(d, x []float32) {
	return func(d, x []float32) { vecmath.Silu(d, x, alpha) }
}

func softplus(x float64) float64 {
	return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x)))
}

func geluTanh[T float](d, x []T) {
	for i, v := range x {
		f := float64(v)
		d[i] = T(f / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(f+0.044715*f*f*f))))
	}
}

// clampLoop brings into [lo, hi]; the builtins keep NaN.
func clampLoop[T number](lo, hi T) func(d, x []T) {
	return func(d, x []T) {
		d = d[:len(x)]
		for i, v := range x {
			d[i] = min(max(v, lo), hi)
		}
	}
}

func preluPair[T number]() *pair[T, T] {
	return &pair[T, T]{vv: func(d, x, slope []T) {
		slope = slope[:len(d)]
		for i := range d {
			v := x[i]
			if v < 0 {
				v *= slope[i]
			}
			d[i] = v
		}
	}, vs: func(d, x []T, slope T) {
		for i := range d {
			v := x[i]
			if v < 0 {
				v *= slope
			}
			d[i] = v
		}
	}}
}
