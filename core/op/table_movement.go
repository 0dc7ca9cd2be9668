package op

import (
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
)

// movable contains the types, including storage types, that ops accept which move elements without arithmetic.
var movable = dtype.Any | dtype.Smalls

var reduceModes = []string{"assign", "add", "mul", "min", "max"}

var movementRows = []entry{
	{Reshape, Row{Name: "reshape", Section: "movement", Traits: Cheap | Stores, Operands: []Operand{in("x", movable)}, Results: result, Tolerance: exact,
		Doc:         "The same elements in row-major order under another shape.",
		Attrs:       []AttrSpec{required("shape", KindInts, "shape of the result")},
		Constraints: []Constraint{{"C1", "shape is a legal shape"}, {"C2", "shape has as many elements as x"}},
		Infer:       inferReshape}},
	{Permute, Row{Name: "permute", Section: "movement", Traits: Cheap | Stores, Operands: []Operand{in("x", movable)}, Results: result, Tolerance: exact,
		Doc:         "Dimension i of the result is dimension axes[i] of x.",
		Attrs:       []AttrSpec{required("axes", KindInts, "a permutation of [0, rank)")},
		Constraints: []Constraint{{"C1", "axes is a permutation of [0, rank)"}},
		Infer:       inferPermute}},
	{Expand, Row{Name: "expand", Section: "movement", Traits: Cheap | Stores, Operands: []Operand{in("x", movable)}, Results: result, Tolerance: exact,
		Doc:         "x broadcast to shape by the rule of NumPy.",
		Attrs:       []AttrSpec{required("shape", KindInts, "shape of the result")},
		Constraints: []Constraint{{"C1", "shape is a legal shape"}, {"C2", "x broadcasts to shape"}},
		Infer:       inferExpand}},
	{Slice, Row{Name: "slice", Section: "movement", Traits: Cheap | Stores, Operands: []Operand{in("x", movable)}, Results: result, Tolerance: exact,
		Doc: "Along each axis, size elements at start, start+step, start+2·step, ...",
		Attrs: []AttrSpec{required("start", KindInts, "first index, per axis"), required("size", KindInts, "number of elements, per axis"),
			required("step", KindInts, "distance, per axis, may be negative, not zero")},
		Constraints: []Constraint{{"C1", "start, size and step have one entry per axis"}, {"C2", "no step is zero and no size is negative"},
			{"C3", "every index taken is in [0, dimension)"}},
		Infer: inferSlice}},
	{Pad, Row{Name: "pad", Section: "movement", Traits: Cheap | Stores, Operands: []Operand{in("x", dtype.Any)}, Results: result, Tolerance: exact,
		Doc: "x with lo elements of value before and hi after it along each axis; a negative number removes elements.",
		Attrs: []AttrSpec{required("lo", KindInts, "elements before, per axis"), required("hi", KindInts, "elements after, per axis"),
			defaults(ScalarInt("value", 0), "the padding, converted as cast does")},
		Constraints: []Constraint{{"C1", "lo and hi have one entry per axis"}, {"C2", "no dimension of the result is negative"}},
		Infer:       inferPad}},
	{Flip, Row{Name: "flip", Section: "movement", Traits: Cheap | Stores, Operands: []Operand{in("x", movable)}, Results: result, Tolerance: exact,
		Doc:         "x with the order along the given axes reversed.",
		Attrs:       []AttrSpec{required("axes", KindInts, "distinct axes")},
		Constraints: []Constraint{{"C1", "axes are distinct and in [0, rank)"}},
		Infer:       inferFlip}},
	{Concat, Row{Name: "concat", Section: "movement", Traits: Cheap | Stores, Operands: []Operand{variadic(in("x", movable))}, Results: result, Tolerance: exact,
		Doc:         "The operands one after the other along axis.",
		Attrs:       []AttrSpec{required("axis", KindInt, "axis to join along")},
		Constraints: []Constraint{{"C1", "axis is in [0, rank)"}, {"C2", "the operands agree in rank and in every dimension but axis"}},
		Infer:       inferConcat}},
	{Gather, Row{Name: "gather", Section: "movement", Traits: Cheap | Stores, Operands: []Operand{in("x", movable), in("indices", dtype.Indices)}, Results: result,
		Doc: "Slices of x along axis at indices; the first batch dimensions of x and indices go together. The result has shape " +
			"x[:axis] + indices[batch:] + x[axis+1:]. An index outside [0, x[axis]) is ErrIndex, unless the result is empty.",
		Attrs: []AttrSpec{required("axis", KindInt, "indexed axis"), defaults(Int("batch", 0), "number of leading batch dimensions")},
		Constraints: []Constraint{{"C1", "axis is in [0, rank of x)"}, {"C2", "batch is in [0, axis] and at most the rank of indices"},
			{"C3", "x and indices agree in the batch dimensions"}},
		Domain: []Domain{{}, {Index: true}}, Tolerance: exact,
		Infer: inferGather}},
	{Scatter, Row{Name: "scatter", Section: "movement", Traits: Cheap | Stores, Results: result,
		Operands: []Operand{in("x", dtype.Any), in("indices", dtype.Indices), same("updates", 1)},
		Doc: "x with updates combined into the slices along axis at indices, the inverse of gather: updates has shape " +
			"x[:axis] + indices[batch:] + x[axis+1:]. Equal indices are combined in row-major order of indices; with assign the last wins. " +
			"An index outside [0, x[axis]) is ErrIndex, unless updates is empty.",
		Attrs: []AttrSpec{required("axis", KindInt, "indexed axis"), defaults(Int("batch", 0), "number of leading batch dimensions"),
			choice("mode", "assign", "how an update meets what is there", reduceModes...)},
		Constraints: []Constraint{{"C1", "axis is in [0, rank of x)"}, {"C2", "batch is in [0, axis] and at most the rank of indices"},
			{"C3", "x and indices agree in the batch dimensions"}, {"C4", "updates has shape x[:axis] + indices[batch:] + x[axis+1:]"},
			{"C5", "modes other than assign need a number type"}},
		Domain: []Domain{{}, {Index: true}, {}}, Tolerance: perTerm(1),
		Infer: inferScatter}},
	{Cast, Row{Name: "cast", Section: "movement", Traits: Elementwise | Cheap | Stores, Operands: []Operand{in("x", movable)}, Results: result, Tolerance: exact,
		Doc: "x in another element type. Float to float rounds to nearest even; float to integer truncates toward zero and saturates, NaN " +
			"becomes 0; integer to narrower integer keeps the low bits; to bool is x != 0; bool becomes 0 or 1. To a float of 8 or 4 bits rounds " +
			"to nearest even, to f8e8m0 to the nearest power of two, ties up; to an integer of 4 or 2 bits truncates and keeps the low bits.",
		Attrs: []AttrSpec{required("dtype", KindDType, "element type of the result"),
			defaults(Flag("saturate", true), "of 8-bit floats: beyond the range is the greatest finite value, not infinity or NaN")},
		Infer: func(in []Desc, a Attrs) ([]Desc, error) { return one(a.DType("dtype"), in[0].Shape), nil }}},
	{Copy, Row{Name: "copy", Section: "movement", Traits: Elementwise | Cheap | Stores, Operands: []Operand{in("x", movable)}, Results: result, Tolerance: exact,
		Doc: "x in a buffer of its own, in row-major order.", Infer: inferSame}},
}

