package onnx

import (
	"github.com/goburn/burn/core/op"
)

func init() {
	register("Conv", 1, convNode)
	register("ConvTranspose", 1, convTransposeNode)
	register("CausalConvWithState", 27, causalConvNode)
}

// geometry holds the attributes of the contract's conv.
type geometry struct {
	window
	inputDilation []int
	groups        int
}

func (c calc) conv(x, w value, g geometry) value {
	return c.do(op.Conv, []value{x, w}, op.Ints("strides", g.strides...), op.Ints("pad_lo", g.lo...), op.Ints("pad_hi", g.hi...),
		op.Ints("kernel_dilation", g.dilation...), op.Ints("input_dilation", g.inputDilation...), op.Int("groups", g.groups))
}

// convGeometry reads the attributes of a convolution of x by w.
func (t *tracer) convGeometry(n *node, x, w value) geometry {
	if x.rank() < 3 || x.rank() != w.rank() {
		t.fail("x is %v and w %v, want the same rank, 3 or more", x.shape(), w.shape())
	}
	kernel := w.shape()[2:]
	if k := n.ints("kernel_shape"); k != nil && !kernel.Equal(k) {
		t.fail("kernel_shape is %v, want %v as w has it", k, kernel)
	}
	return geometry{window: t.window(n, x.shape()[2:], kernel), inputDilation: ones(len(kernel)), groups: n.int("group", 1)}
}

func convNode(t *tracer, n *node) []value {
	t.need(n, 0, 1)
	x, w := n.input(0), n.input(1)
	return []value{t.biased(calc{t}.conv(x, w, t.convGeometry(n, x, w)), n.input(2))}
}

// biased adds a per-channel bias if there is one.
func (t *tracer) biased(y, bias value) value {
	if !bias.present() {
		return y
	}
	c := calc{t}
	return c.add(y, c.channels(bias, y.rank()))
}

// convTransposeNode computes the gradient of a convolution: x is dilated by the strides and convolved with the flipped kernel,
// with input and output channels exchanged.
func convTransposeNode(t *tracer, n *node) []value {
	t.need(n, 0, 1)
	x, w := n.input(0), n.input(1)
	if x.rank() < 3 || x.rank() != w.rank() || x.shape()[1] != w.shape()[0] {
		t.fail("x is %v and w %v, want the same rank, 3 or more, and as many channels", x.shape(), w.shape())
	}
	spatial, kernel := x.shape()[2:], w.shape()[2:]
	groups, channels := n.int("group", 1), w.shape()[0]
	if groups < 1 || channels%groups != 0 {
		t.fail("group is %d for %d channels", groups, channels)
	}
	rank := len(kernel)
	g := geometry{inputDilation: t.perDim(n, "strides", rank), groups: groups}
	g.window = window{kernel: kernel, strides: ones(rank), dilation: t.perDim(n, "dilations", rank)}
	lo, hi := t.transposedPads(n, spatial, &g)
	for i := range rank {
		g.lo = append(g.lo, g.extent(i)-1-lo[i])
		g.hi = append(g.hi, g.extent(i)-1-hi[i])
	}
	// [C, M/g, k...] becomes [M, C/g, k...].
	m := w.shape()[1]
	v := t.reshape(w, append([]int{groups, channels / groups, m}, kernel...)...)
	v = t.permute(v, append([]int{0, 2, 1}, span(3, 3+rank)...)...)
	v = t.reshape(v, append([]int{groups * m, channels / groups}, kernel...)...)
	v = t.do(op.Flip, []value{v}, op.Ints("axes", span(2, 2+rank)...))
	return []value{t.biased(calc{t}.conv(x, v, g), n.input(2))}
}

// transposedPads returns the padding that a transposed convolution removes from its full result; negative numbers extend the
// result.
func (t *tracer) transposedPads(n *node, spatial []int, g *geometry) (lo, hi []int) {
	rank := len(spatial)
	extra := n.ints("output_padding")
	if extra == nil {
		extra = make([]int, rank)
	}
	pads := n.ints("pads")
	if pads == nil {
		pads = make([]int, 2*rank)
	}
	want := n.ints("output_shape")
	if len(want) == rank+2 {
		want = want[2:]
	}
	if len(extra) != rank || len(pads) != 2*rank || want != nil && len(want) != rank {
		t.fail("output_padding %v, pads %v and output_shape %v, want them for %d spatial dimensions", extra, pads, want, rank)
	}
	mode := n.str("auto_pad", "NOTSET")
	same := want == nil
	if want == nil && (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
		for i, d := range spatial {
			want = append(want, d*g.inputDilation[i])
		}
	}
	for i, d := range spatial {
		l, h := pads[i], pads[rank+i]
		if mode == "VALID" {
			l, h = 0, 0
		}
		if want != nil {
			full := (d-1)*g.inputDilation[i] + g.extent(i)
			total := full + extra[i] - want[i]
			l, h = halves(total, mode != "SAME_UPPER")
			switch {
			case total < 0 && same: // strides greater than the kernel leave gaps instead of padding
				l, h = 0, 0
			case total < 0:
				l, h = 0, total
			}
		}
		lo, hi = append(lo, l), append(hi, h-extra[i])
	}
	return lo, hi
}

// causalConvNode computes a depthwise convolution over the past state followed by x; the new state is the end of both.
func causalConvNode(t *tracer, n *node) []value {
	t.need(n, 0, 1)
	x, w, past := n.input(0), n.input(1), n.input(3)
	if x.rank() != 3 || w.rank() != 3 {
		t.fail("x is %v and w %v, want rank 3", x.shape(), w.shape())
	}
	c, keep := calc{t}, w.shape()[2]-1
	if !past.present() {
		past = c.zeros(x.dtype(), []int{x.shape()[0], x.shape()[1], keep})
	}
	if keep > 0 {
		x = t.concat(2, past, x)
	}
	y := t.biased(c.conv(x, w, geometry{inputDilation: ones(1), groups: x.shape()[1],
		window: window{kernel: w.shape()[2:], strides: ones(1), dilation: ones(1), lo: []int{0}, hi: []int{0}}}), n.input(2))
	switch act := n.str("activation", "none"); act {
	case "none":
	case "silu", "swish":
		y = c.un(op.Silu, y)
	default:
		t.fail("activation is %q, want none, silu or swish", act)
	}
	return []value{y, t.narrow(x, 2, x.shape()[2]-keep, keep)}
}
