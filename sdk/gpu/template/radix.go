package template

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// radix is a stable sort by digits, beginning with the lowest. Each pass counts the digits of each tile, scans the counts of a line in the
// order of digits, then of tiles, and moves the elements of each tile to their places.
type radix struct {
	sorting
	digitBits, threads, items, tiles int  // bits of a digit, threads of a block, elements of a thread, and tiles of a line
	ballot                           bool // ranks are computed by ballots of subgroups, otherwise by counters of each thread
}

func (r radix) digits() int { return 1 << r.digitBits }
func (r radix) tile() int   { return r.threads * r.items }

func (s *sequence) sortRadix(k sorting, x, values, indices region) {
	r := radix{sorting: k, digitBits: 8, threads: 256, items: 16, ballot: true}
	limit := min(s.t.Shared, 48<<10) - 1<<10
	few := r
	few.items = 1
	if s.t.Subgroup < 8 || s.t.Subgroup > 32 || s.t.Threads < 256 || few.shared(s.t) > limit {
		r.ballot, r.digitBits, r.items = false, 4, 8
		for r.threads > min(max(s.t.Threads, 1), 256) || r.shared(s.t) > limit {
			r.threads /= 2
		}
	}
	for r.shared(s.t) > limit && r.items > 1 {
		r.items /= 2
	}
	r.tiles = (k.n + r.tile() - 1) / r.tile()
	passes := max((k.bits+r.digitBits-1)/r.digitBits, 1)
	// Passes alternate between two pairs of buffers; a single pass needs none.
	var keys, order [2]region
	for i := range min(passes-1, 2) {
		keys[i], order[i] = s.temp(k.rows*k.n*k.d.Size()), s.temp(4*k.rows*k.n)
	}
	size := k.rows * r.digits() * r.tiles
	counts, starts := s.temp(4*size), s.temp(4*size)
	for i := range passes {
		m := radixPass{radix: r, shift: i * r.digitBits, first: i == 0, last: i == passes-1, keys: x, starts: starts}
		if i > 0 {
			m.keys, m.order = keys[(i-1)%2], order[(i-1)%2]
		}
		m.toKeys, m.toOrder = keys[i%2], order[i%2]
		if m.last {
			m.toKeys, m.toOrder = values, indices
		}
		s.radixCount(m, counts)
		s.scan(Lines{Outer: k.rows, N: r.digits() * r.tiles, Inner: 1, Exclusive: true}, runningJoin{joinerOf(s.t, JoinAdd, dtype.U32)}, counts, starts)
		s.radixMove(m)
	}
}

// shared returns the bytes of shared memory that a block needs.
func (r radix) shared(t Target) int {
	counters := r.digits() * r.threads
	if r.ballot {
		counters = r.digits() * (r.threads/t.Subgroup + 2)
	}
	return 4*counters + r.tile()*(t.sharedSize(r.carrier())+4)
}

// radixPass is one pass of a radix sort.
type radixPass struct {
	radix
	shift                        int      // lowest bit of the digit
	shiftOf                      ir.Value // shift as a parameter, so that passes share a kernel
	first, last                  bool
	keys, order, toKeys, toOrder region
	starts                       region
}

// from returns the offset at which element i of a line is read.
func (m radixPass) from(p *step, row, i ir.Value) ir.Value {
	if m.first {
		return m.at(p, row, i, m.n)
	}
	return p.join([]int{m.rows, m.n}, row, i)
}

// digit returns the digit of a loaded element in this pass, which is less than digits().
func (m radixPass) digit(p *step, raw ir.Value) ir.Value {
	key := m.key(p, raw)
	d := p.TypeOf(key)
	key = p.Binary(ir.Shr, key, m.shiftOf)
	return p.Cast(p.Index, p.And(key, p.Const(d, uint64(m.digits()-1))))
}

