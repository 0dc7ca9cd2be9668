package vector

// A Pair is a binary operation in three forms: on two slices, and with a scalar
// as either operand. Slices have the length of d, and are the same memory as it
// or do not overlap it.
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

// pairLoops are the loops of a Pair; from is nil where operands may be
// exchanged.
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

// Add, Sub, Mul and Div return the operators. The results of Max and Min are NaN
// if an operand is, and zero is greater than minus zero. They may be called only
// if Has returns true.
func Add() Pair { return active.add.pair() }

// Sub subtracts.
func Sub() Pair { return active.sub.pair() }

// Mul multiplies.
func Mul() Pair { return active.mul.pair() }

// Div divides.
func Div() Pair { return active.div.pair() }

// Max returns the greater operand.
func Max() Pair { return active.max.pair() }

// Min returns the lesser operand.
func Min() Pair { return active.min.pair() }

// Clamp sets d[i] to x[i] brought into [lo, hi]; a NaN stays one.
func Clamp(d, x []float32, lo, hi float32) {
	if n := len(d); n > 0 {
		active.clamp(n, &d[0], &x[:n][0], lo, hi)
	}
}
