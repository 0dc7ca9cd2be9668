package template

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

const (
	fragBackRows      = fragGroups * fragRows // rows of a block
	fragBackRegisters = 176                   // registers of a thread for fragments
	fragBackFew       = 96                    // the same, for a thread with 128 registers in all: on Apple GPUs
)

// fragBack is the memory layout of a kernel of the backward pass: the number of rows of a tile, whether the rows of the block stay in
// registers (resident), and whether these are keys (ofKeys). In that case the tiles hold queries and come with statistics.
type fragBack struct {
	tile             int
	resident, ofKeys bool
}

// registers returns the number of registers of a thread that fragments use.
func (f flashBack) registers(t Target, x fragBack) int {
	sums, packs := f.Width, 1
	if x.ofKeys {
		sums, packs = f.Width+f.ValueWidth, 2
	}
	// Numbers of registers for 16 columns of a factor and of a result.
	factor, result := 16*16/2/t.Subgroup, 16*16/t.Subgroup
	if m, _ := t.matrixInstruction(f.d); m.Order == ir.Strided || m.Order == ir.Quarters {
		factor *= 2 // both halves of the subgroup hold the factor, or it is held as f32
	}
	n := sums/16*result + 2*x.tile/16*result + packs*x.tile/16*factor
	if x.resident {
		n += (f.Width + f.ValueWidth) / 16 * factor
	}
	return n
}

// shared returns the bytes of shared memory of a block: its rows, two tiles and their statistics.
func (x fragBack) shared(f flashBack) int {
	n := f.d.Size() * (f.Width + f.ValueWidth + 2*fragSkew) * (fragBackRows + 2*x.tile)
	if x.ofKeys {
		n += 4 * 4 * x.tile
	}
	return n
}

// fragBacks returns a layout that fits the target, or false if no layout fits.
func (f flashBack) fragBacks(t Target, keys bool) (fragBack, bool) {
	most := fragBackRegisters
	if m, _ := t.matrixInstruction(f.d); m.Order == ir.Quarters {
		most = fragBackFew
	}
	for _, x := range []fragBack{{64, true, keys}, {32, true, keys}, {64, false, keys}, {32, false, keys}, {16, true, keys}, {16, false, keys}} {
		if f.registers(t, x) <= most && x.shared(f) <= t.Shared {
			return x, true
		}
	}
	return fragBack{}, false
}

// fragments reports whether the target's matrix instructions can compute f.
func (f flashBack) fragments(t Target) bool {
	_, queries := f.fragBacks(t, false)
	_, keys := f.fragBacks(t, true)
	fits := queries && keys && f.Softcap == 0
	for _, p := range append([]region{f.y, f.dy}, append(f.grads[:], f.in[:3]...)...) {
		fits = fits && p.offset%16 == 0
	}
	for _, v := range f.operandViews {
		for k, size := range v.Shape[:3] {
			fits = fits && (size == 1 || v.Strides[k]%8 == 0)
		}
	}
	return fits && f.suits(t)
}

// backFragments builds the backward pass with matrix instructions, in two launches. Blocks of the first hold queries; it computes the
// statistics and the gradient of q. Blocks of the second hold keys; it computes the gradients of k and v. While a tile is multiplied, the
// next tile is loaded.
func (s *sequence) backFragments(f flashBack) {
	for _, keys := range []bool{false, true} {
		x, _ := f.fragBacks(s.t, keys)
		name, count := "attention_back_queries_mma", ceil(f.Queries, fragBackRows)*f.Batch*f.Heads
		if keys {
			name, count = "attention_back_keys_mma", ceil(f.Keys, fragBackRows)*f.Batch*f.KeyHeads
		}
		m, _ := s.t.matrixInstruction(f.d)
		k := &fragBackKernel{backKernel: s.back(f, name, s.t.Subgroup*fragGroups, fragBackRows, x.tile, 1, keys), fragBack: x, accumulatorLayout: s.t.accumulatorLayout(m)}
		k.SetSubgroup(s.t.Subgroup)
		k.SetBlocks(2)
		k.used = k.Lt(k.block, k.Int(count))
		k.lane = k.Lane()
		k.row = k.Mul(k.Div(k.Thread(), k.Int(k.subgroup)), k.Int(fragRows))
		block := k.Min(k.block, k.Int(count-1))
		if keys {
			k.statistics(f, ir.Read)
			k.placeKeys(block)
			k.buildKeys(f)
		} else {
			k.statistics(f, ir.Write)
			k.region(block)
			k.buildQueries(f)
		}
		s.end(k.step)
	}
}