// beginTiles starts a kernel with a block for each tile of each line. Blocks beyond the last repeat the work of the last.
func (s *sequence) beginTiles(name string, m *radixPass) (p *step, row, tile ir.Value) {
	p = s.begin(name, m.threads, m.rows*m.tiles, m.rows*m.tiles*max(m.tile(), m.digits()))
	p.args = append(p.args, ir.Arg{Bits: uint64(m.shift)})
	m.shiftOf = p.Scalar("shift", m.word())
	c := p.split(p.Min(p.block, p.Int(m.rows*m.tiles-1)), m.rows, m.tiles)
	return p, c[0], c[1]
}

func (s *sequence) radixCount(m radixPass, counts region) {
	p, row, tile := s.beginTiles("radix_count", &m)
	from, to := p.buffer("keys", m.carrier(), ir.Read, m.keys), p.buffer("counts", dtype.U32, ir.Write, counts)
	used := p.Lt(p.block, p.Int(m.rows*m.tiles))
	seen := p.Shared("seen", dtype.U32, m.digits())
	p.For(p.Thread(), p.Int(m.digits()), m.threads, func(d ir.Value) { p.SharedStore(seen, d, p.Const(dtype.U32, 0)) })
	p.Barrier()
	base := p.Add(p.Mul(tile, p.Int(m.tile())), p.Thread())
	raw := make([]ir.Value, m.items)
	for k := range raw {
		raw[k] = p.Load(from, m.from(p, row, p.Min(p.Add(base, p.Int(k*m.threads)), p.Int(m.n-1))))
	}
	for k, v := range raw {
		p.If(p.Lt(p.Add(base, p.Int(k*m.threads)), p.Int(m.n)), func() { p.SharedAdd(seen, m.digit(p, v), p.Const(dtype.U32, 1)) })
	}
	p.Barrier()
	p.If(used, func() {
		p.For(p.Thread(), p.Int(m.digits()), m.threads, func(d ir.Value) {
			p.Store(to, p.join([]int{m.rows, m.digits(), m.tiles}, row, d, tile), p.SharedLoad(seen, d))
		})
	})
	s.end(p)
}

func (s *sequence) radixMove(m radixPass) {
	p, row, tile := s.beginTiles("radix_move", &m)
	from := p.buffer("keys", m.carrier(), ir.Read, m.keys)
	order, toKeys := ir.Buf(-1), ir.Buf(-1)
	if !m.first {
		order = p.buffer("order", dtype.U32, ir.Read, m.order)
	}
	if !m.last || !m.places {
		toKeys = p.buffer("to_keys", m.carrier(), ir.Write, m.toKeys)
	}
	d := dtype.U32
	if m.last {
		d = m.index
	}
	toOrder := p.buffer("to_order", d, ir.Write, m.toOrder)
	starts := p.buffer("starts", dtype.U32, ir.Read, m.starts)
	used := p.Lt(p.block, p.Int(m.rows*m.tiles))
	keys, places := p.Shared("tile_keys", m.carrier(), m.tile()), p.Shared("tile_order", dtype.U32, m.tile())
	base := p.Mul(tile, p.Int(m.tile()))

	at := func(i ir.Value) ir.Value { return m.from(p, row, p.Min(i, p.Int(m.n-1))) }
	read := radixRead{
		raw: func(i ir.Value) ir.Value { return p.Load(from, at(i)) },
		index: func(i ir.Value) ir.Value {
			if m.first {
				return p.Cast(dtype.U32, i)
			}
			return p.Load(order, at(i))
		},
		digit: func(i, raw ir.Value) ir.Value { // elements beyond the end come last
			return p.Select(p.Lt(i, p.Int(m.n)), m.digit(p, raw), p.Int(m.digits()-1))
		},
	}
	start := func(digit ir.Value) ir.Value { // start of the elements of the tile that have this digit
		return p.Min(p.Load(starts, p.join([]int{m.rows, m.digits(), m.tiles}, row, digit, tile)), p.Const(dtype.U32, uint64(m.n)))
	}
	var move func(digit ir.Value) ir.Value
	if m.ballot {
		move = m.rankByBallot(p, base, read, start, keys, places)
	} else {
		move = m.rankByCounters(p, base, read, start, keys, places)
	}
	p.Barrier()
	for k := range m.items {
		e := p.Add(p.Thread(), p.Int(k*m.threads))
		p.If(p.And(used, p.Lt(p.Add(base, e), p.Int(m.n))), func() {
			raw, index := p.SharedLoad(keys, e), p.SharedLoad(places, e)
			to := p.Cast(p.Index, p.Min(p.Add(p.Cast(dtype.U32, e), move(m.digit(p, raw))), p.Const(dtype.U32, uint64(m.n))))
			if !m.last {
				at := p.join([]int{m.rows, m.n}, row, p.clamp(to, 0, m.n-1))
				p.Store(toKeys, at, raw)
				p.Store(toOrder, at, index)
				return
			}
			p.If(p.Lt(to, p.Int(m.keep)), func() {
				at := m.at(p, row, p.clamp(to, 0, m.keep-1), m.keep)
				if !m.places {
					p.Store(toKeys, at, raw)
				}
				p.Store(toOrder, at, p.Cast(m.index, index))
			})
		})
	}
	s.end(p)
}

