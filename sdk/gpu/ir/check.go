package ir

import (
	"fmt"

	"github.com/goburn/burn/core/dtype"
)

// Limits are the limits of hardware. A limit of zero does not apply.
type Limits struct {
	Threads  int // greatest number of threads of a block
	Shared   int // bytes of shared memory of a block
	Subgroup int // size of subgroups
	Grid     [3]int
	Buffers  int   // buffer parameters of a kernel
	Params   int   // bytes of the parameters of a kernel
	Bytes    int64 // size of a buffer in bytes
	Wide     int   // greatest size of an access in bytes
	// Types are the types that kernels may load and store. Math are the types, besides bool, that kernels may compute with. Atomics are the
	// types that atomics may change.
	Types, Math, Atomics dtype.Set
	MMA                  []MMA // allowed matrix instructions; an empty list allows all
	// Words says that memory, including shared memory, consists of words of 32 bits. Align is the required alignment of offsets of buffers,
	// in bytes.
	Words bool
	Align int64
}

// CheckError is an error in a kernel, or a property that Check could not prove.
type CheckError struct {
	Kernel string
	Inst   string // the instruction as Kernel.Line prints it; "" if no instruction is concerned
	Text   string
}

func (e *CheckError) Error() string {
	if e.Inst == "" {
		return "kernel " + e.Kernel + ": " + e.Text
	}
	return "kernel " + e.Kernel + ": " + e.Inst + ": " + e.Text
}

// Check proves that a launch is valid. buffers is the size of each slot in bytes. A launch is valid if values are defined once and before
// they are used; types match; indices are inside their arrays, and wide accesses are aligned; no index is computed by signed arithmetic
// that may overflow; barriers and waits are in control flow that is uniform in the block, and subgroup operations in control flow that is
// uniform in the subgroup; and the launch is within the limits. Check returns a *CheckError for an error and for a property that it cannot
// prove.
//
// The proof for indices uses intervals and residues, with the arguments of this launch. Conditions of If and Select narrow them: Lt, Le,
// Eq, Ne, and And, Or, Not of these, also backwards through sums, products and quotients with constants. Nothing is known about values from
// memory, so indices that are computed from them must be clamped or guarded.
//
// Check does not detect divisions by zero, shifts by the width or more and casts out of range; the interpreter reports them.
//
// A batched launch is valid if each of the launches that it replaces is valid. The caller must ensure that none of the replaced launches
// accesses memory that another replaced launch writes.
func Check(l Launch, buffers []int64, limits Limits) (err error) {
	if l.Kernel.Members > 0 {
		return checkBatch(l, buffers, limits)
	}
	c := &checker{k: l.Kernel, l: l, limits: limits, buffers: buffers}
	defer caught(&err)
	c.declarations()
	c.launch()
	c.form()
	c.arguments()
	c.ranges = newRanges(c.k, l, c.defs)
	c.dead = map[*Inst]bool{}
	c.bodies(c.k.Body)
	c.flow()
	return nil
}

type checker struct {
	k       *Kernel
	l       Launch
	limits  Limits
	buffers []int64
	defs    []*Inst
	ranges  *ranges
	dead    map[*Inst]bool // first instructions of bodies that are never run
	statics []uint8        // by value: 0 not analysed yet, 1 known when the kernel is compiled, 2 not known then
}

// fail ends the check with an error. in is nil if the error does not concern an instruction.
func (c *checker) fail(in *Inst, format string, args ...any) {
	line := ""
	if in != nil {
		line = c.k.Line(in)
	}
	panic(&CheckError{c.k.Name, line, fmt.Sprintf(format, args...)})
}

func above[T int | int64](n, limit T) bool { return limit > 0 && n > limit }

// Verify checks a kernel without a launch: its declarations and types, and that values are defined once and before they are used. Errors
// are *CheckError. Package interp can run kernels that pass.
func (k *Kernel) Verify() (err error) {
	c := &checker{k: k}
	defer caught(&err)
	c.declarations()
	c.form()
	return nil
}

func caught(err *error) {
	switch r := recover().(type) {
	case nil:
	case *CheckError:
		*err = r
	default:
		panic(r)
	}
}

// declarations checks the declarations of a kernel.
func (c *checker) declarations() {
	k := c.k
	if k.Threads < 1 || k.Threads > 1<<16 || k.Subgroup < 0 || k.Subgroup&(k.Subgroup-1) != 0 {
		c.fail(nil, "%d threads in subgroups of %d", k.Threads, k.Subgroup)
	}
	if k.Members < 0 || k.Members > 1<<16 {
		c.fail(nil, "%d members", k.Members)
	}
	for _, p := range k.Params {
		if !dtype.Any.Has(p.Type) || p.Access > Read|Write|Atomic {
			c.fail(nil, "parameter %s: %v %v", p.Name, p.Type, p.Access)
		}
		if p.Each && k.Members == 0 {
			c.fail(nil, "parameter %s is one of each member, and there are none", p.Name)
		}
		c.typed(nil, p.Type)
	}
	for _, a := range append(append([]Array(nil), k.Shared...), k.Locals...) {
		if !dtype.Any.Has(a.Type) || a.Len < 1 || a.Len > 1<<20 {
			c.fail(nil, "array %s of %d %v", a.Name, a.Len, a.Type)
		}
		c.typed(nil, a.Type)
	}
	for _, f := range k.Frags {
		c.fragments(f)
	}
}