// fragBackKernel works on pairs of matrices: the rows of the block are of q and dy, or of k and v, and the tiles are of the other pair.
// Products of q and k are scores, products of dy and v are gradients of weights.
type fragBackKernel struct {
	*backKernel
	fragBack
	accumulatorLayout
	used         ir.Value
	lane, row    ir.Value  // row is the first row of the subgroup in the block
	mine, theirs [2]ir.Mem // two tiles, one after the other
	stats        ir.Mem    // totals and means of the queries of both tiles
	own, dots    [2]ir.Frag
	packs, sums  [2]ir.Frag
	left, factor ir.Frag  // loaded when needed
	half         ir.Value // number of the half of shared memory that has the current tile
}

func (k *fragBackKernel) widths() [2]int    { return [2]int{k.Width, k.ValueWidth} }
func (k *fragBackKernel) stride(of int) int { return k.widths()[of] + fragSkew }
func (k *fragBackKernel) columns() int      { return k.tile / k.N }

// begin loads the rows of the block.
func (k *fragBackKernel) begin(rows [2]matrixRows) {
	m := k.MMA
	for of, name := range []string{"first", "second"} {
		k.mine[of] = k.Shared("own_"+name, k.d, fragBackRows*k.stride(of))
		k.theirs[of] = k.Shared("tile_"+name, k.d, 2*k.tile*k.stride(of))
		k.dots[of] = k.Fragments("dots_"+name, m, ir.C, k.columns())
		k.stage(k.mine[of], k.Int(0), k.stride(of), rows[of], fragBackRows, k.widths()[of])
	}
	k.factor, k.left = k.Fragments("factor", m, ir.B, 1), k.Fragments("left", m, ir.A, 1)
	k.staged()
	for of, name := range []string{"first", "second"} {
		if k.resident {
			k.own[of] = k.Fragments("own_"+name, m, ir.A, k.widths()[of]/16)
			for d := range k.widths()[of] / 16 {
				k.loadOwn(k.own[of], d, of, d)
			}
		}
	}
}

// sum declares and clears the sums to which collect adds the rows of theirs[of].
func (k *fragBackKernel) sum(of int, name string) {
	m := k.MMA
	k.packs[of] = k.Fragments("pack_"+name, m, ir.A, k.tile/16)
	k.sums[of] = k.Fragments("sum_"+name, m, ir.C, k.widths()[of]/k.N)
	for i := range k.widths()[of] / k.N {
		k.FragFill(k.sums[of], k.Int(i), k.Float(dtype.F32, 0))
	}
}

// loadOwn loads 16 columns of the subgroup's rows.
func (k *fragBackKernel) loadOwn(to ir.Frag, i, of, column int) {
	at := k.Add(k.Mul(k.row, k.Int(k.stride(of))), k.Int(16*column))
	k.FragLoad(to, k.Int(i), k.mine[of], at, k.Int(k.stride(of)), false)
}

// tiles loads each tile of the first n matrices and then calls body for the tile. more loads further data of a tile.
func (k *fragBackKernel) tiles(rows func(of int, first ir.Value) matrixRows, n int, more func(j, half ir.Value), body func(j ir.Value)) {
	bring := func(j, half ir.Value) {
		for of := range n {
			base := k.Mul(half, k.Int(k.tile*k.stride(of)))
			k.stage(k.theirs[of], base, k.stride(of), rows(of, j), k.tile, k.widths()[of])
		}
		more(j, half)
	}
	k.staged()
	bring(k.lo, k.Int(0))
	k.For(k.lo, k.hi, k.tile, func(j ir.Value) {
		k.half = k.clamp(k.Rem(k.Div(k.Sub(j, k.lo), k.Int(k.tile)), k.Int(2)), 0, 1)
		k.staged()
		next := k.Add(j, k.Int(k.tile))
		k.If(k.Lt(next, k.hi), func() { bring(next, k.Sub(k.Int(1), k.half)) })
		body(j)
	})
}

