package ir

import "math"

// bodies checks indices and loops. It skips bodies that are never run in this launch.
func (c *checker) bodies(body []Inst) {
	for i := range body {
		in := &body[i]
		switch in.Op {
		case For:
			c.counts(in)
			if c.ranges.of(in.Out[0]).empty() {
				c.unreachable(in.Body)
				continue
			}
			c.bodies(in.Body)
		case If:
			c.when(in.Args[0], true, in.Body)
			c.when(in.Args[0], false, in.Else)
		case While:
			c.bodies(in.Head)
			c.when(in.Args[0], true, in.Body)
		default:
			c.indices(in)
		}
	}
}

func (c *checker) when(cond Value, truth bool, body []Inst) {
	if len(body) > 0 && !c.ranges.under(cond, truth, func() { c.bodies(body) }) {
		c.unreachable(body)
	}
}

func (c *checker) unreachable(body []Inst) {
	if len(body) > 0 {
		c.dead[&body[0]] = true
	}
}

// counts reports an error if the variable of a loop may overflow, or if the bounds of an unrolled loop are not constants close together.
func (c *checker) counts(in *Inst) {
	lo, hi := c.ranges.of(in.Args[0]), c.ranges.of(in.Args[1])
	if !lo.open && !hi.open && lo.lo >= hi.hi {
		return
	}
	if in.Unroll && (!lo.constant() || !hi.constant() || !c.static(in.Args[0]) || !c.static(in.Args[1]) || hi.hi-lo.lo > 1<<12) {
		c.fail(in, "to be unrolled from %v to %v", lo, hi)
	}
	last, ok := sum(hi.hi-1, int64(in.Imm)) // the last value of the variable is below hi
	if first := lo.hi; lo.constant() && hi.constant() && !lo.open {
		last, ok = sum(first+(hi.hi-1-first)/int64(in.Imm)*int64(in.Imm), int64(in.Imm))
	}
	if most := greatestOf(in.Type); !ok || hi.open || uint64(last) > most && last > 0 {
		c.fail(in, "the variable may overflow: below %v, by %d", hi, in.Imm)
	}
}

// indices checks the indices of an instruction.
func (c *checker) indices(in *Inst) {
	switch in.Op {
	case Load, Store, AtomicAdd, AtomicMin, AtomicMax, AtomicSwap:
		c.buffer(in, in.Ref, in.Args[0])
	case SharedLoad, SharedStore, SharedAdd:
		c.inside(in, in.Args[0], c.k.Shared[in.Ref].Name, int64(c.k.Shared[in.Ref].Len), in.Width)
	case LocalLoad, LocalStore:
		a := c.k.Locals[in.Ref]
		c.fixed(in, in.Args[0])
		c.inside(in, in.Args[0], a.Name, int64(a.Len), 1)
	case AsyncCopy:
		c.inside(in, in.Args[0], c.k.Shared[in.Ref].Name, int64(c.k.Shared[in.Ref].Len), in.Width)
		c.buffer(in, in.Ref2, in.Args[1])
	case FragFill, FragGet, FragSet:
		c.fragment(in, in.Ref, in.Args[0])
	case FragMMA:
		c.fragment(in, in.Ref, in.Args[0])
		c.fragment(in, in.Ref2, in.Args[1])
		c.fragment(in, int32(in.Imm), in.Args[2])
	case FragLoad, FragStore:
		c.fragment(in, in.Ref, in.Args[0])
		if in.Width > 1 {
			f := c.k.Frags[in.Ref]
			c.inside(in, in.Args[0], f.Name, int64(f.Len)-int64(in.Width)+1, 1)
		}
		c.matrix(in)
	case FragPack:
		c.fragment(in, in.Ref, in.Args[0])
		c.fixed(in, in.Args[1])
		from := c.k.Frags[in.Ref2]
		c.inside(in, in.Args[1], from.Name, int64(from.Len-from.MMA.K/from.MMA.N+1), 1)
	}
}

