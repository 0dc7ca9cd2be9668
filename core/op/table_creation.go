package op

import "github.com/goburn/burn/core/dtype"

var creationRows = []entry{
	{Full, Row{Name: "full", Section: "creation", Traits: Cheap | Stores, Results: result, Tolerance: exact,
		Doc: "A tensor with every element equal to value, converted to dtype as cast does.",
		Attrs: []AttrSpec{required("value", KindScalar, "the value"), required("dtype", KindDType, "element type"),
			required("shape", KindInts, "shape of the result")},
		Constraints: []Constraint{{"C1", "shape is a legal shape"}},
		Infer:       inferCreation}},
	{Iota, Row{Name: "iota", Section: "creation", Traits: Cheap | Stores, Results: result, Tolerance: exact,
		Doc: "Each element is its index along axis, converted to dtype.",
		Attrs: []AttrSpec{required("dtype", KindDType, "element type, not bool"),
			required("shape", KindInts, "shape of the result"), defaults(Int("axis", 0), "axis that counts, in [0, rank)")},
		Constraints: []Constraint{{"C1", "shape is a legal shape"}, {"C2", "axis is in [0, rank)"}, {"C3", "dtype is a number type"}},
		Infer:       inferIota}},
	{RandomBits, Row{Name: "random_bits", Section: "creation", Traits: Cheap | Stores, Results: result, Tolerance: exact,
		Doc: "Philox 4x32-10: element i in row-major order is word i mod 4 of the block with counter " +
			"(counter + i div 4, 0) and key seed, both as two 32-bit words, low first.",
		Attrs: []AttrSpec{required("seed", KindInt, "64-bit key"), defaults(Int("counter", 0), "first block, 64 bits"),
			required("shape", KindInts, "shape of the result"), defaults(Type("dtype", dtype.I32), "i32 or u32: the same 32 bits")},
		Constraints: []Constraint{{"C1", "shape is a legal shape"}, {"C2", "dtype is i32 or u32"}},
		Infer:       inferRandomBits}},
}

func inferCreation(_ []Desc, a Attrs) ([]Desc, error) {
	s, err := legal("C1", a.Ints("shape"))
	if err != nil {
		return nil, err
	}
	return []Desc{{DType: a.DType("dtype"), Shape: s}}, nil
}

func inferIota(in []Desc, a Attrs) ([]Desc, error) {
	outs, err := inferCreation(in, a)
	if err != nil {
		return nil, err
	}
	if _, err := axisIn("C2", a.Int("axis"), len(outs[0].Shape)); err != nil {
		return nil, err
	}
	if !dtype.Numbers.Has(outs[0].DType) {
		return nil, violation(ErrDType, "C3", "dtype is %v, want one of %v", outs[0].DType, dtype.Numbers)
	}
	return outs, nil
}

func inferRandomBits(in []Desc, a Attrs) ([]Desc, error) {
	outs, err := inferCreation(in, a)
	if err == nil && !dtype.SetOf(dtype.I32, dtype.U32).Has(outs[0].DType) {
		err = violation(ErrDType, "C2", "dtype is %v, want i32 or u32", outs[0].DType)
	}
	return outs, err
}
