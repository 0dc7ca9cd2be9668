package main

import "fmt"

// instruction is an Advanced SIMD instruction of the Arm Architecture Reference Manual: its bits without registers, and the
// arrangements of its operands, the result first. The count of a shift is encoded relative to the width of an element.
type instruction struct {
	name     string
	bits     uint32
	operands []string
	width    int  // bits of an element that is shifted; 0 for other instructions
	right    bool // whether the count is encoded as twice the width minus the count, instead of their sum
}

// The keys are the names that kernels use: as in the manual, with a suffix after a point that distinguishes forms. Names without
// a suffix work on four lanes of 32 bits.
var instructions = map[string]instruction{
	"fadd": three("fadd", 0x4e20d400, "4s"), "fsub": three("fsub", 0x4ea0d400, "4s"),
	"fmul": three("fmul", 0x6e20dc00, "4s"), "fdiv": three("fdiv", 0x6e20fc00, "4s"),
	"fmax": three("fmax", 0x4e20f400, "4s"), "fmin": three("fmin", 0x4ea0f400, "4s"),
	"fmla": three("fmla", 0x4e20cc00, "4s"), "fmls": three("fmls", 0x4ea0cc00, "4s"),
	"faddp": three("faddp", 0x6e20d400, "4s"), "fmaxp": three("fmaxp", 0x6e20f400, "4s"), "fminp": three("fminp", 0x6ea0f400, "4s"),
	"fcmeq": three("fcmeq", 0x4e20e400, "4s"), "fcmge": three("fcmge", 0x6e20e400, "4s"), "fcmgt": three("fcmgt", 0x6ea0e400, "4s"),
	"add": three("add", 0x4ea08400, "4s"), "sub": three("sub", 0x6ea08400, "4s"), "smin": three("smin", 0x4ea06c00, "4s"),
	"cmtst": three("cmtst", 0x4ea08c00, "4s"),
	"and":   three("and", 0x4e201c00, "16b"), "orr": three("orr", 0x4ea01c00, "16b"), "eor": three("eor", 0x6e201c00, "16b"),
	"bsl":  three("bsl", 0x6e601c00, "16b"),
	"zip1": three("zip1", 0x4e803800, "4s"), "zip2": three("zip2", 0x4e807800, "4s"),
	"uzp1": three("uzp1", 0x4e801800, "4s"), "uzp2": three("uzp2", 0x4e805800, "4s"),
	"trn1": three("trn1", 0x4e802800, "4s"), "trn2": three("trn2", 0x4e806800, "4s"),
	"zip1.2d": three("zip1", 0x4ec03800, "2d"), "zip2.2d": three("zip2", 0x4ec07800, "2d"),

	"fadd.2d": three("fadd", 0x4e60d400, "2d"), "fsub.2d": three("fsub", 0x4ee0d400, "2d"),
	"fmul.2d": three("fmul", 0x6e60dc00, "2d"), "fdiv.2d": three("fdiv", 0x6e60fc00, "2d"),
	"fmax.2d": three("fmax", 0x4e60f400, "2d"), "fmin.2d": three("fmin", 0x4ee0f400, "2d"),
	"fmla.2d": three("fmla", 0x4e60cc00, "2d"),
	"add.2d":  three("add", 0x4ee08400, "2d"), "sub.2d": three("sub", 0x6ee08400, "2d"),
	"umull": {name: "umull", bits: 0x2ea0c000, operands: []string{"2d", "2s", "2s"}}, "umull2": {name: "umull2", bits: 0x6ea0c000, operands: []string{"2d", "4s", "4s"}},

	"fabs": two("fabs", 0x4ea0f800, "4s", "4s"), "fneg": two("fneg", 0x6ea0f800, "4s", "4s"), "fsqrt": two("fsqrt", 0x6ea1f800, "4s", "4s"),
	"frintn": two("frintn", 0x4e218800, "4s", "4s"), "frintm": two("frintm", 0x4e219800, "4s", "4s"),
	"frintp": two("frintp", 0x4ea18800, "4s", "4s"), "frintz": two("frintz", 0x4ea19800, "4s", "4s"), "frintn.2d": two("frintn", 0x4e618800, "2d", "2d"),
	"fcvtns": two("fcvtns", 0x4e21a800, "4s", "4s"), "fcvtzs": two("fcvtzs", 0x4ea1b800, "4s", "4s"), "scvtf": two("scvtf", 0x4e21d800, "4s", "4s"),
	"not":   two("mvn", 0x6e205800, "16b", "16b"),
	"fcvtl": two("fcvtl", 0x0e217800, "4s", "4h"), "fcvtn": two("fcvtn", 0x0e216800, "4h", "4s"),
	"fcvtl.2d": two("fcvtl", 0x0e617800, "2d", "2s"), "fcvtl2.2d": two("fcvtl2", 0x4e617800, "2d", "4s"), "fcvtn.2d": two("fcvtn", 0x0e616800, "2s", "2d"),
	"xtn": two("xtn", 0x0e612800, "4h", "4s"), "xtn.8b": two("xtn", 0x0e212800, "8b", "8h"),
	"uminv": {name: "uminv", bits: 0x6eb1a800, operands: []string{"s", "4s"}},

	"shl":  {name: "shl", bits: 0x4f005400, operands: []string{"4s", "4s"}, width: 32},
	"ushr": {name: "ushr", bits: 0x6f000400, operands: []string{"4s", "4s"}, width: 32, right: true},
	"sshr": {name: "sshr", bits: 0x4f000400, operands: []string{"4s", "4s"}, width: 32, right: true},
	"shrn": {name: "shrn", bits: 0x0f008400, operands: []string{"4h", "4s"}, width: 16, right: true},

	"shl.2d": {name: "shl", bits: 0x4f005400, operands: []string{"2d", "2d"}, width: 64}, "ushr.2d": {name: "ushr", bits: 0x6f000400, operands: []string{"2d", "2d"}, width: 64, right: true},
	"ushll": {name: "ushll", bits: 0x2f00a400, operands: []string{"4s", "4h"}, width: 16}, "sshll": {name: "sshll", bits: 0x0f00a400, operands: []string{"4s", "4h"}, width: 16},
	"ushll.8h": {name: "ushll", bits: 0x2f00a400, operands: []string{"8h", "8b"}, width: 8}, "sshll.8h": {name: "sshll", bits: 0x0f00a400, operands: []string{"8h", "8b"}, width: 8},
}