// radixRead holds functions that read element i of a line: its value, its place before the sort, and its digit.
type radixRead struct {
	raw, index func(i ir.Value) ir.Value
	digit      func(i, raw ir.Value) ir.Value
}

// rankByBallot stores the elements of a tile in shared memory in the order of their digits. It returns, for each digit, the distance modulo
// 2^32 from the place of its elements in shared memory to start, their place in the results. Each subgroup has neighbouring elements and
// its own counters. Ballots find the lanes that have equal digits.
func (m radixPass) rankByBallot(p *step, base ir.Value, read radixRead, start func(ir.Value) ir.Value, keys, places ir.Mem) func(ir.Value) ir.Value {
	size := p.t.Subgroup
	p.SetSubgroup(size)
	groups := m.threads / size
	u32 := func(n uint64) ir.Value { return p.Const(dtype.U32, n) }
	counters, begins := p.Shared("counters", dtype.U32, groups*m.digits()), p.Shared("begins", dtype.U32, m.digits())
	moves := p.Shared("moves", dtype.U32, m.digits())
	thread, lane := p.Thread(), p.Lane()
	group := p.Div(thread, p.Int(size))
	p.For(thread, p.Int(groups*m.digits()), m.threads, func(i ir.Value) { p.SharedStore(counters, i, u32(0)) })
	p.Barrier()
	raw, rank := make([]ir.Value, m.items), make([]ir.Value, m.items)
	below := p.Sub(p.Binary(ir.Shl, u32(1), p.Cast(dtype.U32, lane)), u32(1))
	mine := p.Add(p.Add(base, p.Mul(group, p.Int(size*m.items))), lane)
	for k := range m.items {
		raw[k] = read.raw(p.Add(mine, p.Int(k*size)))
	}
	slots := p.Mul(group, p.Int(m.digits()))
	for k := range m.items {
		digit := read.digit(p.Add(mine, p.Int(k*size)), raw[k])
		same := u32(^uint64(0) >> 32)
		code := p.Cast(dtype.U32, digit)
		for b := range m.digitBits {
			set := p.Ne(p.And(code, u32(1<<b)), u32(0))
			votes := p.Ballot(set)
			same = p.And(same, p.Select(set, votes, p.Unary(ir.Not, votes)))
		}
		if size < 32 {
			same = p.And(same, u32(1<<size-1))
		}
		before := p.PopCount(p.And(same, below))
		slot := p.Add(slots, digit)
		seen := p.SharedLoad(counters, slot)
		p.SubgroupBarrier()
		p.If(p.Eq(before, u32(0)), func() { p.SharedStore(counters, slot, p.Add(seen, p.PopCount(same))) })
		p.SubgroupBarrier()
		rank[k] = p.Add(seen, before)
	}
	p.Barrier()
	sum := p.newState("digit", runningJoin{joinerOf(p.t, JoinAdd, dtype.U32)})
	inside := p.Lt(thread, p.Int(m.digits()))
	p.If(inside, func() {
		for g := range groups {
			at := p.Add(p.Int(g*m.digits()), thread)
			n := p.SharedLoad(counters, at)
			p.SharedStore(counters, at, sum.get()[0])
			sum.put([]ir.Value{p.Add(sum.get()[0], n)})
		}
	})
	begin, _ := p.newBlockScan(runningJoin{joinerOf(p.t, JoinAdd, dtype.U32)}).scan(sum.get())
	p.If(inside, func() {
		p.SharedStore(begins, thread, begin[0])
		p.SharedStore(moves, thread, p.Sub(start(thread), begin[0]))
	})
	p.Barrier()
	indices := make([]ir.Value, m.items)
	for k := range indices {
		indices[k] = read.index(p.Add(mine, p.Int(k*size)))
	}
	for k := range m.items {
		digit := read.digit(p.Add(mine, p.Int(k*size)), raw[k])
		to := p.Add(p.Add(p.SharedLoad(begins, digit), p.SharedLoad(counters, p.Add(slots, digit))), rank[k])
		at := p.Cast(p.Index, p.Min(to, u32(uint64(m.tile()-1))))
		p.SharedStore(keys, at, raw[k])
		p.SharedStore(places, at, indices[k])
	}
	return func(digit ir.Value) ir.Value { return p.SharedLoad(moves, digit) }
}

