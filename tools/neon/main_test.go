package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRegenerate checks that the committed loops equal the output of this command.
func TestRegenerate(t *testing.T) {
	code, stubs := generate()
	for name, want := range map[string][]byte{"zneon_arm64.s": code, "zneon_arm64.go": stubs} {
		got, err := os.ReadFile(filepath.Join("..", "..", "plugins", "cpu", "internal", "vector", name))
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, got), "%s is not what the generator writes: run go generate", name)
	}
}

// TestWords compares with the output of LLVM 14's assembler for the same text.
func TestWords(t *testing.T) {
	words := map[string]struct {
		text string
		bits uint32
	}{
		"add":       {"add v9.4s, v18.4s, v29.4s", 0x4ebd8649},
		"add.2d":    {"add v9.2d, v18.2d, v29.2d", 0x4efd8649},
		"and":       {"and v9.16b, v18.16b, v29.16b", 0x4e3d1e49},
		"bsl":       {"bsl v9.16b, v18.16b, v29.16b", 0x6e7d1e49},
		"cmtst":     {"cmtst v9.4s, v18.4s, v29.4s", 0x4ebd8e49},
		"eor":       {"eor v9.16b, v18.16b, v29.16b", 0x6e3d1e49},
		"fabs":      {"fabs v9.4s, v18.4s", 0x4ea0fa49},
		"fadd":      {"fadd v9.4s, v18.4s, v29.4s", 0x4e3dd649},
		"fadd.2d":   {"fadd v9.2d, v18.2d, v29.2d", 0x4e7dd649},
		"faddp":     {"faddp v9.4s, v18.4s, v29.4s", 0x6e3dd649},
		"fcmeq":     {"fcmeq v9.4s, v18.4s, v29.4s", 0x4e3de649},
		"fcmge":     {"fcmge v9.4s, v18.4s, v29.4s", 0x6e3de649},
		"fcmgt":     {"fcmgt v9.4s, v18.4s, v29.4s", 0x6ebde649},
		"fcvtl":     {"fcvtl v9.4s, v18.4h", 0x0e217a49},
		"fcvtl.2d":  {"fcvtl v9.2d, v18.2s", 0x0e617a49},
		"fcvtl2.2d": {"fcvtl2 v9.2d, v18.4s", 0x4e617a49},
		"fcvtn":     {"fcvtn v9.4h, v18.4s", 0x0e216a49},
		"fcvtn.2d":  {"fcvtn v9.2s, v18.2d", 0x0e616a49},
		"fcvtns":    {"fcvtns v9.4s, v18.4s", 0x4e21aa49},
		"fcvtzs":    {"fcvtzs v9.4s, v18.4s", 0x4ea1ba49},
		"fdiv":      {"fdiv v9.4s, v18.4s, v29.4s", 0x6e3dfe49},
		"fdiv.2d":   {"fdiv v9.2d, v18.2d, v29.2d", 0x6e7dfe49},
		"fmax":      {"fmax v9.4s, v18.4s, v29.4s", 0x4e3df649},
		"fmax.2d":   {"fmax v9.2d, v18.2d, v29.2d", 0x4e7df649},
		"fmaxp":     {"fmaxp v9.4s, v18.4s, v29.4s", 0x6e3df649},
		"fmin":      {"fmin v9.4s, v18.4s, v29.4s", 0x4ebdf649},
		"fmin.2d":   {"fmin v9.2d, v18.2d, v29.2d", 0x4efdf649},
		"fminp":     {"fminp v9.4s, v18.4s, v29.4s", 0x6ebdf649},
		"fmla":      {"fmla v9.4s, v18.4s, v29.4s", 0x4e3dce49},
		"fmla.2d":   {"fmla v9.2d, v18.2d, v29.2d", 0x4e7dce49},
		"fmls":      {"fmls v9.4s, v18.4s, v29.4s", 0x4ebdce49},
		"fmul":      {"fmul v9.4s, v18.4s, v29.4s", 0x6e3dde49},
		"fmul.2d":   {"fmul v9.2d, v18.2d, v29.2d", 0x6e7dde49},
		"fneg":      {"fneg v9.4s, v18.4s", 0x6ea0fa49},
		"frintm":    {"frintm v9.4s, v18.4s", 0x4e219a49},
		"frintn":    {"frintn v9.4s, v18.4s", 0x4e218a49},
		"frintn.2d": {"frintn v9.2d, v18.2d", 0x4e618a49},
		"frintp":    {"frintp v9.4s, v18.4s", 0x4ea18a49},
		"frintz":    {"frintz v9.4s, v18.4s", 0x4ea19a49},
		"fsqrt":     {"fsqrt v9.4s, v18.4s", 0x6ea1fa49},
		"fsub":      {"fsub v9.4s, v18.4s, v29.4s", 0x4ebdd649},
		"fsub.2d":   {"fsub v9.2d, v18.2d, v29.2d", 0x4efdd649},
		"not":       {"mvn v9.16b, v18.16b", 0x6e205a49},
		"orr":       {"orr v9.16b, v18.16b, v29.16b", 0x4ebd1e49},
		"scvtf":     {"scvtf v9.4s, v18.4s", 0x4e21da49},
		"shl":       {"shl v9.4s, v18.4s, #5", 0x4f255649},
		"shl.2d":    {"shl v9.2d, v18.2d, #5", 0x4f455649},
		"shrn":      {"shrn v9.4h, v18.4s, #5", 0x0f1b8649},
		"smin":      {"smin v9.4s, v18.4s, v29.4s", 0x4ebd6e49},
		"sshll":     {"sshll v9.4s, v18.4h, #5", 0x0f15a649},
		"sshll.8h":  {"sshll v9.8h, v18.8b, #5", 0x0f0da649},
		"sshr":      {"sshr v9.4s, v18.4s, #5", 0x4f3b0649},
		"sub":       {"sub v9.4s, v18.4s, v29.4s", 0x6ebd8649},
		"sub.2d":    {"sub v9.2d, v18.2d, v29.2d", 0x6efd8649},
		"trn1":      {"trn1 v9.4s, v18.4s, v29.4s", 0x4e9d2a49},
		"trn2":      {"trn2 v9.4s, v18.4s, v29.4s", 0x4e9d6a49},
		"uminv":     {"uminv s9, v18.4s", 0x6eb1aa49},
		"umull":     {"umull v9.2d, v18.2s, v29.2s", 0x2ebdc249},
		"umull2":    {"umull2 v9.2d, v18.4s, v29.4s", 0x6ebdc249},
		"ushll":     {"ushll v9.4s, v18.4h, #5", 0x2f15a649},
		"ushll.8h":  {"ushll v9.8h, v18.8b, #5", 0x2f0da649},
		"ushr":      {"ushr v9.4s, v18.4s, #5", 0x6f3b0649},
		"ushr.2d":   {"ushr v9.2d, v18.2d, #5", 0x6f7b0649},
		"uzp1":      {"uzp1 v9.4s, v18.4s, v29.4s", 0x4e9d1a49},
		"uzp2":      {"uzp2 v9.4s, v18.4s, v29.4s", 0x4e9d5a49},
		"xtn":       {"xtn v9.4h, v18.4s", 0x0e612a49},
		"xtn.8b":    {"xtn v9.8b, v18.8h", 0x0e212a49},
		"zip1":      {"zip1 v9.4s, v18.4s, v29.4s", 0x4e9d3a49},
		"zip1.2d":   {"zip1 v9.2d, v18.2d, v29.2d", 0x4edd3a49},
		"zip2":      {"zip2 v9.4s, v18.4s, v29.4s", 0x4e9d7a49},
		"zip2.2d":   {"zip2 v9.2d, v18.2d, v29.2d", 0x4edd7a49},
	}
	require.Len(t, words, len(instructions))
	for name, i := range instructions {
		want := fmt.Sprintf("WORD $0x%08x // %s", words[name].bits, words[name].text)
		require.Equal(t, want, i.word(5, []int{9, 18, 29}[:len(i.operands)]...), name)
	}
}

