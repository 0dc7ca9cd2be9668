package dialect

import (
	"fmt"
	"strings"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// MetalMatrices returns the matrix instructions that Metal's language has for a family of GPUs, such as Apple7: simdgroup matrices, which
// exist from Apple7 on. A fragment consists of two or four matrices of 8×8. The text relies on properties that Apple does not document. So
// the caller must test first, on the device, that each thread holds the elements that ir.Quarters defines and that products are not rounded
// to less than f32.
func MetalMatrices(family string) []ir.MMA {
	n := 0
	if _, err := fmt.Sscanf(family, "Apple%d", &n); err != nil || n < 7 {
		return nil
	}
	return []ir.MMA{{M: 16, N: 8, K: 16, Type: dtype.F16, Order: ir.Quarters}, {M: 16, N: 8, K: 16, Type: dtype.BF16, Order: ir.Quarters}}
}

// metalFragments prints instructions on fragments. Factors are held as f32, which represents all 16-bit floats exactly: Metal only
// specifies products of matrices of one type, and results are f32.
func metalFragments(p *printer, in *ir.Inst) bool {
	at := func(f int32, i int) string { return fmt.Sprintf("%s[%s]", p.frag(f), p.arg(in, i)) }
	switch in.Op {
	case ir.FragFill:
		p.line("frag_fill(%s, %s);", at(in.Ref, 0), p.arg(in, 1))
	case ir.FragLoad:
		f := p.k.Frags[in.Ref]
		name, step := "frag_load_"+f.MMA.Type.String(), ""
		_, columns := f.Shape()
		for n := range int(in.Width) {
			place := p.arg(in, 0)
			if n > 0 {
				place, step = place+" + 1", fmt.Sprintf(" + %d", columns)
				if in.Imm == 1 {
					step += " * " + p.arg(in, 2)
				}
			}
			along, across := p.arg(in, 2), "1" // distances between rows and between columns, in elements
			if in.Imm == 1 {
				along, across = across, along
			}
			p.line("%s(%s[%s], %s + %s%s, %s, %s, lane_at);", name, p.frag(in.Ref), place, p.shared(in.Ref2), p.arg(in, 1), step, along, across)
		}
	case ir.FragMMA:
		p.line("frag_multiply(%s, %s, %s);", at(in.Ref, 0), at(in.Ref2, 1), at(int32(in.Imm), 2))
	case ir.FragStore:
		p.line("frag_store(%s, %s + %s, %s);", at(in.Ref, 0), p.shared(in.Ref2), p.arg(in, 1), p.arg(in, 2))
	case ir.FragGet:
		p.define(in.Out[0], fmt.Sprintf("%s.x[%d].thread_elements()[%d]", at(in.Ref, 0), in.Imm/2, in.Imm%2))
	case ir.FragSet:
		p.line("%s.x[%d].thread_elements()[%d] = %s;", at(in.Ref, 0), in.Imm/2, in.Imm%2, p.arg(in, 1))
	case ir.FragPack:
		p.line("frag_pack_%v(%s, %s, %s[%s + 1]);", p.k.Frags[in.Ref].MMA.Type, at(in.Ref, 0), at(in.Ref2, 1), p.frag(in.Ref2), p.arg(in, 1))
	default:
		return false
	}
	return true
}

// metalMatrix are the helpers of fragments. The matrices of a fragment are stored row by row; a factor A has two by two matrices.
var metalMatrix = []helper{
	{"frag_a_16_8_16", `
struct frag_a_16_8_16 { simdgroup_float8x8 x[4]; };
`},
	{"frag_b_16_8_16", `
struct frag_b_16_8_16 { simdgroup_float8x8 x[2]; };
`},
	{"frag_c_16_8_16", `
struct frag_c_16_8_16 { simdgroup_float8x8 x[2]; };
`},
	{"frag_fill", `
DEVICE void frag_fill(thread frag_c_16_8_16& f, f32 v) {
#pragma unroll
	for (i32 i = 0; i < 2; i++) f.x[i] = make_filled_simdgroup_matrix<f32, 8, 8>(v);
}
`},
	{"frag_place", `
DEVICE i32 frag_place(u32 lane, i32 along, i32 across) {
	return i32(lane / 16u * 4u + lane / 2u % 4u) * along + i32(lane / 8u % 2u * 4u + lane % 2u * 2u) * across;
}
`},
	{"frag_load_f16", metalLoad("f16", "f16_f32(%s)")},
	{"frag_load_bf16", metalLoad("bf16", "as_type<f32>(u32(%s) << 16)")},
	{"frag_multiply", `
DEVICE void frag_multiply(thread frag_c_16_8_16& c, thread const frag_a_16_8_16& a, thread const frag_b_16_8_16& b) {
#pragma unroll
	for (i32 r = 0; r < 2; r++) {
#pragma unroll
		for (i32 k = 0; k < 2; k++) simdgroup_multiply_accumulate(c.x[r], a.x[2 * r + k], b.x[k], c.x[r]);
	}
}
`},
	{"frag_store", `
DEVICE void frag_store(thread const frag_c_16_8_16& f, threadgroup f32* s, i32 stride) {
#pragma unroll
	for (i32 r = 0; r < 2; r++) simdgroup_store(f.x[r], s + r * 8 * stride, ulong(stride));
}
`},
	{"frag_pack_f16", metalPack("f16", "f16_f32(f32_f16(%s))")},
	{"frag_pack_bf16", metalPack("bf16", "as_type<f32>(u32(f32_bf16(%s)) << 16)")},
}

// metalLoad returns helpers that load factors of a type. wide converts the bits of the type to f32.
func metalLoad(t, wide string) string {
	text := ""
	for _, f := range []struct {
		name  string
		parts int
		row   string
	}{{"frag_a_16_8_16", 4, "i / 2 * 8 * along + i % 2 * 8 * across"}, {"frag_b_16_8_16", 2, "i * 8 * along"}} {
		text += fmt.Sprintf(`
DEVICE void frag_load_%s(thread %s& f, const threadgroup u16* s, i32 along, i32 across, u32 lane) {
#pragma unroll
	for (i32 i = 0; i < %d; i++) {
		const threadgroup u16* p = s + frag_place(lane, along, across) + %s;
		f.x[i].thread_elements()[0] = %s;
		f.x[i].thread_elements()[1] = %s;
	}
}`, t, f.name, f.parts, f.row, fmt.Sprintf(wide, "p[0]"), fmt.Sprintf(wide, "p[across]"))
	}
	return text + "\n"
}

// metalPack returns a helper that converts two neighbouring results to a factor. Each thread keeps its elements and rounds them.
func metalPack(t, rounded string) string {
	return strings.NewReplacer("TYPE", t, "ROUNDED", fmt.Sprintf(rounded, "v")).Replace(`
DEVICE void frag_pack_TYPE(thread frag_a_16_8_16& a, thread frag_c_16_8_16& left, thread frag_c_16_8_16& right) {
#pragma unroll
	for (i32 r = 0; r < 2; r++) {
#pragma unroll
		for (i32 e = 0; e < 2; e++) {
			f32 v = left.x[r].thread_elements()[e];
			a.x[2 * r].thread_elements()[e] = ROUNDED;
			v = right.x[r].thread_elements()[e];
			a.x[2 * r + 1].thread_elements()[e] = ROUNDED;
		}
	}
}
`)
}
