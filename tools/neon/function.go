package main

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
)

// kernels collects the functions of a file.
type kernels struct {
	code, stubs bytes.Buffer
	numbers     []uint64 // halves of the table's vectors; each half occurs twice in the table
	index       map[uint64]int

	// State of the current function.
	name   string
	params []param
	lines  []string
	uses   bool  // whether it uses the table
	kept   []int // registers that persist between blocks
	size   int   // size of the arguments in bytes

	now    block
	values int
}

type param struct {
	name, typ string
	at        int
}

var sizes = map[string]int{"int": 8, "uint64": 8, "float64": 8, "float32": 4, "int32": 4}

// function writes a function with a signature as in Go, a comment, and the code that body writes.
func (k *kernels) function(name, signature, doc string, body func()) {
	k.name, k.params, k.lines, k.uses, k.kept = name+"NEON", nil, nil, false, nil
	in, out, _ := strings.Cut(strings.TrimPrefix(signature, "func("), ")")
	k.place(in, strings.TrimSpace(out))
	body()
	fmt.Fprintf(&k.code, "\n// func %s%s\nTEXT ·%[1]s(SB), NOSPLIT, $0-%[3]d\n", k.name, strings.TrimPrefix(signature, "func"), k.size)
	if k.uses {
		fmt.Fprintf(&k.code, "\tMOVD $numbersNEON<>(SB), R9\n")
	}
	for _, line := range paired(k.lines) {
		if strings.HasSuffix(line, ":") {
			fmt.Fprintf(&k.code, "\n%s\n", line)
		} else {
			fmt.Fprintf(&k.code, "\t%s\n", line)
		}
	}
	fmt.Fprintln(&k.stubs)
	if doc != "" {
		fmt.Fprintf(&k.stubs, "// %s %s\n//\n", k.name, doc)
	}
	fmt.Fprintf(&k.stubs, "//go:noescape\nfunc %s%s\n", k.name, strings.TrimPrefix(signature, "func"))
}

// place assigns offsets to the parameters in and the result out, by Go's calling convention for assembly.
func (k *kernels) place(in, out string) {
	at, waiting := 0, []string{}
	for _, field := range strings.Split(in, ", ") {
		name, typ, typed := strings.Cut(field, " ")
		waiting = append(waiting, name)
		if !typed {
			continue
		}
		size := 8
		if !strings.HasPrefix(typ, "*") {
			size = sizes[typ]
		}
		for _, name := range waiting {
			at = (at + size - 1) / size * size
			k.params = append(k.params, param{name, typ, at})
			at += size
		}
		waiting = nil
	}
	if out != "" {
		at = (at + 7) / 8 * 8
		k.params = append(k.params, param{"ret", out, at})
		at += sizes[out]
	}
	k.size = at
}

func (k *kernels) param(name string) string {
	for _, p := range k.params {
		if p.name == name {
			return fmt.Sprintf("%s+%d(FP)", name, p.at)
		}
	}
	panic("neon: " + k.name + " has no parameter " + name)
}

// line writes an instruction or a label outside blocks.
func (k *kernels) line(format string, args ...any) {
	k.lines = append(k.lines, fmt.Sprintf(format, args...))
}

// get reads a parameter of 8 bytes into a register.
func (k *kernels) get(name, to string) { k.line("MOVD %s, %s", k.param(name), to) }

// steps reads a parameter that is a number of elements, and converts it to bytes.
func (k *kernels) steps(name, to string) {
	k.get(name, to)
	k.line("LSL $2, %s", to)
}

// keep returns a register that blocks do not use from then on. It reserves registers from the last one down.
func (k *kernels) keep() value {
	for r := 31; ; r-- {
		if !slices.Contains(k.kept, r) {
			k.kept = append(k.kept, r)
			return register(r)
		}
	}
}

// spread broadcasts a parameter to all lanes of a register that it reserves by keep.
func (k *kernels) spread(name string) value {
	v := k.keep()
	r := int(-1 - v)
	lanes := "S"
	for _, p := range k.params {
		if p.name == name && sizes[p.typ] == 8 {
			lanes = "D"
		}
	}
	k.line("FMOV%s %s, F%d", lanes, k.param(name), r)
	k.line("VDUP V%d.%s[0], V%[1]d.%[3]s", r, lanes, map[string]string{"S": "S4", "D": "D2"}[lanes])
	return v
}

// zero reserves a register by keep, and sets it to zero.
func (k *kernels) zero() value {
	v := k.keep()
	k.clear(v)
	return v
}

func (k *kernels) clear(v value) { k.line("VEOR V%d.B16, V%[1]d.B16, V%[1]d.B16", int(-1-v)) }

// free returns the registers that blocks may use.
func (k *kernels) free() (list []int) {
	for r := range 32 {
		if !slices.Contains(k.kept, r) {
			list = append(list, r)
		}
	}
	return list
}

// emit writes the code that f records.
func (k *kernels) emit(f func()) { k.put(k.record(f)) }

func (k *kernels) put(b block) {
	lines, ok := b.written(k.free())
	if !ok {
		panic("neon: " + k.name + " needs more registers than there are")
	}
	k.lines = append(k.lines, lines...)
}

// hold loads the most used constants into registers, as long as enough registers remain for the blocks, and returns the blocks
// with these registers in place of the loads.
func (k *kernels) hold(blocks ...block) []block {
	uses, order := map[int]int{}, []int{}
	for _, b := range blocks {
		numbers := map[value]int{}
		for _, s := range b {
			if s.is == constant {
				numbers[s.result] = s.number
			}
			for i, v := range s.from {
				n, ok := numbers[v]
				if !ok || s.destructive && i == 0 {
					continue // a constant in a destructive operand would have to be copied
				}
				if uses[n] == 0 {
					order = append(order, n)
				}
				uses[n]++
			}
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return uses[b] - uses[a] })
	fits := func(count int) bool {
		kept := k.kept
		defer func() { k.kept = kept }()
		held := map[int]int{}
		for _, n := range order[:count] {
			held[n] = int(-1 - k.keep())
		}
		for _, b := range blocks {
			if _, ok := b.with(held).written(k.free()); !ok {
				return false
			}
		}
		return true
	}
	count := min(len(order), 32-len(k.kept))
	for !fits(count) {
		count--
	}
	held := map[int]int{}
	for _, n := range order[:count] {
		v := k.keep()
		held[n] = int(-1 - v)
		k.uses = true
		k.line("FMOVQ %d(R9), F%d", 16*n, held[n])
	}
	out := make([]block, len(blocks))
	for i, b := range blocks {
		out[i] = b.with(held)
	}
	return out
}

// number returns a vector whose two halves contain the given 64 bits.
func (k *kernels) number(bits uint64) value {
	n, ok := k.index[bits]
	if !ok {
		n = len(k.numbers)
		k.index[bits] = n
		k.numbers = append(k.numbers, bits)
	}
	k.uses = true
	return k.add(step{result: k.fresh(), is: constant, number: n, written: func(result int, _ []int) string {
		return fmt.Sprintf("FMOVQ %d(R9), F%d", 16*n, result)
	}})
}

func (k *kernels) bits(b uint32) value    { return k.number(uint64(b)<<32 | uint64(b)) }
func (k *kernels) of(f float32) value     { return k.bits(math.Float32bits(f)) }
func (k *kernels) double(f float64) value { return k.number(math.Float64bits(f)) }
