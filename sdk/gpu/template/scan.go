package template

import (
	"github.com/goburn/burn/sdk/gpu/ir"
)

// Lines is a tensor [Outer, N, Inner] seen as Outer·Inner lines of N elements.
type Lines struct {
	Outer, N, Inner int
	// Exclusive leaves each element out of its own result, and Reverse runs from the end.
	Exclusive, Reverse bool
}

func (l Lines) size() int { return l.Outer * l.N * l.Inner }

// Scan is slot 1: each element of slot 0 combined with those before it on its line.
func Scan(t Target, l Lines, how Join, x, y Operand) ir.Work {
	return scan(t, l, runningJoin{joinerOf(t, how, x.Type)}, x, y)
}

// ScanIndex is slot 1, of i64: the place on its line of the first greatest, or least, element up to each.
func ScanIndex(t Target, l Lines, how Join, x, y Operand) ir.Work {
	return scan(t, l, runningIndex{joinerOf(t, how, x.Type)}, x, y)
}

// ScanLogSum is slot 1: the logarithm of the running sum of exponentials.
func ScanLogSum(t Target, l Lines, x, y Operand) ir.Work {
	return scan(t, l, runningLogSum{x.Type}, x, y)
}

func scan(t Target, l Lines, r running, x, y Operand) ir.Work {
	s := newSequence(t, 2, false)
	s.scan(l, r, placeOf(0, x), placeOf(1, y))
	return s.work
}

// The sizes of scans depend on shapes alone, as sums of floats depend on where lines are cut.
const (
	scanThreads = 256
	scanItems   = 4     // neighbouring elements of a thread
	scanSerial  = 64    // up to this length a thread has a line for itself
	scanChunk   = 16384 // least elements of a part of a line that is cut
	scanRows    = 256   // so many lines are enough work without being cut
	scanColumns = 16384 // likewise, where a thread has a line
)

// scan runs along lines: with a thread for each line or part of it where neighbouring threads then have neighbouring elements
// or lines are short, with a block otherwise. Long lines of which there are few are cut: a first launch combines each part, the parts
// are scanned, and a last launch scans within the parts from there on.
func (s *sequence) scan(l Lines, r running, x, y place) {
	if l.size() == 0 {
		return
	}
	lines := l.Outer * l.Inner
	cut, build := l.N, s.scanBlocks
	switch {
	case l.Inner > 1 || l.N <= scanSerial:
		build = s.scanThreads
		if want := scanColumns / lines; want > 1 && l.N > scanSerial {
			cut = max(scanSerial/2, (l.N+want-1)/want)
		}
	case lines < scanRows && l.N > scanChunk:
		want := max(1024/lines, 1)
		cut = max(scanChunk/4, (l.N+want-1)/want)
		cut = (cut + scanThreads*scanItems - 1) / (scanThreads * scanItems) * (scanThreads * scanItems)
	}
	parts := (l.N + cut - 1) / cut
	if parts <= 1 {
		build(scanPart{Lines: l, r: r, cut: l.N, x: x, y: y})
		return
	}
	var sums, before []place
	for _, d := range r.states() {
		sums = append(sums, s.temp(l.Outer*parts*l.Inner*d.Size()))
		before = append(before, s.temp(l.Outer*parts*l.Inner*d.Size()))
	}
	build(scanPart{Lines: l, r: r, cut: cut, x: x, sums: sums})
	s.scanStates(Lines{Outer: l.Outer, N: parts, Inner: l.Inner}, r, sums, before)
	build(scanPart{Lines: l, r: r, cut: cut, x: x, y: y, before: before})
}

// scanStates is the exclusive scan of states, by a thread for each line: there are few parts.
func (s *sequence) scanStates(l Lines, r running, sums, before []place) {
	s.each("scan_parts", l.Outer*l.Inner, l.size(), func(p *step) func(ir.Value) {
		from, to := p.stateBuffers("sums", r, ir.Read, sums), p.stateBuffers("before", r, ir.Write, before)
		return func(i ir.Value) {
			c := p.split(i, l.Outer, l.Inner)
			acc := p.newState("acc", r)
			p.For(p.Int(0), p.Int(l.N), 1, func(k ir.Value) {
				at := p.join([]int{l.Outer, l.N, l.Inner}, c[0], k, c[1])
				p.storeState(to, at, acc.get())
				acc.put(r.join(p.Builder, acc.get(), p.loadState(from, at)))
			})
		}
	})
}

// scanPart is a launch of a scan: lines in parts of cut elements. It stores results in y or, where it only combines, the states
// of the parts in sums. before is the states of what is before each part.
type scanPart struct {
	Lines
	r            running
	cut          int
	x, y         place
	sums, before []place
}

func (c scanPart) parts() int { return (c.N + c.cut - 1) / c.cut }

