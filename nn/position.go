package nn

import (
	"math"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/tensor"
)

// PositionConfig holds the settings of positional encodings.
type PositionConfig struct {
	MaxLength   int                             // number of positions; 0 means 5000
	Base        float64                         // base of the geometric sequence of wavelengths; 0 means 10000
	Interleaved bool                            // for RotaryEncoding: pairs are neighbours instead of elements half the size apart
	Scale       func(frequency float64) float64 // returns the new value of a frequency, in radians per position; nil keeps all
}

// PositionalEncoding adds sines and cosines of the position p to x[B, S, size]: sin(p/base^(2i/size)) to element 2i, and the cosine of the
// same angle to element 2i+1 (Vaswani and others 2017).
type PositionalEncoding struct{ Table *Param }

// NewPositionalEncoding returns a table for size features; size must be even.
func NewPositionalEncoding(d *tensor.Device, size int, c PositionConfig) *PositionalEncoding {
	n := or(c.MaxLength, 5000)
	angles := c.angles("positional_encoding", size, n)
	table := make([]float32, 0, n*size)
	for _, a := range angles {
		s, c := math.Sincos(a)
		table = append(table, float32(s), float32(c))
	}
	return &PositionalEncoding{NewDerived(tensor.From(d, table, n, size))}
}

// angles returns position times frequency, [n, size/2] in row-major order.
func (c PositionConfig) angles(name string, size, n int) []float64 {
	if positive(name, n, size); size%2 != 0 {
		fail("%s: %d features, want an even number: %w", name, size, core.ErrShape)
	}
	base := or(c.Base, 10000)
	out := make([]float64, 0, n*size/2)
	for p := range n {
		for i := range size / 2 {
			f := math.Pow(base, -2*float64(i)/float64(size))
			if c.Scale != nil {
				f = c.Scale(f)
			}
			out = append(out, float64(p)*f)
		}
	}
	return out
}

// Forward adds the encoding of positions 0, 1, ...
func (l *PositionalEncoding) Forward(x *tensor.Tensor) *tensor.Tensor { return l.From(x, 0) }

// From adds the encoding of positions first, first+1, ...
func (l *PositionalEncoding) From(x *tensor.Tensor, first int) *tensor.Tensor {
	m := keeping(x, l.Table.Value())
	return m.done(x.Add(m.of(rows(m, "positional_encoding", l.Table, x, first))))
}

// rows returns the rows of a table for x[..., S, D] starting at first, in x's type.
func rows(m *temps, name string, table *Param, x *tensor.Tensor, first int) *tensor.Tensor {
	have := table.Shape()[0]
	if x.Rank() < 2 {
		fail("%s: %v, want [..., S, size]: %w", name, x.Desc(), core.ErrShape)
	}
	n := x.Shape()[x.Rank()-2]
	if first < 0 || first+n > have {
		fail("%s: positions %d to %d, want them below %d: make the encoding with a greater MaxLength: %w", name, first, first+n, have, core.ErrShape)
	}
	return m.of(m.of(table.Value().Narrow(0, first, n)).Cast(x.DType()))
}

// RotaryEncoding rotates pairs of features of queries and keys [..., S, size] by angles proportional to the position (Su and
// others 2021).
type RotaryEncoding struct {
	Cos, Sin    *Param // [positions, size/2]
	Interleaved bool
}

// NewRotaryEncoding returns angles for size features of a head; size must be even.
func NewRotaryEncoding(d *tensor.Device, size int, c PositionConfig) *RotaryEncoding {
	n := or(c.MaxLength, 5000)
	angles := c.angles("rotary_encoding", size, n)
	cos, sin := make([]float32, len(angles)), make([]float32, len(angles))
	for i, a := range angles {
		s, c := math.Sincos(a)
		cos[i], sin[i] = float32(c), float32(s)
	}
	return &RotaryEncoding{NewDerived(tensor.From(d, cos, n, size/2)), NewDerived(tensor.From(d, sin, n, size/2)), c.Interleaved}
}

// Forward rotates x by positions 0, 1, ...
func (l *RotaryEncoding) Forward(x *tensor.Tensor) *tensor.Tensor { return l.From(x, 0) }

// From rotates x by positions first, first+1, ...
func (l *RotaryEncoding) From(x *tensor.Tensor, first int) *tensor.Tensor {
	m := keeping(x, l.Cos.Value(), l.Sin.Value())
	return m.done(x.RotaryEmbedding(rows(m, "rotary_encoding", l.Cos, x, first), rows(m, "rotary_encoding", l.Sin, x, first), l.Interleaved))
}