// launch checks the kernel against the limits, and the grid.
func (c *checker) launch() {
	k, lim := c.k, c.limits
	if lim.Words {
		c.words()
	}
	if above(k.Threads, lim.Threads) {
		c.fail(nil, "%d threads, at most %d", k.Threads, lim.Threads)
	}
	if lim.Subgroup > 0 && k.Subgroup > 0 && k.Subgroup != lim.Subgroup {
		c.fail(nil, "built for subgroups of %d, they have %d", k.Subgroup, lim.Subgroup)
	}
	for i, g := range c.l.Grid {
		if g < 1 || above(g, lim.Grid[i]) || g > 1<<31-1 {
			c.fail(nil, "grid %v, at most %v", c.l.Grid, lim.Grid)
		}
	}
	if shared := k.SharedBytes(); above(shared, lim.Shared) {
		c.fail(nil, "%d bytes of shared memory, at most %d", shared, lim.Shared)
	}
}

// words reports an error unless memory is accessed in words.
func (c *checker) words() {
	for _, p := range c.k.Params {
		if p.IsBuffer() && p.Type.Size() != 4 {
			c.fail(nil, "buffer %s is of %v, which is no word", p.Name, p.Type)
		}
	}
	for _, a := range c.k.Shared {
		if a.Type.Size() != 4 {
			c.fail(nil, "shared array %s is of %v, which is no word", a.Name, a.Type)
		}
	}
}

func (c *checker) fragments(f Fragments) {
	m, sub := f.MMA, c.k.Subgroup
	known := len(c.limits.MMA) == 0
	for _, have := range c.limits.MMA {
		known = known || have == m
	}
	switch {
	case f.Len < 1 || f.Len > 1<<12 || f.Role > C:
		c.fail(nil, "%d fragments %s of role %v", f.Len, f.Name, f.Role)
	case !known:
		c.fail(nil, "fragments %s: there is no %v", f.Name, m)
	case sub < 4 || m.M < 1 || m.N < 1 || m.K < 1 || m.M > 256 || m.N > 256 || m.K > 256 || m.M%(sub/4) != 0 || m.N%8 != 0 || m.M*m.K%sub != 0 || m.K*m.N%sub != 0:
		c.fail(nil, "fragments %s: %v does not divide among %d threads", f.Name, m, sub)
	case m.Order > Quarters || m.Order == Quarters && (m.M != 16 || m.N != 8 || sub != 32),
		(m.Order == Runs || m.Order == Strided) && (m.M != 16 || m.N != 16 || sub != 32 && sub != 64):
		c.fail(nil, "fragments %s: %v has no such order for %d threads", f.Name, m, sub)
	case m.Type != dtype.F16 && m.Type != dtype.BF16 && m.Type != dtype.F32:
		c.fail(nil, "fragments %s: %v", f.Name, m)
	}
}

// arguments checks the arguments of the launch and their places.
func (c *checker) arguments() {
	k, lim := c.k, c.limits
	if len(c.l.Args) != len(k.Params) {
		c.fail(nil, "%d arguments for %d parameters", len(c.l.Args), len(k.Params))
	}
	n := 0
	for i, p := range k.Params {
		a := c.l.Args[i]
		if !p.IsBuffer() {
			if canonical(p.Type, a.Bits) != a.Bits {
				c.fail(nil, "argument %s: %#x is no %v", p.Name, a.Bits, p.Type)
			}
			continue
		}
		n++
		if a.Slot < 0 || a.Slot >= len(c.buffers) {
			c.fail(nil, "argument %s: slot %d of %d", p.Name, a.Slot, len(c.buffers))
		}
		if size := c.buffers[a.Slot]; a.Offset < 0 || a.Offset > size || a.Offset%int64(p.Type.Size()) != 0 || above(size-a.Offset, lim.Bytes) {
			c.fail(nil, "argument %s: offset %d of %d bytes, at most %d", p.Name, a.Offset, size, lim.Bytes)
		}
		if lim.Align > 0 && a.Offset%lim.Align != 0 {
			c.fail(nil, "argument %s: offset %d is no multiple of %d", p.Name, a.Offset, lim.Align)
		}
	}
	if above(n, lim.Buffers) {
		c.fail(nil, "%d buffers, at most %d", n, lim.Buffers)
	}
	c.aliases()
}