func three(name string, bits uint32, arrangement string) instruction {
	return instruction{name: name, bits: bits, operands: []string{arrangement, arrangement, arrangement}}
}

func two(name string, bits uint32, to, from string) instruction {
	return instruction{name: name, bits: bits, operands: []string{to, from}}
}

// word returns an instruction on vector registers, the result first, as a data word with the manual's syntax as its comment.
// shift is the count for instructions with a width.
func (i instruction) word(shift int, registers ...int) string {
	bits, text := i.bits, i.name
	if len(registers) != len(i.operands) {
		panic("neon: " + i.name + " has another number of operands")
	}
	for at, r := range registers {
		bits |= uint32(r) << []int{0, 5, 16}[at]
		name := fmt.Sprintf("v%d.%s", r, i.operands[at])
		if i.operands[at] == "s" {
			name = fmt.Sprintf("s%d", r)
		}
		text += []string{" ", ", ", ", "}[at] + name
	}
	if i.width > 0 {
		field := i.width + shift
		if i.right {
			field = 2*i.width - shift
		}
		bits |= uint32(field) << 16
		text += fmt.Sprintf(", #%d", shift)
	}
	return fmt.Sprintf("WORD $0x%08x // %s", bits, text)
}

// copied returns the instruction that copies a register.
func copied(to, from int) string {
	return fmt.Sprintf("WORD $0x%08x // mov v%d.16b, v%d.16b", 0x4ea01c00|from<<16|from<<5|to, to, from)
}

// pairNonTemporal returns the instruction for a non-temporal store of two registers.
func pairNonTemporal(first, second, base int) string {
	return fmt.Sprintf("WORD $0x%08x // stnp q%d, q%d, [x%d]", 0xac000000|second<<10|base<<5|first, first, second, base)
}
