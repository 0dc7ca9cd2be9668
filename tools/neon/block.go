package main

import (
	"fmt"
	"slices"
)

// A value is a vector. It is either virtual, computed by a block and assigned to a register when the block is written, or a
// register that persists between blocks, from register(0) to register(31).
type value int

func register(i int) value { return value(-1 - i) }

// step is an instruction of a block.
type step struct {
	result      value // none if it has no result
	from        []value
	destructive bool // the result is in the register of the first operand
	number      int  // index of a constant in the table, if constant
	is          kind
	written     func(result int, from []int) string
}

type kind int

const (
	instructs kind = iota
	constant
)

const none = value(1 << 30)

// block is straight-line code whose virtual values are not used outside of it.
type block []step

// record returns the steps that f adds, as a block.
func (k *kernels) record(f func()) block {
	kept := k.now
	defer func() { k.now = kept }()
	k.now = nil
	f()
	return k.now
}

func (k *kernels) fresh() value {
	k.values++
	return value(k.values)
}

func (k *kernels) add(s step) value {
	k.now = append(k.now, s)
	return s.result
}

// do adds an instruction that only computes a result, and returns the result.
func (k *kernels) do(name string, from ...value) value { return k.shift(name, 0, from...) }

// shift is like do, for an instruction with a shift count.
func (k *kernels) shift(name string, by int, from ...value) value {
	return k.into(k.fresh(), name, by, from...)
}

// into is like shift, with a given register for the result.
func (k *kernels) into(to value, name string, by int, from ...value) value {
	i, ok := instructions[name]
	if !ok {
		panic("neon: no instruction " + name)
	}
	destructive := name == "fmla" || name == "fmls" || name == "fmla.2d" || name == "bsl"
	return k.add(step{result: to, from: from, destructive: destructive, written: func(result int, from []int) string {
		if destructive {
			from = from[1:]
		}
		return i.word(by, append([]int{result}, from...)...)
	}})
}

// move copies a value to a register.
func (k *kernels) move(to, from value) {
	k.add(step{result: to, from: []value{from}, written: func(result int, from []int) string { return copied(result, from[0]) }})
}

// first returns lane 0 of a vector, with zeros in the other lanes.
func (k *kernels) first(v value) value {
	return k.add(step{result: k.fresh(), from: []value{v}, written: func(result int, from []int) string {
		return fmt.Sprintf("FMOVS F%d, F%d", from[0], result)
	}})
}

// load reads a vector; unit is Q, D or S, for 16, 8 or 4 bytes of it, with the rest set to zero. With the suffix .P the base
// advances by the displacement after the access.
func (k *kernels) load(unit, place string) value { return k.loadTo(k.fresh(), unit, place) }

func (k *kernels) loadTo(to value, unit, place string) value {
	return k.add(step{result: to, written: func(result int, _ []int) string {
		return fmt.Sprintf("FMOV%s %s, F%d", unit, place, result)
	}})
}

// store writes a vector or its first bytes.
func (k *kernels) store(unit string, v value, place string) {
	k.add(step{result: none, from: []value{v}, written: func(_ int, from []int) string {
		return fmt.Sprintf("FMOV%s F%d, %s", unit, from[0], place)
	}})
}

// raw adds an instruction that is given as text, such as one on general-purpose registers.
func (k *kernels) raw(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	k.add(step{result: none, written: func(int, []int) string { return text }})
}

// interleaved merges several blocks into one that contains their steps in turns.
func interleaved(blocks ...block) (all block) {
	for i := 0; ; i++ {
		n := len(all)
		for _, b := range blocks {
			if i < len(b) {
				all = append(all, b[i])
			}
		}
		if len(all) == n {
			return all
		}
	}
}

// with returns the block without the loads of constants that registers hold. held maps constants to registers.
func (b block) with(held map[int]int) block {
	places := map[value]value{}
	out := block{}
	for _, s := range b {
		if r, ok := held[s.number]; ok && s.is == constant {
			places[s.result] = register(r)
			continue
		}
		s.from = slices.Clone(s.from)
		for i, v := range s.from {
			if p, ok := places[v]; ok {
				s.from[i] = p
			}
		}
		out = append(out, s)
	}
	return out
}

// written returns the lines of the block, with free registers assigned to its values; ok is false if there are too few.
func (b block) written(free []int) (lines []string, ok bool) {
	last := map[value]int{}
	for i, s := range b {
		for _, v := range s.from {
			last[v] = i
		}
	}
	pool := slices.Clone(free)
	slices.Sort(pool)
	at := map[value]int{}
	place := func(v value) int {
		if v < 0 {
			return int(-1 - v)
		}
		r, ok := at[v]
		if !ok {
			panic("neon: a value is used that the block has not computed")
		}
		return r
	}
	for i, s := range b {
		from := make([]int, len(s.from))
		for j, v := range s.from {
			from[j] = place(v)
		}
		release := func(values []value) {
			for _, v := range values {
				if r, here := at[v]; v >= 0 && here && last[v] == i {
					pool = append(pool, r)
					delete(at, v)
				}
			}
			slices.Sort(pool)
		}
		take := func(v value) (int, bool) {
			if v < 0 {
				return place(v), true
			}
			if len(pool) == 0 {
				return 0, false
			}
			r := pool[0]
			pool = pool[1:]
			at[v] = r
			return r, true
		}
		result, fits := 0, true
		switch {
		case s.result == none:
			release(s.from)
		case s.destructive && s.result != s.from[0]:
			if first := s.from[0]; first >= 0 && last[first] == i && s.result >= 0 {
				delete(at, first)
				at[s.result] = from[0]
				result = from[0]
			} else if result, fits = take(s.result); fits {
				lines = append(lines, copied(result, from[0]))
			}
			release(s.from)
		default:
			release(s.from)
			result, fits = take(s.result)
		}
		if !fits {
			return nil, false
		}
		lines = append(lines, s.written(result, from))
		if _, used := last[s.result]; !used && s.result >= 0 && s.result != none {
			pool = append(pool, result)
			delete(at, s.result)
			slices.Sort(pool)
		}
	}
	return lines, true
}
