package vector

type mapFunc func(n int, dst, x *float32)

func (f mapFunc) run(d, x []float32) {
	if n := len(d); n > 0 {
		f(n, &d[0], &x[:n][0])
	}
}

// Exp sets d[i] to e to the power x[i].
func Exp(d, x []float32) { active.exp.run(d, x) }

// Sigmoid sets d[i] to 1/(1+exp(-x[i])).
func Sigmoid(d, x []float32) { active.sigmoid.run(d, x) }

// Tanh sets d[i] to the hyperbolic tangent of x[i].
func Tanh(d, x []float32) { active.tanh.run(d, x) }

// Silu sets d[i] to x[i]/(1+exp(-alpha*x[i])).
func Silu(d, x []float32, alpha float32) {
	if n := len(d); n > 0 {
		active.silu(n, &d[0], &x[:n][0], alpha)
	}
}

// ExpSub sets d[i] to exp(x[i]-shift) and returns the sum of the results.
func ExpSub(d, x []float32, shift float32) float32 {
	if n := len(d); n > 0 {
		return active.expSub(n, &d[0], &x[:n][0], shift)
	}
	return 0
}