// rankByCounters does the same as rankByBallot, with a counter for each digit of each thread. The elements of a thread are neighbours.
func (m radixPass) rankByCounters(p *step, base ir.Value, read radixRead, start func(ir.Value) ir.Value, keys, places ir.Mem) func(ir.Value) ir.Value {
	u32 := func(n uint64) ir.Value { return p.Const(dtype.U32, n) }
	counters := p.Shared("counters", dtype.U32, m.digits()*m.threads)
	thread := p.Thread()
	for d := range m.digits() {
		p.SharedStore(counters, p.Add(p.Int(d*m.threads), thread), u32(0))
	}
	raw, indices := make([]ir.Value, m.items), make([]ir.Value, m.items)
	slot, rank := make([]ir.Value, m.items), make([]ir.Value, m.items)
	mine := p.Add(base, p.Mul(thread, p.Int(m.items)))
	for k := range m.items {
		i := p.Add(mine, p.Int(k))
		raw[k], indices[k] = read.raw(i), read.index(i)
		digit := read.digit(i, raw[k])
		slot[k] = p.Add(p.Mul(digit, p.Int(m.threads)), thread)
		rank[k] = p.SharedLoad(counters, slot[k])
		p.SharedStore(counters, slot[k], p.Add(rank[k], u32(1)))
	}
	p.Barrier()
	counts := make([]ir.Value, m.digits())
	all := u32(0)
	for k := range counts {
		counts[k] = p.SharedLoad(counters, p.Add(p.Mul(thread, p.Int(m.digits())), p.Int(k)))
		all = p.Add(all, counts[k])
	}
	before, _ := p.newBlockScan(runningJoin{joinerOf(p.t, JoinAdd, dtype.U32)}).scan([]ir.Value{all})
	run := before[0]
	for k, n := range counts {
		p.SharedStore(counters, p.Add(p.Mul(thread, p.Int(m.digits())), p.Int(k)), run)
		run = p.Add(run, n)
	}
	p.Barrier()
	for k := range m.items {
		to := p.Add(p.SharedLoad(counters, slot[k]), rank[k])
		at := p.Cast(p.Index, p.Min(to, u32(uint64(m.tile()-1))))
		p.SharedStore(keys, at, raw[k])
		p.SharedStore(places, at, indices[k])
	}
	return func(digit ir.Value) ir.Value {
		return p.Sub(start(digit), p.SharedLoad(counters, p.Mul(digit, p.Int(m.threads))))
	}
}
