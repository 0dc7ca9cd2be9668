package op

import (
	"math"
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
)

var attentionRules = map[Code]Decomposition{
	Attention:         wideOne(attend),
	AttentionGradient: inWide(attendBack),
	CacheWrite: elementwise(func(b *Builder, in []Desc, a Attrs) Desc {
		cache, position, update, axis := in[0], in[1], in[2], a.Int("axis")
		n, batch := update.Shape[axis], len(position.Shape)
		at := b.All(Iota, nil, Type("dtype", position.DType), Ints("shape", n))[0]
		if batch > 0 {
			position = b.Reshape(position, shape.Of(position.Shape[0], 1))
		}
		return b.With(Scatter, []Desc{cache, b.Do(Add, position, at), update}, Int("axis", axis), Int("batch", batch))
	}),
	RotaryEmbedding: wideOne(func(b *Builder, in []Desc, a Attrs) Desc {
		x, cos, sin := in[0], in[1], in[2]
		last := len(x.Shape) - 1
		r, d := cos.Shape[len(cos.Shape)-1], x.Shape[last]
		turned, rest := b.Narrow(x, last, 0, 2*r), b.Narrow(x, last, 2*r, d-2*r)
		interleaved := a.Bool("interleaved")
		p, q := pairOf(b, turned, last, r, interleaved, 0), pairOf(b, turned, last, r, interleaved, 1)
		u := b.Do(Sub, b.Do(Mul, p, cos), b.Do(Mul, q, sin))
		v := b.Do(Add, b.Do(Mul, p, sin), b.Do(Mul, q, cos))
		var y Desc
		if interleaved {
			flat := shape.Of(u.Shape.Size(), 1) // rank 2, because one more dimension might exceed the limit
			y = b.Reshape(b.Concat(1, b.Reshape(u, flat), b.Reshape(v, flat)), turned.Shape)
		} else {
			y = b.Concat(last, u, v)
		}
		if d == 2*r {
			return y
		}
		return b.Concat(last, y, rest)
	}),
	RNN: inWide(func(b *Builder, in []Desc, a Attrs) []Desc {
		f := Tanh
		if a.Str("activation") == "relu" {
			f = Relu
		}
		return unroll(b, in, a, in[4:], func(b *Builder, xw Desc, r, _ Desc, state []Desc) []Desc {
			return []Desc{b.Do(f, b.Do(Add, xw, b.With(MatMul, []Desc{state[0], r}, Flag("transpose_b", true))))}
		})
	}),
	Embedding: elementwise(func(b *Builder, in []Desc, a Attrs) Desc {
		y := b.With(Gather, in, Int("axis", 0))
		if p := a.Int("padding"); p >= 0 {
			none := b.Do(Equal, in[1], b.FullInt(in[1].DType, int64(p), nil))
			y = b.Do(Where, b.Reshape(none, append(in[1].Shape.Clone(), 1)), b.FullInt(y.DType, 0, nil), y)
		}
		return y
	}),
}

// pairOf returns the first or second elements of r pairs along the last axis of x.
func pairOf(b *Builder, x Desc, last, r int, interleaved bool, which int) Desc {
	if !interleaved {
		return b.Narrow(x, last, which*r, r)
	}
	start, step, size := make([]int, last+1), slices.Repeat([]int{1}, last+1), x.Shape.Clone()
	start[last], step[last], size[last] = which, 2, r
	return b.Un(Slice, x, Ints("start", start...), Dims("size", size), Ints("step", step...))
}

func attend(b *Builder, in []Desc, a Attrs) Desc {
	q, v := in[0].Shape, in[2].Shape
	batch, heads, s, shared, t, e := q[0], q[1], q[2], v[1], v[2], v[3]
	w := weightsOf(b, in[0], in[1], in[3:], a)
	p := b.Reshape(w.p, shape.Of(batch, shared, heads/shared*s, t))
	return b.Reshape(b.Do(MatMul, p, in[2]), shape.Of(batch, heads, s, e))
}

