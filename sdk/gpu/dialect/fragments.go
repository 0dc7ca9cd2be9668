package dialect

import (
	"fmt"
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// fragmentType returns the name of the type of a fragment, such as frag_a_16_8_16. The helpers of a dialect define the type.
func fragmentType(f ir.Fragments) string {
	return fmt.Sprintf("frag_%c_%d_%d_%d", 'a'+rune(f.Role), f.MMA.M, f.MMA.N, f.MMA.K)
}

// fragments declares the arrays of fragments of a kernel. A matrix instruction that the language lacks is an error.
func (p *printer) fragments() {
	for i, f := range p.k.Frags {
		if m := f.MMA; !slices.Contains(p.d.shapes, [3]int{m.M, m.N, m.K}) || !slices.Contains(p.d.orders, m.Order) {
			p.fail("the language has no matrix instruction %v", m)
		}
		p.line("%s %s[%d];", fragmentType(f), p.frag(int32(i)), f.Len)
	}
}

// fragments prints instructions on fragments as calls of helpers, whose arguments are elements of fragment arrays.
func fragments(p *printer, in *ir.Inst) bool {
	at := func(f int32, i int) string { return fmt.Sprintf("%s[%s]", p.frag(f), p.arg(in, i)) }
	switch in.Op {
	case ir.FragFill:
		p.line("frag_fill(%s, %s);", at(in.Ref, 0), p.arg(in, 1))
	case ir.FragLoad:
		name := "frag_load"
		if in.Imm == 1 {
			name = "frag_load_transposed"
		}
		from := p.shared(in.Ref2) + " + " + p.arg(in, 1)
		switch f := p.k.Frags[in.Ref]; {
		case in.Width == 2 && p.d.pairs && f.Role == ir.B:
			p.line("%s_pair(&%s, %s, %s);", name, at(in.Ref, 0), from, p.arg(in, 2))
		default:
			_, cols := f.Shape()
			step := fmt.Sprint(cols)
			if in.Imm == 1 {
				step += " * " + p.arg(in, 2)
			}
			p.line("%s(%s, %s, %s);", name, at(in.Ref, 0), from, p.arg(in, 2))
			if in.Width == 2 {
				p.line("%s(%s[%s + 1], %s + %s, %s);", name, p.frag(in.Ref), p.arg(in, 0), from, step, p.arg(in, 2))
			}
		}
	case ir.FragMMA:
		t := p.k.Frags[in.Ref].MMA.Type
		if t != dtype.F16 && t != dtype.BF16 {
			p.fail("the language has no matrix instruction of %v", t)
		}
		p.line("mma_%v(%s, %s, %s);", t, at(in.Ref, 0), at(in.Ref2, 1), at(int32(in.Imm), 2))
	case ir.FragStore:
		p.line("frag_store(%s, %s + %s, %s);", at(in.Ref, 0), p.shared(in.Ref2), p.arg(in, 1), p.arg(in, 2))
	case ir.FragGet:
		p.define(in.Out[0], fmt.Sprintf("%s.x[%d]", at(in.Ref, 0), in.Imm))
	case ir.FragSet:
		p.line("%s.x[%d] = %s;", at(in.Ref, 0), in.Imm, p.arg(in, 1))
	case ir.FragPack:
		p.line("frag_pack_%v(%s, &%s);", p.k.Frags[in.Ref].MMA.Type, at(in.Ref, 0), at(in.Ref2, 1))
	default:
		return false
	}
	return true
}
