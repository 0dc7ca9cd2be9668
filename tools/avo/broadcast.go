package main

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// Constants in the table fill a vector of 64 bytes, but the linker aligns symbols to at most 32 bytes: in half of all programs
// every full-width constant crosses a cache line, which slows an elementary function down by a third. Therefore instructions on
// 64-byte vectors broadcast one element from memory, which also takes one load.

var (
	constantData = regexp.MustCompile(`^DATA numbers<>\+(\d+)\(SB\)/(\d), \$(0x[0-9a-f]+)`)
	constantUse  = regexp.MustCompile(`^(\s+)(V[A-Z0-9]+)((?:\.[A-Z]+)*)(\s+)(.*)numbers<>\+(\d+)\(SB\)(.*)$`)
)

// elementBytes maps instructions to the size of their elements. Instructions that are not listed are left unchanged.
var elementBytes = map[string]int{
	"VMOVUPS": 4, "VFMADD213PS": 4, "VFMADD231PS": 4, "VFNMADD213PS": 4, "VFNMADD231PS": 4, "VADDPS": 4, "VSUBPS": 4, "VMULPS": 4, "VDIVPS": 4,
	"VMINPS": 4, "VMAXPS": 4, "VANDPS": 4, "VORPS": 4, "VXORPS": 4, "VCMPPS": 4, "VPADDD": 4, "VPSUBD": 4,
	"VMOVUPD": 8, "VFMADD213PD": 8, "VADDPD": 8, "VSUBPD": 8, "VMULPD": 8, "VANDPD": 8, "VORPD": 8, "VPADDQ": 8, "VPSUBQ": 8, "VPMULUDQ": 8,
}

// broadcastConstants rewrites the instructions of a generated file so that they broadcast constants.
func broadcastConstants(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	lines := strings.Split(string(text), "\n")
	word := map[int]string{} // 32-bit words as hexadecimal text, by offset
	for _, l := range lines {
		m := constantData.FindStringSubmatch(l)
		if m == nil {
			continue
		}
		at, err := strconv.Atoi(m[1])
		if err != nil {
			return err
		}
		v, err := strconv.ParseUint(m[3], 0, 64)
		if err != nil {
			return err
		}
		word[at] = fmt.Sprintf("%08x", uint32(v))
		if m[2] == "8" {
			word[at+4] = fmt.Sprintf("%08x", v>>32)
		}
	}
	for i, l := range lines {
		m := constantUse.FindStringSubmatch(l)
		if m == nil || !strings.Contains(l, "Z") {
			continue
		}
		at, err := strconv.Atoi(m[6])
		if err != nil {
			return err
		}
		size, known := elementBytes[m[2]]
		if !known || size == 4 && word[at] != word[at+4] {
			continue
		}
		name, suffix := m[2], ".BCST"+m[3]
		switch name {
		case "VMOVUPS":
			name, suffix = "VBROADCASTSS", m[3]
		case "VMOVUPD":
			name, suffix = "VBROADCASTSD", m[3]
		}
		lines[i] = m[1] + name + suffix + m[4] + m[5] + "numbers<>+" + m[6] + "(SB)" + m[7]
	}
	return os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o644)
}
