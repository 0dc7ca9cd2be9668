package tensor

import (
	"context"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// This file contains methods whose result shape depends on data. They wait for one number, the number of results.

// first returns the first count elements of t along axis. It releases t and count.
func (t *Tensor) first(ctx context.Context, count *Tensor, axis int) (*Tensor, error) {
	var m temps
	defer m.done(nil)
	m.of(t)
	n, err := Item[int64](ctx, m.of(count))
	if err != nil {
		return nil, err
	}
	return t.Narrow(axis, 0, int(n)), nil
}

// ArgWhere returns the index tuples of the elements that are not zero, in row-major order: [count, rank] (i64).
func (t *Tensor) ArgWhere(ctx context.Context) (*Tensor, error) {
	r := Op(op.NonZero, []*Tensor{t})
	return r[0].first(ctx, r[1], 0)
}

// NonZero returns the indices of ArgWhere as one vector [count] per dimension (i64).
func (t *Tensor) NonZero(ctx context.Context) ([]*Tensor, error) {
	at, err := t.ArgWhere(ctx)
	if err != nil {
		return nil, err
	}
	defer at.Release()
	return at.Unbind(1), nil
}

// MaskSelect returns the elements of t where mask is true as a vector, in row-major order. t and mask broadcast.
func (t *Tensor) MaskSelect(ctx context.Context, mask *Tensor) (*Tensor, error) {
	s, err := shape.Broadcast(t.desc.Shape, mask.desc.Shape)
	if err != nil {
		fail("mask_select: %w", err)
	}
	var m temps
	defer m.done(nil)
	return m.of(m.of(t.Expand(s...)).Flatten()).Compress(ctx, 0, m.of(m.of(mask.Expand(s...)).Flatten()))
}

// Compress returns the slices of t along axis where the vector mask is true.
func (t *Tensor) Compress(ctx context.Context, axis int, mask *Tensor) (*Tensor, error) {
	a := t.axis("compress", axis, t.Rank())
	r := Op(op.Compress, []*Tensor{t, mask}, op.Int("axis", a))
	return r[0].first(ctx, r[1], a)
}

// Uniques holds the distinct elements of a tensor.
type Uniques struct {
	Values  *Tensor // each distinct value once
	First   *Tensor // index (i64) of its first occurrence
	Counts  *Tensor // number of its occurrences (i64)
	Inverse *Tensor // index into Values of each element (i64), in the tensor's shape
}

// Unique returns the distinct elements of t, flattened: in ascending order if ascending is set, otherwise in the order of first
// occurrence. NaN equals NaN.
func (t *Tensor) Unique(ctx context.Context, ascending bool) (*Uniques, error) {
	m := temps{from: t}
	defer m.done(nil)
	r := Op(op.Unique, []*Tensor{m.of(t.Flatten())}, op.Flag("sorted", ascending))
	m.made = append(m.made, r...)
	n, err := Item[int64](ctx, r[4])
	if err != nil {
		return nil, err
	}
	part := func(x *Tensor) *Tensor { return x.Narrow(0, 0, int(n)) }
	return &Uniques{part(r[0]), part(r[1]), part(r[3]), r[2].Reshape(t.desc.Shape...)}, nil
}

// NMSOptions holds the settings of NMS. A MaxOutput of 0 means as many as there are boxes.
type NMSOptions struct {
	MaxOutput      int
	IoU            float64  // greatest permitted overlap, as intersection over union; 0 permits none
	ScoreThreshold *float64 // scores up to it are never chosen; nil for no limit
}

// NMS selects among boxes t[N, 4], each given by two opposite corners, with scores[N], by greedy non-maximum suppression. It
// returns the indices (i64) of the selected boxes, best first.
func (t *Tensor) NMS(ctx context.Context, scores *Tensor, o NMSOptions) (*Tensor, error) {
	most := o.MaxOutput
	if most == 0 && t.Rank() > 0 {
		most = t.desc.Shape[0]
	}
	attrs := []op.Attr{op.Int("max_output", most), op.Float("iou_threshold", o.IoU)}
	if o.ScoreThreshold != nil {
		attrs = append(attrs, op.Float("score_threshold", *o.ScoreThreshold))
	}
	r := Op(op.NMS, []*Tensor{t, scores}, attrs...)
	return r[0].first(ctx, r[1], 0)
}
