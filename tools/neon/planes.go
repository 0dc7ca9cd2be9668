package main

import "fmt"

const (
	planeRows    = 4 // rows computed together, as in package vector
	planeVectors = 2
)

// plane writes the convolution of groups of four rows with a kernel of size x size elements, whose weights are lanes of
// registers. Each row of the source is added to the sums of all result rows that it contributes to, in the order of the taps.
// Columns are processed by two vectors, then by one; the last vector ends at the last column and repeats some columns, unless
// there are fewer than four.
func (k *kernels) plane(size, stride int) {
	k.function(fmt.Sprintf("planex%dx%d", size, stride),
		"func(groups, cols int, dst *float32, dstRow int, src *float32, srcRow int, offsets *int, weights *float32, bias, lo, hi float32)", "", func() {
			p := &plane{kernels: k, size: size, stride: stride, bias: k.spread("bias"), lo: k.spread("lo"), hi: k.spread("hi")}
			k.get("groups", "R0")
			k.get("cols", "R1")
			k.get("dst", "R2")
			k.steps("dstRow", "R3")
			k.get("src", "R4")
			k.steps("srcRow", "R5")
			k.get("offsets", "R6")
			k.get("weights", "R7")
			for x := range size {
				k.line("MOVD.P 8(R6), R%d", 10+x)
				k.line("LSL $2, R%d", 10+x)
			}
			for i := 0; i < size*size; i += 4 {
				v := k.keep()
				p.weights = append(p.weights, int(-1-v))
				unit, bytes := "Q", 16
				if i+4 > size*size {
					unit, bytes = "S", 4 // for both sizes one weight remains
				}
				k.line("FMOV%s.P %d(R7), F%d", unit, bytes, int(-1-v))
			}
			k.line("group:")
			k.line("MOVD R1, R16")
			k.line("MOVD R4, R15")
			k.line("MOVD R2, R20")
			k.line("SUBS $8, R16")
			k.line("BLT few")
			k.line("two:")
			p.block(planeVectors, "Q")
			k.line("ADD $32, R15")
			k.line("ADD $32, R20")
			k.line("SUBS $8, R16")
			k.line("BGE two")
			k.line("few:")
			k.line("ADDS $8, R16")
			k.line("BEQ next")
			k.line("CMP $4, R1")
			k.line("BLT element")
			k.line("one:")
			k.line("SUBS $4, R16")
			k.line("BGE whole")
			k.line("ADD R16<<2, R15")
			k.line("ADD R16<<2, R20")
			k.line("MOVD ZR, R16")
			k.line("whole:")
			p.block(1, "Q")
			k.line("ADD $16, R15")
			k.line("ADD $16, R20")
			k.line("CBNZ R16, one")
			k.line("JMP next")
			k.line("element:")
			p.block(1, "S")
			k.line("ADD $4, R15")
			k.line("ADD $4, R20")
			k.line("SUBS $1, R16")
			k.line("BNE element")
			k.line("next:")
			for range planeRows {
				k.line("ADD R3, R2")
			}
			for range planeRows * stride {
				k.line("ADD R5, R4")
			}
			k.line("SUBS $1, R0")
			k.line("BNE group")
			k.line("RET")
		})
}

type plane struct {
	*kernels
	size, stride int
	bias, lo, hi value
	weights      []int
}

// block writes the computation of four rows of the given number of vectors, from the source at R15 to dst at R20.
func (p *plane) block(vectors int, unit string) {
	kept := p.kept
	sums := make([]value, planeRows*vectors)
	for i := range sums {
		sums[i] = p.keep()
	}
	p.emit(func() {
		for _, s := range sums {
			p.move(s, p.bias)
		}
		p.raw("MOVD R15, R17")
		for row := range (planeRows-1)*p.stride + p.size {
			if vectors > 1 {
				p.raw("ADD $16, R17, R19")
			}
			for x := range p.size {
				for v := range vectors {
					in := p.loadIndexed(unit, []int{17, 19}[v], 10+x)
					for y := range planeRows {
						if from := row - y*p.stride; from >= 0 && from < p.size {
							p.multiplyAdd(sums[y*vectors+v], in, from*p.size+x)
						}
					}
				}
			}
			p.raw("ADD R5, R17")
		}
		p.raw("MOVD R20, R21")
		for y := range planeRows {
			for v := range vectors {
				s := p.do("fmin", p.do("fmax", sums[y*vectors+v], p.lo), p.hi)
				p.store(unit, s, fmt.Sprintf("%d(R21)", 16*v))
			}
			p.raw("ADD R3, R21")
		}
	})
	p.kept = kept
}

// loadIndexed reads a vector, or one element, at the sum of two general-purpose registers.
func (p *plane) loadIndexed(unit string, base, index int) value {
	return p.add(step{result: p.fresh(), written: func(result int, _ []int) string {
		bits, name := 0x3ce06800, "q"
		if unit == "S" {
			bits, name = 0xbc606800, "s"
		}
		return fmt.Sprintf("WORD $0x%08x // ldr %s%d, [x%d, x%d]", bits|index<<16|base<<5|result, name, result, base, index)
	}})
}

// multiplyAdd adds the product of a vector and weight number weight to a sum.
func (p *plane) multiplyAdd(sum, x value, weight int) {
	r, lane := p.weights[weight/4], weight%4
	p.add(step{result: sum, from: []value{sum, x}, destructive: true, written: func(result int, from []int) string {
		return fmt.Sprintf("WORD $0x%08x // fmla v%d.4s, v%d.4s, v%d.s[%d]", 0x4f801000|lane&1<<21|r<<16|lane>>1<<11|from[1]<<5|result, result, from[1], r, lane)
	}})
}
