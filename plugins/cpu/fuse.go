package cpu

import (
	"math"
	"slices"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program/group"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/cpu/internal/contraction"
	"github.com/goburn/burn/plugins/cpu/internal/elementwise"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
	"github.com/goburn/burn/plugins/cpu/internal/recurrent"
)

// fuse returns the units of the nodes in execution order. It groups nodes that one kernel can compute. A product or convolution is fused with a
// following bias, addition of a tensor of its shape, and clamp. A convolution with constant weights is also fused with a batch
// normalisation with constant parameters. Constant weights are packed. A product or convolution of bytes is fused with the dequantization
// and quantization of its sums. An addition of dequantized bytes whose sum is quantized is one unit. Elementwise nodes that feed each other
// become one unit. Inputs of a concatenation are written directly into its result.
func (b *builder) fuse() ([]unit, error) {
	p := *b.p
	p.Nodes, p.Consts = b.nodes, nil
	for id := range b.consts {
		p.Consts = append(p.Consts, b.descs[id])
	}
	g := group.NewGraph(&p)
	made := map[int]unit{} // by the index of the group
	keep := func(x *group.Group, u unit) bool {
		if u.run == nil {
			return false
		}
		made[x.At] = u
		return true
	}
	groups := g.Decide(group.Policy{
		Limits:      group.Limits{Nodes: elementwise.MaxLinks, Inputs: elementwise.MaxInputs, Outputs: 1},
		Kinds:       group.Of(group.Elementwise),
		Elementwise: func(g *group.Graph, k int) bool { return elementwise.Links(&g.Nodes[k], g.In(&g.Nodes[k])) },
		Accept:      func(g *group.Graph, x *group.Group) bool { return keep(x, chain(g, x)) },
		Anchor: func(g *group.Graph, i int) group.Taker {
			if f := b.fusing(g, i); f != nil {
				return taker{f, keep}
			}
			return nil
		},
	})
	units := make([]unit, len(groups))
	for i, x := range groups {
		u, ok := made[x.At]
		if !ok {
			n := &b.nodes[x.Anchor]
			f, err := b.kernel(n)
			if err != nil {
				return nil, err
			}
			u = unit{node: n, inputs: n.Inputs, desc: n.Outputs, run: f}
		}
		for _, k := range x.Nodes() {
			u.all = append(u.all, &b.nodes[k])
		}
		units[i] = u
	}
	return b.join(units, g.Placements(groups, func(x *group.Group) bool { return writesAnywhere(g, x) })), nil
}

// fusing is a kernel that is being fused with further nodes.
type fusing interface {
	// Take implements group.Taker.
	Take(k int) (also []int, ok bool)
	// unit returns the unit of the nodes taken. Its kernel is nil if ordinary kernels are to compute them.
	unit(x *group.Group) unit
}

// fusing returns a fusing kernel that begins with node i, or nil if none does.
func (b *builder) fusing(g *group.Graph, i int) fusing {
	switch g.Nodes[i].Op {
	case op.MatMul, op.Linear, op.Conv:
		if c := b.contractor(i); c != nil {
			return c
		}
	case op.MatMulInteger, op.ConvInteger:
		return b.integerFusion(i)
	case op.Dequantize:
		if a := b.byteSum(g, i); a != nil {
			return a
		}
	}
	return nil
}

// taker passes the unit of a fusing kernel to keep.
type taker struct {
	fusing
	keep func(x *group.Group, u unit) bool
}

// Accept implements group.Taker.
func (t taker) Accept(x *group.Group) bool { return t.keep(x, t.unit(x)) }

// kernel returns the kernel of a single node. Recurrent layers keep packed copies of constant weights.
func (b *builder) kernel(n *op.Node) (kernel.Func, error) {
	in := b.inputs(n)
	if (n.Op == op.LSTM || n.Op == op.GRU) && !kernel.IsHalf(in[0].DType) {
		fixed := make([]bool, len(n.Inputs))
		for i, id := range n.Inputs {
			if _, fixed[i] = b.consts[id]; fixed[i] && i < 3 {
				b.packed += int64(in[i].Bytes())
			}
		}
		return recurrent.Prepare(n, in, fixed), nil
	}
	return prepare(n, in)
}

// contractor fuses a product or convolution with further nodes.
type contractor struct {
	builder *builder
	n       *op.Node
	x       op.TensorID
	weight  op.TensorID
	w       *kernel.Array // the weight, if it is a constant to pack
	sum     op.TensorID   // addend; 0: none
	bias    op.TensorID   // 0: none
	b       *kernel.Array // a constant bias, of one element per channel
	fusion  contraction.Fusion
	desc    []op.Desc
	folded  bool // b is not a constant of the program, but computed from constants of it
}

// contractor returns a contractor that begins with node i, a product or convolution. It returns nil for nodes that ordinary
// kernels compute.
func (b *builder) contractor(i int) *contractor {
	n := &b.nodes[i]
	in := b.inputs(n)
	if kernel.IsHalf(in[0].DType) && n.Op == op.Conv {
		return nil
	}
	c := &contractor{builder: b, n: n, x: n.Inputs[0], weight: n.Inputs[1], desc: n.Outputs}
	if a, ok := b.consts[c.weight]; ok {
		if contraction.Packs(n, in) {
			c.w = &a
		} else {
			b.spread(c.weight, a)
		}
	}
	if len(n.Inputs) > 2 {
		c.setBias(n.Inputs[2])
	}
	return c
}

