package onnx

// window is the geometry of a kernel that slides over spatial dimensions, one entry per dimension.
type window struct {
	kernel, strides, dilation, lo, hi []int
}

// extent returns the number of elements that the dilated kernel covers along dimension i.
func (w *window) extent(i int) int { return (w.kernel[i]-1)*w.dilation[i] + 1 }

// window reads strides, dilations, pads and auto_pad for a kernel over spatial dimensions.
func (t *tracer) window(n *node, spatial, kernel []int) window {
	rank := len(spatial)
	if len(kernel) != rank {
		t.fail("kernel_shape has %d entries, want %d, one per spatial dimension", len(kernel), rank)
	}
	w := window{kernel: kernel, strides: t.perDim(n, "strides", rank), dilation: t.perDim(n, "dilations", rank),
		lo: make([]int, rank), hi: make([]int, rank)}
	for i := range rank {
		if kernel[i] < 1 || w.strides[i] < 1 || w.dilation[i] < 1 {
			t.fail("kernel %v, strides %v and dilations %v, want 1 or more", kernel, w.strides, w.dilation)
		}
	}
	switch mode := n.str("auto_pad", "NOTSET"); mode {
	case "NOTSET", "":
		if pads := n.ints("pads"); pads != nil {
			if len(pads) != 2*rank {
				t.fail("pads has %d entries, want %d", len(pads), 2*rank)
			}
			copy(w.lo, pads[:rank])
			copy(w.hi, pads[rank:])
		}
	case "VALID":
	case "SAME_UPPER", "SAME_LOWER":
		for i, d := range spatial {
			out := (d + w.strides[i] - 1) / w.strides[i]
			w.lo[i], w.hi[i] = halves((out-1)*w.strides[i]+w.extent(i)-d, mode == "SAME_LOWER")
		}
	default:
		t.fail("auto_pad is %q, want NOTSET, VALID, SAME_UPPER or SAME_LOWER", mode)
	}
	return w
}

// halves splits a padding; the odd element goes to the end, or to the start if low.
func halves(total int, low bool) (lo, hi int) {
	total = max(total, 0)
	if low {
		return total - total/2, total / 2
	}
	return total / 2, total - total/2
}

// perDim reads an attribute with one entry per dimension. If it is absent, all entries are 1.
func (t *tracer) perDim(n *node, attr string, rank int) []int {
	l := n.ints(attr)
	if l == nil {
		return ones(rank)
	}
	if len(l) != rank {
		t.fail("%s has %d entries, want %d", attr, len(l), rank)
	}
	return l
}

// pooled returns the number of windows over size elements along dimension i, and the number of positions by which the last window extends
// beyond the elements. In ceil mode a last window may extend beyond the padding at the end, but must not start in that padding.
func (w *window) pooled(i, size int, ceil bool) (out, reach int) {
	space := size + w.lo[i] + w.hi[i] - w.extent(i)
	if space < 0 {
		return 0, 0
	}
	out = space/w.strides[i] + 1
	if ceil {
		out = (space+w.strides[i]-1)/w.strides[i] + 1
		if (out-1)*w.strides[i] >= size+w.lo[i] {
			out--
		}
	}
	return out, (out-1)*w.strides[i] + w.extent(i) - size - w.lo[i]
}
