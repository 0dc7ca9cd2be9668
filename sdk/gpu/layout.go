package gpu

import (
	"cmp"
	"slices"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/core/program/group"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/sdk/gpu/lower"
	"github.com/goburn/burn/sdk/gpu/template"
)

// Convolutions of libraries are fastest with channels last, that is with the channels of a pixel contiguous in memory. So in programs
// convolutions write their results with channels last. Groups that read such a tensor compute and write in that order too. If a group
// cannot, the tensor is copied for it. Types and shapes do not change, only strides.

// putsLast reports whether a program uses channels last. A program with a single convolution does not: in row-major order, the order of its
// operands and results, the convolution has the same bits as the node by itself. Neither does a program whose convolutions are all faster
// in generated kernels than in libraries.
func (b *builder) putsLast() bool {
	n, direct := 0, true
	for k := range b.g.Nodes {
		if b.g.Nodes[k].Op == op.Conv {
			n++
			direct = direct && b.direct(&group.Group{Anchor: k}, 0, shape.View{})
		}
	}
	return n > 1 && !direct
}

// last returns the order of axes that puts channels last: batch, spatial axes, channels.
func last(rank int) []int {
	axes := []int{0}
	for i := 2; i < rank; i++ {
		axes = append(axes, i)
	}
	return append(axes, 1)
}

// inverse returns the order that undoes an order of axes.
func inverse(axes []int) []int {
	back := make([]int, len(axes))
	for i, a := range axes {
		back[a] = i
	}
	return back
}

// lastView returns the view of shape s with channels last.
func lastView(s shape.Shape) shape.View {
	axes := last(len(s))
	v := shape.View{Shape: s, Strides: make([]int, len(s))}
	return shape.Contiguous(v.Permute(axes).Shape).Permute(inverse(axes))
}

// isLast reports whether a view has channels last, and is not row-major.
func isLast(v shape.View) bool {
	return len(v.Shape) > 2 && v.Offset == 0 && !v.IsContiguous() && slices.Min(v.Strides) >= 0 && v.Permute(last(len(v.Shape))).IsContiguous()
}

// ordered returns t with channels last, copied for group x if t has another layout.
func (b *builder) ordered(x *group.Group, d op.Desc, t tensor) (tensor, error) {
	if v := t.view.Permute(last(len(t.view.Shape))); v.Offset == 0 && v.IsContiguous() {
		return t, nil
	}
	return b.packed(x, d, t, last(len(d.Shape)))
}

// order returns the axes of a view without gaps in the order of their strides, the greatest stride first.
func order(v shape.View) []int {
	axes := make([]int, len(v.Shape))
	for i := range axes {
		axes[i] = i
	}
	slices.SortStableFunc(axes, func(i, k int) int { return cmp.Compare(v.Strides[k], v.Strides[i]) })
	return axes
}

// channelsLast creates the steps of a group in channels-last order. It returns false, and creates none, if no operand has that layout or
// the group cannot be computed in it.
func (b *builder) channelsLast(x *group.Group) (bool, error) {
	rank := 0
	for _, id := range x.Inputs {
		if t := b.at[id]; t.buffer != none && isLast(t.view) {
			rank = len(t.view.Shape)
		}
	}
	if rank == 0 || slices.ContainsFunc(x.Outputs, func(d op.Desc) bool { return slices.Contains(b.g.Users(d.ID), group.Outside) }) {
		return false, nil // results of the program are in row-major order
	}
	u := &relayout{b: b, rank: rank, p: &program.Program{Name: b.g.Name}, as: map[op.TensorID]bool{}}
	y := &group.Group{Kind: x.Kind, Anchor: group.None, At: x.At}
	for _, id := range x.Inputs {
		if b.at[id].buffer == none {
			k, _ := b.g.Maker(id)
			if !u.node(&b.g.Nodes[k], true) {
				return false, nil
			}
		}
	}
	for _, k := range x.Nodes() {
		at := len(u.p.Nodes)
		if !u.node(&b.g.Nodes[k], false) {
			return false, nil
		}
		switch {
		case k == x.Anchor:
			y.Anchor = at
		case slices.Contains(x.Prologue, k):
			y.Prologue = append(y.Prologue, at)
		default:
			y.Epilogue = append(y.Epilogue, at)
		}
	}
	return u.lower(x, y)
}

