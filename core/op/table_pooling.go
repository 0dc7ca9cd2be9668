package op

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
)

var poolAttrs = []AttrSpec{required("window", KindInts, "size per trailing dimension; its length says how many there are"),
	required("strides", KindInts, "per trailing dimension"), required("pad_lo", KindInts, "per trailing dimension"),
	required("pad_hi", KindInts, "per trailing dimension"),
	required("overhang", KindInts, "more padding at the end, so that the last window fits (ceil mode)"),
	required("dilation", KindInts, "per trailing dimension")}

var poolRule = []Constraint{{"C1", "window has 1 to rank entries"}, {"C2", "one entry per window dimension; window, strides and dilation at least 1"},
	{"C3", "paddings and overhang are not negative"}}

var adaptiveRule = []Constraint{{"C1", "size has 1 to 3 entries, at most the rank of x, each at least 1"}, {"C2", "no pooled dimension is empty"},
	{"C3", "no size times its dimension is above 2^48, and the elements of all windows are a legal shape"}}

func pooling(r Row) Row {
	r.Class, r.Section = Composite, "pooling"
	return r
}

var poolingRows = []entry{
	{MaxPool, pooling(Row{Name: "max_pool", Results: []string{"y", "indices"}, Tolerance: perTerm(1), Operands: []Operand{in("x", dtype.Numbers)},
		Doc: "Maximum of a window sliding over the trailing dimensions of x. Padding and overhang count as the least number. With indices also the " +
			"position (i64) of the maximum in the row-major order of the trailing dimensions: the first of equals, the first NaN if there is " +
			"one, -1 for a window of padding alone.",
		Attrs: append(poolAttrs[:6:6], defaults(Flag("indices", false), "give indices too")), Constraints: poolRule,
		Infer: func(in []Desc, a Attrs) ([]Desc, error) {
			outs, err := inferPool(in, a)
			if err == nil && a.Bool("indices") {
				outs = append(outs, Desc{DType: dtype.I64, Shape: outs[0].Shape})
			}
			return outs, err
		}})},
	{LpPool, pooling(Row{Name: "lp_pool", Results: result, Tolerance: perTerm(16), Operands: []Operand{in("x", dtype.Floats)},
		Doc:         "The p-norm, (Σ|x|^p)^(1/p), of a window sliding over the trailing dimensions of x. Padding and overhang count as 0.",
		Attrs:       append(poolAttrs[:6:6], defaults(Float("p", 2), "the order")),
		Constraints: append(poolRule[:3:3], Constraint{"C4", "p is finite and above 0"}),
		Infer: func(in []Desc, a Attrs) ([]Desc, error) {
			if p := a.Float("p"); !(p > 0) || math.IsInf(p, 0) {
				return nil, violation(ErrAttr, "C4", "p is %v, want a finite number above 0", p)
			}
			return inferPool(in, a)
		}})},
	{AdaptiveAvgPool, pooling(Row{Name: "adaptive_avg_pool", Results: result, Tolerance: perTerm(4), Operands: []Operand{in("x", dtype.Floats)},
		Doc: "Mean of windows that share the trailing dimensions of x out among size results: of n elements and m results, window i has " +
			"those from floor(i·n/m) to ceil((i+1)·n/m)-1.",
		Attrs: []AttrSpec{required("size", KindInts, "results per trailing dimension")}, Constraints: adaptiveRule, Infer: inferAdaptive})},
	{AdaptiveMaxPool, pooling(Row{Name: "adaptive_max_pool", Results: []string{"y", "indices"}, Tolerance: exact, Operands: []Operand{in("x", dtype.Numbers)},
		Doc: "Maximum of windows that share the trailing dimensions of x out as those of adaptive_avg_pool. With indices also the position " +
			"(i64) of the maximum as in max_pool.",
		Attrs: []AttrSpec{required("size", KindInts, "results per trailing dimension"), defaults(Flag("indices", false), "give indices too")}, Constraints: adaptiveRule,
		Infer: func(in []Desc, a Attrs) ([]Desc, error) {
			outs, err := inferAdaptive(in, a)
			if err == nil && a.Bool("indices") {
				outs = append(outs, Desc{DType: dtype.I64, Shape: outs[0].Shape})
			}
			return outs, err
		}})},
	{MaxUnpool, pooling(Row{Name: "max_unpool", Results: result, Tolerance: exact, Operands: []Operand{in("x", dtype.Any), in("indices", dtype.Indices)},
		Doc: "Zeros of the given size in the trailing dimensions, with each element of x at the position that indices give in their row-major " +
			"order. Of elements for one position the last stays. An index outside is ErrIndex.",
		Attrs:       []AttrSpec{required("size", KindInts, "trailing dimensions of the result")},
		Constraints: []Constraint{{"C1", "size has 1 to rank entries and is a legal shape"}, {"C2", "x and indices have the same shape"}},
		Infer: func(in []Desc, a Attrs) ([]Desc, error) {
			size, s := a.Ints("size"), in[0].Shape
			if len(size) < 1 || len(size) > len(s) {
				return nil, violation(ErrShape, "C1", "size %v over rank %d", size, len(s))
			}
			if _, err := legal("C1", size); err != nil {
				return nil, err
			}
			if err := sameShape("C2", "indices", in[1].Shape, s); err != nil {
				return nil, err
			}
			out := s.Clone()
			copy(out[len(s)-len(size):], size)
			return one(in[0].DType, out), nil
		}})},
}

func inferPool(in []Desc, a Attrs) ([]Desc, error) {
	n := len(a.Ints("window"))
	for _, name := range []string{"pad_lo", "pad_hi", "overhang"} {
		if err := perSpatial("C3", a, name, n, 0); err != nil {
			return nil, err
		}
	}
	return inferWindow(in, windowAttrs("max", a, a.Ints("pad_lo"), plus(a.Ints("pad_hi"), a.Ints("overhang"))))
}

func inferAdaptive(in []Desc, a Attrs) ([]Desc, error) {
	size, s := a.Ints("size"), in[0].Shape
	if len(size) < 1 || len(size) > min(3, len(s)) {
		return nil, violation(ErrShape, "C1", "size %v over rank %d", size, len(s))
	}
	out, held := s.Clone(), s[:len(s)-len(size)].Clone()
	held = shape.Of(max(1, held.Size()))
	for i, m := range size {
		d := len(s) - len(size) + i
		n := s[d]
		switch {
		case m < 1:
			return nil, violation(ErrShape, "C1", "size %v, want entries of at least 1", size)
		case n == 0:
			return nil, violation(ErrShape, "C2", "dimension %d is empty", d)
		case n > limit/m:
			return nil, violation(ErrShape, "C3", "%d results of %d elements", m, n)
		}
		out[d] = m
		held = append(held, m*longest(n, m))
	}
	if _, err := legal("C3", held); err != nil {
		return nil, err
	}
	return one(in[0].DType, out), nil
}

// longest returns an upper bound of the length of a window when adaptive pooling divides n elements into m windows.
func longest(n, m int) int {
	if n%m == 0 {
		return n / m
	}
	return (n+m-1)/m + 1
}
