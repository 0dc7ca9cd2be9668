package ir_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// The values that kernelOf defines before the instruction under test.
const (
	vI32 ir.Value = iota + 1
	vF32
	vBool
	vU32
	vF16
	vF64
	vI64
	vI8
	vNew // the first result of the instruction under test
)

var constantTypes = []dtype.DType{dtype.I32, dtype.F32, dtype.Bool, dtype.U32, dtype.F16, dtype.F64, dtype.I64, dtype.I8}

// The declarations of kernelOf, by their numbers.
const (
	pX, pY, pA, pN, pH        = 0, 1, 2, 3, 4 // f32 read, f32 write, i32 atomic, the scalar i32 n, f16 atomic
	mHalf, mFloat, mInt       = 0, 1, 2
	lInt, lFloat              = 0, 1
	fA, fB, fC, fWide, fOther = 0, 1, 2, 3, 4
	i32, f32, f16, f64, u32   = dtype.I32, dtype.F32, dtype.F16, dtype.F64, dtype.U32
	i64, i8, boolean          = dtype.I64, dtype.I8, dtype.Bool
)

// kernelOf returns a kernel with one constant of each of constantTypes, followed by in, whose results have the types outs.
func kernelOf(in ir.Inst, outs ...dtype.DType) *ir.Kernel {
	mma := ir.MMA{M: 16, N: 8, K: 16, Type: f16}
	k := &ir.Kernel{
		Name: "faulty", Threads: 64, Subgroup: 32, Types: []dtype.DType{dtype.Invalid},
		Params: []ir.Param{
			{Name: "x", Type: f32, Access: ir.Read}, {Name: "y", Type: f32, Access: ir.Write}, {Name: "a", Type: i32, Access: ir.Atomic},
			{Name: "n", Type: i32}, {Name: "h", Type: f16, Access: ir.Atomic},
		},
		Shared: []ir.Array{{Name: "half", Type: f16, Len: 768}, {Name: "float", Type: f32, Len: 768}, {Name: "int", Type: i32, Len: 64}},
		Locals: []ir.Array{{Name: "li", Type: i32, Len: 2}, {Name: "lf", Type: f32, Len: 2}},
		Frags: []ir.Fragments{{Name: "fa", MMA: mma, Role: ir.A, Len: 2}, {Name: "fb", MMA: mma, Role: ir.B, Len: 2}, {Name: "fc", MMA: mma, Role: ir.C, Len: 2},
			{Name: "wide", MMA: ir.MMA{M: 16, N: 16, K: 8, Type: f16}, Role: ir.A, Len: 1},
			{Name: "other", MMA: ir.MMA{M: 16, N: 8, K: 16, Type: dtype.BF16}, Role: ir.C, Len: 1}},
	}
	for i, d := range constantTypes {
		k.Types = append(k.Types, d)
		k.Body = append(k.Body, ir.Inst{Op: ir.Const, Type: d, Out: []ir.Value{ir.Value(i + 1)}})
	}
	for _, d := range outs {
		in.Out = append(in.Out, ir.Value(len(k.Types)))
		k.Types = append(k.Types, d)
	}
	k.Body = append(k.Body, in)
	return k
}

func values(v ...ir.Value) []ir.Value { return v }

