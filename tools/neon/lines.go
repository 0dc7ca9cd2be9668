package main

import "fmt"

// fetchAhead is the prefetch distance in bytes of loops that only read.
const fetchAhead = 1 << 10

// lineSums writes reductions of a line of n elements to four partial results, or two in float64. n is a positive multiple of
// four, and of sixteen for sumLine.
func (k *kernels) lineSums() {
	k.function("sumLine", "func(n int, x *float32, out *float32)", "takes a multiple of sixteen elements.", func() {
		k.get("n", "R0")
		k.get("x", "R1")
		k.get("out", "R2")
		sums := []value{k.zero(), k.zero(), k.zero(), k.zero()}
		k.line("more:")
		k.line("PRFM %d(R1), PLDL1KEEP", fetchAhead)
		k.emit(func() {
			x := make([]value, len(sums))
			for i := range x {
				x[i] = k.load("Q.P", "16(R1)")
			}
			for i, s := range sums {
				k.into(s, "fadd", 0, s, x[i])
			}
		})
		k.line("SUBS $16, R0")
		k.line("BNE more")
		k.emit(func() {
			sum := k.do("fadd", k.do("fadd", sums[0], sums[1]), k.do("fadd", sums[2], sums[3]))
			k.store("Q", sum, "(R2)")
		})
		k.line("RET")
	})
	for _, p := range []struct{ name, op string }{{"maxLine", "fmax"}, {"minLine", "fmin"}} {
		k.function(p.name, "func(n int, x *float32, out *int32)",
			"gives keys, which order as integers like numbers do, then words of which one is not zero if there is a NaN.", func() {
				k.get("n", "R0")
				k.get("x", "R1")
				k.get("out", "R2")
				best := []value{k.keep(), k.keep()}
				k.emit(func() {
					for _, b := range best {
						k.loadTo(b, "Q", "(R1)")
					}
				})
				turn := 0
				k.span("x", "R0", place{}, []place{{"R1", 4}}, 4, false, func(in []value) value {
					k.into(best[turn%2], p.op, 0, best[turn%2], in[0])
					turn++
					return none
				})
				k.emit(func() {
					v := k.do(p.op, best[0], best[1])
					key := k.do("eor", v, k.do("and", k.shift("sshr", 31, v), k.bits(1<<31-1)))
					k.store("Q", key, "(R2)")
					k.store("Q", k.do("not", k.do("fcmeq", v, v)), "16(R2)")
				})
				k.line("RET")
			})
	}
	for _, p := range []struct{ name, params, doc string }{{"total", "x *float32, out *float64", "sums numbers."},
		{"squares", "x *float32, mean float32, out *float64", "sums the squares of what numbers differ from mean by."}} {
		k.function(p.name, "func(n int, "+p.params+")", p.doc, func() {
			k.get("n", "R0")
			k.get("x", "R1")
			k.get("out", "R2")
			var mean value
			if p.name == "squares" {
				mean = k.spread("mean")
			}
			sums := []value{k.zero(), k.zero(), k.zero(), k.zero()}
			turn := 0
			k.span("x", "R0", place{}, []place{{"R1", 4}}, 2, false, func(in []value) value {
				x := in[0]
				if p.name == "squares" {
					x = k.do("fsub", x, mean)
				}
				for h, widen := range []string{"fcvtl.2d", "fcvtl2.2d"} {
					s, d := sums[2*(turn%2)+h], k.do(widen, x)
					if p.name == "squares" {
						k.into(s, "fmla.2d", 0, s, d, d)
					} else {
						k.into(s, "fadd.2d", 0, s, d)
					}
				}
				turn++
				return none
			})
			k.emit(func() {
				sum := k.do("fadd.2d", k.do("fadd.2d", sums[0], sums[1]), k.do("fadd.2d", sums[2], sums[3]))
				k.store("Q", sum, "(R2)")
			})
			k.line("RET")
		})
	}
}

// joint is an operation that reduces numbers to one; extremes treat NaN and zeros as package vector requires.
type joint struct {
	name, op, across string
	neutral          uint32 // bits of the neutral element
}

var joints = []joint{{"Sums", "fadd", "faddp", 0}, {"Maxima", "fmax", "fmaxp", infinity | 1<<31}, {"Minima", "fmin", "fminp", infinity}}

// rowSums is the number of accumulators of a row; they and their lanes are combined in a fixed order.
const rowSums = 2

// joinRows writes the loop that reduces each row of a matrix to a number, four rows at a time. The order of summation in a row
// does not depend on other rows.
func (k *kernels) joinRows(j joint) {
	k.function("row"+j.name, "func(rows, cols int, x *float32, row int, out *float32)", "joins each row to a number.", func() {
		k.get("rows", "R0")
		k.get("cols", "R1")
		k.get("x", "R2")
		k.steps("row", "R3")
		k.get("out", "R4")
		k.line("SUBS $4, R0")
		k.line("BLT few")
		k.line("four:")
		k.joinGroup(j, 4, "four")
		k.line("FMOVQ.P F0, 16(R4)")
		k.line("ADD R3<<2, R2")
		k.line("SUBS $4, R0")
		k.line("BGE four")
		k.line("few:")
		k.line("ADDS $4, R0")
		k.line("BEQ done")
		k.line("one:")
		k.joinGroup(j, 1, "one")
		k.line("FMOVS.P F0, 4(R4)")
		k.line("ADD R3, R2")
		k.line("SUBS $1, R0")
		k.line("BNE one")
		k.line("done:")
		k.line("RET")
	})
}

