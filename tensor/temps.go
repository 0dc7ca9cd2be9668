package tensor

// temps are the tensors that a method makes on the way to its result. They are released as soon as the result is queued and
// not left to the garbage collector, which sees small handles only, however much memory they stand for.
type temps struct {
	from *Tensor // the method's tensor, which is never released
	made []*Tensor
}

// of remembers a tensor that the method made.
func (m *temps) of(t *Tensor) *Tensor {
	if t != m.from {
		m.made = append(m.made, t)
	}
	return t
}

// done releases the temporaries, except the result, and returns the result.
func (m *temps) done(y *Tensor) *Tensor {
	for _, t := range m.made {
		if t != y {
			t.Release()
		}
	}
	return y
}

// withNumber applies a binary op to t and a number of t's type.
func (t *Tensor) withNumber(f func(a, b *Tensor) *Tensor, v float64) *Tensor {
	m := temps{from: t}
	return m.done(f(t, m.of(t.scalarOf(v))))
}

// withInt applies a binary op to t and an integer of t's type, which float64 may not hold.
func (t *Tensor) withInt(f func(a, b *Tensor) *Tensor, v int64) *Tensor {
	m := temps{from: t}
	return m.done(f(t, m.of(t.within().scalarInt(t.desc.DType, v))))
}
