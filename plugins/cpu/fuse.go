package cpu

import (
	"math"
	"slices"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/cpu/internal/contraction"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
	"github.com/goburn/burn/plugins/cpu/internal/recurrent"
)

// fuse turns nodes into units. A product or convolution takes in the addition of a bias, of another tensor of its shape,
// and the clamp that follow it, and a convolution with constant weights a batch normalisation with constant parameters; constant weights are packed.
// A product or convolution of bytes takes in what makes floats, and bytes again, of its sums; bytes that are
// added in between as floats are one unit. Elementwise nodes that feed
// each other become one unit.
func (b *builder) fuse() ([]unit, error) {
	users := map[op.TensorID][]int{}
	for i := range b.nodes {
		for _, id := range b.nodes[i].Inputs {
			users[id] = append(users[id], i)
		}
	}
	for _, id := range b.p.Outputs {
		users[id] = append(users[id], -1)
	}
	units := make([]unit, len(b.nodes))
	taken := make([]bool, len(b.nodes))
	for i := range b.nodes {
		if taken[i] {
			continue
		}
		n := &b.nodes[i]
		switch n.Op {
		case op.MatMul, op.Linear, op.Conv:
			if u, last := b.chain(i, users, taken); u.run != nil {
				units[last] = u
				continue
			}
		case op.MatMulInteger, op.ConvInteger:
			if u, last := b.integerChain(i, users, taken); u.run != nil {
				units[last] = u
				continue
			}
		case op.Dequantize:
			if u, last := b.byteSum(i, users, taken); u.run != nil {
				units[last] = u
				continue
			}
		}
		if u, last := b.link(i, users, taken); u.run != nil {
			units[last] = u
			continue
		}
		f, err := b.kernel(n)
		if err != nil {
			return nil, err
		}
		units[i] = unit{node: n, inputs: n.Inputs, desc: n.Outputs, run: f}
	}
	kept := units[:0]
	for _, u := range units {
		if u.run != nil {
			kept = append(kept, u)
		}
	}
	return kept, nil
}

// kernel makes the kernel of a node by itself. Recurrent layers keep what they make of constant weights.
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

// contractor is a product or convolution while it takes nodes in.
type contractor struct {
	n      *op.Node
	x      op.TensorID
	weight op.TensorID
	w      *kernel.Array // when constant
	sum    op.TensorID   // 0: none
	bias   op.TensorID   // 0: none
	b      *kernel.Array // a constant bias, of one element per channel
	fusion contraction.Fusion
	desc   []op.Desc
}

// chain makes the unit that begins with node i and says at which node it runs. It gives no kernel for what it leaves to
// the ordinary way.
func (b *builder) chain(i int, users map[op.TensorID][]int, taken []bool) (unit, int) {
	n := &b.nodes[i]
	in := b.inputs(n)
	if kernel.IsHalf(in[0].DType) && n.Op == op.Conv {
		return unit{}, 0
	}
	c := &contractor{n: n, x: n.Inputs[0], weight: n.Inputs[1], desc: n.Outputs}
	if a, ok := b.consts[c.weight]; ok {
		if contraction.Packs(n, in) {
			c.w = &a
		} else {
			b.spread(c.weight, a)
		}
	}
	if len(n.Inputs) > 2 {
		c.setBias(b, n.Inputs[2])
	}
	last := i
	var joined []int
	for !c.fusion.Clamp {
		next := users[c.desc[0].ID]
		if len(next) != 1 || next[0] < 0 || taken[next[0]] || !b.takeIn(c, &b.nodes[next[0]]) {
			break
		}
		last = next[0]
		joined = append(joined, last)
		c.desc = b.nodes[last].Outputs
	}
	u := unit{node: n, inputs: []op.TensorID{c.x}, desc: c.desc}
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
	u.run = contraction.Prepare(&b.s.env, n, in, c.fusion)
	if u.run == nil {
		return unit{}, 0
	}
	if c.w != nil {
		b.packed += int64(c.w.Size() * c.w.DType.Size())
	}
	for _, k := range joined {
		taken[k] = true
	}
	return u, last
}

// spread writes a constant whose elements are repeated by its view out once: kernels are fast on elements that lie side by
// side.
func (b *builder) spread(id op.TensorID, a kernel.Array) {
	bytes := a.Size() * a.DType.Size()
	if !slices.Contains(a.View.Strides, 0) || a.View.IsContiguous() || bytes > foldLimit {
		return
	}
	buf, err := b.s.env.Account.New(bytes)
	if err != nil {
		return
	}
	whole := kernel.Array{Buf: buf, DType: a.DType, View: shape.Contiguous(a.View.Shape)}
	kernel.Copy(b.s.env.Pool, whole, a)
	a.Buf.Release()
	b.consts[id] = whole
}

// setBias adds a tensor of one element per channel, in any shape.
func (c *contractor) setBias(b *builder, id op.TensorID) {
	c.bias, c.b = id, nil
	if a, ok := b.consts[id]; ok {
		c.b = &a
	}
}

// takeIn reports whether c has taken node n, the only user of its result, in.
func (b *builder) takeIn(c *contractor, n *op.Node) bool {
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
			c.setBias(b, other)
			return true
		case c.sum == 0 && b.descs[other].SameType(c.desc[0]) && contraction.Sums(c.n, b.inputs(c.n)):
			c.sum = other
			return true
		}
		return false
	case op.BatchNorm:
		return n.Inputs[0] == c.desc[0].ID && b.normalise(c, n)
	}
	return false
}

func (c *contractor) clamp(lo, hi op.Value) {
	c.fusion.Clamp, c.fusion.Lo, c.fusion.Hi = true, lo, hi
}

// channels is the dimension of the result that biases run along.
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
	at := axis - (rank - len(s)) // place of the channels in s
	if at < 0 || s[at] != n {
		return false
	}
	return s.Size() == n
}

// normalise folds a batch normalisation with constant parameters into constant weights and bias.
func (b *builder) normalise(c *contractor, n *op.Node) bool {
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
	fold := contraction.FoldNorm(&b.s.env, n.Attrs.Float("epsilon"), *c.w, c.b, p)
	if fold == nil {
		return false
	}
	w, bias, err := fold()
	if err != nil {
		return false
	}
	b.made = append(b.made, w)
	// The new bias needs an id, for it is an input of the kernel: that of the normalisation's own bias may have other users,
	// that of its result has none left.
	b.consts[c.desc[0].ID] = bias
	c.w, c.b, c.bias = &w, &bias, c.desc[0].ID
	return true
}
