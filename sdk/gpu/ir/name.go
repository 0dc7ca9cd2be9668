package ir

import "fmt"

var names = map[Op]string{
	Const: "const", Scalar: "scalar", Thread: "thread", Block: "block", Blocks: "blocks",
	Add: "add", Sub: "sub", Mul: "mul", Div: "div", Rem: "rem", Min: "min", Max: "max", Neg: "neg", Abs: "abs", FMA: "fma",
	MulHi: "mulhi", And: "and", Or: "or", Xor: "xor", Not: "not", Shl: "shl", Shr: "shr", Eq: "eq", Ne: "ne", Lt: "lt", Le: "le",
	Select: "select", Cast: "cast", Bitcast: "bitcast",
	Exp: "exp", Exp2: "exp2", Expm1: "expm1", Log: "log", Log2: "log2", Log1p: "log1p", Sqrt: "sqrt", Rsqrt: "rsqrt", Sin: "sin",
	Cos: "cos", Tan: "tan", Asin: "asin", Acos: "acos", Atan: "atan", Sinh: "sinh", Cosh: "cosh", Tanh: "tanh", Erf: "erf",
	Floor: "floor", Ceil: "ceil", Trunc: "trunc", Round: "round", Pow: "pow", Atan2: "atan2", Erfc: "erfc", Maximum: "maximum", Minimum: "minimum", Exp2Fast: "exp2.fast",
	Load: "load", Store: "store", SharedLoad: "shared.load", SharedStore: "shared.store", LocalLoad: "local.load",
	LocalStore: "local.store", AtomicAdd: "atomic.add", AtomicMin: "atomic.min", AtomicMax: "atomic.max", AtomicSwap: "atomic.swap",
	SharedAdd: "shared.add", AsyncCopy: "async.copy", AsyncCommit: "async.commit", AsyncWait: "async.wait",
	Barrier: "barrier", SubgroupBarrier: "subgroup.barrier", Lane: "lane", ShuffleXor: "shuffle.xor", ShuffleUp: "shuffle.up",
	ShuffleFrom: "shuffle.from", Ballot: "ballot", PopCount: "popcount",
	For: "for", If: "if", While: "while",
	FragFill: "frag.fill", FragLoad: "frag.load", FragMMA: "frag.mma", FragStore: "frag.store", FragGet: "frag.get", FragSet: "frag.set", FragPack: "frag.pack",
}

// String returns the name of the operation in the text form of kernels.
func (o Op) String() string {
	if s, ok := names[o]; ok {
		return s
	}
	return fmt.Sprintf("op(%d)", uint8(o))
}

// String returns the shape, element type and order, as in m16n8k16.f16 and m16n16k16.bf16.runs.
func (m MMA) String() string {
	return fmt.Sprintf("m%dn%dk%d.%v%s", m.M, m.N, m.K, m.Type, map[Order]string{Runs: ".runs", Strided: ".strided", Quarters: ".quarters"}[m.Order])
}

// String returns "a", "b" or "c".
func (r Role) String() string {
	switch r {
	case A:
		return "a"
	case B:
		return "b"
	case C:
		return "c"
	}
	return fmt.Sprintf("role(%d)", uint8(r))
}

// String returns "read", "write", "atomic", or several of them.
func (a Access) String() string {
	s := ""
	for i, name := range []string{"read", "write", "atomic"} {
		if a&(1<<i) != 0 {
			if s != "" {
				s += "+"
			}
			s += name
		}
	}
	return s
}