func inferReshape(in []Desc, a Attrs) ([]Desc, error) {
	s, err := legal("C1", a.Ints("shape"))
	if err != nil {
		return nil, err
	}
	if s.Size() != in[0].Shape.Size() {
		return nil, violation(ErrShape, "C2", "%v has %d elements, want %d as in %v", s, s.Size(), in[0].Shape.Size(), in[0].Shape)
	}
	return one(in[0].DType, s), nil
}

func inferPermute(in []Desc, a Attrs) ([]Desc, error) {
	axes, s := a.Ints("axes"), in[0].Shape
	if len(axes) != len(s) {
		return nil, violation(ErrShape, "C1", "axes %v, want %d of them", axes, len(s))
	}
	if err := axesIn("C1", axes, len(s)); err != nil {
		return nil, err
	}
	out := make(shape.Shape, len(s))
	for i, ax := range axes {
		out[i] = s[ax]
	}
	return one(in[0].DType, out), nil
}

func inferExpand(in []Desc, a Attrs) ([]Desc, error) {
	s, err := legal("C1", a.Ints("shape"))
	if err != nil {
		return nil, err
	}
	if err := shape.CanExpand(in[0].Shape, s); err != nil {
		return nil, violation(ErrShape, "C2", "%v", err)
	}
	return one(in[0].DType, s), nil
}