func attendBack(b *Builder, in []Desc, a Attrs) []Desc {
	q, k, v, y, dy := in[0], in[1], in[2], in[3], in[4]
	batch, heads, s, shared, t, e := q.Shape[0], q.Shape[1], q.Shape[2], v.Shape[1], v.Shape[2], v.Shape[3]
	if shape.Of(batch, heads, s, t).Size() == 0 { // no query sees a key
		return emptied([]Desc{q, k, v})(b, nil, a)
	}
	w := weightsOf(b, q, k, in[5:], a)
	rows := heads / shared * s // queries of one key head
	each := func(x Desc, n int) Desc { return b.Reshape(x, shape.Of(batch, shared, rows, n)) }
	grad := each(dy, e)
	dp := b.Reshape(b.With(MatMul, []Desc{grad, v}, Flag("transpose_b", true)), shape.Of(batch, heads, s, t))
	ds := b.Do(Mul, w.p, b.Do(Sub, dp, b.Reduce(Sum, b.Do(Mul, dy, y), true, 3)))
	if w.tanh.Shape != nil {
		ds = b.Do(Mul, ds, b.Do(Sub, b.Like(ds, 1), b.Do(Mul, w.tanh, w.tanh)))
	}
	ds = each(ds, t)
	dq := b.Reshape(b.Do(MatMul, ds, k), q.Shape)
	return []Desc{b.Do(Mul, dq, b.Like(dq, w.scale)), b.With(MatMul, []Desc{ds, w.q}, Flag("transpose_a", true)),
		b.With(MatMul, []Desc{each(w.p, t), grad}, Flag("transpose_a", true))}
}

// weights are the attention weights, computed from queries and keys.
type weights struct {
	q     Desc    // scaled, [B, H, Hq/H·S, D]
	p     Desc    // attention weights, [B, Hq, S, T]; zeros for a query that sees no key
	tanh  Desc    // tanh of the scores divided by the softcap; without shape if there is none
	scale float64 // factor of the products
}

// weightsOf returns the weights, given wide operands; mask has one element or none.
func weightsOf(b *Builder, q, k Desc, mask []Desc, a Attrs) weights {
	batch, heads, s, d := q.Shape[0], q.Shape[1], q.Shape[2], q.Shape[3]
	shared, t := k.Shape[1], k.Shape[2]
	w := weights{scale: a.Float("scale")}
	if w.scale == 0 {
		w.scale = 1 / math.Sqrt(float64(max(1, d)))
	}
	w.q = b.Reshape(b.Do(Mul, q, b.Like(q, w.scale)), shape.Of(batch, shared, heads/shared*s, d)) // the queries of one key head
	y := b.Reshape(b.With(MatMul, []Desc{w.q, k}, Flag("transpose_b", true)), shape.Of(batch, heads, s, t))
	if c := a.Float("softcap"); c != 0 {
		top := b.Like(y, c)
		w.tanh = b.Do(Tanh, b.Do(Div, y, top))
		y = b.Do(Mul, w.tanh, top)
	}
	low := b.Bound(y.DType, Lowest(y.DType))
	for _, m := range mask {
		if m.DType == dtype.Bool {
			y = b.Do(Where, m, y, low)
		} else {
			y = b.Do(Add, y, b.Cast(m, y.DType))
		}
	}
	if near := a.Int("window"); near > 0 || a.Bool("causal") {
		at := b.All(Iota, nil, Type("dtype", dtype.I64), Ints("shape", s, 1))[0]
		ahead := b.Do(Sub, b.All(Iota, nil, Type("dtype", dtype.I64), Ints("shape", t))[0], b.Do(Add, at, b.FullInt(dtype.I64, int64(a.Int("past")), nil)))
		if a.Bool("causal") {
			y = b.Do(Where, b.Do(LessEqual, ahead, b.FullInt(dtype.I64, 0, nil)), y, low)
		}
		if near > 0 {
			y = b.Do(Where, b.Do(Less, b.Do(Abs, ahead), b.FullInt(dtype.I64, int64(near), nil)), y, low)
		}
	}
	top := b.Reduce(ReduceMax, y, true, 3)
	p := b.Do(Exp, b.Do(Sub, y, b.Do(Where, b.Do(Equal, top, low), b.Like(top, 0), top)))
	sum := b.Reduce(Sum, p, true, 3)
	w.p = b.Do(Div, p, b.Do(Where, b.Do(Equal, sum, b.Like(sum, 0)), b.Like(sum, 1), sum))
	return w
}
