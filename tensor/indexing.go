package tensor

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// Indices are i64 or i32 and at least 0. For an index outside its dimension, reading a result returns core.ErrIndex. Updates are
// combined with existing elements by a mode: "assign" (the last of equal indices wins), "add", "mul", "min" or "max".

// Gather returns elements along axis, like torch.gather and numpy.take_along_axis: element (i, j, k) is t[indices[i,j,k], j, k]
// for axis 0, and so on. indices has t's rank, and its dimensions other than axis are at most t's. IndexSelect returns whole
// slices.
func (t *Tensor) Gather(axis int, indices *Tensor) *Tensor {
	return Op(op.GatherElements, []*Tensor{t, indices}, op.Int("axis", t.axis("gather", axis, t.Rank())))[0]
}

// Scatter returns t with the elements that Gather reads combined with updates by mode, like torch.scatter and
// torch.scatter_reduce.
func (t *Tensor) Scatter(axis int, indices, updates *Tensor, mode string) *Tensor {
	return Op(op.ScatterElements, []*Tensor{t, indices, updates}, op.Int("axis", t.axis("scatter", axis, t.Rank())), op.Str("mode", mode))[0]
}

// IndexSelect returns the slices along axis at indices, like torch.index_select and numpy.take; the shape of indices, of any
// rank, replaces the axis.
func (t *Tensor) IndexSelect(axis int, indices *Tensor) *Tensor {
	return Op(op.Gather, []*Tensor{t, indices}, op.Int("axis", t.axis("index_select", axis, t.Rank())))[0]
}

// IndexScatter returns t with the slices that IndexSelect reads combined with updates by mode.
func (t *Tensor) IndexScatter(axis int, indices, updates *Tensor, mode string) *Tensor {
	return Op(op.Scatter, []*Tensor{t, indices, updates}, op.Int("axis", t.axis("index_scatter", axis, t.Rank())), op.Str("mode", mode))[0]
}

// GatherND returns the slices of t at the index tuples in the last dimension of indices.
func (t *Tensor) GatherND(indices *Tensor) *Tensor { return Op(op.GatherND, []*Tensor{t, indices})[0] }

// ScatterND returns t with the slices that GatherND reads combined with updates by mode.
func (t *Tensor) ScatterND(indices, updates *Tensor, mode string) *Tensor {
	return Op(op.ScatterND, []*Tensor{t, indices, updates}, op.Str("mode", mode))[0]
}

// Select returns the slice of t at index i of axis, without that axis; a negative i counts from the end.
func (t *Tensor) Select(axis, i int) *Tensor {
	a := t.axis("select", axis, t.Rank())
	n := t.desc.Shape[a]
	if i < -n || i >= n {
		fail("select: index %d along axis %d of %v, want one in [%d, %d): %w", i, a, t.desc, -n, n, op.ErrShape)
	}
	if i < 0 {
		i += n
	}
	m := temps{from: t}
	return m.done(m.of(t.strided(a, i, 1, 1)).Squeeze(a))
}

// OneHot returns a tensor of type dt that is 1 where the position along a new axis of length depth equals the index in t, else 0.
// All elements are 0 for an index outside [0, depth).
func (t *Tensor) OneHot(dt dtype.DType, depth, axis int) *Tensor {
	return t.un(op.OneHot, op.Int("depth", depth), op.Int("axis", t.axis("one_hot", axis, t.Rank()+1)), op.Type("dtype", dt))
}

// OneHotFill is OneHot with on and off instead of 1 and 0.
func (t *Tensor) OneHotFill(dt dtype.DType, depth, axis int, on, off float64) *Tensor {
	m, d := temps{from: t}, t.within()
	return m.done(m.of(t.OneHot(dtype.Bool, depth, axis)).Where(m.of(d.Full(dt, on)), m.of(d.Full(dt, off))))
}