func inferSlice(in []Desc, a Attrs) ([]Desc, error) {
	start, size, step, s := a.Ints("start"), a.Ints("size"), a.Ints("step"), in[0].Shape
	if len(start) != len(s) || len(size) != len(s) || len(step) != len(s) {
		return nil, violation(ErrShape, "C1", "%d starts, %d sizes, %d steps, want %d each", len(start), len(size), len(step), len(s))
	}
	for i, n := range s {
		if step[i] == 0 || size[i] < 0 {
			return nil, violation(ErrShape, "C2", "axis %d: size %d, step %d, want size >= 0 and step != 0", i, size[i], step[i])
		}
		if size[i] == 0 {
			continue
		}
		if size[i] > n {
			return nil, violation(ErrShape, "C3", "axis %d: %d elements of %d", i, size[i], n)
		}
		span := 0
		if size[i] > 1 {
			if step[i] >= n || step[i] <= -n {
				return nil, violation(ErrShape, "C3", "axis %d: step %d over %d elements", i, step[i], n)
			}
			span = (size[i] - 1) * step[i]
		}
		if last := start[i] + span; start[i] < 0 || start[i] >= n || last < 0 || last >= n {
			return nil, violation(ErrShape, "C3", "axis %d: indices %d to %d, want them in [0,%d)", i, start[i], last, n)
		}
	}
	return one(in[0].DType, size), nil
}

func inferPad(in []Desc, a Attrs) ([]Desc, error) {
	lo, hi, s := a.Ints("lo"), a.Ints("hi"), in[0].Shape
	if len(lo) != len(s) || len(hi) != len(s) {
		return nil, violation(ErrShape, "C1", "lo %v and hi %v, want %d entries each", lo, hi, len(s))
	}
	out := make(shape.Shape, len(s))
	for i, n := range s {
		if lo[i] > limit || hi[i] > limit || lo[i] < -limit || hi[i] < -limit {
			return nil, violation(ErrShape, "C2", "axis %d: lo %d, hi %d are out of range", i, lo[i], hi[i])
		}
		out[i] = n + lo[i] + hi[i]
		if out[i] < 0 {
			return nil, violation(ErrShape, "C2", "axis %d: %d%+d%+d is negative", i, n, lo[i], hi[i])
		}
	}
	return one(in[0].DType, out), nil
}

func inferFlip(in []Desc, a Attrs) ([]Desc, error) {
	if err := axesIn("C1", a.Ints("axes"), len(in[0].Shape)); err != nil {
		return nil, err
	}
	return inferSame(in, a)
}

func inferConcat(in []Desc, a Attrs) ([]Desc, error) {
	axis, first := a.Int("axis"), in[0].Shape
	if _, err := axisIn("C1", axis, len(first)); err != nil {
		return nil, err
	}
	out := first.Clone()
	for i, d := range in[1:] {
		if len(d.Shape) != len(first) {
			return nil, violation(ErrShape, "C2", "operand %d has rank %d, want %d", i+1, len(d.Shape), len(first))
		}
		for k := range first {
			if k != axis && d.Shape[k] != first[k] {
				return nil, violation(ErrShape, "C2", "operand %d is %v, want %v but for axis %d", i+1, d.Shape, first, axis)
			}
		}
		out[axis] += d.Shape[axis]
	}
	return one(in[0].DType, out), nil
}

func gathered(x, indices shape.Shape, a Attrs) (shape.Shape, error) {
	axis, batch := a.Int("axis"), a.Int("batch")
	if _, err := axisIn("C1", axis, len(x)); err != nil {
		return nil, err
	}
	if batch < 0 || batch > axis || batch > len(indices) {
		return nil, violation(ErrShape, "C2", "batch %d, want one in [0,%d]", batch, min(axis, len(indices)))
	}
	if !x[:batch].Equal(indices[:batch]) {
		return nil, violation(ErrShape, "C3", "batch dimensions are %v and %v", x[:batch], indices[:batch])
	}
	return slices.Concat(x[:axis], indices[batch:], x[axis+1:]), nil
}

func inferGather(in []Desc, a Attrs) ([]Desc, error) {
	s, err := gathered(in[0].Shape, in[1].Shape, a)
	if err != nil {
		return nil, err
	}
	return one(in[0].DType, s), nil
}

func inferScatter(in []Desc, a Attrs) ([]Desc, error) {
	s, err := gathered(in[0].Shape, in[1].Shape, a)
	if err != nil {
		return nil, err
	}
	if err := sameShape("C4", "updates", in[2].Shape, s); err != nil {
		return nil, err
	}
	if a.Str("mode") != "assign" && !dtype.Numbers.Has(in[0].DType) {
		return nil, violation(ErrDType, "C5", "mode %s on %v", a.Str("mode"), in[0].DType)
	}
	return inferSame(in, a)
}
