package gpu

import (
	"fmt"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program/group"
	"github.com/goburn/burn/core/shape"
)

// Tensor cores load 16 bytes at a time. A matrix of 16-bit elements whose lines begin at other addresses, as those of logits of 50,257
// words do, is multiplied at a sixth of the speed. Large ones are therefore copied to lines that are padded, and results are written to
// such lines: what reads them afterwards takes the strides.

const (
	lineUnit = 8  // elements of 16 bits in 16 bytes
	lineStep = 64 // padded lines are a multiple of that many elements
	// padMinimum is the number of multiplications of a product above which copies cost less than they save.
	padMinimum = 1 << 31
)

// pad makes the lines of a matrix begin at multiples of 16 bytes, and reports whether they did not.
func (m *Matrix) pad() bool {
	line := &m.Row
	if m.Col != 1 {
		line = &m.Col
	}
	if *line%lineUnit == 0 {
		return false
	}
	*line = (*line + lineStep - 1) / lineStep * lineStep
	return true
}

// lines returns a matrix of rows and cols as it is in memory, line by line.
func (m Matrix) lines(rows, cols, offset int) shape.View {
	if m.Col == 1 {
		return shape.View{Shape: shape.Of(rows, cols), Strides: []int{m.Row, 1}, Offset: offset}
	}
	return shape.View{Shape: shape.Of(cols, rows), Strides: []int{m.Col, 1}, Offset: offset}
}

// offerPadded lets a large product of 16-bit elements read and write padded lines, if its own are not aligned and a library has candidates
// for that.
func (b *builder) offerPadded(x *group.Group, o *offered) ([]Candidate, error) {
	was := o.product
	p := *was
	least, small := padMinimum, p.A.Type.Size() == 2 && p.D.Type.Size() == 2
	if f := b.d.options.padFrom; f > 0 {
		least, small = f, true
	}
	if p.Batch != 1 || !small || p.M*p.N < least/p.K {
		return nil, nil
	}
	y := *o
	y.product = &p
	padA, padB := p.A.pad(), p.B.pad()
	padD := o.residual == 0 && len(o.out.Shape) > 1 && o.view.IsContiguous() && p.D.pad()
	if !padA && !padB && !padD {
		return nil, nil
	}
	if padD {
		y.view = rowsOf(o.out.Shape, p.D.Row)
	}
	cs := b.candidates(&y)
	if len(cs) == 0 {
		return nil, nil
	}
	y.from = append([]tensor(nil), o.from...)
	for i, m := range []struct {
		pad        bool
		from, to   Matrix
		rows, cols int
	}{{padA, was.A, p.A, p.M, p.K}, {padB, was.B, p.B, p.K, p.N}} {
		if !m.pad {
			continue
		}
		t, err := b.padded(x, m.from.Type, tensor{o.from[i].buffer, m.from.lines(m.rows, m.cols, o.from[i].view.Offset)}, m.to.lines(m.rows, m.cols, 0))
		if err != nil {
			return nil, err
		}
		y.from[i] = t
	}
	*o = y
	return cs, nil
}

// rowsOf returns a view of shape s in row-major order, with rows that begin every so many elements.
func rowsOf(s shape.Shape, row int) shape.View {
	v := shape.Contiguous(s)
	v.Strides = append([]int(nil), v.Strides...)
	for i, n := len(s)-2, row; i >= 0; i-- {
		v.Strides[i] = n
		n *= s[i]
	}
	return v
}

// padded returns a copy of lines with the layout of view to, made once.
func (b *builder) padded(x *group.Group, d dtype.DType, from tensor, to shape.View) (tensor, error) {
	key := packing{from.buffer, fmt.Sprint(d, from.view, to)}
	if t, done := b.copies[key]; done {
		return t, nil
	}
	kind := isTemp
	if k := b.buffers[from.buffer].kind; b.folds && (k == isConstant || k == isEarly) {
		kind = isEarly
	}
	t := tensor{b.add(buffer{kind: kind, bytes: extent(to) * int64(d.Size())}), to}
	if err := b.copyTo(x, op.Desc{DType: d, Shape: to.Shape}, from, t); err != nil {
		return t, err
	}
	if b.copies == nil {
		b.copies = map[packing]tensor{}
	}
	b.copies[key] = t
	return t, nil
}

// extent returns the number of elements from the first one of a view to the last one of it, gaps included.
func extent(v shape.View) int64 {
	n := int64(1)
	for i, k := range v.Shape {
		n += int64(k-1) * int64(max(v.Strides[i], -v.Strides[i]))
	}
	return n
}
