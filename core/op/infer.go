package op

import (
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
)

// Helpers of inference functions. Constraint numbers refer to the calling row.

// legal checks a shape given as an attribute.
func legal(constraint string, dims []int) (shape.Shape, error) {
	s := shape.Shape(dims)
	if err := s.Check(); err != nil {
		return nil, violation(ErrShape, constraint, "shape %v is not legal: %v", s, err)
	}
	return s, nil
}

// axisIn checks that an axis is in [0, rank); axes in attributes are never negative.
func axisIn(constraint string, axis, rank int) (int, error) {
	if axis < 0 || axis >= rank {
		return 0, violation(ErrShape, constraint, "axis %d, want one in [0,%d)", axis, rank)
	}
	return axis, nil
}

// axesIn checks distinct axes in [0, rank).
func axesIn(constraint string, axes []int, rank int) error {
	for i, a := range axes {
		if _, err := axisIn(constraint, a, rank); err != nil {
			return err
		}
		if slices.Contains(axes[:i], a) {
			return violation(ErrShape, constraint, "axis %d is given twice in %v", a, axes)
		}
	}
	return nil
}

// one returns a single output of a type and shape.
func one(d dtype.DType, s shape.Shape) []Desc { return []Desc{{DType: d, Shape: s}} }

// inferSame infers a result of the type and shape of the first operand.
func inferSame(in []Desc, _ Attrs) ([]Desc, error) { return one(in[0].DType, in[0].Shape), nil }

// inferToBool infers a bool result of the shape of the first operand.
func inferToBool(in []Desc, _ Attrs) ([]Desc, error) { return one(dtype.Bool, in[0].Shape), nil }

func broadcast(constraint string, in ...Desc) (shape.Shape, error) {
	if len(in) == 2 && in[0].Shape.Equal(in[1].Shape) {
		return in[0].Shape, nil
	}
	shapes := make([]shape.Shape, len(in))
	for i := range in {
		shapes[i] = in[i].Shape
	}
	s, err := shape.Broadcast(shapes...)
	if err != nil {
		return nil, violation(ErrShape, constraint, "%v", err)
	}
	return s, nil
}

// inferBroadcast infers the result of elementwise ops: all operands broadcast together, and the result has the type of the first.
func inferBroadcast(in []Desc, _ Attrs) ([]Desc, error) {
	s, err := broadcast("C1", in...)
	if err != nil {
		return nil, err
	}
	return one(in[0].DType, s), nil
}

// inferCompare is like inferBroadcast, with a bool result.
func inferCompare(in []Desc, _ Attrs) ([]Desc, error) {
	s, err := broadcast("C1", in...)
	if err != nil {
		return nil, err
	}
	return one(dtype.Bool, s), nil
}

// reduced returns shape s after reducing axes; without axes it returns s.
func reduced(s shape.Shape, axes []int, keep bool) shape.Shape {
	out := make(shape.Shape, 0, len(s))
	for i, d := range s {
		switch {
		case !slices.Contains(axes, i):
			out = append(out, d)
		case keep:
			out = append(out, 1)
		}
	}
	return out
}

// inferReduce infers the result of reductions over the attribute axes.
func inferReduce(in []Desc, a Attrs) ([]Desc, error) {
	axes := a.Ints("axes")
	if err := axesIn("C1", axes, len(in[0].Shape)); err != nil {
		return nil, err
	}
	return one(in[0].DType, reduced(in[0].Shape, axes, a.Bool("keep_dims"))), nil
}

// inferAxis checks the attribute axis, and infers a result of the type and shape of the first operand.
func inferAxis(in []Desc, a Attrs) ([]Desc, error) {
	if _, err := axisIn("C1", a.Int("axis"), len(in[0].Shape)); err != nil {
		return nil, err
	}
	return inferSame(in, a)
}

// sameShape checks that got, the shape of the named operand, equals want.
func sameShape(constraint, name string, got, want shape.Shape) error {
	if !got.Equal(want) {
		return violation(ErrShape, constraint, "%s is %v, want %v", name, got, want)
	}
	return nil
}

// limit bounds the numbers in computations of inference, so that sums of a few of them do not overflow.
const limit = 1 << 48

// windowed returns the output length of a window of k elements, dilation apart, that slides over n elements padded by lo and hi. The length is
// 0 if the window does not fit. windowed returns false if the window is empty or longer than limit, or the padded dimension is negative.
func windowed(n, k, stride, dilation, lo, hi int) (int, bool) {
	if k == 0 {
		return 0, false
	}
	if k-1 > limit/dilation {
		return 0, false // longer than any dimension
	}
	span := (k-1)*dilation + 1
	padded := n + lo + hi
	if padded < span {
		return 0, padded >= 0
	}
	return (padded-span)/stride + 1, true
}

// perSpatial checks that the attribute list name has one entry for each of n spatial dimensions, each from least to limit.
func perSpatial(constraint string, a Attrs, name string, n, least int) error {
	l := a.Ints(name)
	if len(l) != n {
		return violation(ErrAttr, constraint, "%s has %d entries, want %d", name, len(l), n)
	}
	for _, v := range l {
		if v < least || v > limit {
			return violation(ErrAttr, constraint, "%s is %v, want entries from %d to %d", name, l, least, limit)
		}
	}
	return nil
}
