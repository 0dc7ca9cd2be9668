package op

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
)

var selectionRules = map[Code]Decomposition{
	NonZero: func(b *Builder, in []Desc, _ Attrs) []Desc {
		s := in[0].Shape
		n := s.Size()
		if n == 0 {
			return []Desc{b.FullInt(dtype.I64, 0, shape.Of(0, len(s))), b.FullInt(dtype.I64, 0, nil)}
		}
		at, count := chosen(b, b.Cast(b.Reshape(in[0], shape.Of(n)), dtype.Bool))
		at = beyond(b, at, count, 0)
		if len(s) == 0 {
			return []Desc{b.FullInt(dtype.I64, 0, shape.Of(1, 0)), count}
		}
		var columns []Desc
		for d, stride := range s.Strides() {
			i := b.Do(Rem, b.Do(Div, at, b.FullInt(dtype.I64, int64(stride), nil)), b.FullInt(dtype.I64, int64(s[d]), nil))
			columns = append(columns, b.Reshape(i, shape.Of(n, 1)))
		}
		return []Desc{b.Concat(1, columns...), count}
	},
	Compress: func(b *Builder, in []Desc, a Attrs) []Desc {
		axis := a.Int("axis")
		at, count := chosen(b, in[1])
		y := b.With(Gather, []Desc{in[0], at}, Int("axis", axis))
		return []Desc{beyond(b, y, count, axis), count}
	},
	Unique: func(b *Builder, in []Desc, a Attrs) []Desc {
		x, n := in[0], in[0].Shape[0]
		none := b.FullInt(dtype.I64, 0, shape.Of(n))
		if n == 0 {
			return []Desc{x, none, none, none, b.FullInt(dtype.I64, 0, nil)}
		}
		// Sorting makes equal elements adjacent. Each group gets a number, and the first element of a group has the least index.
		sorted := b.All(Sort, in, Int("axis", 0))
		v, from := sorted[0], sorted[1]
		group := none
		if n > 1 {
			p, q := b.Narrow(v, 0, 0, n-1), b.Narrow(v, 0, 1, n-1)
			starts := b.Do(NotEqual, p, q)
			if x.DType.IsFloat() {
				starts = b.Do(And, starts, b.Do(Not, b.Do(And, b.Do(IsNaN, p), b.Do(IsNaN, q))))
			}
			starts = b.Concat(0, b.FullInt(dtype.Bool, 0, shape.Of(1)), starts)
			group = b.Un(CumSum, b.Cast(starts, dtype.I64), Int("axis", 0))
		}
		count := b.Do(Add, b.Reshape(b.Narrow(group, 0, n-1, 1), nil), b.FullInt(dtype.I64, 1, nil))
		into := func(start, index, update Desc, mode string) Desc {
			return b.With(Scatter, []Desc{start, index, update}, Int("axis", 0), Str("mode", mode))
		}
		inverse := into(none, from, group, "assign")
		counts := into(none, group, b.FullInt(dtype.I64, 1, shape.Of(n)), "add")
		first := into(b.FullInt(dtype.I64, int64(n), shape.Of(n)), group, from, "min") // n means beyond the count
		if !a.Bool("sorted") {
			byFirst := b.All(Sort, []Desc{first}, Int("axis", 0))
			first = byFirst[0]
			counts = b.With(Gather, []Desc{counts, byFirst[1]}, Int("axis", 0))
			rank := into(none, byFirst[1], b.All(Iota, nil, Type("dtype", dtype.I64), Ints("shape", n))[0], "assign")
			inverse = b.With(Gather, []Desc{rank, inverse}, Int("axis", 0))
		}
		first = beyond(b, first, count, 0)
		values := beyond(b, b.With(Gather, []Desc{x, first}, Int("axis", 0)), count, 0)
		return []Desc{values, first, inverse, counts, count}
	},
	NMS: suppressed,
}

