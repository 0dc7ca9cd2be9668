package ir

// vary says among which threads of a block a value may differ.
type vary uint8

const (
	same   vary = iota // equal in all threads of the block that execute this instruction
	groups             // equal in all threads of the subgroup
	each               // may differ in each thread
)

// flowing is the analysis that proves that threads reach collective operations together.
type flowing struct {
	*checker
	vary []vary
	// lanes is set for values of the form u + lane, where u is equal in the subgroup and known modulo u.m.
	lanes  []bool
	u      []span
	locals []vary // by local array
	grown  bool   // whether an entry of locals increased
}

// flow computes which values differ among threads, repeatedly until nothing changes, and then checks collective operations.
func (c *checker) flow() {
	n := len(c.k.Types)
	f := &flowing{checker: c, vary: make([]vary, n), lanes: make([]bool, n), u: make([]span, n), locals: make([]vary, len(c.k.Locals))}
	f.grown = true
	for f.grown {
		f.grown = false
		f.body(c.k.Body, same, false)
	}
	f.body(c.k.Body, same, true)
}

// body analyses a body. control says which threads reach it together.
func (f *flowing) body(body []Inst, control vary, final bool) {
	if len(body) > 0 && f.dead[&body[0]] {
		return
	}
	for i := range body {
		in := &body[i]
		switch in.Op {
		case For:
			f.counter(in)
			f.body(in.Body, max(control, f.trips(in)), final)
		case If:
			f.body(in.Body, max(control, f.vary[in.Args[0]]), final)
			f.body(in.Else, max(control, f.vary[in.Args[0]]), final)
		case While:
			f.while(in, control, final)
		case LocalStore:
			f.raise(in.Ref, max(control, f.vary[in.Args[0]], f.vary[in.Args[1]]))
		case Barrier, AsyncCommit, AsyncWait:
			if final && control != same {
				f.fail(in, "not all threads of the block come here together")
			}
		case SubgroupBarrier, ShuffleXor, ShuffleUp, ShuffleFrom, Ballot, FragFill, FragLoad, FragMMA, FragStore, FragGet, FragSet, FragPack:
			if final {
				f.collective(in, control)
			}
			f.result(in)
		default:
			f.result(in)
		}
	}
}

func (f *flowing) raise(local int32, v vary) {
	if v > f.locals[local] {
		f.locals[local], f.grown = v, true
	}
}

// while analyses Head first to learn whether the condition differs among threads, and then Head and Body under that condition. Head loads
// values that Body stores, so function flow repeats the analysis until it is stable.
func (f *flowing) while(in *Inst, control vary, final bool) {
	f.body(in.Head, control, false)
	inner := max(control, f.vary[in.Args[0]])
	f.body(in.Head, inner, final)
	f.body(in.Body, inner, final)
}

// collective checks an operation of a subgroup.
func (f *flowing) collective(in *Inst, control vary) {
	sub := f.k.Subgroup
	switch {
	case sub == 0:
		f.fail(in, "the kernel does not say the size of subgroups")
	case f.k.Threads%sub != 0:
		f.fail(in, "%d threads are not whole subgroups of %d", f.k.Threads, sub)
	case control == each:
		f.fail(in, "not all threads of the subgroup come here together")
	case in.Op == Ballot && sub > 32:
		f.fail(in, "subgroups of %d", sub)
	case in.Op == FragFill && f.vary[in.Args[1]] == each:
		f.fail(in, "value %%%d differs within the subgroup", in.Args[1])
	case in.Op == FragLoad || in.Op == FragStore:
		for _, v := range in.Args {
			if f.vary[v] == each {
				f.fail(in, "value %%%d differs within the subgroup", v)
			}
		}
	case in.Op == ShuffleFrom:
		if s := f.ranges.of(in.Args[1]); s.lo < 0 || s.hi >= int64(sub) {
			f.fail(in, "lane %v of %d", s, sub)
		}
	}
}

// result sets the vary of the results of an instruction without bodies.
func (f *flowing) result(in *Inst) {
	v := same
	for _, a := range in.Args {
		v = max(v, f.vary[a])
	}
	switch in.Op {
	case Thread, Lane:
		v = each
		if f.k.Subgroup > 0 {
			u := exactly(0)
			if in.Op == Thread {
				u = between(0, int64(max(f.k.Threads-f.k.Subgroup, 0))).residue(int64(f.k.Subgroup), 0)
			}
			f.lanes[in.Out[0]], f.u[in.Out[0]] = true, u
		}
	case Load:
		if !f.readOnly(in.Ref) {
			v = each
		}
	case LocalLoad:
		v = max(v, f.locals[in.Ref])
	case AtomicAdd, AtomicMin, AtomicMax, AtomicSwap, SharedAdd, FragGet:
		v = each
	case ShuffleFrom:
		if v = f.vary[in.Args[0]]; v != same {
			v = max(f.vary[in.Args[1]], groups)
		}
	case Ballot:
		v = min(v, groups)
	default:
		if v == each && in.Op >= Add && in.Op <= Bitcast {
			v = f.arithmetic(in)
		}
	}
	for _, o := range in.Out {
		f.vary[o] = v
	}
}

