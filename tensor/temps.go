package tensor

// temps holds the intermediate tensors of a method. They are released as soon as the result is queued. The garbage collector
// would free them late, because it sees only their small handles.
type temps struct {
	from *Tensor // the tensor of the method, which is never released
	made []*Tensor
}

// of records a tensor that the method created, and returns it.
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

// withNumber applies a binary op to t and v, converted to t's type.
func (t *Tensor) withNumber(f func(a, b *Tensor) *Tensor, v float64) *Tensor {
	m := temps{from: t}
	return m.done(f(t, m.of(t.scalarOf(v))))
}

// withInt applies a binary op to t and v, converted to t's type. v need not be exact in float64.
func (t *Tensor) withInt(f func(a, b *Tensor) *Tensor, v int64) *Tensor {
	m := temps{from: t}
	return m.done(f(t, m.of(t.within().scalarInt(t.desc.DType, v))))
}
