package main

// pairs writes arithmetic on two operands, each also with a scalar as one operand. The extremes return NaN if an operand is NaN,
// and order zeros by their signs.
func (k *kernels) pairs() {
	for _, p := range []struct {
		name    string
		ordered bool // operands cannot be exchanged
	}{{"add", false}, {"mul", false}, {"sub", true}, {"div", true}, {"max", false}, {"min", false}} {
		op := "f" + p.name
		k.elementwise(p.name, "func(n int, dst, a, b *float32)", []string{"a", "b"}, nil, 4, "",
			func(in, _ []value) value { return k.do(op, in[0], in[1]) })
		k.elementwise(p.name+"To", "func(n int, dst, a *float32, b float32)", []string{"a"}, []string{"b"}, 4, "",
			func(in, by []value) value { return k.do(op, in[0], by[0]) })
		if p.ordered {
			k.elementwise(p.name+"From", "func(n int, dst, b *float32, a float32)", []string{"b"}, []string{"a"}, 4, "",
				func(in, by []value) value { return k.do(op, by[0], in[0]) })
		}
	}
	k.elementwise("clamp", "func(n int, dst, x *float32, lo, hi float32)", []string{"x"}, []string{"lo", "hi"}, 4, "",
		func(in, by []value) value { return k.do("fmin", k.do("fmax", in[0], by[0]), by[1]) })
}

// simple writes the functions that consist of one or two instructions.
func (k *kernels) simple() {
	for _, f := range [][2]string{{"neg", "fneg"}, {"abs", "fabs"}, {"sqrt", "fsqrt"}, {"round", "frintn"}, {"floor", "frintm"}, {"ceil", "frintp"}, {"trunc", "frintz"}} {
		k.unary(f[0], 4, func(x value) value { return k.do(f[1], x) })
	}
	k.unary("square", 4, func(x value) value { return k.do("fmul", x, x) })
	k.unary("reciprocal", 4, func(x value) value { return k.do("fdiv", k.of(1), x) })
	k.unary("rsqrt", 4, func(x value) value { return k.do("fdiv", k.of(1), k.do("fsqrt", x)) })
	k.elementwise("leaky", "func(n int, dst, x *float32, alpha float32)", []string{"x"}, []string{"alpha"}, 4, "",
		func(in, by []value) value { return k.do("fmax", in[0], k.do("fmul", in[0], by[0])) })
	k.elementwise("gate", "func(n int, dst, x *float32, alpha, alphaLow, beta, betaLow, times float32)", []string{"x"},
		[]string{"alpha", "alphaLow", "beta", "betaLow", "times"}, 2,
		"brings alpha*x+beta into [0, 1]; both numbers are sums of two. If times is not zero the result is multiplied by x.",
		func(in, by []value) value {
			// Clamped, because the product of infinity with a low half may be NaN.
			x := k.do("fmax", k.do("fmin", in[0], k.of(1<<60)), k.of(-1<<60))
			y := k.do("fadd", k.do("fmla", by[2], x, by[0]), k.do("fmla", by[3], x, by[1]))
			y = k.do("fmin", k.do("fmax", y, k.bits(0)), k.of(1))
			once := k.do("fcmeq", by[4], k.bits(0))
			return k.choose(once, y, k.do("fmul", y, in[0]))
		})
	k.elementwise("standard", "func(n int, dst, x *float32, mean, factor float32)", []string{"x"}, []string{"mean", "factor"}, 4, "",
		func(in, by []value) value { return k.do("fmul", k.do("fsub", in[0], by[0]), by[1]) })
	k.elementwise("linear", "func(n int, dst, x *float32, factor, bias float32)", []string{"x"}, []string{"factor", "bias"}, 4, "",
		func(in, by []value) value { return k.do("fmla", by[1], in[0], by[0]) })
	k.elementwise("standardScaled", "func(n int, dst, x, scale *float32, mean, factor float32)", []string{"x", "scale"}, []string{"mean", "factor"}, 4, "",
		func(in, by []value) value {
			return k.do("fmul", k.do("fmul", k.do("fsub", in[0], by[0]), by[1]), in[1])
		})
	k.elementwise("standardAffine", "func(n int, dst, x, scale, bias *float32, mean, factor float32)", []string{"x", "scale", "bias"}, []string{"mean", "factor"}, 4, "",
		func(in, by []value) value {
			return k.do("fmla", in[2], k.do("fmul", k.do("fsub", in[0], by[0]), by[1]), in[1])
		})
}