// readOnly reports whether no written parameter shares the memory of a buffer.
func (f *flowing) readOnly(ref int32) bool {
	for i, p := range f.k.Params {
		if p.IsBuffer() && p.Access&(Write|Atomic) != 0 && f.l.Args[i].Slot == f.l.Args[ref].Slot {
			return false
		}
	}
	return true
}

// arithmetic returns the vary of a result with an operand that differs within the subgroup. The result is nevertheless uniform in the
// subgroup if it is a quotient of u + lane by a multiple of the size of subgroups, or a comparison with such a multiple. A constant result is
// equal in all threads. arithmetic also records sums of the form u + lane.
func (f *flowing) arithmetic(in *Inst) vary {
	out := in.Out[0]
	if !f.k.Types[out].IsFloat() && f.ranges.of(out).constant() {
		return same
	}
	if in.Op == Cast && f.k.Types[in.Args[0]].IsInt() && in.Type.IsInt() && in.Type.Size() >= f.k.Types[in.Args[0]].Size() {
		f.lanes[out], f.u[out] = f.lanes[in.Args[0]], f.u[in.Args[0]]
	}
	if len(in.Args) != 2 {
		return each
	}
	x, y, op := in.Args[0], in.Args[1], in.Op
	if !f.k.Types[x].IsInt() || f.k.Subgroup == 0 {
		return each
	}
	sub := int64(f.k.Subgroup)
	whole := func(v Value) bool { return f.u[v].divisible(sub) } // u is a multiple of sub
	ends := func(v Value, r int64) bool {
		s := f.ranges.of(v)
		return s.m%sub == 0 && mod(s.r, sub) == r
	}
	switch {
	case f.lanes[x] && f.vary[y] != each:
		if op == Add || op == Sub {
			f.offset(in, x, y)
			return each
		}
		if !whole(x) {
			return each
		}
		b := f.ranges.of(y)
		c := factorOf(op, b)
		switch {
		case (op == Div || op == Shr) && c > 0 && c%sub == 0 && f.ranges.of(x).lo >= 0,
			op == And && b.constant() && b.divisible(sub),
			(op == Lt) && ends(y, 0), op == Le && ends(y, sub-1):
			return groups
		}
	case f.lanes[y] && f.vary[x] != each:
		if op == Add {
			f.offset(in, y, x)
			return each
		}
		if whole(y) && (op == Lt && ends(x, sub-1) || op == Le && ends(x, 0)) {
			return groups
		}
	}
	return each
}

// offset records that the result is x plus or minus y, where y is equal in the subgroup.
func (f *flowing) offset(in *Inst, x, y Value) {
	s, ok := addSpans(f.u[x], f.ranges.of(y))
	if in.Op == Sub {
		s, ok = subSpans(f.u[x], f.ranges.of(y))
	}
	f.lanes[in.Out[0]], f.u[in.Out[0]] = ok, s
}

// counter sets the vary of a loop variable.
func (f *flowing) counter(in *Inst) {
	v, lo := in.Out[0], in.Args[0]
	f.vary[v] = f.vary[lo]
	f.lanes[v], f.u[v] = f.lanes[lo], between(0, 0)
	if f.lanes[lo] {
		f.u[v] = span{m: 1}
		if m := gcd(f.u[lo].m, int64(in.Imm)); m > 0 {
			f.u[v] = span{lo: 0, hi: m << 8}.residue(m, f.u[lo].r)
		}
	}
}

// trips returns the vary of the number of iterations of a loop.
func (f *flowing) trips(in *Inst) vary {
	x, y, by := in.Args[0], in.Args[1], int64(in.Imm)
	v := max(f.vary[x], f.vary[y])
	if v != each {
		return v
	}
	lo, hi := f.ranges.of(x), f.ranges.of(y)
	if hi.constant() && !lo.open && lo.lo >= 0 && tripCount(lo.lo, hi.lo, by) == tripCount(lo.hi, hi.lo, by) {
		return same
	}
	if sub := int64(f.k.Subgroup); sub > 0 && f.lanes[x] && f.vary[y] != each && by%sub == 0 && f.u[x].divisible(sub) && hi.divisible(sub) {
		return groups
	}
	return each
}

func tripCount(lo, hi, by int64) int64 {
	if lo >= hi {
		return 0
	}
	return (hi - lo + by - 1) / by
}