// joinGroup reduces up to four rows, each to a lane of vector 0.
func (k *kernels) joinGroup(j joint, rows int, label string) {
	kept := k.kept
	at := []string{"R5", "R6", "R7", "R8"}[:rows]
	acc := make([]value, rows*rowSums)
	k.line("MOVD R2, R5")
	for r := range rows {
		if r > 0 {
			k.line("ADD R3, %s, %s", at[r-1], at[r])
		}
		for i := range rowSums {
			acc[r*rowSums+i] = k.keep()
		}
	}
	k.emit(func() {
		neutral := k.bits(j.neutral)
		for _, a := range acc {
			k.move(a, neutral)
		}
	})
	join := func(vectors int, load func(base string) value) {
		k.emit(func() {
			x := make([]value, len(acc))
			for r, base := range at {
				for v := range vectors {
					x[r*rowSums+v] = load(base)
				}
			}
			for v := range vectors {
				for r := range at {
					a := acc[r*rowSums+v]
					k.into(a, j.op, 0, a, x[r*rowSums+v])
				}
			}
		})
	}
	vector := func(base string) value { return k.load("Q.P", "16("+base+")") }
	k.line("MOVD R1, R10")
	k.line("SUBS $%d, R10", 4*rowSums)
	k.line("BLT %sLess", label)
	k.line("%sMore:", label)
	join(rowSums, vector)
	k.line("SUBS $%d, R10", 4*rowSums)
	k.line("BGE %sMore", label)
	k.line("%sLess:", label)
	k.line("ADDS $%d, R10", 4*rowSums-4)
	k.line("BLT %sTail", label)
	join(1, vector)
	k.line("SUB $4, R10")
	k.line("%sTail:", label)
	k.line("ADDS $4, R10")
	k.line("BEQ %sJoin", label)
	k.line("%sElement:", label)
	join(1, func(base string) value {
		if j.op == "fadd" {
			return k.load("S.P", "4("+base+")")
		}
		return k.spreadFrom("4(" + base + ")")
	})
	k.line("SUBS $1, R10")
	k.line("BNE %sElement", label)
	k.line("%sJoin:", label)
	k.emit(func() {
		var v []value
		for r := range rows {
			v = append(v, k.do(j.op, acc[r*rowSums], acc[r*rowSums+1]))
		}
		for len(v) < 4 {
			v = append(v, v[0])
		}
		k.move(register(0), k.do(j.across, k.do(j.across, v[0], v[1]), k.do(j.across, v[2], v[3])))
	})
	k.kept = kept
}

// spreadFrom returns a vector with an element from memory in all lanes, and advances the pointer.
func (k *kernels) spreadFrom(place string) value {
	return k.add(step{result: k.fresh(), written: func(result int, _ []int) string { return fmt.Sprintf("VLD1R.P %s, [V%d.S4]", place, result) }})
}

// joinColumns writes the loop that reduces the rows of a matrix to one row, strip by strip of columns.
func (k *kernels) joinColumns(j joint) {
	k.function("column"+j.name, "func(rows, cols int, x *float32, row int, out *float32)", "joins rows, at least one, to one.", func() {
		k.get("rows", "R0")
		k.get("cols", "R1")
		k.get("x", "R2")
		k.steps("row", "R3")
		k.get("out", "R4")
		for _, strip := range []struct {
			label, unit   string
			vectors, cols int
		}{{"wide", "Q", 16, 64}, {"narrow", "Q", 4, 16}, {"vector", "Q", 1, 4}, {"element", "S", 1, 1}} {
			k.line("SUBS $%d, R1", strip.cols)
			k.line("BLT %sEnd", strip.label)
			k.line("%s:", strip.label)
			k.line("MOVD R2, R5")
			k.line("MOVD R0, R6")
			kept := k.kept
			acc := make([]value, strip.vectors)
			for i := range acc {
				acc[i] = k.keep()
			}
			at := func(i int) string { return fmt.Sprintf("%d(R5)", 16*i) }
			k.emit(func() {
				for i, a := range acc {
					k.loadTo(a, strip.unit, at(i))
				}
			})
			k.line("JMP %sNext", strip.label)
			k.line("%sRow:", strip.label)
			k.emit(func() {
				const together = 8
				var x []value
				for i := range acc {
					if i%together == 0 {
						x = nil
						for l := range min(together, len(acc)-i) {
							x = append(x, k.load(strip.unit, at(i+l)))
						}
					}
					k.into(acc[i], j.op, 0, acc[i], x[i%together])
				}
			})
			k.line("%sNext:", strip.label)
			k.line("ADD R3, R5")
			k.line("SUBS $1, R6")
			k.line("BNE %sRow", strip.label)
			k.emit(func() {
				for i, a := range acc {
					k.store(strip.unit, a, fmt.Sprintf("%d(R4)", 16*i))
				}
			})
			k.kept = kept
			k.line("ADD $%d, R4", 4*strip.cols)
			k.line("ADD $%d, R2", 4*strip.cols)
			k.line("SUBS $%d, R1", strip.cols)
			k.line("BGE %s", strip.label)
			k.line("%sEnd:", strip.label)
			k.line("ADD $%d, R1", strip.cols)
		}
		k.line("RET")
	})
}

