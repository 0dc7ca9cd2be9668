package main

import (
	"bytes"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var dataWord = regexp.MustCompile(`WORD \$0x([0-9a-f]{8}) // (.*)`)

// TestDisassembled disassembles every data word of the committed loops with LLVM, and each instruction with every destination register
// and every legal count. The text must equal the comment.
func TestDisassembled(t *testing.T) {
	llvm, err := exec.LookPath("llvm-mc")
	if err != nil {
		t.Skip("llvm-mc is not installed (Debian: llvm)")
	}
	code, _ := generate()
	words := map[uint32]string{}
	note := func(line string) {
		m := dataWord.FindStringSubmatch(line)
		bits, err := strconv.ParseUint(m[1], 16, 32)
		require.NoError(t, err)
		if text, twice := words[uint32(bits)]; twice {
			require.Equal(t, text, m[2], "two texts of one word")
		}
		words[uint32(bits)] = m[2]
	}
	lines := dataWord.FindAllString(string(code), -1)
	require.Greater(t, len(lines), 5000)
	for _, line := range lines {
		note(line)
	}
	for _, i := range instructions {
		for r := range 32 {
			registers := []int{r, (r*7 + 3) % 32, (r*11 + 5) % 32}[:len(i.operands)]
			first, last := 0, 0
			switch {
			case i.right:
				first, last = 1, i.width
			case i.width > 0:
				first, last = 1, i.width-1 // a count of 0 has a name of its own, sxtl or uxtl
			}
			for shift := first; shift <= last; shift++ {
				note(i.word(shift, registers...))
			}
		}
	}
	for r := range 32 {
		note(copied(r, (r+9)%32))
		note(pairNonTemporal(r, (r+1)%32, r%31))
	}

	var input bytes.Buffer
	all := make([]uint32, 0, len(words))
	for bits := range words {
		all = append(all, bits)
	}
	slices.Sort(all)
	for _, bits := range all {
		fmt.Fprintf(&input, "%#02x %#02x %#02x %#02x\n", byte(bits), byte(bits>>8), byte(bits>>16), byte(bits>>24))
	}
	c := exec.Command(llvm, "-triple=aarch64", "-mattr=+v8.2a,+fullfp16,+dotprod,+bf16", "-disassemble")
	c.Stdin = &input
	out, err := c.Output()
	require.NoError(t, err)
	var got []string
	for line := range strings.Lines(string(out)) {
		if line = strings.Join(strings.Fields(line), " "); line != "" && !strings.HasPrefix(line, ".") {
			got = append(got, line)
		}
	}
	require.Len(t, got, len(all), "every word is an instruction")
	for i, bits := range all {
		require.Equal(t, words[bits], got[i], "%08x", bits)
	}
}
