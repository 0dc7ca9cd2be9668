package main

import "fmt"

// tapShapes lists the rows and vectors of the blocks that are computed together, as in package vector.
var tapShapes = [][2]int{{4, 1}, {1, 1}, {2, 2}, {1, 2}, {1, 3}, {1, 4}}

// windows writes the weighted sum and the maximum over taps, for a number of rows that is a multiple of the shape's. If there are
// several vectors, the last ends at the last column and overlaps the previous one; a single vector may have one to four columns.
func (k *kernels) windows(rows, vectors int) {
	shape := fmt.Sprintf("x%dx%d", rows, vectors)
	k.function("taps"+shape, "func(rows, cols int, dst *float32, dstRow int, src *float32, srcRow int, offsets *int, weights *float32, taps int, bias, lo, hi float32)",
		"", func() {
			bias, lo, hi, weight := k.spread("bias"), k.spread("lo"), k.spread("hi"), k.keep()
			k.get("weights", "R7")
			w := &window{kernels: k, rows: rows, vectors: vectors, weights: true}
			w.write(bias, func(sum, x value) { k.into(sum, "fmla", 0, sum, x, weight) },
				func(sum value) { k.into(sum, "fmin", 0, k.do("fmax", sum, lo), hi) }, weight)
		})
	k.function("most"+shape, "func(rows, cols int, dst *float32, dstRow int, src *float32, srcRow int, offsets *int, taps int)", "", func() {
		least := k.keep()
		k.emit(func() { k.move(least, k.bits(infinity|1<<31)) })
		w := &window{kernels: k, rows: rows, vectors: vectors}
		w.write(least, func(sum, x value) { k.into(sum, "fmax", 0, sum, x) }, nil, none)
	})
}

type window struct {
	*kernels
	rows, vectors int
	weights       bool
}

// windowRows lists the registers that contain the addresses of the rows of the source.
var windowRows = []string{"R15", "R16", "R17", "R19"}

func (w *window) write(start value, tap func(sum, x value), end func(sum value), weight value) {
	w.rowsOf()
	w.get("offsets", "R6")
	w.get("taps", "R8")
	if w.vectors > 1 {
		w.line("SUB $4, R1, R20")
		w.line("LSL $2, R20")
		w.loop("row", 4, start, tap, end, weight)
		return
	}
	w.line("CMP $4, R1")
	w.line("BEQ four")
	w.line("CMP $2, R1")
	w.line("BLT one")
	w.line("BEQ two")
	for _, c := range []struct {
		label string
		cols  int
	}{{"three", 3}, {"two", 2}, {"one", 1}, {"four", 4}} {
		w.line("%s:", c.label)
		w.loop(c.label+"Row", c.cols, start, tap, end, weight)
	}
}

// loop writes the loop over the blocks of rows; cols is the number of columns of the last vector.
func (w *window) loop(label string, cols int, start value, tap func(sum, x value), end func(sum value), weight value) {
	kept := w.kept
	sums := make([]value, w.rows*w.vectors)
	for i := range sums {
		sums[i] = w.keep()
	}
	unit := []string{"", "S", "D", "D", "Q"}[cols]
	w.line("%s:", label)
	for y := range w.rows {
		if y == 0 {
			w.line("MOVD R4, %s", windowRows[0])
		} else {
			w.line("ADD R5, %s, %s", windowRows[y-1], windowRows[y])
		}
	}
	w.emit(func() {
		for _, s := range sums {
			w.move(s, start)
		}
	})
	w.line("MOVD R6, R12")
	w.line("MOVD R8, R11")
	if w.weights {
		w.line("MOVD R7, R13")
	}
	w.line("%sTap:", label)
	w.line("MOVD.P 8(R12), R14")
	w.emit(func() {
		if w.weights {
			w.raw("VLD1R.P 4(R13), [V%d.S4]", int(-1-weight))
		}
		for y := range w.rows {
			w.raw("ADD R14<<2, %s, R21", windowRows[y])
			x := make([]value, w.vectors)
			for v := range w.vectors {
				at := fmt.Sprintf("%d(R21)", 16*v)
				if w.vectors > 1 && v == w.vectors-1 {
					w.raw("ADD R20, R21")
					at = "(R21)"
				}
				x[v] = w.load(unit, at)
				if cols == 3 {
					w.raw("ADD $8, R21")
					x[v] = w.addThird(x[v], "(R21)")
				}
			}
			for v := range w.vectors {
				tap(sums[y*w.vectors+v], x[v])
			}
		}
	})
	w.line("SUBS $1, R11")
	w.line("BNE %sTap", label)
	w.emit(func() {
		for y := range w.rows {
			for v := range w.vectors {
				s := sums[y*w.vectors+v]
				if end != nil {
					end(s)
				}
				at := fmt.Sprintf("%d(R2)", 16*v)
				if w.vectors > 1 && v == w.vectors-1 {
					w.raw("ADD R20, R2, R21")
					at = "(R21)"
				}
				w.store(unit, s, at)
				if cols == 3 {
					w.raw("ADD $8, R2, R21")
					w.raw("VST1 V%d.S[2], (R21)", int(-1-s))
				}
			}
			w.raw("ADD R3, R2")
			w.raw("ADD R5, R4")
		}
	})
	w.line("SUBS $%d, R0", w.rows)
	w.line("BNE %s", label)
	w.line("RET")
	w.kept = kept
}

// addThird returns x with lane 2 replaced by an element from memory.
func (w *window) addThird(x value, place string) value {
	v := w.fresh()
	w.add(step{result: v, from: []value{x}, destructive: true, written: func(result int, _ []int) string {
		return fmt.Sprintf("VLD1 %s, V%d.S[2]", place, result)
	}})
	return v
}
