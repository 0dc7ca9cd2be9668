package elementwise

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/cpu/internal/vecmath"
)

// coefficient returns an attribute rounded to type d. Ops with exact results compute with the rounded value.
func coefficient(d dtype.DType, f float64) float64 {
	switch d {
	case dtype.F32:
		return float64(float32(f))
	case dtype.F16:
		return float64(dtype.Float16From64(f).Float32())
	case dtype.BF16:
		return float64(dtype.BFloat16From64(f).Float32())
	}
	return f
}

// activation returns the loop of an activation with coefficients for elements of type dt.
func activation[T float](c op.Code, dt dtype.DType, a op.Attrs) func(d, x []T) {
	if f := nativeActivation[T](c, dt, a); f != nil {
		return f
	}
	al := T(a.Float("alpha"))
	switch c {
	case op.LeakyRelu:
		al := T(coefficient(dt, a.Float("alpha")))
		if al > 0 && al < 1 {
			return func(d, x []T) {
				d = d[:len(x)]
				for i, v := range x {
					d[i] = max(v, v*al)
				}
			}
		}
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
		return hardSigmoid[T](a.Float("alpha"), a.Float("beta"))
	case op.HardSwish:
		return func(d, x []T) {
			d = d[:len(x)]
			for i, v := range x {
				d[i] = T(float64(v) * gate(float64(v), 1.0/6, 0.5))
			}
		}
	case op.Softsign:
		return func(d, x []T) {
			for i, v := range x {
				d[i] = v / (1 + T(math.Abs(float64(v))))
			}
		}
	case op.ThresholdedRelu:
		al := T(coefficient(dt, a.Float("alpha")))
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

// gate returns alpha·x+beta clamped to [0, 1]. It computes in float64, because the sum loses digits near zero.
func gate(x, alpha, beta float64) float64 {
	y := x*alpha + beta
	if y < 0 {
		y = 0
	}
	if y > 1 {
		y = 1
	}
	return y
}

func hardSigmoid[T float](alpha, beta float64) func(d, x []T) {
	return func(d, x []T) {
		d = d[:len(x)]
		for i, v := range x {
			d[i] = T(gate(float64(v), alpha, beta))
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
		tanh := a.Str("approximate") == "tanh"
		if f, ok := any(vecmath.Gelu).(func(d, x []T)); ok && !tanh {
			return f
		}
		if f, ok := any(vecmath.GeluTanh).(func(d, x []T)); ok && tanh {
			return f
		}
		if tanh {
			return geluTanh[T]
		}
		return func(d, x []T) {
			for i, v := range x {
				d[i] = T(float64(v) / 2 * math.Erfc(-float64(v)/math.Sqrt2)) // erfc(-z) is 1+erf(z), with all digits
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

// clampLoop returns a loop that clamps to [lo, hi] and keeps NaN.
func clampLoop[T number](lo, hi T) func(d, x []T) {
	if f := nativeClamp(lo, hi); f != nil {
		return f
	}
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
