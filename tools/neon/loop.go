package main

import "fmt"

// place is an operand of a loop: the register that points to it and the size of an element in bytes.
type place struct {
	base string
	elem int
}

func (p place) unit() string { return map[int]string{4: "Q", 2: "D", 1: "S"}[p.elem] }

func (p place) at(vector int) string { return fmt.Sprintf("%d(%s)", 4*p.elem*vector, p.base) }

// span writes a loop over the elements that register n counts; body computes a vector of them. The loop processes several vectors
// at a time while there are enough, then single vectors, and, if all is set, the last elements (one to three). Otherwise the last
// elements remain, and n contains their number. Pointers end after the processed elements.
func (k *kernels) span(label, n string, dst place, from []place, several int, all bool, body func(in []value) value) {
	one := func(vector int, after bool) block {
		return k.record(func() {
			in := make([]value, len(from))
			for i, p := range from {
				if after {
					in[i] = k.load(p.unit()+".P", fmt.Sprintf("%d(%s)", 4*p.elem, p.base))
				} else {
					in[i] = k.load(p.unit(), p.at(vector))
				}
			}
			if out := body(in); out != none && after {
				k.store(dst.unit()+".P", out, fmt.Sprintf("%d(%s)", 4*dst.elem, dst.base))
			} else if out != none {
				k.store(dst.unit(), out, dst.at(vector))
			}
		})
	}
	copies := make([]block, several)
	for i := range copies {
		copies[i] = one(i, false)
	}
	kept := k.kept
	blocks := []block{interleaved(copies...), one(0, true)}
	last := make([]value, len(from))
	if all {
		for i := range last {
			last[i] = k.keep()
		}
		blocks = append(blocks, k.record(func() { k.move(last[0], body(last)) }))
	}
	blocks = k.hold(blocks...)
	if several > 1 {
		k.line("SUBS $%d, %s", 4*several, n)
		k.line("BLT %sFew", label)
		k.line("%sMany:", label)
		k.put(blocks[0])
		for i, p := range append([]place{dst}, from...) {
			if i > 0 || dst.base != "" {
				k.line("ADD $%d, %s", 4*p.elem*several, p.base)
			}
		}
		k.line("SUBS $%d, %s", 4*several, n)
		k.line("BGE %sMany", label)
		k.line("%sFew:", label)
		k.line("ADD $%d, %s", 4*several, n)
	}
	k.line("SUBS $4, %s", n)
	k.line("BLT %sLast", label)
	k.line("%sOne:", label)
	k.put(blocks[1])
	k.line("SUBS $4, %s", n)
	k.line("BGE %sOne", label)
	k.line("%sLast:", label)
	k.line("ADDS $4, %s", n)
	if all {
		k.line("BEQ %sEnd", label)
		bases := make([]string, len(from))
		for i, p := range from {
			bases[i] = p.base
		}
		k.loadLast(label, n, bases, last)
		k.put(blocks[2])
		k.storeLast(label, n, dst.base, last[0])
		k.line("%sEnd:", label)
	}
	k.kept = kept
}

// loadLast reads the last elements of the operands at bases into the registers to, and advances the bases. Register n contains
// their number, one to three.
func (k *kernels) loadLast(label, n string, bases []string, to []value) {
	each := func(f func(base string, r int)) {
		for i, b := range bases {
			f(b, int(-1-to[i]))
		}
	}
	k.line("TBZ $1, %s, %sLoadOne", n, label)
	each(func(base string, r int) { k.line("FMOVD.P 8(%s), F%d", base, r) })
	k.line("TBZ $0, %s, %sLoaded", n, label)
	each(func(base string, r int) { k.line("VLD1.P 4(%s), V%d.S[2]", base, r) })
	k.line("JMP %sLoaded", label)
	k.line("%sLoadOne:", label)
	each(func(base string, r int) { k.line("FMOVS.P 4(%s), F%d", base, r) })
	k.line("%sLoaded:", label)
}

// storeLast stores the first elements of a vector and advances the base. Register n contains their number, one to three.
func (k *kernels) storeLast(label, n, base string, v value) {
	r := int(-1 - v)
	k.line("TBZ $1, %s, %sStoreOne", n, label)
	k.line("FMOVD.P F%d, 8(%s)", r, base)
	k.line("TBZ $0, %s, %sStored", n, label)
	k.line("VST1.P V%d.S[2], 4(%s)", r, base)
	k.line("JMP %sStored", label)
	k.line("%sStoreOne:", label)
	k.line("FMOVS.P F%d, 4(%s)", r, base)
	k.line("%sStored:", label)
}

// elementwise writes a function with the parameters n, dst, the operands in from, and numbers. body receives the numbers
// broadcast to registers.
func (k *kernels) elementwise(name, signature string, from, numbers []string, several int, doc string, body func(in, numbers []value) value) {
	k.function(name, signature, doc, func() {
		k.get("n", "R0")
		k.get("dst", "R1")
		places := make([]place, len(from))
		for i, f := range from {
			places[i] = place{fmt.Sprintf("R%d", 2+i), 4}
			k.get(f, places[i].base)
		}
		values := make([]value, len(numbers))
		for i, f := range numbers {
			values[i] = k.spread(f)
		}
		k.span("x", "R0", place{"R1", 4}, places, several, true, func(in []value) value { return body(in, values) })
		k.line("RET")
	})
}

// unary is like elementwise, for one operand.
func (k *kernels) unary(name string, several int, body func(x value) value) {
	k.elementwise(name, "func(n int, dst, x *float32)", []string{"x"}, nil, several, "", func(in, _ []value) value { return body(in[0]) })
}

// whole writes a function over n elements, a positive multiple of four. dst and x are types of elements, numbers is the text of
// further parameters, and names lists their names.
func (k *kernels) whole(name, dst, x, numbers string, names []string, several int, doc string, body func(x value, numbers []value) value) {
	bytes := map[string]int{"float32": 4, "int32": 4, "uint16": 2, "uint8": 1, "int8": 1}
	k.function(name, "func(n int, dst *"+dst+", x *"+x+numbers+")", doc, func() {
		k.get("n", "R0")
		k.get("dst", "R1")
		k.get("x", "R2")
		values := make([]value, len(names))
		for i, f := range names {
			values[i] = k.spread(f)
		}
		k.span("x", "R0", place{"R1", bytes[dst]}, []place{{"R2", bytes[x]}}, several, false, func(in []value) value { return body(in[0], values) })
		k.line("RET")
	})
}
