package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// allowed lists the instruction sets that the kernels of a level may use, by the names in avo's database. The second list has sets that a
// level does not imply: asksFor has the packages that check the feature before they use such kernels.
var allowed = map[string][2][]string{
	"avx2":   {{"AVX", "AVX2", "FMA3", "CMOV", "MMX+", "SSE", "SSE2", "BMI", "BMI2"}, {"F16C"}},
	"avx512": {{"AVX", "AVX2", "FMA3", "CMOV", "MMX+", "SSE", "SSE2", "BMI", "BMI2", "AVX512F", "AVX512BW", "AVX512DQ", "AVX512VL"}, {"F16C", "AVX512_VNNI", "AVX512_BF16"}},
}

// asksFor maps the sets that no level implies to the packages whose files check the feature before they use such kernels.
var asksFor = map[string]map[string]string{
	"F16C":        {"gemm/half": "cpuid.F16C", "vector": "cpuid.F16C"},
	"AVX512_VNNI": {"gemm/quantized": "cpuid.AVX512VNNI"},
	"AVX512_BF16": {"gemm/half": "cpuid.AVX512BF16"},
}

// kernelText is a function of a generated file.
type kernelText struct {
	name, requires string
	frame          int      // bytes
	lines          []string // instructions and labels
}

var (
	textLine  = regexp.MustCompile(`^TEXT ·(\w+)\(SB\), ([A-Z|]+), \$(\d+)-\d+$`)
	labelLine = regexp.MustCompile(`^(\w+):$`)
	jumpLine  = regexp.MustCompile(`^\s+J[A-Z]+\s+(\w+)$`)
	wide      = regexp.MustCompile(`\b(Z\d+|[XY](1[6-9]|2\d|3[01])|K[0-7])\b`)
	vector    = regexp.MustCompile(`\b[YZ]\d+\b`)
	framed    = regexp.MustCompile(`\bBP$`)
)

func committed(t *testing.T, set, level string) (string, []kernelText) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "plugins", "cpu", "internal", filepath.FromSlash(set), "z"+level+"_amd64.s"))
	if err != nil {
		t.Fatal(err)
	}
	var all []kernelText
	requires := ""
	for line := range strings.Lines(string(b)) {
		line = strings.TrimRight(line, "\n")
		if list, ok := strings.CutPrefix(line, "// Requires: "); ok {
			requires = list
			continue
		}
		if m := textLine.FindStringSubmatch(line); m != nil {
			frame, err := strconv.Atoi(m[3])
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, kernelText{name: m[1], requires: requires, frame: frame})
			requires = ""
			continue
		}
		if len(all) > 0 && strings.TrimSpace(line) != "" && !strings.HasPrefix(strings.TrimSpace(line), "//") && !strings.HasPrefix(line, "DATA") && !strings.HasPrefix(line, "GLOBL") {
			all[len(all)-1].lines = append(all[len(all)-1].lines, line)
		}
	}
	return string(b), all
}

// each calls check for every committed kernel.
func each(t *testing.T, check func(t *testing.T, set, level string, k kernelText)) {
	total := 0
	for set := range sets {
		for level := range levels {
			_, kernels := committed(t, set, level)
			for _, k := range kernels {
				total++
				check(t, set, level, k)
			}
		}
	}
	if total < 400 {
		t.Errorf("only %d kernels", total)
	}
}

// TestRequiredSets checks that each kernel uses only instructions that its level implies or whose feature its package checks. Others
// are illegal on some processors.
func TestRequiredSets(t *testing.T) {
	each(t, func(t *testing.T, set, level string, k kernelText) {
		for _, name := range strings.Split(k.requires, ", ") {
			if name == "" || slices.Contains(allowed[level][0], name) {
				continue
			}
			feature, ok := asksFor[name][set]
			if !ok || !slices.Contains(allowed[level][1], name) {
				t.Errorf("%s of %s at level %s needs %s", k.name, set, level, name)
				continue
			}
			files, err := filepath.Glob(filepath.Join("..", "..", "plugins", "cpu", "internal", filepath.FromSlash(set), "native_amd64.go"))
			if err != nil || len(files) == 0 {
				t.Fatal("no file that chooses kernels of "+set, err)
			}
			text, err := os.ReadFile(files[0])
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(text), feature) {
				t.Errorf("%s does not ask for %s, which %s needs", files[0], feature, k.name)
			}
		}
	})
}

// TestRegistersOfLevel: registers that AVX2 lacks, the vectors from 16 on and the masks, are in files of AVX-512 alone. The frame
// pointer is written only by kernels with a frame, in which Go's assembler saves it: profiles walk it.
func TestRegistersOfLevel(t *testing.T) {
	each(t, func(t *testing.T, set, level string, k kernelText) {
		for _, l := range k.lines {
			if level == "avx2" && wide.MatchString(l) {
				t.Errorf("%s of %s at level avx2: %s", k.name, set, strings.TrimSpace(l))
			}
			if framed.MatchString(l) && k.frame == 0 {
				t.Errorf("%s of %s: %s", k.name, set, strings.TrimSpace(l))
			}
		}
	})
}

