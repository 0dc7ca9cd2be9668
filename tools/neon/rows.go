package main

import "fmt"

// copies writes copies: of rows, of memory with non-temporal stores, and of memory with prefetching of other memory.
func (k *kernels) copies() {
	k.function("copyRows", "func(rows, cols int, dst *float32, dstRow int, src *float32, srcRow int)", "", func() {
		k.rowsOf()
		k.line("row:")
		k.line("MOVD R2, R6")
		k.line("MOVD R4, R7")
		k.line("MOVD R1, R8")
		k.span("x", "R8", place{"R6", 4}, []place{{"R7", 4}}, 4, true, func(in []value) value { return in[0] })
		k.nextRow("row")
	})
	k.function("stream", "func(n int, dst, x *float32)", "copies n elements, a multiple of four and not zero, with non-temporal stores.", func() { k.stream() })
	k.function("streamAhead", "func(n int, dst, x, next, other *float32)", "is stream that meanwhile fetches as many bytes from next and from other.",
		func() { k.stream("next", "other") })
	k.function("copyAhead", "func(n int, dst, x, next *float32)", "copies n elements, a multiple of four and not zero, and meanwhile fetches as many bytes from next.", func() {
		k.get("n", "R0")
		k.get("dst", "R1")
		k.get("x", "R2")
		k.get("next", "R3")
		k.line("more:")
		k.line("PRFM (R3), PLDL1KEEP")
		k.line("ADD $16, R3")
		k.emit(func() { k.store("Q.P", k.load("Q.P", "16(R2)"), "16(R1)") })
		k.line("SUBS $4, R0")
		k.line("BNE more")
		k.line("RET")
	})
}

func (k *kernels) stream(ahead ...string) {
	k.get("n", "R0")
	k.get("dst", "R1")
	k.get("x", "R2")
	places := []string{"R3", "R4"}[:len(ahead)]
	for i, name := range ahead {
		k.get(name, places[i])
	}
	k.line("SUBS $8, R0")
	k.line("BLT last")
	k.line("more:")
	for _, p := range places {
		k.line("PRFM (%s), PLDL1KEEP", p)
		k.line("ADD $32, %s", p)
	}
	k.line("FLDPQ.P 32(R2), (F0, F1)")
	k.line("%s", pairNonTemporal(0, 1, 1))
	k.line("ADD $32, R1")
	k.line("SUBS $8, R0")
	k.line("BGE more")
	k.line("last:")
	k.line("ADDS $8, R0")
	k.line("BEQ done")
	k.line("FMOVQ (R2), F0")
	k.line("FMOVQ F0, (R1)")
	k.line("done:")
	k.line("RET")
}

// rowsOf loads the parameters of functions over rows: rows to R0, cols to R1, dst to R2, its row stride to R3, src to R4, and its
// row stride to R5, with strides in bytes.
func (k *kernels) rowsOf() {
	k.get("rows", "R0")
	k.get("cols", "R1")
	k.get("dst", "R2")
	k.steps("dstRow", "R3")
	k.get("src", "R4")
	k.steps("srcRow", "R5")
}

func (k *kernels) nextRow(label string) {
	k.line("ADD R3, R2")
	k.line("ADD R5, R4")
	k.line("SUBS $1, R0")
	k.line("BNE %s", label)
	k.line("RET")
}

// parted writes the separation of rows into the elements at even and odd columns, its inverse, and the copying of the elements at
// even columns alone. cols is the number of columns of the complete rows.
func (k *kernels) parted() {
	pairwise := func(vectors, even, odd func()) {
		k.line("MOVD R1, R8")
		k.line("SUBS $8, R8")
		k.line("BLT few")
		k.line("vector:")
		vectors()
		k.line("SUBS $8, R8")
		k.line("BGE vector")
		k.line("few:")
		k.line("ADDS $8, R8")
		k.line("BEQ next")
		k.line("element:")
		even()
		k.line("SUBS $1, R8")
		k.line("BEQ next")
		odd()
		k.line("SUBS $1, R8")
		k.line("BNE element")
		k.line("next:")
	}
	k.function("splitRows", "func(rows, cols int, dst, odd *float32, dstRow int, src *float32, srcRow int)", "", func() {
		k.rowsOf()
		k.get("odd", "R10")
		k.line("row:")
		k.line("MOVD R2, R6")
		k.line("MOVD R4, R7")
		k.line("MOVD R10, R11")
		pairwise(func() {
			k.line("VLD2.P 32(R7), [V0.S4, V1.S4]")
			k.line("FMOVQ.P F0, 16(R6)")
			k.line("FMOVQ.P F1, 16(R11)")
		}, func() {
			k.line("FMOVS.P 4(R7), F0")
			k.line("FMOVS.P F0, 4(R6)")
		}, func() {
			k.line("FMOVS.P 4(R7), F0")
			k.line("FMOVS.P F0, 4(R11)")
		})
		k.line("ADD R3, R10")
		k.nextRow("row")
	})
	k.function("sampleRows", "func(rows, cols int, dst *float32, dstRow int, src *float32, srcRow int)", "", func() {
		k.rowsOf()
		k.line("row:")
		k.line("MOVD R2, R6")
		k.line("MOVD R4, R7")
		pairwise(func() {
			k.line("VLD2.P 32(R7), [V0.S4, V1.S4]")
			k.line("FMOVQ.P F0, 16(R6)")
		}, func() {
			k.line("FMOVS.P 4(R7), F0")
			k.line("FMOVS.P F0, 4(R6)")
		}, func() { k.line("ADD $4, R7") })
		k.nextRow("row")
	})
	k.function("interleaveRows", "func(rows, cols int, dst *float32, dstRow int, src, odd *float32, srcRow int)", "", func() {
		k.rowsOf()
		k.get("odd", "R10")
		k.line("row:")
		k.line("MOVD R2, R6")
		k.line("MOVD R4, R7")
		k.line("MOVD R10, R11")
		pairwise(func() {
			k.line("FMOVQ.P 16(R7), F0")
			k.line("FMOVQ.P 16(R11), F1")
			k.line("VST2.P [V0.S4, V1.S4], 32(R6)")
		}, func() {
			k.line("FMOVS.P 4(R7), F0")
			k.line("FMOVS.P F0, 4(R6)")
		}, func() {
			k.line("FMOVS.P 4(R11), F0")
			k.line("FMOVS.P F0, 4(R6)")
		})
		k.line("ADD R5, R10")
		k.nextRow("row")
	})
}