// at returns the offset of an element of the current tile in shared memory.
func (k *fragBackKernel) at(of, row, column int) ir.Value {
	return k.Add(k.Mul(k.half, k.Int(k.tile*k.stride(of))), k.Int(row*k.stride(of)+column))
}

// multiply computes the products of the rows of the block and the rows of the tile.
func (k *fragBackKernel) multiply(of int) {
	for c := range k.columns() {
		k.FragFill(k.dots[of], k.Int(c), k.Float(dtype.F32, 0))
	}
	for d := range k.widths()[of] / 16 {
		left, i := k.own[of], d
		if !k.resident {
			left, i = k.left, 0
			k.loadOwn(left, 0, of, d)
		}
		for c := range k.columns() {
			k.FragLoad(k.factor, k.Int(0), k.theirs[of], k.at(of, k.N*c, 16*d), k.Int(k.stride(of)), true)
			k.FragMMA(k.dots[of], k.Int(c), left, k.Int(i), k.factor, k.Int(0))
		}
	}
}

// collect adds the rows of theirs[of] in the current tile to the sums, each multiplied by its weight in dots[weights].
func (k *fragBackKernel) collect(of, weights int) {
	for c := range k.tile / 16 {
		k.FragPack(k.packs[of], k.Int(c), k.dots[weights], k.Int(16/k.N*c))
	}
	for d := range k.tile / 16 {
		for c := range k.widths()[of] / k.N {
			k.FragLoad(k.factor, k.Int(0), k.theirs[of], k.at(of, 16*d, k.N*c), k.Int(k.stride(of)), false)
			k.FragMMA(k.sums[of], k.Int(c), k.packs[of], k.Int(d), k.factor, k.Int(0))
		}
	}
}

// ownRow returns the row of the block that is row h of the thread's fragments. theirRow returns the row of the tile to which element e of
// fragment c belongs.
func (k *fragBackKernel) ownRow(h int) ir.Value {
	return k.Add(k.row, k.heldRow(k.Builder, k.lane, h))
}

func (k *fragBackKernel) theirRow(c, e int) ir.Value {
	return k.Add(k.column(k.Builder, k.lane, e), k.Int(k.N*c))
}

// score replaces the products of the tile that begins at row j by scores.
func (k *fragBackKernel) score(j ir.Value) {
	adjust := func() {
		for c := range k.columns() {
			for e := range k.held * k.run {
				query, key := k.Add(k.first, k.ownRow(e/k.run)), k.Add(j, k.theirRow(c, e%k.run))
				if k.ofKeys {
					query, key = key, query
				}
				k.FragSet(k.dots[0], k.Int(c), e, k.flashKernel.score(k.FragGet(k.dots[0], k.Int(c), e), query, key))
			}
		}
	}
	if !k.plain() || k.Mask != dtype.Invalid || k.Window > 0 {
		adjust()
		return
	}
	// Most tiles are seen completely and need no mask. Results for rows of the block beyond the last row are not stored, and queries of the
	// tile beyond the last query have weight 0.
	end := k.Add(j, k.Int(k.tile))
	switch at := k.Add(k.first, k.past); {
	case !k.ofKeys && k.Causal:
		k.If(k.Binary(ir.Or, k.Lt(k.keys, end), k.Lt(k.Add(at, k.Int(1)), end)), adjust)
	case !k.ofKeys:
		k.If(k.Lt(k.keys, end), adjust)
	case k.Causal:
		k.If(k.Lt(k.Add(j, k.past), k.Add(k.first, k.Int(fragBackRows-1))), adjust)
	}
}