// chosen returns the positions where a condition [n] holds, in their order and before all others, and their number.
func chosen(b *Builder, condition Desc) (at, count Desc) {
	at = b.All(Sort, []Desc{b.Cast(b.Do(Not, condition), dtype.I32)}, Int("axis", 0))[1]
	return at, b.Reduce(Sum, b.Cast(condition, dtype.I64), false, 0)
}

// beyond returns x with zeros from position count along axis on.
func beyond(b *Builder, x, count Desc, axis int) Desc {
	if b.Err() != nil {
		return x
	}
	line := make([]int, len(x.Shape)-axis)
	for i := range line {
		line[i] = 1
	}
	line[0] = x.Shape[axis]
	at := b.All(Iota, nil, Type("dtype", dtype.I64), Ints("shape", line...), Int("axis", 0))[0]
	return b.Do(Where, b.Do(Less, at, count), x, b.FullInt(x.DType, 0, nil))
}

// suppressed unrolls the loop of nms.
func suppressed(b *Builder, in []Desc, a Attrs) []Desc {
	boxes, scores, most := wide(b, in[0]), wide(b, in[1]), a.Int("max_output")
	count := b.FullInt(dtype.I64, 0, nil)
	if most == 0 {
		return []Desc{b.FullInt(dtype.I64, 0, shape.Of(0)), count}
	}
	n := in[0].Shape[0]
	var e [4]Desc // the columns of boxes, then least and greatest y, least and greatest x
	for k := range e {
		e[k] = b.Reshape(b.Narrow(boxes, 1, k, 1), shape.Of(n))
	}
	if a.Bool("center_point") {
		half := b.Like(boxes, 0.5)
		w, h := b.Do(Mul, e[2], half), b.Do(Mul, e[3], half)
		e = [4]Desc{b.Do(Sub, e[1], h), b.Do(Add, e[1], h), b.Do(Sub, e[0], w), b.Do(Add, e[0], w)}
	} else {
		e = [4]Desc{b.Do(Min, e[0], e[2]), b.Do(Max, e[0], e[2]), b.Do(Min, e[1], e[3]), b.Do(Max, e[1], e[3])}
	}
	area := b.Do(Mul, b.Do(Sub, e[1], e[0]), b.Do(Sub, e[3], e[2]))
	zero, limit := b.Like(boxes, 0), b.Like(boxes, a.Float("iou_threshold"))
	index := b.All(Iota, nil, Type("dtype", dtype.I64), Ints("shape", n))[0]
	alive := b.Do(Less, b.Like(scores, a.Float("score_threshold")), scores)
	var picks []Desc
	for range most {
		best := b.Un(ArgMax, b.Do(Where, alive, scores, b.Bound(scores.DType, Lowest(scores.DType))), Int("axis", 0))
		found := b.Reduce(ReduceMax, b.Cast(alive, dtype.I64), false, 0)
		count = b.Do(Add, count, found)
		picks = append(picks, b.Reshape(b.Do(Mul, best, found), shape.Of(1)))
		of := func(x Desc) Desc { return b.With(Gather, []Desc{x, best}, Int("axis", 0)) }
		h := b.Do(Sub, b.Do(Min, e[1], of(e[1])), b.Do(Max, e[0], of(e[0])))
		w := b.Do(Sub, b.Do(Min, e[3], of(e[3])), b.Do(Max, e[2], of(e[2])))
		both := b.Do(Mul, b.Do(Max, h, zero), b.Do(Max, w, zero))
		union := b.Do(Sub, b.Do(Add, area, of(area)), both)
		overlap := b.Do(Where, b.Do(Less, zero, both), b.Do(Div, both, union), zero)
		out := b.Do(Or, b.Do(Less, limit, overlap), b.Do(Equal, index, best))
		alive = b.Do(And, alive, b.Do(Not, out))
		if b.Err() != nil {
			break
		}
	}
	return []Desc{b.Concat(0, picks...), count}
}