// position is the number of the element that is at place k of a line in the order of the scan.
func (c scanPart) position(p *step, outer, k, inner ir.Value) (at, place ir.Value) {
	if c.Reverse {
		k = p.Sub(p.Int(c.N-1), k)
	}
	return p.join([]int{c.Outer, c.N, c.Inner}, outer, k, inner), k
}

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
				at, place := c.position(p, q[0], k, q[2])
				v := c.r.lift(p.Builder, p.Load(b.x, at), place)
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

// scanBlocks runs a scanPart with a block for each part of a line, whose elements are neighbours.
func (s *sequence) scanBlocks(c scanPart) {
	parts := c.parts()
	p := s.begin("scan_blocks", scanThreads, c.Outer*parts, c.size()+scanThreads*scanItems)
	b := c.buffers(p)
	acc := p.newState("acc", c.r)
	hold := p.newBlockScan(c.r)
	block := p.number("parts", c.Outer*parts)
	// Blocks beyond the last do the work of the last again, but for its results, as barriers are for all threads.
	used := p.Lt(p.blocks, block)
	mine := p.Min(p.blocks, p.Int(c.Outer*parts-1))
	q := p.split(mine, c.Outer, parts)
	if c.before != nil {
		acc.put(p.loadState(b.before, mine))
	}
	lo := p.Mul(q[1], p.Int(c.cut))
	hi := p.Min(p.Add(lo, p.Int(c.cut)), p.Int(c.N))
	p.For(lo, hi, scanThreads*scanItems, func(base ir.Value) {
		first := p.Add(base, p.Mul(p.Thread(), p.Int(scanItems)))
		items := make([][]ir.Value, scanItems)
		for k := range items {
			at := p.Add(first, p.Int(k))
			inside := p.Lt(at, hi)
			pos, place := c.position(p, q[0], p.Min(at, p.Int(c.N-1)), p.Int(0))
			v := c.r.lift(p.Builder, p.Load(b.x, pos), place)
			items[k] = p.selectState(inside, v, c.r.identity(p.Builder))
		}
		mine := items[0]
		for _, v := range items[1:] {
			mine = c.r.join(p.Builder, mine, v)
		}
		if c.sums != nil {
			acc.put(c.r.join(p.Builder, acc.get(), hold.total(mine)))
			return
		}
		before, all := hold.scan(mine)
		run := c.r.join(p.Builder, acc.get(), before)
		for k := range items {
			at := p.Add(first, p.Int(k))
			next := c.r.join(p.Builder, run, items[k])
			result := next
			if c.Exclusive {
				result = run
			}
			pos, _ := c.position(p, q[0], p.Min(at, p.Int(c.N-1)), p.Int(0))
			out := c.r.lower(p.Builder, result)
			p.If(p.And(used, p.Lt(at, hi)), func() { p.Store(b.y, pos, out) })
			run = next
		}
		acc.put(c.r.join(p.Builder, acc.get(), all))
	})
	if c.sums != nil {
		p.If(p.And(used, p.Eq(p.Thread(), p.Int(0))), func() { p.storeState(b.sums, mine, acc.get()) })
	}
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

func (p *step) stateBuffers(name string, r running, a ir.Access, at []place) []ir.Buf {
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

// stateVar is a state that a thread changes, at first the identity.
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

// newBlockScan reserves the shared memory of scans, one after the other.
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

// scan is the states of all threads before this one combined, and those of all threads. Every thread of the block calls it.
func (b blockScan) scan(v []ir.Value) (before, all []ir.Value) { return b.run(v, true) }

// total is the states of all threads combined.
func (b blockScan) total(v []ir.Value) []ir.Value {
	_, all := b.run(v, false)
	return all
}

func (b blockScan) run(v []ir.Value, scan bool) (before, all []ir.Value) {
	p, groups := b.p, b.p.threads/b.size
	lane, group := p.Int(0), p.Thread()
	if b.size > 1 {
		lane, group = p.Lane(), p.Div(p.Thread(), p.Int(b.size))
	}
	for d := 1; d < b.size; d *= 2 {
		v = p.selectState(p.Le(p.Int(d), lane), b.r.join(p.Builder, b.shifted(v, d), v), v)
	}
	p.Barrier() // an earlier scan has been read
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
	before = own.get()
	if b.size > 1 {
		within := p.selectState(p.Eq(lane, p.Int(0)), b.r.identity(p.Builder), b.shifted(v, 1))
		before = b.r.join(p.Builder, before, within)
	}
	return before, sum.get()
}

func (b blockScan) shifted(v []ir.Value, d int) []ir.Value {
	out := make([]ir.Value, len(v))
	for k := range v {
		out[k] = b.p.ShuffleUp(v[k], d)
	}
	return out
}