// results stores the sums, multiplied by a factor. The sums pass through the subgroup's rows in shared memory, so that accesses are wide.
func (k *fragBackKernel) results(of int, to ir.Buf, before, limit ir.Value, factor float64) {
	const wide = 8
	width, stride := k.widths()[of], k.stride(of)
	k.SubgroupBarrier()
	for h := range k.held {
		for c := range width / k.N {
			v := make([]ir.Value, k.run)
			for e := range v {
				v[e] = k.Cast(k.d, k.Mul(k.FragGet(k.sums[of], k.Int(c), k.element(h, e)), k.Float(dtype.F32, factor)))
			}
			k.SharedStore(k.mine[of], k.Add(k.Mul(k.ownRow(h), k.Int(stride)), k.theirRow(c, 0)), v...)
		}
	}
	k.SubgroupBarrier()
	across := width / wide
	k.For(k.lane, k.Int(fragRows*across), k.subgroup, func(e ir.Value) {
		row, c := k.Add(k.row, k.Div(e, k.Int(across))), k.Mul(k.Rem(e, k.Int(across)), k.Int(wide))
		i := k.Add(k.first, row)
		k.If(k.And(k.used, k.Lt(i, limit)), func() {
			v := k.SharedLoadWide(k.mine[of], k.Add(k.Mul(row, k.Int(stride)), c), wide)
			k.Store(to, k.Add(k.Mul(k.Add(before, i), k.Int(width)), c), v...)
		})
	})
}

// buildKeys builds the kernel of the gradients of k and v.
func (k *fragBackKernel) buildKeys(f flashBack) {
	dk, dv := k.buffer("dk", k.d, ir.Write, f.grads[1]), k.buffer("dv", k.d, ir.Write, f.grads[2])
	k.begin([2]matrixRows{k.rowsOf(1, k.k, k.first), k.rowsOf(2, k.v, k.first)})
	k.stats = k.Shared("stats", dtype.F32, 4*k.tile)
	k.sum(0, "keys")
	k.sum(1, "values")
	from := [2]ir.Buf{k.q, k.dy}
	k.heads(func() {
		rows := func(of int, first ir.Value) matrixRows { return k.rowsOf(4*of, from[of], first) }
		k.tiles(rows, 2, k.bringStatistics, func(j ir.Value) {
			k.multiply(0)
			k.score(j)
			k.multiply(1)
			k.weigh()
			k.collect(1, 0)
			k.collect(0, 1)
		})
	})
	k.results(0, dk, k.kRow, k.keys, k.Scale)
	k.results(1, dv, k.kRow, k.keys, 1)
}

// bringStatistics loads the statistics of the queries from query j on. Queries beyond the last query see no key.
func (k *fragBackKernel) bringStatistics(j, half ir.Value) {
	k.For(k.Thread(), k.Int(k.tile), k.subgroup*fragGroups, func(e ir.Value) {
		i := k.Add(j, e)
		query := k.Add(k.qRow, k.Min(i, k.Sub(k.queries, k.Int(1))))
		at := k.Add(k.Mul(half, k.Int(2*k.tile)), e)
		k.SharedStore(k.stats, at, k.Select(k.Lt(i, k.queries), k.Load(k.total, query), k.Float(dtype.F32, math.Inf(1))))
		k.SharedStore(k.stats, k.Add(at, k.Int(k.tile)), k.Load(k.mean, query))
	})
}

// weigh replaces scores by weights and gradients of weights by gradients of scores.
func (k *fragBackKernel) weigh() {
	base := k.Mul(k.half, k.Int(2*k.tile))
	for c := range k.columns() {
		at := k.Add(base, k.theirRow(c, 0))
		total, mean := k.SharedLoadWide(k.stats, at, k.run), k.SharedLoadWide(k.stats, k.Add(at, k.Int(k.tile)), k.run)
		for e := range k.held * k.run {
			k.weighOne(c, e, total[e%k.run], mean[e%k.run])
		}
	}
}

func (k *fragBackKernel) weighOne(c, e int, total, mean ir.Value) {
	w := k.weight(ir.Exp2Fast, k.FragGet(k.dots[0], k.Int(c), e), total)
	k.FragSet(k.dots[0], k.Int(c), e, w)
	k.FragSet(k.dots[1], k.Int(c), e, k.Mul(w, k.Sub(k.FragGet(k.dots[1], k.Int(c), e), mean)))
}
