package template

import (
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// Lines is a tensor [Outer, N, Inner] seen as Outer·Inner lines of N elements.
type Lines struct {
	Outer, N, Inner int
	// Exclusive means that the result of an element does not include the element itself. Reverse means that the scan begins at the end of
	// the line.
	Exclusive, Reverse bool
}

func (l Lines) size() int { return l.Outer * l.N * l.Inner }

// Scan returns the work that computes slot 1: each element of slot 0 combined with the elements before it on its line.
func Scan(t Target, l Lines, how Join, x, y Operand) ir.Work {
	if how == JoinMul && x.Type.IsFloat() && !t.Math.Has(dtype.F64) {
		return scan(t, l, runningProduct{x.Type}, x, y)
	}
	return scan(t, l, runningJoin{joinerOf(t, how, x.Type)}, x, y)
}

// ScanIndex returns the work that computes slot 1, of type i64: for each element, the place on its line of the greatest (for JoinMin: the
// least) element so far, and the first of equal elements.
func ScanIndex(t Target, l Lines, how Join, x, y Operand) ir.Work {
	return scan(t, l, runningIndex{joinerOf(t, how, x.Type)}, x, y)
}

// ScanLogSum returns the work that computes slot 1: the logarithm of the running sum of exponentials.
func ScanLogSum(t Target, l Lines, x, y Operand) ir.Work {
	return scan(t, l, runningLogSum{x.Type}, x, y)
}

func scan(t Target, l Lines, r running, x, y Operand) ir.Work {
	s := newSequence(t, 2, false)
	s.scan(l, r, regionOf(0, x), regionOf(1, y))
	return s.work
}

// The sizes of scans depend only on shapes, because sums of floats depend on where lines are cut.
const (
	scanThreads = 256
	scanItems   = 16    // elements that a thread processes at once
	scanSerial  = 64    // greatest length of lines that are scanned by one thread each
	scanTile    = 4096  // least elements of a part of a line that blocks scan, a multiple of the elements that a block processes at once
	scanRows    = 256   // number of lines from which on lines are not cut
	scanColumns = 16384 // number of lines from which on lines are not cut if each is scanned by a thread
)

// scan adds the launches of a scan. A line, or a part of a line, is computed by a thread if neighbouring threads then have neighbouring
// elements or if lines are short, and by a block otherwise. If there are few and long lines, they are cut into parts: the first launch
// combines the elements of each part, the second scans the states of the parts, and the last scans each part, starting with the state
// before the part.
func (s *sequence) scan(l Lines, r running, x, y region) {
	if l.size() == 0 {
		return
	}
	lines := l.Outer * l.Inner
	cut, build := l.N, s.scanBlocks
	switch {
	case l.Inner > 1 || l.N <= scanSerial:
		build = s.scanThreads
		if want := scanColumns / lines; want > 1 && l.N > scanSerial {
			cut = max(scanSerial/2, ceil(l.N, want))
		}
	case lines < scanRows && l.N > 4*scanTile:
		cut = ceil(max(scanTile, ceil(l.N, max(4096/lines, 1))), scanTile) * scanTile
	}
	parts := ceil(l.N, cut)
	if parts <= 1 {
		build(scanPart{Lines: l, r: r, cut: l.N, x: x, y: y})
		return
	}
	var sums, before []region
	for _, d := range r.states() {
		sums = append(sums, s.temp(l.Outer*parts*l.Inner*d.Size()))
		before = append(before, s.temp(l.Outer*parts*l.Inner*d.Size()))
	}
	build(scanPart{Lines: l, r: r, cut: cut, x: x, sums: sums})
	s.scanStates(Lines{Outer: l.Outer, N: parts, Inner: l.Inner}, r, sums, before)
	build(scanPart{Lines: l, r: r, cut: cut, x: x, y: y, before: before})
}

// scanPart is a launch of a scan of lines that are divided into parts of a fixed number of elements (cut). It stores results in y or, if
// sums is set, only the states of the parts in sums. before holds the combined states before each part.
type scanPart struct {
	Lines
	r            running
	cut          int
	x, y         region
	sums, before []region
}

func (c scanPart) parts() int { return ceil(c.N, c.cut) }

// scanThreads runs a scanPart with a thread for each part of a line.
func (s *sequence) scanThreads(c scanPart) {
	parts := c.parts()
	s.each("scan_threads", c.Outer*parts*c.Inner, c.size(), func(p *step) func(ir.Value) {
		b := c.buffers(p)
		return func(i ir.Value) {
			q := p.split(i, c.Outer, parts, c.Inner)
			acc := p.newState("acc", c.r)
			if c.before != nil {
				acc.put(p.loadState(b.before, i))
			}
			lo := p.Mul(q[1], p.Int(c.cut))
			hi := p.Min(p.Add(lo, p.Int(c.cut)), p.Int(c.N))
			p.For(lo, hi, 1, func(k ir.Value) {
				if c.Reverse {
					k = p.Sub(p.Int(c.N-1), k)
				}
				at := p.join([]int{c.Outer, c.N, c.Inner}, q[0], k, q[2])
				v := c.r.lift(p.Builder, p.Load(b.x, at), k)
				next := c.r.join(p.Builder, acc.get(), v)
				if c.sums == nil {
					result := next
					if c.Exclusive {
						result = acc.get()
					}
					p.Store(b.y, at, c.r.lower(p.Builder, result))
				}
				acc.put(next)
			})
			if c.sums != nil {
				p.storeState(b.sums, i, acc.get())
			}
		}
	})
}

// run returns the number of neighbouring elements of one access (a run), and the number of runs that a thread processes at once.
func (c scanPart) run(t Target) (run, runs int) {
	size := max(c.r.in().Size(), c.r.out().Size())
	for run = 1; 2*run*size <= t.Wide && run < 8 && c.N%(2*run) == 0 && c.x.offset%int64(2*run*size) == 0 && c.y.offset%int64(2*run*size) == 0; {
		run *= 2
	}
	return run, max(scanItems/run, 1)
}

// scanBlocks runs a scanPart with a block for each part of a line, whose elements are neighbours.
func (s *sequence) scanBlocks(c scanPart) {
	parts := c.parts()
	run, runs := c.run(s.t)
	p := s.begin("scan_blocks", scanThreads, c.Outer*parts, c.size()+2*scanTile)
	b := c.buffers(p)
	acc := p.newState("acc", c.r)
	hold := p.newBlockScan(c.r)
	// Blocks beyond the last repeat the work of the last without storing results, because all threads must reach barriers.
	used := p.Lt(p.block, p.number("parts", c.Outer*parts))
	mine := p.Min(p.block, p.Int(c.Outer*parts-1))
	if c.before != nil {
		// The previous launch read its input in the order of blocks, so the end of the input is in the cache.
		mine = p.Sub(p.Int(c.Outer*parts-1), mine)
	}
	q := p.split(mine, c.Outer, parts)
	if c.before != nil {
		acc.put(p.loadState(b.before, mine))
	}
	// Positions are counted in runs from here on.
	lo := p.Mul(q[1], p.Int(ceil(c.cut, run)))
	hi := p.Min(p.Add(lo, p.Int(ceil(c.cut, run))), p.Int(c.N/run))
	index := func(k ir.Value) ir.Value {
		k = p.Min(k, p.Int(c.N/run-1))
		if c.Reverse {
			k = p.Sub(p.Int(c.N/run-1), k)
		}
		return k
	}
	p.For(lo, hi, scanThreads*runs, func(base ir.Value) {
		// Neighbouring threads of a subgroup have neighbouring runs.
		first := p.Add(base, hold.begin(runs))
		items := make([][]ir.Value, 0, runs*run)
		for k := range runs {
			at := p.Add(first, p.Int(k*hold.size))
			inside := p.Lt(at, hi)
			from := index(at)
			for i, v := range c.turned(p.LoadWide(b.x, p.Mul(p.join([]int{c.Outer, c.N / run}, q[0], from), p.Int(run)), run)) {
				if c.Reverse {
					i = run - 1 - i
				}
				state := c.r.lift(p.Builder, v, p.Add(p.Mul(from, p.Int(run)), p.Int(i)))
				items = append(items, p.selectState(inside, state, c.r.identity(p.Builder)))
			}
		}
		totals := make([][]ir.Value, runs)
		for k := range totals {
			totals[k] = p.joinStates(c.r, items[k*run:][:run])
		}
		if c.sums != nil && c.r.commutes() {
			acc.put(c.r.join(p.Builder, acc.get(), p.joinStates(c.r, totals)))
			return
		}
		within, all := hold.runs(totals)
		before, all := hold.across(all, c.sums == nil)
		if c.sums != nil {
			acc.put(c.r.join(p.Builder, acc.get(), all))
			return
		}
		before = c.r.join(p.Builder, acc.get(), before)
		for k := range runs {
			state := c.r.join(p.Builder, before, within[k])
			results := make([]ir.Value, run)
			for i := range results {
				next := c.r.join(p.Builder, state, items[k*run+i])
				results[i] = c.r.lower(p.Builder, next)
				if c.Exclusive {
					results[i] = c.r.lower(p.Builder, state)
				}
				state = next
			}
			at := p.Add(first, p.Int(k*hold.size))
			p.If(p.And(used, p.Lt(at, hi)), func() {
				p.Store(b.y, p.Mul(p.join([]int{c.Outer, c.N / run}, q[0], index(at)), p.Int(run)), c.turned(results)...)
			})
		}
		acc.put(c.r.join(p.Builder, acc.get(), all))
	})
	if c.sums != nil {
		if c.r.commutes() {
			acc.put(hold.total(acc.get()))
		}
		p.If(p.And(used, p.Eq(p.Thread(), p.Int(0))), func() { p.storeState(b.sums, mine, acc.get()) })
	}
	s.end(p)
}

// turned converts neighbouring values from the order of memory to the order of the scan, and back.
func (c scanPart) turned(v []ir.Value) []ir.Value {
	v = slices.Clone(v)
	if c.Reverse {
		slices.Reverse(v)
	}
	return v
}

// scanStates adds the exclusive scan of the states of the parts of lines, with a block for each line.
func (s *sequence) scanStates(l Lines, r running, sums, before []region) {
	const items = 4
	p := s.begin("scan_parts", scanThreads, l.Outer*l.Inner, l.size()+scanThreads*items)
	from, to := p.stateBuffers("sums", r, ir.Read, sums), p.stateBuffers("before", r, ir.Write, before)
	lines := l.Outer * l.Inner
	used := p.Lt(p.block, p.number("lines", lines))
	q := p.split(p.Min(p.block, p.Int(lines-1)), l.Outer, l.Inner)
	acc, hold := p.newState("acc", r), p.newBlockScan(r)
	p.For(p.Int(0), p.Int(l.N), scanThreads*items, func(base ir.Value) {
		first := p.Add(base, p.Mul(p.Thread(), p.Int(items)))
		at := func(k int) ir.Value {
			return p.join([]int{l.Outer, l.N, l.Inner}, q[0], p.Min(p.Add(first, p.Int(k)), p.Int(l.N-1)), q[1])
		}
		states := make([][]ir.Value, items)
		own := r.identity(p.Builder)
		for k := range states {
			states[k] = p.selectState(p.Lt(p.Add(first, p.Int(k)), p.Int(l.N)), p.loadState(from, at(k)), r.identity(p.Builder))
			own = r.join(p.Builder, own, states[k])
		}
		earlier, all := hold.scan(own)
		run := r.join(p.Builder, acc.get(), earlier)
		for k, v := range states {
			p.If(p.And(used, p.Lt(p.Add(first, p.Int(k)), p.Int(l.N))), func() { p.storeState(to, at(k), run) })
			run = r.join(p.Builder, run, v)
		}
		acc.put(r.join(p.Builder, acc.get(), all))
	})
	s.end(p)
}

type scanBuffers struct {
	x, y         ir.Buf
	sums, before []ir.Buf
}

func (c scanPart) buffers(p *step) scanBuffers {
	b := scanBuffers{x: p.buffer("x", c.r.in(), ir.Read, c.x)}
	if c.sums != nil {
		b.sums = p.stateBuffers("sums", c.r, ir.Write, c.sums)
	} else {
		b.y = p.buffer("y", c.r.out(), ir.Write, c.y)
	}
	if c.before != nil {
		b.before = p.stateBuffers("before", c.r, ir.Read, c.before)
	}
	return b
}

func (p *step) stateBuffers(name string, r running, a ir.Access, at []region) []ir.Buf {
	var out []ir.Buf
	for k, d := range r.states() {
		out = append(out, p.buffer(name+string(rune('0'+k)), d, a, at[k]))
	}
	return out
}

func (p *step) loadState(from []ir.Buf, at ir.Value) []ir.Value {
	out := make([]ir.Value, len(from))
	for k, f := range from {
		out[k] = p.Load(f, at)
	}
	return out
}

func (p *step) storeState(to []ir.Buf, at ir.Value, v []ir.Value) {
	for k, t := range to {
		p.Store(t, at, v[k])
	}
}

func (p *step) selectState(cond ir.Value, a, b []ir.Value) []ir.Value {
	out := make([]ir.Value, len(a))
	for k := range a {
		out[k] = p.Select(cond, a[k], b[k])
	}
	return out
}

// joinStates combines neighbouring states.
func (p *step) joinStates(r running, v [][]ir.Value) []ir.Value {
	all := v[0]
	for _, s := range v[1:] {
		all = r.join(p.Builder, all, s)
	}
	return all
}

// stateVar is a state in a variable of a thread, initially the identity.
type stateVar struct {
	p    *step
	vars []ir.Var
}

func (p *step) newState(name string, r running) stateVar {
	v := stateVar{p: p}
	for k, d := range r.states() {
		v.vars = append(v.vars, p.Local(name+string(rune('0'+k)), d, 1))
	}
	v.put(r.identity(p.Builder))
	return v
}

func (v stateVar) get() []ir.Value {
	out := make([]ir.Value, len(v.vars))
	for k, x := range v.vars {
		out[k] = v.p.At(x)
	}
	return out
}

func (v stateVar) put(s []ir.Value) {
	for k, x := range v.vars {
		v.p.Put(x, s[k])
	}
}

// blockScan scans one state of each thread of a block.
type blockScan struct {
	p    *step
	r    running
	mem  []ir.Mem
	size int // threads that exchange values without shared memory
}

// newBlockScan declares the shared memory of a blockScan. Any number of scans can use it, one after the other.
func (p *step) newBlockScan(r running) blockScan {
	size := min(max(p.t.Subgroup, 1), p.threads)
	if size > 1 {
		p.SetSubgroup(p.t.Subgroup)
	}
	b := blockScan{p: p, r: r, size: size}
	for k, d := range r.states() {
		b.mem = append(b.mem, p.Shared("totals"+string(rune('0'+k)), d, p.threads/size))
	}
	return b
}

// scan returns the combined state of all threads before this thread, and the combined state of all threads. All threads of the block must
// call it.
func (b blockScan) scan(v []ir.Value) (before, all []ir.Value) { return b.run(v, true) }

// total returns the combined state of all threads.
func (b blockScan) total(v []ir.Value) []ir.Value {
	_, all := b.run(v, false)
	return all
}

// lane returns the number of a thread in its subgroup, and the number of the subgroup.
func (b blockScan) lane() (lane, group ir.Value) {
	p := b.p
	if b.size > 1 {
		return p.Lane(), p.Div(p.Thread(), p.Int(b.size))
	}
	return p.Int(0), p.Thread()
}

// begin returns the first of n runs of a thread. A subgroup has neighbouring runs, and each of its threads has every size-th run.
func (b blockScan) begin(n int) ir.Value {
	lane, group := b.lane()
	return b.p.Add(b.p.Mul(group, b.p.Int(n*b.size)), lane)
}

// inclusive returns the combined state of the threads of the subgroup up to and including this thread.
func (b blockScan) inclusive(v []ir.Value) []ir.Value {
	lane, _ := b.lane()
	for d := 1; d < b.size; d *= 2 {
		v = b.p.selectState(b.p.Le(b.p.Int(d), lane), b.r.join(b.p.Builder, b.shifted(v, d), v), v)
	}
	return v
}

// earlier returns the combined state of the threads of the subgroup before this thread, given the result of inclusive.
func (b blockScan) earlier(upTo []ir.Value) []ir.Value {
	none := b.r.identity(b.p.Builder)
	if b.size == 1 {
		return none
	}
	lane, _ := b.lane()
	return b.p.selectState(b.p.Eq(lane, b.p.Int(0)), none, b.shifted(upTo, 1))
}

// runs scans the states of runs that are assigned to threads as described for begin. before is the combined state before each run in the
// subgroup, and all the state of the whole subgroup.
func (b blockScan) runs(totals [][]ir.Value) (before [][]ir.Value, all []ir.Value) {
	p := b.p
	for k, v := range totals {
		upTo := b.inclusive(v)
		within, sum := b.earlier(upTo), upTo
		if b.size > 1 {
			sum = make([]ir.Value, len(upTo))
			for i, x := range upTo {
				sum[i] = p.ShuffleFrom(x, p.Int(b.size-1))
			}
		}
		if k > 0 {
			within, sum = b.r.join(p.Builder, all, within), b.r.join(p.Builder, all, sum)
		}
		before, all = append(before, within), sum
	}
	return before, all
}

func (b blockScan) run(v []ir.Value, scan bool) (before, all []ir.Value) {
	v = b.inclusive(v)
	before, all = b.across(v, scan)
	if scan && b.size > 1 {
		before = b.r.join(b.p.Builder, before, b.earlier(v))
	}
	return before, all
}

// across combines the states of the last threads of subgroups. If scan is true, before is the combined state of all earlier subgroups;
// all is the combined state of the block.
func (b blockScan) across(v []ir.Value, scan bool) (before, all []ir.Value) {
	p, groups := b.p, b.p.threads/b.size
	lane, group := b.lane()
	p.Barrier() // other threads have read the result of an earlier scan
	p.If(p.Eq(lane, p.Int(b.size-1)), func() {
		for k, m := range b.mem {
			p.SharedStore(m, group, v[k])
		}
	})
	p.Barrier()
	sum, own := p.newState("all", b.r), stateVar{}
	if scan {
		own = p.newState("own", b.r)
	}
	p.For(p.Int(0), p.Int(groups), 1, func(g ir.Value) {
		if scan {
			p.If(p.Eq(g, group), func() { own.put(sum.get()) })
		}
		part := make([]ir.Value, len(b.mem))
		for k, m := range b.mem {
			part[k] = p.SharedLoad(m, g)
		}
		sum.put(b.r.join(p.Builder, sum.get(), part))
	})
	if !scan {
		return nil, sum.get()
	}
	return own.get(), sum.get()
}

func (b blockScan) shifted(v []ir.Value, d int) []ir.Value {
	out := make([]ir.Value, len(v))
	for k := range v {
		out[k] = b.p.ShuffleUp(v[k], d)
	}
	return out
}
