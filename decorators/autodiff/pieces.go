package autodiff

import (
	"slices"

	"github.com/goburn/burn/core/op"
)

// piece is the gradient of a contiguous range of a value along one axis, which begins at start.
type piece struct {
	axis, start int
	d           op.Desc
}

// pieceOf reports whether e selects a contiguous range along one axis, and returns the axis and the start.
func pieceOf(e *entry) (axis, start int, ok bool) {
	if e.custom != nil || e.node.Op != op.Slice {
		return 0, 0, false
	}
	axis = -1
	x, y := e.in[0].desc.Shape, e.out[0].desc.Shape
	for i, step := range e.node.Attrs.Ints("step") {
		switch {
		case x[i] == y[i] && step == 1:
		case axis >= 0 || step != 1 && y[i] != 1:
			return 0, 0, false
		default:
			axis = i
		}
	}
	if axis < 0 {
		return 0, 0, false
	}
	return axis, e.node.Attrs.Ints("start")[axis], true
}

// keep stores the gradient of a part of v until the gradient of v is needed.
func (p *pass) keep(v *value, x piece) {
	if _, ours := p.holders[x.d.ID]; ours {
		p.holders[x.d.ID]++
	}
	p.pieces[v] = append(p.pieces[v], x)
}

// gather adds the gradients of parts of v to the gradient of v. If the parts cover v, as after a split, it concatenates them, which moves
// each element once; otherwise it pads each part with zeros and adds them.
func (p *pass) gather(v *value) error {
	list := p.pieces[v]
	if len(list) == 0 {
		return nil
	}
	delete(p.pieces, v)
	slices.SortStableFunc(list, func(a, b piece) int { return a.start - b.start })
	axis, end := list[0].axis, 0
	whole := slices.IndexFunc(list, func(x piece) bool {
		ok := x.axis == axis && x.start == end
		end += x.d.Shape[axis]
		return !ok
	}) < 0 && end == v.desc.Shape[axis]
	if whole && len(list) == 1 { // a part of an axis of one element, whatever its step
		defer p.release(list[0].d)
		return p.add(v, list[0].d)
	}
	b := op.NewBuilder(p.next)
	var sums []op.Desc
	if whole {
		sums = []op.Desc{b.Concat(axis, descsOfPieces(list)...)}
	} else {
		for _, x := range list {
			lo, hi := make([]int, len(v.desc.Shape)), make([]int, len(v.desc.Shape))
			lo[x.axis] = x.start
			hi[x.axis] = v.desc.Shape[x.axis] - x.start - x.d.Shape[x.axis]
			sums = append(sums, b.Un(op.Pad, x.d, op.Ints("lo", lo...), op.Ints("hi", hi...)))
		}
	}
	if b.Err() != nil {
		return b.Err()
	}
	descs := map[op.TensorID]op.Desc{}
	for _, x := range list {
		descs[x.d.ID] = x.d
	}
	if err := p.emit(b.Nodes, descs); err != nil {
		return err
	}
	for _, x := range list {
		p.release(x.d)
	}
	for _, sum := range sums {
		p.holders[sum.ID] = 1
		if err := p.add(v, sum); err != nil {
			return err
		}
		p.release(sum)
	}
	return nil
}

func descsOfPieces(list []piece) []op.Desc {
	out := make([]op.Desc, len(list))
	for i, x := range list {
		out[i] = x.d
	}
	return out
}
