package vector

// Function is an elementary function of one number.
type Function int

// Log1p is log(1+x), Expm1 is exp(x)-1; Softplus is log(1+exp(x)) and Mish is x·tanh(Softplus(x)), all without overflow. Round is to even.
// Sine and Cosine are for arguments up to Reach.
const (
	Log Function = iota
	Log1p
	Expm1
	Erf
	Gelu
	GeluTanh
	Softplus
	Mish
	Sine
	Cosine
	Neg
	Abs
	Square
	Sqrt
	Rsqrt
	Reciprocal
	Round
	Floor
	Ceil
	Trunc
	functions
)

// Reach is the greatest magnitude of an argument of Sine and Cosine.
const Reach = 48000

// Apply sets d[i] to f of x[i]. The slices are the same memory or do not overlap. Results are within 2 units in the last place, except for
// Softplus (3), GeluTanh (4), Gelu and Mish (5). Results of Neg to Trunc, except Rsqrt, are correctly rounded. Has must report true.
func (f Function) Apply(d, x []float32) { active.apply[f].run(d, x) }

// Elu sets d[i] to gamma·x[i] or, if x[i] is negative, to gamma·alpha·(exp(x[i]/by)-1).
func Elu(d, x []float32, alpha, gamma, by float32) {
	if n := len(d); n > 0 {
		active.elu(n, &d[0], &x[:n][0], alpha, gamma, by)
	}
}

// Leaky sets d[i] to the greater of x[i] and alpha·x[i].
func Leaky(d, x []float32, alpha float32) {
	if n := len(d); n > 0 {
		active.leaky(n, &d[0], &x[:n][0], alpha)
	}
}

// Gate sets d[i] to alpha·x[i]+beta clamped to [0, 1] and, if times is set, multiplied by x[i]. The magnitudes of alpha and beta must be
// far from the bounds of float32.
func Gate(d, x []float32, alpha, beta float64, times bool) {
	if n := len(d); n > 0 {
		a, b, t := float32(alpha), float32(beta), float32(0)
		if times {
			t = 1
		}
		active.gate(n, &d[0], &x[:n][0], a, float32(alpha-float64(a)), b, float32(beta-float64(b)), t)
	}
}

// Standard sets d[i] to (x[i]-mean)·factor.
func Standard(d, x []float32, mean, factor float32) {
	if n := len(d); n > 0 {
		active.standard(n, &d[0], &x[:n][0], mean, factor)
	}
}

// Linear sets d[i] to x[i]·factor+bias, rounded once.
func Linear(d, x []float32, factor, bias float32) {
	if n := len(d); n > 0 {
		active.linear(n, &d[0], &x[:n][0], factor, bias)
	}
}