func newKernels() *kernels { return &kernels{index: map[uint64]int{}} }

// TestBlock writes code with known registers: an operand that the result overwrites is copied if it is used again.
func TestBlock(t *testing.T) {
	k := newKernels()
	b := k.record(func() {
		x := k.load("Q", "(R1)")
		y := k.do("fmla", x, x, k.of(2))
		k.store("Q", k.do("fmla", y, x, y), "(R2)")
	})
	lines, ok := b.written([]int{4, 5, 6})
	require.True(t, ok)
	require.Equal(t, []string{
		"FMOVQ (R1), F4", "FMOVQ 0(R9), F5", copied(6, 4),
		instructions["fmla"].word(0, 6, 4, 5), instructions["fmla"].word(0, 6, 4, 6), "FMOVQ F6, (R2)",
	}, lines)
	_, ok = b.written([]int{4, 5})
	require.False(t, ok, "three values are needed at a time")
	lines, ok = b.with(map[int]int{0: 31}).written([]int{4, 5})
	require.True(t, ok)
	require.Contains(t, lines, instructions["fmla"].word(0, 5, 4, 31))
	require.Panics(t, func() { block{{result: none, from: []value{7}}}.written([]int{1}) })
}

func TestWoven(t *testing.T) {
	k := newKernels()
	copies := []block{}
	for i := range 2 {
		copies = append(copies, k.record(func() {
			k.raw("first of %d", i)
			k.raw("second of %d", i)
		}))
	}
	lines, ok := interleaved(copies...).written(nil)
	require.True(t, ok)
	require.Equal(t, "first of 0, first of 1, second of 0, second of 1", strings.Join(lines, ", "))
}