// stacked is the number of rows that joinStack combines.
const stacked = 8

// joinStack writes the loop that combines eight rows of a matrix with another row. Each row is read from beginning to end.
func (k *kernels) joinStack(j joint) {
	k.function("stack"+j.name, "func(n int, acc, x *float32, row int)", "joins eight rows of n elements to acc.", func() {
		k.get("n", "R0")
		k.get("acc", "R1")
		k.get("x", "R2")
		k.steps("row", "R3")
		from := []place{{"R20", 4}, {"R2", 4}}
		k.line("MOVD R1, R20")
		for i, r := range []string{"R4", "R5", "R6", "R7", "R8", "R10", "R11"} {
			k.line("ADD R3, %s, %s", from[i+1].base, r)
			from = append(from, place{r, 4})
		}
		k.span("x", "R0", place{"R1", 4}, from, 2, true, func(in []value) value {
			v := append([]value(nil), in[1:]...)
			for width := 1; width < stacked; width *= 2 {
				for i := 0; i < stacked; i += 2 * width {
					v[i] = k.do(j.op, v[i], v[i+width])
				}
			}
			return k.do(j.op, in[0], v[0])
		})
		k.line("RET")
	})
}

// finds writes searches for the first element for which a comparison is false, so that a NaN is found.
func (k *kernels) finds() {
	for _, p := range []struct {
		name, op string
		swapped  bool // the bound is the first operand
		doc      string
	}{
		{"findAbove", "fcmge", true, "not at most"}, {"findBelow", "fcmge", false, "not at least"},
		{"findAtLeast", "fcmgt", true, "not less than"}, {"findAtMost", "fcmgt", false, "not more than"},
	} {
		k.function(p.name, "func(n int, x *float32, bound float32) int", "gives the place of the first element that is "+p.doc+" bound, n if there is none.", func() {
			k.get("n", "R0")
			k.get("x", "R1")
			bound := k.spread("bound")
			k.line("MOVD R1, R2")
			passes := func(x value) value {
				if p.swapped {
					return k.do(p.op, bound, x)
				}
				return k.do(p.op, x, bound)
			}
			k.line("SUBS $16, R0")
			k.line("BLT few")
			k.line("many:")
			k.emit(func() {
				k.raw("PRFM %d(R1), PLDL1KEEP", fetchAhead)
				x := make([]value, 4)
				for i := range x {
					x[i] = k.load("Q", fmt.Sprintf("%d(R1)", 16*i))
				}
				all := passes(x[0])
				for _, v := range x[1:] {
					all = k.do("and", all, passes(v))
				}
				k.move(register(0), k.do("uminv", all))
			})
			k.line("FMOVS F0, R3")
			k.line("CBZW R3, few")
			k.line("ADD $64, R1")
			k.line("SUBS $16, R0")
			k.line("BGE many")
			k.line("few:")
			k.line("ADDS $16, R0")
			k.line("BEQ end")
			k.line("element:")
			k.emit(func() { k.move(register(0), passes(k.load("S", "(R1)"))) })
			k.line("FMOVS F0, R3")
			k.line("CBZW R3, end")
			k.line("ADD $4, R1")
			k.line("SUBS $1, R0")
			k.line("BNE element")
			k.line("end:")
			k.line("SUB R2, R1")
			k.line("LSR $2, R1")
			k.line("MOVD R1, %s", k.param("ret"))
			k.line("RET")
		})
	}
}

// cumulate writes a step of a running sum over rows: it adds a row to sums in float64, and stores the sums rounded to float32.
func (k *kernels) cumulate() {
	k.function("cumulate", "func(n int, sums *float64, dst, x *float32)", "adds x to sums and sets dst to these; n is a multiple of four and not zero.", func() {
		k.get("n", "R0")
		k.get("sums", "R1")
		k.get("dst", "R2")
		k.get("x", "R3")
		k.line("more:")
		k.emit(func() {
			x := k.load("Q.P", "16(R3)")
			var halves []value
			for h, widen := range []string{"fcvtl.2d", "fcvtl2.2d"} {
				s := k.do("fadd.2d", k.do(widen, x), k.load("Q", fmt.Sprintf("%d(R1)", 16*h)))
				k.store("Q", s, fmt.Sprintf("%d(R1)", 16*h))
				halves = append(halves, k.do("fcvtn.2d", s))
			}
			k.store("Q.P", k.do("zip1.2d", halves[0], halves[1]), "16(R2)")
		})
		k.line("ADD $32, R1")
		k.line("SUBS $4, R0")
		k.line("BNE more")
		k.line("RET")
	})
}
