package gpu

import (
	"fmt"
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/core/program/group"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/sdk/gpu/lower"
	"github.com/goburn/burn/sdk/gpu/template"
)

// Tensor cores load 16 bytes at a time. A product of 16-bit elements whose lines begin at other addresses, or whose dimensions along a line
// are no multiple of that, as those of logits of 50,257 words, runs at a sixth of the speed. The factors of large ones are therefore
// copied to larger matrices with zeros behind their elements, and results are written to longer lines: what reads them afterwards takes
// the strides.

const (
	lineUnit = 8  // elements of 16 bits in 16 bytes
	lineStep = 64 // padded dimensions are a multiple of that many elements
	// padMinimum is the number of multiplications of a product above which copies cost less than they save.
	padMinimum = 1 << 31
)

// padded returns a dimension that is a multiple of lineUnit: n itself if it is one.
func padded(n int) int {
	if n%lineUnit == 0 {
		return n
	}
	return (n + lineStep - 1) / lineStep * lineStep
}

// line returns the stride from line to line.
func (m *Matrix) line() *int {
	if m.Col == 1 {
		return &m.Row
	}
	return &m.Col
}

// lines returns a matrix of rows and cols as it is in memory, line by line.
func (m Matrix) lines(rows, cols, offset int) shape.View {
	if m.Col != 1 {
		rows, cols = cols, rows
	}
	return shape.View{Shape: shape.Of(rows, cols), Strides: []int{*m.line(), 1}, Offset: offset}
}

// offerPadded lets a large product of 16-bit elements read and write padded lines, if its own are not aligned and a library has candidates
// for that. Products outside of programs keep theirs: they run a few times, and their copies would take memory from what follows.
func (b *builder) offerPadded(x *group.Group, o *offered) ([]Candidate, error) {
	was := o.product
	p := *was
	least, small := padMinimum, p.A.Type.Size() == 2 && p.D.Type.Size() == 2
	if f := b.d.options.padFrom; f > 0 {
		least, small = f, true
	}
	if !b.folds || p.Batch != 1 || !small || p.M*p.N < least/p.K {
		return nil, nil
	}
	y := *o
	y.product = &p
	p.K = padded(p.K)
	if o.bias == 0 && o.residual == 0 && len(o.out.Shape) > 1 && o.view.IsContiguous() { // these have lines of their own
		p.N = padded(p.N)
		p.D.Row = p.N
		y.view = rowsOf(o.out.Shape, p.N)
	}
	factors := []struct {
		m, to *Matrix
		from  shape.View
		shape shape.Shape
	}{{&was.A, &p.A, was.A.lines(was.M, was.K, o.from[0].view.Offset), p.A.lines(p.M, p.K, 0).Shape},
		{&was.B, &p.B, was.B.lines(was.K, was.N, o.from[1].view.Offset), p.B.lines(p.K, p.N, 0).Shape}}
	copies := 0
	for i := range factors {
		f := &factors[i]
		if *f.m.line()%lineUnit == 0 && f.shape.Equal(f.from.Shape) {
			f.shape = nil
			continue
		}
		f.shape[1] = padded(f.shape[1])
		*f.to.line() = f.shape[1]
		copies++
	}
	if copies == 0 && p == *was {
		return nil, nil
	}
	cs := b.candidates(&y)
	if len(cs) == 0 {
		return nil, nil
	}
	y.from = slices.Clone(o.from)
	for i, f := range factors {
		if f.shape == nil {
			continue
		}
		var err error
		if y.from[i], err = b.padded(x, f.m.Type, tensor{o.from[i].buffer, f.from}, f.shape); err != nil {
			return nil, err
		}
	}
	*o = y
	return cs, nil
}

// rowsOf returns a view of shape s in row-major order, with rows that begin every so many elements.
func rowsOf(s shape.Shape, row int) shape.View {
	v := shape.Contiguous(s)
	v.Strides = slices.Clone(v.Strides)
	for i, n := len(s)-2, row; i >= 0; i-- {
		v.Strides[i] = n
		n *= s[i]
	}
	return v
}

// padded returns a copy of a matrix with zeros behind its rows and columns, made once.
func (b *builder) padded(x *group.Group, d dtype.DType, from tensor, to shape.Shape) (tensor, error) {
	key := packing{from.buffer, fmt.Sprint(d, from.view, to)}
	if t, done := b.copies[key]; done {
		return t, nil
	}
	kind := isTemp
	if k := b.buffers[from.buffer].kind; b.folds && (k == isConstant || k == isEarly) {
		kind = isEarly
	}
	in := op.Desc{ID: 1, DType: d, Shape: from.view.Shape}
	n, err := op.New(op.Pad, []op.Desc{in}, op.Ints("lo", 0, 0), op.Ints("hi", to[0]-in.Shape[0], to[1]-in.Shape[1]))
	if err != nil {
		return from, err
	}
	n.Inputs, n.Outputs[0].ID = []op.TensorID{1}, 2
	g := group.NewGraph(&program.Program{Inputs: []op.Desc{in}, Nodes: []op.Node{n}, Outputs: []op.TensorID{2}})
	t := tensor{b.add(buffer{kind: kind, bytes: int64(to.Size() * d.Size())}), shape.Contiguous(to)}
	w, err := lower.Group(b.d.target, g, g.Decide(group.Policy{})[0], []template.Operand{{Type: d, View: from.view}}, []template.Operand{{Type: d, View: t.view}})
	if err != nil {
		return from, err
	}
	if err := b.work(x, w, []arg{{buffer: from.buffer}, {buffer: t.buffer}}, kind == isEarly); err != nil {
		return from, err
	}
	if b.copies == nil {
		b.copies = map[packing]tensor{}
	}
	b.copies[key] = t
	return t, nil
}

// written returns the bytes of the result in its buffer, which padding is part of.
func (o *offered) written() int64 {
	n := extent(o.view)
	if p := o.product; p != nil && p.Batch == 1 {
		n = max(n, int64(p.M*p.D.Row))
	}
	return n * int64(o.out.DType.Size())
}

// extent returns the number of elements from the first one of a view to the last one of it, gaps included.
func extent(v shape.View) int64 {
	n := int64(1)
	for i, k := range v.Shape {
		n += int64(k-1) * int64(max(v.Strides[i], -v.Strides[i]))
	}
	return n
}
