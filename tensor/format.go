package tensor

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
)

// PrintOptions holds the settings for printing a tensor. The zero value means the defaults.
type PrintOptions struct {
	Precision int      // digits after the decimal point of floats; 0 means 4, negative means none
	EdgeItems int      // elements shown at each end of a long dimension; 0 means 3
	Threshold int      // number of elements above which a tensor is shortened; 0 means 1000, negative means never
	Notation  Notation // notation of floats
}

// Notation is the notation of floats.
type Notation int

// The notations. Auto is Scientific if the range of the elements requires it, else Fixed.
const (
	Auto Notation = iota
	Fixed
	Scientific
)

var defaultPrint atomic.Pointer[PrintOptions]

// SetPrintOptions sets the options of String in the whole program. It is safe for concurrent use.
func SetPrintOptions(o PrintOptions) { defaultPrint.Store(&o) }

// String waits for the tensor and formats it with the options of SetPrintOptions; an error replaces the elements.
func (t *Tensor) String() string {
	var o PrintOptions
	if p := defaultPrint.Load(); p != nil {
		o = *p
	}
	s, err := t.Format(context.Background(), o)
	if err != nil {
		return fmt.Sprintf("tensor(%v, device=%s, error=%q)", t.desc, t.queue, err)
	}
	return s
}

// Format waits for the tensor and formats its elements, shape, type and device.
func (t *Tensor) Format(ctx context.Context, o PrintOptions) (string, error) {
	b, err := t.Bytes(ctx)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("tensor(%s, shape=%v, dtype=%v, device=%s)", Elements(t.desc.DType, t.desc.Shape, b, o), t.desc.Shape,
		t.desc.DType, t.queue), nil
}

// Elements formats elements without the shape, type and device: in nested brackets and aligned columns, with long dimensions
// shortened to their ends. data has the format of Tensor.Bytes.
func Elements(d dtype.DType, s shape.Shape, data []byte, o PrintOptions) string {
	switch {
	case o.Precision == 0:
		o.Precision = 4
	case o.Precision < 0:
		o.Precision = 0
	}
	if o.EdgeItems == 0 {
		o.EdgeItems = 3
	}
	switch {
	case o.Threshold == 0:
		o.Threshold = 1000
	case o.Threshold < 0:
		o.Threshold = math.MaxInt
	}
	p := printer{shape: s, strides: s.Strides(), edge: o.EdgeItems, short: s.Size() > o.Threshold, at: texts(d, data, o)}
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

// shown returns the positions of a dimension of length n that are printed; -1 marks the gap.
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

// texts returns a function that formats single elements. If all floats are integers they are written without digits after the
// point; otherwise they have a fixed number of digits. They have exponents if the notation or the range requires it.
func texts(d dtype.DType, data []byte, o PrintOptions) func(i int) string {
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
	format, digits := byte('f'), o.Precision
	switch {
	case o.Notation == Scientific:
		format = 'e'
	case o.Notation == Fixed && !whole:
	case o.Notation == Auto && (most >= 1e8 || !whole && (least < 1e-4 || most/least > 1e5 && most >= 1e4)):
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
