package tensor

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// Pad adds lo elements v before and hi after t along axis; a negative number removes elements.
func (t *Tensor) Pad(axis, lo, hi int, v float64) *Tensor {
	a := t.axis("pad", axis, t.Rank())
	los, his := make([]int, t.Rank()), make([]int, t.Rank())
	los[a], his[a] = lo, hi
	return t.un(op.Pad, op.Ints("lo", los...), op.Ints("hi", his...), op.ScalarFloat("value", v))
}

// Concat concatenates tensors along axis.
func Concat(axis int, ts ...*Tensor) *Tensor {
	if len(ts) == 0 {
		fail("concat: no tensors: %w", op.ErrShape)
	}
	return Op(op.Concat, ts, op.Int("axis", ts[0].axis("concat", axis, ts[0].Rank())))[0]
}

// Stack stacks tensors of one shape along a new axis.
func Stack(axis int, ts ...*Tensor) *Tensor {
	if len(ts) == 0 {
		fail("stack: no tensors: %w", op.ErrShape)
	}
	a := ts[0].axis("stack", axis, ts[0].Rank()+1)
	return Op(op.Stack, ts, op.Int("axis", a))[0]
}

// Modes of Extend, which determine the elements beyond the ends.
const (
	Edge      = "edge"      // the outermost element, repeated
	Reflect   = "reflect"   // mirrored at the outermost element, without repeating it
	Symmetric = "symmetric" // mirrored at the end, so that the outermost element is repeated
	Wrap      = "wrap"      // continued from the other end
)

// PadAll adds lo[i] elements v before and hi[i] after t along axis i; a negative number removes elements.
func (t *Tensor) PadAll(lo, hi []int, v float64) *Tensor {
	return t.un(op.Pad, op.Ints("lo", lo...), op.Ints("hi", hi...), op.ScalarFloat("value", v))
}

// Extend adds lo elements before and hi after t along axis, taken from t itself: mode is Edge, Reflect, Symmetric or Wrap.
func (t *Tensor) Extend(axis, lo, hi int, mode string) *Tensor {
	a := t.axis("extend", axis, t.Rank())
	los, his := make([]int, t.Rank()), make([]int, t.Rank())
	los[a], his[a] = lo, hi
	return t.ExtendAll(los, his, mode)
}

// ExtendAll is Extend along every axis: it adds lo[i] elements before and hi[i] after t along axis i.
func (t *Tensor) ExtendAll(lo, hi []int, mode string) *Tensor {
	return t.un(op.Extend, op.Ints("lo", lo...), op.Ints("hi", hi...), op.Str("mode", mode))
}

// Tile repeats the whole of t repeats[i] times along axis i.
func (t *Tensor) Tile(repeats ...int) *Tensor { return t.un(op.Tile, op.Ints("repeats", repeats...)) }

// TileAxis repeats the whole of t n times along axis.
func (t *Tensor) TileAxis(axis, n int) *Tensor {
	repeats := make([]int, t.Rank())
	for i := range repeats {
		repeats[i] = 1
	}
	repeats[t.axis("tile", axis, t.Rank())] = n
	return t.Tile(repeats...)
}

// RepeatInterleave repeats each slice along axis n times in succession.
func (t *Tensor) RepeatInterleave(axis, n int) *Tensor {
	return t.along(op.RepeatInterleave, axis, op.Int("repeats", n))
}

// Split cuts t along axis into parts of n elements; the last may be shorter. A dimension of 0 has no parts.
func (t *Tensor) Split(n, axis int) []*Tensor {
	a := t.axis("split", axis, t.Rank())
	if n < 1 {
		fail("split: parts of %d elements, want 1 or more: %w", n, op.ErrShape)
	}
	var sizes []int
	for rest := t.desc.Shape[a]; rest > 0; rest -= n {
		sizes = append(sizes, min(n, rest))
	}
	return t.SplitSizes(sizes, a)
}

// SplitSizes cuts t along axis into parts of the given sizes, whose sum must be the dimension.
func (t *Tensor) SplitSizes(sizes []int, axis int) []*Tensor {
	a := t.axis("split", axis, t.Rank())
	parts, at := make([]*Tensor, len(sizes)), 0
	for i, n := range sizes {
		parts[i] = t.Narrow(a, at, n)
		at += n
	}
	if at != t.desc.Shape[a] {
		fail("split: parts %v along axis %d of %v, want a sum of %d: %w", sizes, a, t.desc, t.desc.Shape[a], op.ErrShape)
	}
	return parts
}

// Chunk cuts t along axis into at most n parts of equal size; the last may be shorter.
func (t *Tensor) Chunk(n, axis int) []*Tensor {
	a := t.axis("chunk", axis, t.Rank())
	if n < 1 {
		fail("chunk: %d parts, want 1 or more: %w", n, op.ErrShape)
	}
	return t.Split(max(1, (t.desc.Shape[a]+n-1)/n), a)
}

// Unbind returns the slices of t along axis, without that axis.
func (t *Tensor) Unbind(axis int) []*Tensor {
	a := t.axis("unbind", axis, t.Rank())
	parts := make([]*Tensor, t.desc.Shape[a])
	for i := range parts {
		parts[i] = t.Select(a, i)
	}
	return parts
}

// Unfold returns windows of n elements, step apart, along axis; the elements of a window are a new last axis.
func (t *Tensor) Unfold(axis, n, step int) *Tensor {
	a := t.axis("unfold", axis, t.Rank())
	if n < 0 || step < 1 || n > t.desc.Shape[a] {
		fail("unfold: windows of %d, %d apart, along axis %d of %v, want at most %d and a step of 1 or more: %w", n, step, a, t.desc,
			t.desc.Shape[a], op.ErrShape)
	}
	m, d := temps{from: t}, t.within()
	starts := m.of(m.of(d.Arange(dtype.I64, 0, float64((t.desc.Shape[a]-n)/step*step+1), float64(step))).Unsqueeze(1))
	at := m.of(starts.Add(m.of(d.Iota(dtype.I64, n))))
	return m.done(m.of(t.IndexSelect(a, at)).MoveAxis([]int{a + 1}, []int{-1}))
}

// PixelShuffle moves channels into blocks: t[N, C·r², H, W] becomes [N, C, H·r, W·r].
func (t *Tensor) PixelShuffle(r int) *Tensor { return t.blocks(op.DepthToSpace, r) }

// PixelUnshuffle returns the inverse of PixelShuffle.
func (t *Tensor) PixelUnshuffle(r int) *Tensor { return t.blocks(op.SpaceToDepth, r) }

func (t *Tensor) blocks(c op.Code, r int) *Tensor {
	block := make([]int, max(0, t.Rank()-2))
	for i := range block {
		block[i] = r
	}
	return t.un(c, op.Ints("block", block...), op.Str("mode", "crd"))
}

// ChannelShuffle transposes the channels of t[N, C, ...], seen as [groups, C/groups].
func (t *Tensor) ChannelShuffle(groups int) *Tensor {
	return t.un(op.ChannelShuffle, op.Int("groups", groups))
}
