package vector

// A Pair is a binary operation in three forms: on two slices, and with a scalar as either operand. All slices have the same length, and are
// the same memory as d or do not overlap it.
type Pair struct {
	// Both sets d[i] to a[i] op b[i].
	Both func(d, a, b []float32)
	// To sets d[i] to a[i] op b.
	To func(d, a []float32, b float32)
	// From sets d[i] to a op b[i].
	From func(d []float32, a float32, b []float32)
}

type (
	bothFunc func(n int, dst, a, b *float32)
	oneFunc  func(n int, dst, a *float32, b float32)
)

// pairLoops contains the loops of a Pair. from is nil if the operation is commutative.
type pairLoops struct {
	both     bothFunc
	to, from oneFunc
}

func (l pairLoops) pair() Pair {
	p := Pair{Both: func(d, a, b []float32) {
		if n := len(d); n > 0 {
			l.both(n, &d[0], &a[:n][0], &b[:n][0])
		}
	}, To: func(d, a []float32, b float32) {
		if n := len(d); n > 0 {
			l.to(n, &d[0], &a[:n][0], b)
		}
	}}
	from := l.from
	if from == nil {
		from = l.to
	}
	p.From = func(d []float32, a float32, b []float32) {
		if n := len(d); n > 0 {
			from(n, &d[0], &b[:n][0], a)
		}
	}
	return p
}

// Add returns the addition. Add, Sub, Mul, Div, Max and Min may be called only if Has returns true.
func Add() Pair { return active.add.pair() }

// Sub returns the subtraction (see Add).
func Sub() Pair { return active.sub.pair() }

// Mul returns the multiplication (see Add).
func Mul() Pair { return active.mul.pair() }

// Div returns the division (see Add).
func Div() Pair { return active.div.pair() }

// Max returns the maximum (see Add): NaN if an operand is NaN, and zero rather than minus zero.
func Max() Pair { return active.max.pair() }

// Min returns the minimum (see Add): NaN if an operand is NaN, and minus zero rather than zero.
func Min() Pair { return active.min.pair() }

// Clamp sets d[i] to x[i] clamped to [lo, hi]. NaN stays NaN.
func Clamp(d, x []float32, lo, hi float32) {
	if n := len(d); n > 0 {
		active.clamp(n, &d[0], &x[:n][0], lo, hi)
	}
}