// Take implements group.Taker.
func (c *contractor) Take(k int) (also []int, ok bool) {
	n := &c.builder.nodes[k]
	if c.fusion.Clamp || !c.takeIn(n) {
		return nil, false
	}
	c.desc = n.Outputs
	return nil, true
}

func (c *contractor) unit(*group.Group) unit {
	b := c.builder
	u := unit{node: c.n, inputs: []op.TensorID{c.x}, desc: c.desc}
	c.fusion.Weight = c.w
	if c.w == nil {
		u.inputs = append(u.inputs, c.weight)
	}
	if c.sum != 0 {
		c.fusion.Sum = true
		u.inputs = append(u.inputs, c.sum)
	}
	if c.bias != 0 {
		c.fusion.Bias = true
		u.inputs = append(u.inputs, c.bias)
	}
	kept := 0
	c.fusion.Keep = func(bytes int) { kept += bytes }
	if u.run = contraction.Prepare(b.env, c.n, b.inputs(c.n), c.fusion); u.run == nil {
		return u
	}
	b.packed += int64(kept)
	if c.folded {
		c.b.Buf.Retain()
		b.consts[c.bias] = *c.b
	}
	return u
}

// spread replaces a constant that is a broadcast view by a contiguous copy, on which kernels are faster.
func (b *builder) spread(id op.TensorID, a kernel.Array) {
	bytes := a.Size() * a.DType.Size()
	if !slices.Contains(a.View.Strides, 0) || a.View.IsContiguous() || bytes > foldLimit {
		return
	}
	buf, err := b.env.Account.New(bytes)
	if err != nil {
		return
	}
	whole := kernel.Array{Buf: buf, DType: a.DType, View: shape.Contiguous(a.View.Shape)}
	kernel.Copy(b.env.Pool, whole, a)
	a.Buf.Release()
	b.consts[id] = whole
}

// setBias sets the bias to a tensor of one element per channel, in any shape.
func (c *contractor) setBias(id op.TensorID) {
	c.bias, c.b = id, nil
	if a, ok := c.builder.consts[id]; ok {
		c.b = &a
	}
}

// takeIn fuses node n, the only user of the result, with c if possible, and reports whether it did.
func (c *contractor) takeIn(n *op.Node) bool {
	b := c.builder
	switch n.Op {
	case op.Relu:
		c.clamp(op.ScalarFloat("min", 0).Value, op.ScalarFloat("max", math.Inf(1)).Value)
		return true
	case op.Clamp:
		lo, hi := n.Attrs.Value("min"), n.Attrs.Value("max")
		if !(lo.Float() <= hi.Float()) {
			return false
		}
		c.clamp(lo, hi)
		return true
	case op.Add:
		other := n.Inputs[0]
		if other == c.desc[0].ID {
			other = n.Inputs[1]
		}
		switch {
		case other == c.desc[0].ID || !n.Outputs[0].SameType(c.desc[0]):
			return false
		case c.bias == 0 && c.perChannel(b.descs[other].Shape):
			c.setBias(other)
			return true
		case c.sum == 0 && b.descs[other].SameType(c.desc[0]) && contraction.Sums(c.n, b.inputs(c.n)):
			c.sum = other
			return true
		}
		return false
	case op.BatchNorm:
		return n.Inputs[0] == c.desc[0].ID && c.normalise(n)
	}
	return false
}

func (c *contractor) clamp(lo, hi op.Value) {
	c.fusion.Clamp, c.fusion.Lo, c.fusion.Hi = true, lo, hi
}

// channels returns the dimension of the result along which the bias varies, and its size.
func (c *contractor) channels() (axis, n int) {
	s := c.desc[0].Shape
	axis = len(s) - 1
	if c.n.Op == op.Conv {
		axis = 1
	}
	return axis, s[axis]
}

// perChannel reports whether a tensor of shape s, broadcast to the result, has one element per channel.
func (c *contractor) perChannel(s shape.Shape) bool {
	axis, n := c.channels()
	rank := len(c.desc[0].Shape)
	at := axis - (rank - len(s)) // dimension of the channels in s
	if at < 0 || s[at] != n {
		return false
	}
	return s.Size() == n
}

// normalise folds batch normalisation n into the weights and bias of c if all of them are constants, and reports whether it did.
func (c *contractor) normalise(n *op.Node) bool {
	b := c.builder
	if c.n.Op != op.Conv || c.w == nil || c.sum != 0 || c.bias != 0 && c.b == nil {
		return false
	}
	var p [4]kernel.Array
	for i := range p {
		a, ok := b.consts[n.Inputs[1+i]]
		if !ok {
			return false
		}
		p[i] = a
	}
	fold := contraction.FoldNorm(b.env, n.Attrs.Float("epsilon"), *c.w, c.b, p)
	if fold == nil {
		return false
	}
	w, bias, err := fold()
	if err != nil {
		return false
	}
	b.made = append(b.made, w, bias)
	// The new bias is an input of the kernel and needs an id. It takes the id of the normalisation's operand, which has no other users. The
	// id of the old bias may have other users.
	c.w, c.b, c.bias, c.folded = &w, &bias, c.desc[0].ID, true
	return true
}