// buffer checks an index of a buffer parameter.
func (c *checker) buffer(in *Inst, ref int32, index Value) {
	a, p := c.l.Args[ref], c.k.Params[ref]
	size := int64(p.Type.Size())
	c.inside(in, index, p.Name, (c.buffers[a.Slot]-a.Offset)/size, in.Width)
	if w := int64(max(in.Width, 1)); a.Offset%(w*size) != 0 {
		c.fail(in, "%s begins at byte %d, which is no multiple of %d", p.Name, a.Offset, w*size)
	}
}

// inside checks an access to width neighbouring elements of an array of n elements.
func (c *checker) inside(in *Inst, index Value, name string, n int64, width int32) {
	s, w := c.ranges.of(index), int64(max(width, 1))
	switch {
	case s.empty():
		return
	case s.lo < 0 || s.open || s.hi > n-w:
		c.fail(in, "index %%%d is %v, and %s has %d elements%s", index, s, name, n, c.because(s))
	case w > 1 && !s.divisible(w):
		c.fail(in, "index %%%d is %v, which is not known to be a multiple of %d", index, s, w)
	}
	c.overflow(in, index, s)
}

// overflow reports an error if an index was computed by signed arithmetic that may wrap around.
func (c *checker) overflow(in *Inst, index Value, s span) {
	if s.over != 0 && fullSpan(c.k.Types[s.over]).lo < 0 {
		c.fail(in, "index %%%d%s", index, c.because(s))
	}
}

func (c *checker) because(s span) string {
	if s.over == 0 {
		return ""
	}
	return ", for this may overflow: " + c.k.Line(c.defs[s.over])
}

// fixed reports an error unless an index is known when the kernel is compiled.
func (c *checker) fixed(in *Inst, index Value) {
	if !c.static(index) {
		c.fail(in, "index %%%d is not made of constants and variables of unrolled loops", index)
	}
}

// static reports whether v is computed only from constants and variables of unrolled loops.
func (c *checker) static(v Value) bool {
	if c.statics[v] == 0 {
		c.statics[v] = 2
		if c.made(c.defs[v]) {
			c.statics[v] = 1
		}
	}
	return c.statics[v] == 1
}

func (c *checker) made(d *Inst) bool {
	switch {
	case d.Op == Const:
		return true
	case d.Op == For:
		return d.Unroll
	case d.Op < Add || d.Op > Bitcast:
		return false
	}
	for _, a := range d.Args {
		if !c.static(a) {
			return false
		}
	}
	return true
}

func (c *checker) fragment(in *Inst, ref int32, index Value) {
	c.fixed(in, index)
	c.inside(in, index, c.k.Frags[ref].Name, int64(c.k.Frags[ref].Len), 1)
}

// matrix checks the offset and stride of a matrix in shared memory.
func (c *checker) matrix(in *Inst) {
	f, s := c.k.Frags[in.Ref], c.k.Shared[in.Ref2]
	rows, cols := f.Shape()
	cols *= max(1, int(in.Width))
	if in.Imm != 0 {
		rows, cols = cols, rows
	}
	at, stride := c.ranges.of(in.Args[1]), c.ranges.of(in.Args[2])
	if at.empty() || stride.empty() {
		return
	}
	last, ok := product(stride.hi, int64(rows-1))
	last, ok2 := sum(last, int64(cols-1))
	last, ok3 := sum(last, max(at.hi, 0))
	if !ok || !ok2 || !ok3 || at.lo < 0 || stride.lo < 0 || at.open || stride.open || last >= int64(s.Len) {
		c.fail(in, "%d rows of %d from %v, %v apart, and %s has %d elements%s", rows, cols, at, stride, s.Name, s.Len, c.because(at))
	}
	if n := int64(16 / s.Type.Size()); in.Op == FragLoad && (!at.divisible(n) || !stride.divisible(n)) {
		c.fail(in, "rows from %v, %v apart, do not all begin at multiples of %d elements", at, stride, n)
	}
	c.overflow(in, in.Args[1], at)
	if last > math.MaxInt32 {
		c.fail(in, "index %d", last)
	}
}