// TestEndsOfKernels: a kernel that used wide registers clears their upper halves before every return, or Go's SSE code becomes slow;
// it jumps to labels that exist, and does not run into what follows it.
func TestEndsOfKernels(t *testing.T) {
	each(t, func(t *testing.T, set, _ string, k kernelText) {
		uses, labels := false, map[string]bool{}
		for _, l := range k.lines {
			uses = uses || vector.MatchString(l)
			if m := labelLine.FindStringSubmatch(l); m != nil {
				if labels[m[1]] {
					t.Errorf("%s of %s: label %s twice", k.name, set, m[1])
				}
				labels[m[1]] = true
			}
		}
		for i, l := range k.lines {
			if m := jumpLine.FindStringSubmatch(l); m != nil && !labels[m[1]] {
				t.Errorf("%s of %s: no label %s", k.name, set, m[1])
			}
			if strings.TrimSpace(l) != "RET" || !uses {
				continue
			}
			cleared := false
			for j := i - 1; j >= 0 && j >= i-6 && !cleared; j-- {
				cleared = strings.TrimSpace(k.lines[j]) == "VZEROUPPER"
			}
			if !cleared {
				t.Errorf("%s of %s returns without VZEROUPPER", k.name, set)
			}
		}
		if last := strings.TrimSpace(k.lines[len(k.lines)-1]); last != "RET" && !strings.HasPrefix(last, "JMP") {
			t.Errorf("%s of %s ends with %s", k.name, set, last)
		}
	})
}

// TestBroadcastsAreUniform: where a full vector of constants became a broadcast of its first element, all of its 64 bytes are that
// element.
func TestBroadcastsAreUniform(t *testing.T) {
	use := regexp.MustCompile(`^\s+(V[A-Z0-9]+)((?:\.[A-Z]+)*)\s.*numbers<>\+(\d+)\(SB\)`)
	found := 0
	for set := range sets {
		text, _ := committed(t, set, "avx512")
		table := map[int]byte{}
		for line := range strings.Lines(text) {
			m := constantData.FindStringSubmatch(strings.TrimRight(line, "\n"))
			if m == nil {
				continue
			}
			at, _ := strconv.Atoi(m[1])
			size, _ := strconv.Atoi(m[2])
			v, err := strconv.ParseUint(m[3], 0, 64)
			if err != nil {
				t.Fatal(err)
			}
			for i := range size {
				table[at+i] = byte(v >> (8 * i))
			}
		}
		for line := range strings.Lines(text) {
			m := use.FindStringSubmatch(line)
			if m == nil || !strings.Contains(m[2], ".BCST") && !strings.HasPrefix(m[1], "VBROADCASTS") {
				continue
			}
			found++
			size := 4
			if strings.HasSuffix(m[1], "D") && !strings.HasPrefix(m[1], "VP") || strings.HasSuffix(m[1], "Q") {
				size = 8
			}
			at, _ := strconv.Atoi(m[3])
			for i := range 64 {
				if _, ok := table[at+i]; !ok || table[at+i] != table[at+i%size] {
					t.Errorf("%s: byte %d of the constant of %s differs", set, i, strings.TrimSpace(line))
					break
				}
			}
		}
	}
	if found < 50 {
		t.Errorf("only %d broadcasts", found)
	}
}

// TestBroadcastConstants compares rewritten lines with results written by hand.
func TestBroadcastConstants(t *testing.T) {
	const table = "DATA numbers<>+0(SB)/8, $0x3f8000003f800000\nDATA numbers<>+64(SB)/8, $0x3ff0000000000000\nDATA numbers<>+128(SB)/4, $0x00000007\nDATA numbers<>+132(SB)/4, $0x00000007\n"
	for before, after := range map[string]string{
		"\tVADDPS numbers<>+0(SB), Z1, Z2":          "\tVADDPS.BCST numbers<>+0(SB), Z1, Z2",
		"\tVADDPS numbers<>+0(SB), Y1, Y2":          "\tVADDPS numbers<>+0(SB), Y1, Y2",
		"\tVADDPS.Z numbers<>+0(SB), Z1, K1, Z2":    "\tVADDPS.BCST.Z numbers<>+0(SB), Z1, K1, Z2",
		"\tVMOVUPS numbers<>+0(SB), Z2":             "\tVBROADCASTSS numbers<>+0(SB), Z2",
		"\tVMOVUPD  numbers<>+64(SB), Z2":           "\tVBROADCASTSD  numbers<>+64(SB), Z2",
		"\tVADDPS numbers<>+64(SB), Z1, Z2":         "\tVADDPS numbers<>+64(SB), Z1, Z2", // two different words
		"\tVADDPD numbers<>+64(SB), Z1, Z2":         "\tVADDPD.BCST numbers<>+64(SB), Z1, Z2",
		"\tVPADDD numbers<>+128(SB), Z1, Z2":        "\tVPADDD.BCST numbers<>+128(SB), Z1, Z2",
		"\tVPERMPS numbers<>+0(SB), Z1, Z2":         "\tVPERMPS numbers<>+0(SB), Z1, Z2", // not by element
		"\tVFMADD213PS masks<>+0(SB), Z1, Z2":       "\tVFMADD213PS masks<>+0(SB), Z1, Z2",
		"\tVCMPPS $0x01, numbers<>+0(SB), Z1, K1":   "\tVCMPPS.BCST $0x01, numbers<>+0(SB), Z1, K1",
		"\tVFNMADD231PS numbers<>+128(SB), Z30, Z1": "\tVFNMADD231PS.BCST numbers<>+128(SB), Z30, Z1",
	} {
		path := filepath.Join(t.TempDir(), "k.s")
		if err := os.WriteFile(path, []byte(table+before+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := broadcastConstants(path); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if want := table + after + "\n"; string(got) != want {
			t.Errorf("%q becomes %q, want %q", before, strings.TrimPrefix(string(got), table), after)
		}
	}
}