// TestFaultyInstructions checks that Verify refuses instructions with a fault in their form, types or references, from which a dialect
// would print text that does not compile, or that computes something else.
func TestFaultyInstructions(t *testing.T) {
	type types = []dtype.DType
	for _, c := range []struct {
		in   ir.Inst
		outs types
		want string // in the error, "" for none
	}{
		// Numbers of operands and results.
		{ir.Inst{Op: ir.Add, Type: i32, Args: values(vI32)}, types{i32}, "1 results of 1 operands, want 1 of 2"},
		{ir.Inst{Op: ir.Neg, Type: i32, Args: values(vI32, vI32)}, types{i32}, "1 results of 2 operands, want 1 of 1"},
		{ir.Inst{Op: ir.FMA, Type: f32, Args: values(vF32, vF32)}, types{f32}, "1 results of 2 operands, want 1 of 3"},
		{ir.Inst{Op: ir.Select, Type: f32, Args: values(vBool, vF32)}, types{f32}, "want 1 of 3"},
		{ir.Inst{Op: ir.Barrier}, types{i32}, "1 results of 0 operands, want 0 of 0"},
		{ir.Inst{Op: ir.AsyncWait, Args: values(vI32)}, nil, "0 results of 1 operands, want 0 of 0"},
		{ir.Inst{Op: ir.Const, Type: i32}, types{i32, i32}, "2 results of 0 operands"},
		{ir.Inst{Op: ir.If, Args: values(vBool, vBool)}, nil, "0 results of 2 operands, want 0 of 1"},
		{ir.Inst{Op: ir.For, Type: i32, Imm: 1, Args: values(vI32)}, types{i32}, "want 1 of 2"},
		{ir.Inst{Op: ir.Add, Type: i32, Args: values(vI32, vI32)}, types{f32}, "result %9 is f32"},
		{ir.Inst{Op: ir.Op(250)}, nil, "no such operation"},
		{ir.Inst{}, nil, "no such operation"},

		// Types of values.
		{ir.Inst{Op: ir.Add, Type: f32, Args: values(vF32, vI32)}, types{f32}, "operand 1 is i32, want f32"},
		{ir.Inst{Op: ir.FMA, Type: f32, Args: values(vF32, vF32, vF64)}, types{f32}, "operand 2 is f64, want f32"},
		{ir.Inst{Op: ir.MulHi, Type: f32, Args: values(vF32, vF32)}, types{f32}, "type is f32"},
		{ir.Inst{Op: ir.Shl, Type: f64, Args: values(vF64, vF64)}, types{f64}, "type is f64"},
		{ir.Inst{Op: ir.Shl, Type: i64, Args: values(vI64, vI32)}, types{i64}, "operand 1 is i32, want i64"},
		{ir.Inst{Op: ir.Xor, Type: f32, Args: values(vF32, vF32)}, types{f32}, "type is f32"},
		{ir.Inst{Op: ir.Not, Type: f16, Args: values(vF16)}, types{f16}, "type is f16"},
		{ir.Inst{Op: ir.Not, Type: boolean, Args: values(vBool)}, types{boolean}, ""},
		{ir.Inst{Op: ir.Abs, Type: boolean, Args: values(vBool)}, types{boolean}, "type is bool"},
		{ir.Inst{Op: ir.Lt, Type: i32, Args: values(vI32, vI32)}, types{i32}, "type is i32, want bool"},
		{ir.Inst{Op: ir.Lt, Type: boolean, Args: values(vF32)}, types{boolean}, "want 1 of 2"},
		{ir.Inst{Op: ir.Eq, Type: boolean, Args: values(vI32, vU32)}, types{boolean}, "operand 1 is u32, want i32"},
		{ir.Inst{Op: ir.Le, Type: boolean, Args: values(vF16, vF16)}, types{boolean}, "operand is f16"},
		{ir.Inst{Op: ir.Eq, Type: boolean, Args: values(vBool, vBool)}, types{boolean}, ""},
		{ir.Inst{Op: ir.Select, Type: f32, Args: values(vI32, vF32, vF32)}, types{f32}, "operand 0 is i32, want bool"},
		{ir.Inst{Op: ir.Select, Type: f32, Args: values(vBool, vF32, vF16)}, types{f32}, "operand 2 is f16, want f32"},
		{ir.Inst{Op: ir.Bitcast, Type: f32, Args: values(vI64)}, types{f32}, "of i64"},
		{ir.Inst{Op: ir.Bitcast, Type: boolean, Args: values(vI8)}, types{boolean}, "of i8"},
		{ir.Inst{Op: ir.Bitcast, Type: i8, Args: values(vBool)}, types{i8}, "of bool"},
		{ir.Inst{Op: ir.Exp2Fast, Type: f64, Args: values(vF64)}, types{f64}, "type is f64, want f32"},
		{ir.Inst{Op: ir.Erfc, Type: i32, Args: values(vI32)}, types{i32}, "type is i32"},
		{ir.Inst{Op: ir.Pow, Type: f32, Args: values(vF32, vF64)}, types{f32}, "operand 1 is f64"},
		{ir.Inst{Op: ir.Maximum, Type: i32, Args: values(vI32, vI32)}, types{i32}, "type is i32"},
		{ir.Inst{Op: ir.Sin, Type: f16, Args: values(vF16)}, types{f16}, "type is f16"},
		{ir.Inst{Op: ir.PopCount, Type: i32, Args: values(vI32)}, types{i32}, "type is i32, want u32"},

		// Numbers of threads and scalars.
		{ir.Inst{Op: ir.Thread, Type: i64}, types{i64}, "i64 of axis 0"},
		{ir.Inst{Op: ir.Block, Type: i32, Imm: 3}, types{i32}, "i32 of axis 3"},
		{ir.Inst{Op: ir.Blocks, Type: i32, Imm: 2}, types{i32}, ""},
		{ir.Inst{Op: ir.Scalar, Type: i32, Ref: pN}, types{i32}, ""},
		{ir.Inst{Op: ir.Scalar, Type: u32, Ref: pN}, types{u32}, "parameter 3 is no scalar of u32"},
		{ir.Inst{Op: ir.Scalar, Type: f32, Ref: pX}, types{f32}, "parameter 0 is no scalar of f32"},
		{ir.Inst{Op: ir.Scalar, Type: i32, Ref: 5}, types{i32}, "parameter 5 is no scalar"},
		{ir.Inst{Op: ir.Scalar, Type: i32, Ref: -1}, types{i32}, "parameter -1 is no scalar"},

		// Exchange of values in a subgroup of 32.
		{ir.Inst{Op: ir.ShuffleXor, Type: f32, Imm: 31, Args: values(vF32)}, types{f32}, ""},
		{ir.Inst{Op: ir.ShuffleXor, Type: f32, Imm: 32, Args: values(vF32)}, types{f32}, "by 32 in a subgroup of 32"},
		{ir.Inst{Op: ir.ShuffleUp, Type: f32, Imm: 200, Args: values(vF32)}, types{f32}, "by 200 in a subgroup of 32"},
		{ir.Inst{Op: ir.ShuffleFrom, Type: f32, Args: values(vF32, vI64)}, types{f32}, "operand 1 is i64, want i32"},
		{ir.Inst{Op: ir.Ballot, Type: u32, Args: values(vI32)}, types{u32}, "operand 0 is i32, want bool"},
		{ir.Inst{Op: ir.Ballot, Type: i32, Args: values(vBool)}, types{i32}, "type is i32, want u32"},

		// Loops and conditions.
		{ir.Inst{Op: ir.For, Type: f32, Imm: 1, Args: values(vF32, vF32)}, types{f32}, "type is f32"},
		{ir.Inst{Op: ir.For, Type: i32, Args: values(vI32, vI32)}, types{i32}, "step 0"},
		{ir.Inst{Op: ir.For, Type: i32, Imm: 1 << 31, Args: values(vI32, vI32)}, types{i32}, "step 2147483648"},
		{ir.Inst{Op: ir.For, Type: u32, Imm: 1 << 31, Args: values(vU32, vU32)}, types{u32}, ""},
		{ir.Inst{Op: ir.For, Type: i64, Imm: 1 << 63, Args: values(vI64, vI64)}, types{i64}, "step 9223372036854775808"},
		{ir.Inst{Op: ir.If, Args: values(vI32)}, nil, "operand 0 is i32, want bool"},
		{ir.Inst{Op: ir.While, Args: values(vU32)}, nil, "operand 0 is u32, want bool"},
		{ir.Inst{Op: ir.While, Args: values(vBool, vBool)}, nil, "2 conditions, 0 results"},
		{ir.Inst{Op: ir.While, Args: values(99)}, nil, "value %99 is not there"},

		// Memory.
		{ir.Inst{Op: ir.Load, Type: f32, Width: 1, Ref: pX, Args: values(vF32)}, types{f32}, "index is f32"},
		{ir.Inst{Op: ir.Load, Type: f32, Width: 1, Ref: pN, Args: values(vI32)}, types{f32}, "parameter 3 is no buffer"},
		{ir.Inst{Op: ir.Load, Type: f32, Width: 1, Ref: 9, Args: values(vI32)}, types{f32}, "parameter 9 is no buffer"},
		{ir.Inst{Op: ir.Load, Type: i32, Width: 1, Ref: pX, Args: values(vI32)}, types{i32}, "x is of f32"},
		{ir.Inst{Op: ir.Load, Type: f32, Width: 1, Ref: pY, Args: values(vI32)}, types{f32}, "y is not for read"},
		{ir.Inst{Op: ir.Load, Type: f32, Width: 2, Ref: pX, Args: values(vI32)}, types{f32}, "1 results of 1 operands, want 2 of 1"},
		{ir.Inst{Op: ir.Load, Type: f32, Width: 8, Ref: pX, Args: values(vI32)}, types{f32, f32, f32, f32, f32, f32, f32, f32}, "access to 8 elements"},
		{ir.Inst{Op: ir.Load, Type: f32, Ref: pX, Args: values(vI32)}, nil, "access to 0 elements"},
		{ir.Inst{Op: ir.Store, Type: f32, Width: 1, Ref: pX, Args: values(vI32, vF32)}, nil, "x is not for write"},
		{ir.Inst{Op: ir.Store, Type: f32, Width: 1, Ref: pY, Args: values(vI32, vF64)}, nil, "operand 1 is f64, want f32"},
		{ir.Inst{Op: ir.Store, Type: f32, Width: 3, Ref: pY, Args: values(vI32, vF32, vF32, vF32)}, nil, "access to 3 elements"},
		{ir.Inst{Op: ir.SharedLoad, Type: f32, Width: 1, Ref: 3, Args: values(vI32)}, types{f32}, "array 3 is not there"},
		{ir.Inst{Op: ir.SharedLoad, Type: f32, Width: 1, Ref: mHalf, Args: values(vI32)}, types{f32}, "half is of f16"},
		{ir.Inst{Op: ir.SharedStore, Type: i32, Width: 1, Ref: mInt, Args: values(vI32)}, nil, "want 0 of 2"},
		{ir.Inst{Op: ir.LocalLoad, Type: f32, Ref: lInt, Args: values(vI32)}, types{f32}, "li is of i32"},
		{ir.Inst{Op: ir.LocalStore, Type: f32, Ref: lFloat, Args: values(vI32, vI32)}, nil, "operand 1 is i32, want f32"},
		{ir.Inst{Op: ir.LocalLoad, Type: f32, Ref: -1, Args: values(vI32)}, types{f32}, "array -1 is not there"},
		{ir.Inst{Op: ir.AtomicAdd, Type: f32, Ref: pY, Args: values(vI32, vF32)}, types{f32}, "y is not for atomic"},
		{ir.Inst{Op: ir.AtomicAdd, Type: f16, Ref: pH, Args: values(vI32, vF16)}, types{f16}, ""},
		{ir.Inst{Op: ir.AtomicSwap, Type: f16, Ref: pH, Args: values(vI32, vF16, vF16)}, types{f16}, "type is f16"},
		{ir.Inst{Op: ir.AtomicSwap, Type: i32, Ref: pA, Args: values(vI32, vI32)}, types{i32}, "want 1 of 3"},
		{ir.Inst{Op: ir.AtomicMax, Type: i32, Ref: pA, Args: values(vI32, vU32)}, types{i32}, "operand 1 is u32, want i32"},
		{ir.Inst{Op: ir.SharedAdd, Type: f16, Ref: mHalf, Args: values(vI32, vF16)}, types{f16}, "type is f16"},
		{ir.Inst{Op: ir.AsyncCopy, Type: f32, Width: 4, Ref: mFloat, Ref2: pX, Args: values(vI32, vI32)}, nil, ""},
		{ir.Inst{Op: ir.AsyncCopy, Type: f32, Width: 4, Ref: mFloat, Ref2: pX, Args: values(vI32, vF32)}, nil, "index is f32"},
		{ir.Inst{Op: ir.AsyncCopy, Type: f32, Width: 4, Ref: mFloat, Ref2: pY, Args: values(vI32, vI32)}, nil, "y is not for read"},
		{ir.Inst{Op: ir.AsyncCopy, Type: f32, Width: 4, Ref: mHalf, Ref2: pX, Args: values(vI32, vI32)}, nil, "half is of f16"},

		// Fragments.
		{ir.Inst{Op: ir.FragFill, Ref: fC, Args: values(vI32, vF32)}, nil, ""},
		{ir.Inst{Op: ir.FragFill, Ref: fA, Args: values(vI32, vF32)}, nil, "fa is a, want c"},
		{ir.Inst{Op: ir.FragFill, Ref: 9, Args: values(vI32, vF32)}, nil, "fragments 9 are not there"},
		{ir.Inst{Op: ir.FragFill, Ref: fC, Args: values(vI32, vF64)}, nil, "operand 1 is f64, want f32"},
		{ir.Inst{Op: ir.FragFill, Ref: fC, Args: values(vI32)}, nil, "want 0 of 2"},
		{ir.Inst{Op: ir.FragGet, Type: f32, Ref: fC, Imm: 3, Args: values(vI32)}, types{f32}, ""},
		{ir.Inst{Op: ir.FragGet, Type: f32, Ref: fC, Imm: 4, Args: values(vI32)}, types{f32}, "element 4 of 4"},
		{ir.Inst{Op: ir.FragGet, Type: f16, Ref: fC, Args: values(vI32)}, types{f16}, "type is f16, want f32"},
		{ir.Inst{Op: ir.FragSet, Type: f32, Ref: fC, Imm: 7, Args: values(vI32, vF32)}, nil, "element 7 of 4"},
		{ir.Inst{Op: ir.FragMMA, Ref: fC, Ref2: fA, Imm: fB, Args: values(vI32, vI32, vI32)}, nil, ""},
		{ir.Inst{Op: ir.FragMMA, Ref: fC, Ref2: fB, Imm: fB, Args: values(vI32, vI32, vI32)}, nil, "fb is b, want a"},
		{ir.Inst{Op: ir.FragMMA, Ref: fOther, Ref2: fA, Imm: fB, Args: values(vI32, vI32, vI32)}, nil, "m16n8k16.bf16, m16n8k16.f16 and m16n8k16.f16"},
		{ir.Inst{Op: ir.FragMMA, Ref: fC, Ref2: fA, Imm: fB, Args: values(vI32, vF32, vI32)}, nil, "index is f32"},
		{ir.Inst{Op: ir.FragPack, Ref: fA, Ref2: fOther, Args: values(vI32, vI32)}, nil, "m16n8k16.f16 of m16n8k16.bf16"},
		{ir.Inst{Op: ir.FragPack, Ref: fWide, Ref2: fC, Args: values(vI32, vI32)}, nil, "m16n16k8.f16 of m16n8k16.f16"},
		{ir.Inst{Op: ir.FragLoad, Ref: fA, Ref2: mHalf, Width: 1, Args: values(vI32, vI32, vI32)}, nil, ""},
		{ir.Inst{Op: ir.FragLoad, Ref: fA, Ref2: mHalf, Width: 4, Args: values(vI32, vI32, vI32)}, nil, "4 fragments"},
		{ir.Inst{Op: ir.FragLoad, Ref: fA, Ref2: mFloat, Width: 1, Args: values(vI32, vI32, vI32)}, nil, "fa is a, float of f32"},
		{ir.Inst{Op: ir.FragLoad, Ref: fC, Ref2: mHalf, Width: 1, Args: values(vI32, vI32, vI32)}, nil, "fc is c, half of f16"},
		{ir.Inst{Op: ir.FragLoad, Ref: fA, Ref2: 7, Width: 1, Args: values(vI32, vI32, vI32)}, nil, "array is not there"},
		{ir.Inst{Op: ir.FragStore, Ref: fC, Ref2: mFloat, Args: values(vI32, vI32, vI32)}, nil, ""},
		{ir.Inst{Op: ir.FragStore, Ref: fC, Ref2: mHalf, Args: values(vI32, vI32, vI32)}, nil, "fc is c, half of f16"},
		{ir.Inst{Op: ir.FragStore, Ref: fA, Ref2: mFloat, Args: values(vI32, vI32, vI32)}, nil, "fa is a, float of f32"},
		{ir.Inst{Op: ir.FragStore, Ref: fC, Ref2: mFloat, Args: values(vI32, vF32, vI32)}, nil, "index is f32"},
	} {
		k := kernelOf(c.in, c.outs...)
		err := k.Verify()
		if c.want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, c.want)
		require.ErrorContains(t, err, "kernel faulty: "+k.Line(&k.Body[len(k.Body)-1])+": ", "the error names the instruction")
	}
}

