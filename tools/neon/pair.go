package main

import (
	"fmt"
	"regexp"
	"strconv"
)

var (
	loadsVector  = regexp.MustCompile(`^FMOVQ (?:(\d+))?\((R\d+)\), (F\d+)$`)
	storesVector = regexp.MustCompile(`^FMOVQ (F\d+), (?:(\d+))?\((R\d+)\)$`)
)

// loadsOn matches a load that then advances the base by the size of the load.
var loadsOn = regexp.MustCompile(`^FMOVQ\.P 16\((R\d+)\), (F\d+)$`)

// access is a load or a store of a vector.
type access struct {
	store        bool
	base, vector string
	at           int
}

func accessOf(line string) (a access, ok bool) {
	at := ""
	if m := loadsVector.FindStringSubmatch(line); m != nil {
		at, a.base, a.vector = m[1], m[2], m[3]
	} else if m := storesVector.FindStringSubmatch(line); m != nil {
		a.store, a.vector, at, a.base = true, m[1], m[2], m[3]
	} else {
		return a, false
	}
	a.at, _ = strconv.Atoi(at)
	return a, true
}

// pairReach is the greatest displacement, in bytes, of an access to two vectors.
const pairReach = 63 * 16

// paired returns the lines with each two accesses that are adjacent in the code and in memory merged into one.
func paired(lines []string) (out []string) {
	for i := 0; i < len(lines); i++ {
		if i+1 < len(lines) {
			a, ok := accessOf(lines[i])
			b, also := accessOf(lines[i+1])
			if ok && also && a.store == b.store && a.base == b.base && b.at == a.at+16 && a.at <= pairReach && a.at%16 == 0 && (a.store || a.vector != b.vector) {
				if a.store {
					out = append(out, fmt.Sprintf("FSTPQ (%s, %s), %d(%s)", a.vector, b.vector, a.at, a.base))
				} else {
					out = append(out, fmt.Sprintf("FLDPQ %d(%s), (%s, %s)", a.at, a.base, a.vector, b.vector))
				}
				i++
				continue
			}
			first, second := loadsOn.FindStringSubmatch(lines[i]), loadsOn.FindStringSubmatch(lines[i+1])
			if first != nil && second != nil && first[1] == second[1] && first[2] != second[2] {
				out = append(out, fmt.Sprintf("FLDPQ.P 32(%s), (%s, %s)", first[1], first[2], second[2]))
				i++
				continue
			}
		}
		out = append(out, lines[i])
	}
	return out
}