// relayout rewrites the nodes of a group for another order of axes.
type relayout struct {
	b    *builder
	rank int
	p    *program.Program
	as   map[op.TensorID]bool // by tensor of p: whether its axes are in the new order
	ids  []op.TensorID        // of the operands
}

// lower creates the steps of y, which is x in the new order. It returns false if the kernels do not support y.
func (u *relayout) lower(x, y *group.Group) (bool, error) {
	b := u.b
	var in, out []template.Operand
	var slots []arg
	y.Inputs = x.Inputs
	for _, id := range x.Inputs {
		t, d := b.at[id], b.g.Desc(id)
		v := t.view
		if u.as[id] {
			v = leading(v, u.rank).Permute(last(u.rank))
		}
		in = append(in, template.Operand{Type: d.DType, View: v})
		slots = append(slots, arg{buffer: t.buffer})
	}
	views := make([]shape.View, len(x.Outputs))
	for i, d := range x.Outputs {
		u.p.Outputs = append(u.p.Outputs, d.ID)
		views[i] = shape.Contiguous(d.Shape)
		v := views[i]
		if u.as[d.ID] {
			views[i] = lastView(d.Shape)
			v = views[i].Permute(last(u.rank))
		}
		y.Outputs = append(y.Outputs, op.Desc{ID: d.ID, DType: d.DType, Shape: v.Shape})
		out = append(out, template.Operand{Type: d.DType, View: v})
	}
	g := group.NewGraph(u.p)
	for i := range y.Inputs {
		if slots[i].buffer != none && !in[i].View.IsContiguous() && !lower.Strided(g, y, i) {
			return false, nil
		}
	}
	w, err := lower.Group(b.d.target, g, y, in, out)
	if err != nil {
		return false, nil //nolint:nilerr // the group is computed in the plain order, and fails there if it has to
	}
	for i, d := range x.Outputs {
		t := tensor{b.add(buffer{bytes: int64(d.Bytes())}), views[i]}
		b.at[d.ID] = t
		slots = append(slots, arg{buffer: t.buffer})
	}
	return true, b.work(x, w, slots, false)
}

// leading returns a view with dimensions of length one prepended up to rank, as in broadcasting.
func leading(v shape.View, rank int) shape.View {
	n := rank - len(v.Shape)
	if n <= 0 {
		return v
	}
	return shape.View{Shape: append(slices.Repeat(shape.Shape{1}, n), v.Shape...), Strides: append(make([]int, n), v.Strides...), Offset: v.Offset}
}

// desc returns the description of tensor id in the rewritten program. If turn is set, its axes are in the new order. desc returns false if
// the tensor is already in use with the other order.
func (u *relayout) desc(id op.TensorID, turn bool) (op.Desc, bool) {
	d := u.b.g.Desc(id)
	if was, known := u.as[id]; known {
		if was != turn {
			return d, false
		}
	} else {
		u.as[id] = turn
		if t, placed := u.b.at[id]; placed && t.buffer != none {
			defer func() { u.p.Inputs = append(u.p.Inputs, u.order(d, turn)) }()
		}
	}
	return u.order(d, turn), true
}

// order returns d, with its axes in the new order if turn is set.
func (u *relayout) order(d op.Desc, turn bool) op.Desc {
	if turn {
		d.Shape = leading(shape.Contiguous(d.Shape), u.rank).Permute(last(u.rank)).Shape
	}
	return d
}