// TestFaultyScopes checks that values are defined once, and used only after that in the body that defines them or inside of it.
func TestFaultyScopes(t *testing.T) {
	sum := func(out, x ir.Value) ir.Inst {
		return ir.Inst{Op: ir.Add, Type: i32, Out: values(out), Args: values(x, vI32)}
	}
	store := func(v ir.Value) ir.Inst {
		return ir.Inst{Op: ir.LocalStore, Type: i32, Ref: lInt, Args: values(vI32, v)}
	}
	less := func(out ir.Value) ir.Inst {
		return ir.Inst{Op: ir.Lt, Type: boolean, Out: values(out), Args: values(vI32, vI32)}
	}
	for name, c := range map[string]struct {
		body []ir.Inst
		want string
	}{
		"before its definition":    {[]ir.Inst{store(vNew), sum(vNew, vI32)}, "value %9 is not defined here"},
		"by itself":                {[]ir.Inst{sum(vNew, vNew)}, "value %9 is not defined here"},
		"defined twice":            {[]ir.Inst{sum(vNew, vI32), sum(vNew, vI32)}, "value %9 is defined twice or not there"},
		"a constant defined again": {[]ir.Inst{sum(vI32, vI32)}, "value %1 is defined twice"},
		"value 0":                  {[]ir.Inst{store(0)}, "value %0 is not defined here"},
		"result 0":                 {[]ir.Inst{{Op: ir.Add, Type: dtype.Invalid, Out: values(0), Args: values(vI32, vI32)}}, "value %0 is defined twice or not there"},
		"result beyond the types":  {[]ir.Inst{sum(99, vI32)}, "value %99 is defined twice or not there"},
		"after the if":             {[]ir.Inst{{Op: ir.If, Args: values(vBool), Body: []ir.Inst{sum(vNew, vI32)}}, store(vNew)}, "value %9 is not defined here"},
		"in the else":              {[]ir.Inst{{Op: ir.If, Args: values(vBool), Body: []ir.Inst{sum(vNew, vI32)}, Else: []ir.Inst{store(vNew)}}}, "value %9 is not defined here"},
		"inside":                   {[]ir.Inst{sum(vNew, vI32), {Op: ir.If, Args: values(vBool), Body: []ir.Inst{store(vNew)}, Else: []ir.Inst{store(vNew)}}}, ""},
		"a variable after its loop": {[]ir.Inst{{Op: ir.For, Type: i32, Imm: 1, Out: values(vNew), Args: values(vI32, vI32)}, store(vNew)},
			"value %9 is not defined here"},
		"a variable as its own limit": {[]ir.Inst{{Op: ir.For, Type: i32, Imm: 1, Out: values(vNew), Args: values(vI32, vNew)}}, "value %9 is not defined here"},
		"a variable in its loop":      {[]ir.Inst{{Op: ir.For, Type: i32, Imm: 1, Out: values(vNew), Args: values(vI32, vI32), Body: []ir.Inst{store(vNew)}}}, ""},
		"a condition of the head":     {[]ir.Inst{{Op: ir.While, Head: []ir.Inst{less(vNew + 1)}, Args: values(vNew + 1)}}, ""},
		"a condition from outside":    {[]ir.Inst{less(vNew + 1), {Op: ir.While, Args: values(vNew + 1)}}, ""},
		"a condition of the body":     {[]ir.Inst{{Op: ir.While, Args: values(vNew + 1), Body: []ir.Inst{less(vNew + 1)}}}, "value %10 is not defined here"},
		"a condition from an if of the head": {[]ir.Inst{{Op: ir.While, Args: values(vNew + 1),
			Head: []ir.Inst{{Op: ir.If, Args: values(vBool), Body: []ir.Inst{less(vNew + 1)}}}}}, "value %10 is not defined here"},
		"the head's value in the body": {[]ir.Inst{{Op: ir.While, Args: values(vBool), Head: []ir.Inst{sum(vNew, vI32)}, Body: []ir.Inst{store(vNew)}}},
			"value %9 is not defined here"},
	} {
		k := kernelOf(ir.Inst{Op: ir.Barrier})
		k.Types = append(k.Types, i32, boolean)
		k.Body = append(k.Body[:len(k.Body)-1], c.body...)
		err := k.Verify()
		if c.want == "" {
			require.NoError(t, err, name)
		} else {
			require.ErrorContains(t, err, c.want, name)
		}
	}

	deep := []ir.Inst{{Op: ir.AsyncCommit}}
	nested := func(n int) error {
		k := kernelOf(ir.Inst{Op: ir.Barrier})
		body := deep
		for range n {
			body = []ir.Inst{{Op: ir.If, Args: values(vBool), Body: body}}
		}
		k.Body = append(k.Body, body...)
		return k.Verify()
	}
	require.NoError(t, nested(100))
	require.ErrorContains(t, nested(101), "more than 100 bodies in each other")
}
