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

// Tensor cores load 16 bytes at a time. A product of 16-bit elements runs at a sixth of the speed if its lines do not begin at multiples of
// 16 bytes, or if its dimensions along a line are not a multiple of 16 bytes, as with logits of 50,257 words. The factors of large products
// are therefore copied to larger matrices with zeros behind their elements. Results are written to longer lines, with strides that all
// later readers accept.

const (
	lineUnit = 8  // elements of 16 bits in 16 bytes
	lineStep = 64 // padded dimensions are a multiple of this number of elements
	// padMinimum is the number of multiplications of a product above which copies cost less than they save.
	padMinimum = 1 << 31
)

// padded returns n if it is a multiple of lineUnit, and otherwise n rounded up to a multiple of lineStep.
func padded(n int) int {
	if n%lineUnit == 0 {
		return n
	}
	return (n + lineStep - 1) / lineStep * lineStep
}

// line returns the field that holds the stride from line to line.
func (m *Matrix) line() *int {
	if m.Col == 1 {
		return &m.Row
	}
	return &m.Col
}

// lines returns the view of a matrix of rows and cols in the order of memory: its first dimension counts the lines.
func (m Matrix) lines(rows, cols, offset int) shape.View {
	if m.Col != 1 {
		rows, cols = cols, rows
	}
	return shape.View{Shape: shape.Of(rows, cols), Strides: []int{*m.line(), 1}, Offset: offset}
}

// offerPadded lets a large product of 16-bit elements read and write padded lines, if its own lines are not aligned and a library has
// candidates for padded lines. Products outside of programs keep their own lines: they run only a few times, and their copies would take
// memory from later work.
func (b *builder) offerPadded(x *group.Group, o *offered) ([]Candidate, error) {
	was := o.product
	p := *was
	if !b.folds || p.Batch != 1 || p.A.Type != p.D.Type || !b.pads(p.A.Type, p.M*p.N, p.K) {
		return nil, nil
	}
	y := *o
	y.product = &p
	p.K = padded(p.K)
	if o.bias == 0 && o.residual == 0 && len(o.out.Shape) > 1 && o.view.IsContiguous() { // bias and residual have their own lines
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
		line := *f.m.line()
		zeros := f.from.Offset == 0 && b.zeros[o.from[i].buffer] == line && f.shape[0] == f.from.Shape[0] && f.shape[1] <= line
		if line%lineUnit == 0 && (zeros || f.shape.Equal(f.from.Shape)) {
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

// rowsOf returns a view of shape s in row-major order, in which the beginnings of neighbouring rows are row elements apart.
func rowsOf(s shape.Shape, row int) shape.View {
	v := shape.Contiguous(s)
	v.Strides = slices.Clone(v.Strides)
	for i, n := len(s)-2, row; i >= 0; i-- {
		v.Strides[i] = n
		n *= s[i]
	}
	return v
}

// padded returns a copy of a matrix with zeros behind its rows and columns. Later calls for the same matrix and shape return the same copy.
func (b *builder) padded(x *group.Group, d dtype.DType, from tensor, to shape.Shape) (tensor, error) {
	key := packing{from.buffer, fmt.Sprint(d, from.view, to)}
	if t, done := b.copies[key]; done {
		return t, nil
	}
	if !from.view.IsContiguous() {
		var err error
		if from, err = b.packed(x, op.Desc{DType: d, Shape: from.view.Shape}, from, nil); err != nil {
			return from, err
		}
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

// bytes returns the size of the result in its buffer, including padding.
func (o *offered) bytes() int64 {
	n := extent(o.view)
	if p := o.product; p != nil && p.Batch == 1 {
		n = max(n, int64(p.M*p.D.Row))
	}
	return n * int64(o.out.DType.Size())
}

// extent returns the number of elements from the first to the last element of a view in memory, including gaps.
func extent(v shape.View) int64 {
	n := int64(1)
	for i, k := range v.Shape {
		n += int64(k-1) * int64(max(v.Strides[i], -v.Strides[i]))
	}
	return n
}

// pads reports whether a product with that many results, each a sum of that many terms, is large enough for padded lines.
func (b *builder) pads(d dtype.DType, results, terms int) bool {
	if f := b.d.options.padFrom; f > 0 {
		return results >= f/terms
	}
	return d.Size() == 2 && results >= padMinimum/terms
}

// written returns the view in which a generated kernel writes d. The view has padded lines if only large products read d and would
// otherwise copy it to such lines.
func (b *builder) written(x *group.Group, d op.Desc, k kind) tensor {
	t := contiguous(none, d)
	if _, placed := b.placed[d.ID]; placed || k != isTemp || !b.folds || b.own || len(b.d.libraries) == 0 || len(d.Shape) != 2 || x.Kind != group.Elementwise && x.Kind != group.Norm {
		return t
	}
	if n := padded(d.Shape[1]); n != d.Shape[1] && padded(d.Shape[0]) == d.Shape[0] && b.factorOnly(d.ID) {
		t.view = rowsOf(d.Shape, n)
	}
	return t
}

// factorOnly reports whether only large products read a matrix, as it is or as a view with the same lines.
func (b *builder) factorOnly(id op.TensorID) bool {
	d, users := b.g.Desc(id), b.g.Users(id)
	for _, u := range users {
		if u == group.Outside {
			return false
		}
		switch n := &b.g.Nodes[u]; n.Op {
		case op.Reshape:
			y := n.Outputs[0]
			if b.of[u].Kind != group.Single || len(y.Shape) < 2 || y.Shape[len(y.Shape)-1] != d.Shape[len(d.Shape)-1] || !b.factorOnly(y.ID) {
				return false
			}
		case op.MatMul:
			y, terms := n.Outputs[0], d.Shape[len(d.Shape)-1]
			if n.Inputs[0] == id && n.Attrs.Bool("transpose_a") || n.Inputs[1] == id && !n.Attrs.Bool("transpose_b") {
				terms = d.Shape[len(d.Shape)-2]
			}
			if len(d.Shape) != 2 || len(y.Shape) != 2 || y.DType != d.DType || b.of[u].Anchor != u || !b.pads(d.DType, y.Shape.Size(), terms) {
				return false
			}
			for _, k := range b.of[u].Epilogue {
				if slices.Contains(b.g.Nodes[k].Inputs, id) {
					return false
				}
			}
		default:
			return false
		}
	}
	return len(users) > 0
}

// zeroed adds memory for d, with padded lines as in view, and a launch that writes zeros behind the elements of each line.
func (b *builder) zeroed(x *group.Group, d op.Desc, view shape.View) (tensor, error) {
	rows, cols, line := d.Shape[0], d.Shape[1], view.Strides[0]
	t := tensor{b.add(buffer{bytes: int64(rows * line * d.DType.Size())}), view}
	n, err := op.New(op.Full, nil, op.Type("dtype", d.DType), op.Ints("shape", rows, line-cols), op.ScalarFloat("value", 0))
	if err != nil {
		return t, err
	}
	n.Outputs[0].ID = 1
	g := group.NewGraph(&program.Program{Nodes: []op.Node{n}, Outputs: []op.TensorID{1}})
	rest := shape.View{Shape: shape.Of(rows, line-cols), Strides: []int{line, 1}, Offset: cols}
	w, err := lower.Group(b.d.target, g, g.Decide(group.Policy{})[0], nil, []template.Operand{{Type: d.DType, View: rest}})
	if err != nil {
		return t, err
	}
	if b.zeros == nil {
		b.zeros = map[int]int{}
	}
	b.zeros[t.buffer] = line
	return t, b.work(x, w, []arg{{buffer: t.buffer}}, false)
}