// TestHold checks that the most used constant is kept, and none that would be copied before each use.
func TestHold(t *testing.T) {
	k := newKernels()
	k.function("f", "func(n int)", "", func() {
		k.kept = []int{3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31}
		k.put(k.hold(k.record(func() {
			x := k.do("fadd", k.load("Q", "(R1)"), k.of(1))
			x = k.do("fmul", x, k.of(3))
			k.store("Q", k.do("fmla", k.of(2), x, k.of(3)), "(R1)")
		}))[0])
	})
	text := k.code.String()
	require.Equal(t, 1, strings.Count(text, fmt.Sprintf("FMOVQ %d(R9), F2", 16*k.index[0x4040000040400000])), "three is held")
	require.Less(t, strings.Index(text, ", F2"), strings.Index(text, "(R1)"))
	require.NotContains(t, text, ", F3\n")
}

func TestSignature(t *testing.T) {
	k := newKernels()
	k.place("n int, d, x *float32, a, b float32, c float64", "float32")
	require.Equal(t, 44, k.size)
	for name, want := range map[string]string{"n": "n+0(FP)", "x": "x+16(FP)", "b": "b+28(FP)", "c": "c+32(FP)", "ret": "ret+40(FP)"} {
		require.Equal(t, want, k.param(name))
	}
	require.Panics(t, func() { k.param("y") })
}

func TestPaired(t *testing.T) {
	got := paired([]string{"FMOVQ (R1), F0", "FMOVQ 16(R1), F3", "FMOVQ 32(R1), F4", "FMOVQ 48(R2), F5", "FMOVQ 1024(R3), F1", "FMOVQ 1040(R3), F2",
		"FMOVQ F0, 16(R1)", "FMOVQ F1, 32(R1)", "FMOVQ F1, 0(R1)", "FMOVQ F1, 0(R1)", "FMOVQ.P 16(R1), F0", "FMOVQ 16(R1), F1", "FMOVQ.P 16(R1), F0", "FMOVQ.P 16(R1), F1", "FMOVQ.P 16(R2), F1"})
	require.Equal(t, []string{"FLDPQ 0(R1), (F0, F3)", "FMOVQ 32(R1), F4", "FMOVQ 48(R2), F5", "FMOVQ 1024(R3), F1", "FMOVQ 1040(R3), F2",
		"FSTPQ (F0, F1), 16(R1)", "FMOVQ F1, 0(R1)", "FMOVQ F1, 0(R1)", "FMOVQ.P 16(R1), F0", "FMOVQ 16(R1), F1", "FLDPQ.P 32(R1), (F0, F1)", "FMOVQ.P 16(R2), F1"}, got)
}