// choose returns yes where all bits of a lane of mask are set, and no where none are set.
func (k *kernels) choose(mask, yes, no value) value { return k.do("bsl", mask, yes, no) }

// storage writes the conversions between float32 and other types of storage.
func (k *kernels) storage() {
	whole := func(name, dst, x string, body func(x value) value) {
		k.whole(name, dst, x, "", nil, 4, "", func(x value, _ []value) value { return body(x) })
	}
	whole("fromF16", "float32", "uint16", func(x value) value { return k.do("fcvtl", x) })
	whole("toF16", "uint16", "float32", func(x value) value { return k.do("fcvtn", x) })
	whole("fromBF16", "float32", "uint16", func(x value) value { return k.shift("shl", 16, k.shift("ushll", 0, x)) })
	whole("toBF16", "uint16", "float32", func(x value) value {
		high := k.shift("ushr", 16, x)
		even := k.do("add", k.do("and", high, k.bits(1)), k.bits(0x7fff))
		rounded := k.shift("ushr", 16, k.do("add", even, x))
		return k.do("xtn", k.choose(k.do("fcmeq", x, x), rounded, k.do("orr", high, k.bits(0x40))))
	})
	whole("toI32", "int32", "float32", func(x value) value { return k.do("fcvtzs", x) })
	whole("fromI32", "float32", "int32", func(x value) value { return k.do("scvtf", x) })
	for _, p := range []struct{ name, typ, widen string }{{"U8", "uint8", "ushll"}, {"I8", "int8", "sshll"}} {
		widened := func(x value) value { return k.shift(p.widen, 0, k.shift(p.widen+".8h", 0, x)) }
		whole("from"+p.name, "float32", p.typ, func(x value) value { return k.do("scvtf", widened(x)) })
		k.whole("dequantize"+p.name, "float32", p.typ, ", scale float32, zero int32", []string{"scale", "zero"}, 4, "", func(x value, by []value) value {
			return k.do("fmul", k.do("scvtf", k.do("sub", widened(x), by[1])), by[0])
		})
	}
	k.whole("quantize", "uint8", "float32", ", scale, zero, lo, hi float32", []string{"scale", "zero", "lo", "hi"}, 4,
		"divides by scale, rounds to even, adds zero, and brings the sum into [lo, hi]; NaN counts as 0.",
		func(x value, by []value) value {
			q := k.do("frintn", k.do("fdiv", x, by[0]))
			q = k.do("fadd", k.do("and", q, k.do("fcmeq", q, q)), by[1])
			q = k.do("fcvtzs", k.do("fmin", k.do("fmax", q, by[2]), by[3]))
			return k.do("xtn.8b", k.do("xtn", q))
		})
	k.function("choose", "func(n int, dst *float32, cond *uint8, a, b *float32)", "takes a where cond is not zero and b elsewhere.", func() {
		for i, name := range []string{"n", "dst", "cond", "a", "b"} {
			k.get(name, []string{"R0", "R1", "R2", "R3", "R4"}[i])
		}
		k.span("x", "R0", place{"R1", 4}, []place{{"R2", 1}, {"R3", 4}, {"R4", 4}}, 2, false, func(in []value) value {
			c := k.shift("ushll", 0, k.shift("ushll.8h", 0, in[0]))
			return k.choose(k.do("cmtst", c, c), in[1], in[2])
		})
		k.line("RET")
	})
}
