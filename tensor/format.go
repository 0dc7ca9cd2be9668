package tensor

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
)

// PrintOptions say how much of a tensor is printed. The zero value stands for the defaults.
type PrintOptions struct {
	Precision int // digits after the point of floats, 4
	EdgeItems int // elements shown at each end of a long dimension, 3
	Threshold int // tensors of more elements are shortened, 1000
}

// String waits for the tensor and prints it with the default options; a fault is printed in place of the elements.
func (t *Tensor) String() string {
	s, err := t.Format(context.Background(), PrintOptions{})
	if err != nil {
		return fmt.Sprintf("tensor(%v, device=%s, error=%q)", t.desc, t.dev, err)
	}
	return s
}

// Format waits for the tensor and prints elements, shape, type and device.
func (t *Tensor) Format(ctx context.Context, o PrintOptions) (string, error) {
	b, err := t.Bytes(ctx)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("tensor(%s, shape=%v, dtype=%v, device=%s)", Elements(t.desc.DType, t.desc.Shape, b, o), t.desc.Shape,
		t.desc.DType, t.dev), nil
}

// Elements prints the elements alone: nested brackets, columns aligned, long dimensions shortened to their ends. data
// has the format of Tensor.Bytes.
func Elements(d dtype.DType, s shape.Shape, data []byte, o PrintOptions) string {
	if o.Precision == 0 {
		o.Precision = 4
	}
	if o.EdgeItems == 0 {
		o.EdgeItems = 3
	}
	if o.Threshold == 0 {
		o.Threshold = 1000
	}
	p := printer{shape: s, strides: s.Strides(), edge: o.EdgeItems, short: s.Size() > o.Threshold, at: texts(d, data, o.Precision)}
	p.measure(0, 0)
	p.write(0, 0, len("tensor("))
	return p.out.String()
}

type printer struct {
	shape   shape.Shape
	strides []int
	edge    int
	short   bool
	at      func(i int) string
	width   int
	out     strings.Builder
}

// shown lists the positions of a dimension that are printed; -1 stands for the gap.
func (p *printer) shown(n int) []int {
	var is []int
	for i := range n {
		if p.short && n > 2*p.edge && i >= p.edge && i < n-p.edge {
			if i == p.edge {
				is = append(is, -1)
			}
			continue
		}
		is = append(is, i)
	}
	return is
}

func (p *printer) measure(dim, pos int) {
	if dim == len(p.shape) {
		p.width = max(p.width, len(p.at(pos)))
		return
	}
	for _, i := range p.shown(p.shape[dim]) {
		if i >= 0 {
			p.measure(dim+1, pos+i*p.strides[dim])
		}
	}
}

func (p *printer) write(dim, pos, indent int) {
	if dim == len(p.shape) {
		text := p.at(pos)
		if dim > 0 {
			p.out.WriteString(strings.Repeat(" ", p.width-len(text)))
		}
		p.out.WriteString(text)
		return
	}
	p.out.WriteByte('[')
	inner := len(p.shape) - dim - 1 // dimensions below
	for k, i := range p.shown(p.shape[dim]) {
		if k > 0 {
			p.out.WriteByte(',')
			if inner > 0 {
				p.out.WriteString(strings.Repeat("\n", inner) + strings.Repeat(" ", indent+dim+1))
			} else {
				p.out.WriteByte(' ')
			}
		}
		if i < 0 {
			p.out.WriteString("...")
		} else {
			p.write(dim+1, pos+i*p.strides[dim], indent)
		}
	}
	p.out.WriteByte(']')
}

// texts prints single elements. Floats that are all whole are printed with a bare point, others with a fixed number of
// digits, or with exponents when their range asks for it.
func texts(d dtype.DType, data []byte, precision int) func(i int) string {
	switch d {
	case dtype.Bool:
		return func(i int) string { return strconv.FormatBool(data[i] != 0) }
	case dtype.U64:
		v := dtype.Slice[uint64](data)
		return func(i int) string { return strconv.FormatUint(v[i], 10) }
	}
	if !d.IsFloat() && !dtype.SmallFloats.Has(d) {
		v := Int64s(d, data)
		return func(i int) string { return strconv.FormatInt(v[i], 10) }
	}
	v := Float64s(d, data)
	whole, least, most := true, math.Inf(1), 0.0
	for _, f := range v {
		if math.IsNaN(f) || math.IsInf(f, 0) {
			continue
		}
		whole = whole && f == math.Trunc(f)
		if a := math.Abs(f); a != 0 {
			least, most = min(least, a), max(most, a)
		}
	}
	format, digits := byte('f'), precision
	switch {
	case most >= 1e8 || !whole && (least < 1e-4 || most/least > 1e5 && most >= 1e4):
		format = 'e'
	case whole:
		digits = 0
	}
	return func(i int) string {
		switch f := v[i]; {
		case math.IsNaN(f):
			return "nan"
		case math.IsInf(f, 1):
			return "inf"
		case math.IsInf(f, -1):
			return "-inf"
		default:
			s := strconv.FormatFloat(f, format, digits, 64)
			if format == 'f' && digits == 0 {
				s += "."
			}
			return s
		}
	}
}

// Float64s widens elements of any type, in the format of Tensor.Bytes. 64-bit integers may lose low bits.
func Float64s(d dtype.DType, data []byte) []float64 {
	switch d {
	case dtype.F64:
		return dtype.Slice[float64](data)
	case dtype.F32:
		return widen(dtype.Slice[float32](data), func(v float32) float64 { return float64(v) })
	case dtype.F16:
		return widen(dtype.Slice[dtype.Float16](data), func(v dtype.Float16) float64 { return float64(v.Float32()) })
	case dtype.BF16:
		return widen(dtype.Slice[dtype.BFloat16](data), func(v dtype.BFloat16) float64 { return float64(v.Float32()) })
	case dtype.U64:
		return widen(dtype.Slice[uint64](data), func(v uint64) float64 { return float64(v) })
	}
	if dtype.Smalls.Has(d) {
		v := make([]float32, len(data))
		dtype.FromSmall(d, data, v)
		return widen(v, func(v float32) float64 { return float64(v) })
	}
	return widen(Int64s(d, data), func(v int64) float64 { return float64(v) })
}

// Int64s widens integer and bool elements, in the format of Tensor.Bytes; u64 keeps its bits, floats of 8 and 4 bits give
// their codes, other floats nil.
func Int64s(d dtype.DType, data []byte) []int64 {
	switch d {
	case dtype.I64, dtype.U64:
		return dtype.Slice[int64](data)
	case dtype.I32:
		return widen(dtype.Slice[int32](data), func(v int32) int64 { return int64(v) })
	case dtype.I16:
		return widen(dtype.Slice[int16](data), func(v int16) int64 { return int64(v) })
	case dtype.I8:
		return widen(dtype.Slice[int8](data), func(v int8) int64 { return int64(v) })
	case dtype.U32:
		return widen(dtype.Slice[uint32](data), func(v uint32) int64 { return int64(v) })
	case dtype.U16:
		return widen(dtype.Slice[uint16](data), func(v uint16) int64 { return int64(v) })
	case dtype.I4, dtype.I2:
		return widen(data, func(v byte) int64 { return int64(int8(v)) })
	}
	if d.IsFloat() {
		return nil
	}
	return widen(data, func(v byte) int64 { return int64(v) })
}

func widen[S, D any](in []S, f func(S) D) []D {
	out := make([]D, len(in))
	for i, v := range in {
		out[i] = f(v)
	}
	return out
}