// aliases checks that a buffer with the same first byte as a written buffer is Aliased. This is required if several buffers are written.
func (c *checker) aliases() {
	var written []int
	for i, p := range c.k.Params {
		if p.Access&(Write|Atomic) != 0 {
			written = append(written, i)
		}
	}
	if len(written) < 2 {
		return
	}
	for i, p := range c.k.Params {
		if p.Access != Read || p.Aliased {
			continue
		}
		for _, w := range written {
			if c.l.Args[i] == c.l.Args[w] {
				c.fail(nil, "argument %s: it is %s too, and not aliased", p.Name, c.k.Params[w].Name)
			}
		}
	}
}

// typed reports an error unless the limits allow a type in memory or in arithmetic.
func (c *checker) typed(in *Inst, t dtype.DType) {
	if all := c.limits.Types | c.limits.Math; all != 0 && t != dtype.Bool && !all.Has(t) {
		c.fail(in, "the hardware has no %v", t)
	}
}

// form checks types and that values are defined once, before they are used.
func (c *checker) form() {
	if len(c.k.Types) == 0 {
		c.fail(nil, "no list of types")
	}
	c.defs = make([]*Inst, len(c.k.Types))
	c.statics = make([]uint8, len(c.k.Types))
	c.scope(c.k.Body, make([]bool, len(c.k.Types)), 0)
}

func (c *checker) scope(body []Inst, visible []bool, depth int) {
	if depth > 100 {
		c.fail(nil, "more than 100 bodies in each other")
	}
	var mine []Value
	define := func(in *Inst) {
		for _, v := range in.Out {
			if v <= 0 || int(v) >= len(c.defs) || c.defs[v] != nil {
				c.fail(in, "value %%%d is defined twice or not there", v)
			}
			c.defs[v], visible[v] = in, true
			mine = append(mine, v)
		}
	}
	use := func(in *Inst) {
		for _, v := range in.Args {
			if v <= 0 || int(v) >= len(c.defs) || !visible[v] {
				c.fail(in, "value %%%d is not defined here", v)
			}
		}
	}
	for i := range body {
		in := &body[i]
		switch in.Op {
		case While:
			c.while(in, visible, depth)
		case For:
			use(in)
			define(in)
			c.proper(in)
			c.scope(in.Body, visible, depth+1)
			for _, v := range in.Out {
				visible[v] = false
			}
		case If:
			use(in)
			c.proper(in)
			c.scope(in.Body, visible, depth+1)
			c.scope(in.Else, visible, depth+1)
		default:
			use(in)
			define(in)
			c.proper(in)
		}
	}
	for _, v := range mine {
		visible[v] = false
	}
}

// while checks a While. Its condition may use the values that Head defines.
func (c *checker) while(in *Inst, visible []bool, depth int) {
	if len(in.Args) != 1 || len(in.Out) != 0 {
		c.fail(in, "%d conditions, %d results", len(in.Args), len(in.Out))
	}
	last := in.Args[0]
	if last <= 0 || int(last) >= len(c.defs) {
		c.fail(in, "value %%%d is not there", last)
	}
	outside := visible[last]
	c.scope(in.Head, visible, depth+1)
	if d := c.defs[last]; !outside && !defines(in.Head, d) {
		c.fail(in, "value %%%d is not defined here", last)
	}
	c.proper(in)
	c.scope(in.Body, visible, depth+1)
}

func defines(body []Inst, d *Inst) bool {
	for i := range body {
		if &body[i] == d {
			return true
		}
	}
	return false
}

// proper checks the types of an instruction. The values that the instruction uses are known to exist.
func (c *checker) proper(in *Inst) {
	if text := c.k.wrong(in); text != "" {
		c.fail(in, "%s", text)
	}
	for _, v := range in.Out {
		c.typed(in, c.k.Types[v])
	}
	if set := c.limits.Math; set != 0 && (in.Op >= Add && in.Op <= Le || in.Op >= Exp && in.Op <= Exp2Fast) {
		if t := c.k.Types[in.Args[0]]; t != dtype.Bool && !set.Has(t) {
			c.fail(in, "the hardware does not compute with %v", t)
		}
	}
	if set := c.limits.Atomics; set != 0 && in.Op >= AtomicAdd && in.Op <= SharedAdd && !set.Has(in.Type) {
		c.fail(in, "the hardware has no atomics of %v", in.Type)
	}
	if (in.Op == Load || in.Op == Store || in.Op == SharedLoad || in.Op == SharedStore) && in.Width > 1 && above(int(in.Width)*in.Type.Size(), c.limits.Wide) {
		c.fail(in, "an access of %d bytes, at most %d", int(in.Width)*in.Type.Size(), c.limits.Wide)
	}
}