// standardRows writes a normalisation with one set of parameters per row.
func (k *kernels) standardRows() {
	k.function("standardRows", "func(rows, cols int, dst, x, mean, factor, bias *float32)", "sets each row of dst to (x-mean)*factor+bias.", func() {
		for i, name := range []string{"rows", "cols", "dst", "x", "mean", "factor", "bias"} {
			k.get(name, fmt.Sprintf("R%d", i))
		}
		by := []value{k.keep(), k.keep(), k.keep()}
		k.line("row:")
		for i, v := range by {
			k.line("VLD1R.P 4(R%d), [V%d.S4]", 4+i, int(-1-v))
		}
		k.line("MOVD R1, R8")
		k.span("x", "R8", place{"R2", 4}, []place{{"R3", 4}}, 4, true, func(in []value) value {
			return k.do("fmla", by[2], k.do("fsub", in[0], by[0]), by[1])
		})
		k.line("SUBS $1, R0")
		k.line("BNE row")
		k.line("RET")
	})
}

// square writes the transposition of four lines of depth elements; depth is a positive multiple of four.
func (k *kernels) square() {
	k.function("transposeFour", "func(depth int, src *float32, line int, dst *float32, width int)",
		"sets dst[p*width+l] to src[l*line+p] for l < 4 and p < depth, a positive multiple of four.", func() {
			k.get("depth", "R0")
			k.get("src", "R1")
			k.steps("line", "R2")
			k.get("dst", "R3")
			k.steps("width", "R4")
			k.line("ADD R2, R1, R5")
			k.line("ADD R2, R5, R6")
			k.line("ADD R2, R6, R7")
			k.line("more:")
			k.emit(func() {
				a, b, c, d := k.load("Q.P", "16(R1)"), k.load("Q.P", "16(R5)"), k.load("Q.P", "16(R6)"), k.load("Q.P", "16(R7)")
				even, odd, evens, odds := k.do("trn1", a, b), k.do("trn2", a, b), k.do("trn1", c, d), k.do("trn2", c, d)
				for _, v := range []value{k.do("zip1.2d", even, evens), k.do("zip1.2d", odd, odds), k.do("zip2.2d", even, evens), k.do("zip2.2d", odd, odds)} {
					k.store("Q", v, "(R3)")
					k.raw("ADD R4, R3")
				}
			})
			k.line("SUBS $4, R0")
			k.line("BNE more")
			k.line("RET")
		})
}

// philox writes Philox 4x32 with ten rounds, four blocks at a time; a vector holds the same word of four blocks.
func (k *kernels) philox() {
	k.function("philox", "func(groups int, dst *uint32, key, counter uint64)", "writes groups of four blocks of four words, for counters from the given one on.", func() {
		k.get("groups", "R0")
		k.get("dst", "R1")
		k.get("key", "R2")
		k.get("counter", "R3")
		k.line("LSR $32, R2, R4")
		k.line("MOVD $0xD2511F53, R5")
		k.line("MOVD $0xCD9E8D57, R6")
		first, second := k.keep(), k.keep()
		for i, v := range []value{first, second} {
			k.line("VDUP R%d, V%d.S4", 5+i, int(-1-v))
		}
		k.line("group:")
		x := []value{register(0), register(1), register(2), register(3)}
		keys := []value{register(4), register(5)}
		k.kept = append(k.kept, 0, 1, 2, 3, 4, 5)
		k.line("VDUP R2, V4.S4")
		k.line("VDUP R4, V5.S4")
		for lane := range 4 {
			k.line("VMOV R3, V0.S[%d]", lane)
			k.line("LSR $32, R3, R7")
			k.line("VMOV R7, V1.S[%d]", lane)
			k.line("ADD $1, R3")
		}
		k.clear(x[2])
		k.clear(x[3])
		k.emit(func() {
			for round := range 10 {
				if round > 0 {
					k.into(keys[0], "add", 0, keys[0], k.bits(0x9E3779B9))
					k.into(keys[1], "add", 0, keys[1], k.bits(0xBB67AE85))
				}
				p0, q0 := k.do("umull", x[0], first), k.do("umull2", x[0], first)
				p1, q1 := k.do("umull", x[2], second), k.do("umull2", x[2], second)
				k.into(x[0], "eor", 0, k.do("eor", k.do("uzp2", p1, q1), x[1]), keys[0])
				k.into(x[2], "eor", 0, k.do("eor", k.do("uzp2", p0, q0), x[3]), keys[1])
				k.into(x[1], "uzp1", 0, p1, q1)
				k.into(x[3], "uzp1", 0, p0, q0)
			}
		})
		k.line("VST4.P [V0.S4, V1.S4, V2.S4, V3.S4], 64(R1)")
		k.line("SUBS $1, R0")
		k.line("BNE group")
		k.line("RET")
	})
}