// node rewrites a node, and reports whether that was possible. number says that the result is passed to kernels as a scalar.
func (u *relayout) node(n *op.Node, number bool) bool {
	if len(n.Outputs) != 1 {
		return false
	}
	out := n.Outputs[0]
	turn := len(out.Shape) == u.rank
	attrs, in, keeps := u.attrs(n)
	if !keeps || number && n.Op != op.Full {
		return false
	}
	if in != nil {
		turn = *in && turn
	}
	m := op.Node{Op: n.Op, Version: n.Version, Inputs: n.Inputs, Attrs: attrs}
	var descs []op.Desc
	for _, id := range n.Inputs {
		t := turn
		if in != nil {
			t = *in
		} else if !turn && len(u.b.g.Desc(id).Shape) >= u.rank {
			return false
		}
		d, ok := u.desc(id, t)
		if !ok {
			return false
		}
		descs = append(descs, d)
	}
	want := u.order(out, turn)
	m.Outputs = []op.Desc{want}
	if op.Check(&m, descs) != nil {
		return false
	}
	if number {
		u.as[out.ID] = turn
	} else if was, known := u.as[out.ID]; known && was != turn {
		return false
	}
	u.as[out.ID] = turn
	u.p.Nodes = append(u.p.Nodes, m)
	return true
}

// attrs returns the attributes of a node for the new order of axes. If in is not nil, it says whether the operands are in the new order;
// otherwise they are like the result.
func (u *relayout) attrs(n *op.Node) (attrs op.Attrs, in *bool, ok bool) {
	yes := true
	axes := last(u.rank)
	back := inverse(axes)
	attrs = slices.Clone(n.Attrs)
	set := func(a op.Attr) {
		for i := range attrs {
			if attrs[i].Name == a.Name {
				attrs[i] = a
			}
		}
	}
	list := func(name string) bool { // one entry for each axis
		v := n.Attrs.Ints(name)
		if len(v) != u.rank {
			return false
		}
		w := make([]int, u.rank)
		for i, a := range axes {
			w[i] = v[a]
		}
		set(op.Ints(name, w...))
		return true
	}
	reads := func() int { return len(u.b.g.Desc(n.Inputs[0]).Shape) }
	switch n.Op {
	case op.Expand, op.Full:
		if len(n.Outputs[0].Shape) == u.rank {
			return attrs, nil, list("shape")
		}
		return attrs, nil, true
	case op.Pad:
		return attrs, nil, list("lo") && list("hi")
	case op.Slice:
		return attrs, nil, list("start") && list("size") && list("step")
	case op.Concat:
		if len(n.Outputs[0].Shape) == u.rank {
			set(op.Int("axis", back[n.Attrs.Int("axis")]))
		}
		return attrs, nil, true
	case op.Sum, op.Prod, op.ReduceMax, op.ReduceMin, op.Mean:
		if reads() != u.rank {
			return attrs, nil, reads() < u.rank
		}
		return attrs, &yes, u.reduces(n, set, back)
	case op.WindowReduce, op.AvgPool:
		return attrs, nil, reads() == u.rank && u.windows(n, set)
	}
	return attrs, nil, op.Lookup(n.Op).Traits.Has(op.Elementwise) && op.Lookup(n.Op).Class != op.Custom
}

// reduces maps the axes of a reduction. It returns false if the result has axes whose order would change, unless keep_dims is set.
func (u *relayout) reduces(n *op.Node, set func(op.Attr), back []int) bool {
	old := n.Attrs.Ints("axes")
	axes := make([]int, len(old))
	for i, a := range old {
		axes[i] = back[a]
	}
	slices.Sort(axes)
	set(op.Ints("axes", axes...))
	if n.Attrs.Bool("keep_dims") {
		return true
	}
	var kept []int
	for _, a := range last(u.rank) {
		if !slices.Contains(old, a) {
			kept = append(kept, a)
		}
	}
	return slices.IsSorted(kept) && len(kept) < u.rank
}

// windows appends a last dimension, for the channels, to the windows of a pool.
func (u *relayout) windows(n *op.Node, set func(op.Attr)) bool {
	if len(n.Attrs.Ints("window")) != u.rank-2 || n.Attrs.Bool("indices") {
		return false
	}
	for name, v := range map[string]int{"window": 1, "strides": 1, "pad_lo": 0, "pad_hi": 0, "overhang": 0, "dilation": 1} {
		if old, has := n.Attrs.Get(name); has {
			set(op.Ints(name, append(slices.Clone(old.Ints()), v)...))
		}
	}
	return true
}
