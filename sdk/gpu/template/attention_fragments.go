package template

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

const (
	fragGroups = 4 // subgroups of a block, each with its own queries
	fragRows   = 16
	fragSkew   = 8 // padding of rows of shared arrays, in elements, so that columns are not all in one bank
)

// fragSizes returns the number of groups of 16 queries of a subgroup and the number of keys of a tile.
func (f flash) fragSizes(t Target) (times, tile int, ok bool) {
	times, tile = 1, 64
	m, _ := t.matrixInstruction(f.d)
	// In a subgroup of 32, WMMA holds each factor twice, so that there are no registers for a second group.
	if max(f.Width, f.ValueWidth) <= 64 && f.Queries > fragGroups*fragRows && (m.Order == ir.Pairs || t.Subgroup == 64) {
		times = 2
	}
	for ; tile >= 16; tile /= 2 {
		rows := fragGroups * fragRows * times
		if f.d.Size()*(rows*(max(f.Width, f.ValueWidth)+fragSkew)+2*tile*(f.Width+f.ValueWidth+2*fragSkew)) <= t.Shared {
			return times, tile, true
		}
	}
	return 0, 0, false
}

// fragments reports whether the target's matrix instructions can compute f.
func (f flash) fragments(t Target) bool {
	_, _, fits := f.fragSizes(t)
	for _, p := range append(f.in[:3:3], f.y) {
		fits = fits && p.offset%16 == 0
	}
	for _, v := range f.operandViews {
		for k, size := range v.Shape[:max(0, len(v.Shape)-1)] {
			fits = fits && (size == 1 || v.Strides[k]%8 == 0)
		}
	}
	return fits && f.suits(t)
}

// suits reports whether the target has a matrix instruction for the type and widths of f, and threads for a block.
func (f flash) suits(t Target) bool {
	_, ok := t.matrixInstruction(f.d)
	return ok && t.Wide >= 16 && t.Threads >= t.Subgroup*fragGroups && f.Width > 0 && f.Width%16 == 0 && f.ValueWidth > 0 && f.ValueWidth%16 == 0 &&
		f.Width <= 128 && f.ValueWidth <= 128
}

// attendFragments builds attention with matrix instructions. Scores and weights stay in registers: the results of one product are factors
// of the next. While the keys and values of a tile are multiplied, the next tile is loaded.
func (s *sequence) attendFragments(f flash) {
	times, tile, _ := f.fragSizes(s.t)
	m, _ := s.t.matrixInstruction(f.d)
	n := s.attend(f, "attention_mma", s.t.Subgroup*fragGroups, fragGroups*fragRows*times, tile, 1)
	n.SetSubgroup(s.t.Subgroup)
	n.SetBlocks(2)
	k := &fragKernel{flashKernel: n, accumulatorLayout: s.t.accumulatorLayout(m), times: times}
	count := (f.Queries + n.rows - 1) / n.rows * f.Batch * f.Heads
	k.used = n.Lt(n.block, n.Int(count))
	n.region(n.Min(n.block, n.Int(count-1)))
	k.build()
	s.end(n.step)
}

type fragKernel struct {
	*flashKernel
	accumulatorLayout
	times      int // groups of 16 queries of a subgroup
	used       ir.Value
	lane, row  ir.Value // row is the subgroup's first query in the block
	qs, ks, vs ir.Mem
	// The query, score and weight fragments of a subgroup, its sums, and the factors that are loaded on demand.
	query, weight, score, sum, factor ir.Frag
	top, all                          ir.Var // one element for each query of a thread in each row of fragments
}

func (k *fragKernel) qStride() int { return max(k.Width, k.ValueWidth) + fragSkew }
func (k *fragKernel) kStride() int { return k.Width + fragSkew }
func (k *fragKernel) vStride() int { return k.ValueWidth + fragSkew }

// columns returns the number of fragments in a row of scores. outputs returns the number in a row of results.
func (k *fragKernel) columns() int { return k.tile / k.N }
func (k *fragKernel) outputs() int { return k.ValueWidth / k.N }

func (k *fragKernel) build() {
	m := k.MMA
	k.qs, k.ks = k.Shared("qs", k.d, k.rows*k.qStride()), k.Shared("ks", k.d, 2*k.tile*k.kStride())
	k.vs = k.Shared("vs", k.d, 2*k.tile*k.vStride())
	k.query, k.weight = k.Fragments("query", m, ir.A, k.times*k.Width/16), k.Fragments("weight", m, ir.A, k.times*k.tile/16)
	k.score, k.sum = k.Fragments("score", m, ir.C, k.times*k.columns()), k.Fragments("sum", m, ir.C, k.times*k.outputs())
	k.factor = k.Fragments("factor", m, ir.B, 16/k.N)
	k.top, k.all = k.Local("top", dtype.F32, k.held*k.times), k.Local("all", dtype.F32, k.held*k.times)
	for i := range k.held * k.times {
		k.Set(k.top, k.Int(i), k.Float(dtype.F32, math.Inf(-1)))
		k.Set(k.all, k.Int(i), k.Float(dtype.F32, 0))
	}
	for i := range k.times * k.outputs() {
		k.FragFill(k.sum, k.Int(i), k.Float(dtype.F32, 0))
	}
	k.lane = k.Lane()
	k.row = k.Mul(k.Div(k.Thread(), k.Int(k.subgroup)), k.Int(fragRows*k.times))

	k.stage(k.qs, k.Int(0), k.qStride(), k.rowsOf(0, k.flashKernel.q, k.first), k.rows, k.Width)
	k.fetch(k.lo)
	k.staged()
	for r := range k.times {
		for c := range k.Width / 16 {
			at := k.Add(k.Mul(k.Add(k.row, k.Int(r*fragRows)), k.Int(k.qStride())), k.Int(16*c))
			k.FragLoad(k.query, k.Int(r*k.Width/16+c), k.qs, at, k.Int(k.qStride()), false)
		}
	}
	k.For(k.lo, k.hi, k.tile, func(j ir.Value) {
		next := k.Add(j, k.Int(k.tile))
		k.If(k.Lt(next, k.hi), func() { k.fetch(next) })
		k.multiply(j)
		k.weigh(j)
		k.collect(j)
		k.staged()
	})
	k.finish()
}

// half returns the number of the half of the shared arrays that holds the tile of keys that begins at key j.
func (k *fragKernel) half(j ir.Value) ir.Value {
	return k.Rem(k.Div(j, k.Int(k.tile)), k.Int(2))
}

// fetch starts to load the tile of keys and values from key j on.
func (k *fragKernel) fetch(j ir.Value) {
	half := k.half(j)
	k.stage(k.ks, k.Mul(half, k.Int(k.tile*k.kStride())), k.kStride(), k.rowsOf(1, k.flashKernel.k, j), k.tile, k.Width)
	k.stage(k.vs, k.Mul(half, k.Int(k.tile*k.vStride())), k.vStride(), k.rowsOf(2, k.v, j), k.tile, k.ValueWidth)
}

// multiply computes the products of queries and the keys of a tile.
func (k *fragKernel) multiply(j ir.Value) {
	from := k.Mul(k.half(j), k.Int(k.tile*k.kStride()))
	for i := range k.times * k.columns() {
		k.FragFill(k.score, k.Int(i), k.Float(dtype.F32, 0))
	}
	for d := range k.Width / 16 {
		for c := 0; c < k.columns(); c += 16 / k.N {
			k.FragLoadWide(k.factor, k.Int(0), 16/k.N, k.ks, k.Add(from, k.Int(k.N*c*k.kStride()+16*d)), k.Int(k.kStride()), true)
			for n := range 16 / k.N {
				for r := range k.times {
					k.FragMMA(k.score, k.Int(r*k.columns()+c+n), k.query, k.Int(r*k.Width/16+d), k.factor, k.Int(n))
				}
			}
		}
	}
}

// rowOf returns the number in the block of the thread's query h in row r of its fragments. columnOf returns the column of element e of
// fragment c.
func (k *fragKernel) rowOf(r, h int) ir.Value {
	return k.Add(k.row, k.Add(k.heldRow(k.Builder, k.lane, h), k.Int(fragRows*r)))
}

func (k *fragKernel) columnOf(c, e int) ir.Value {
	return k.Add(k.column(k.Builder, k.lane, e), k.Int(k.N*c))
}

// weigh replaces the scores of the tile that begins at key j by exponentials. It rescales the sums computed so far to the new greatest
// score.
func (k *fragKernel) weigh(j ir.Value) {
	adjust := func() {
		for r := range k.times {
			for c := range k.columns() {
				at := k.Int(r*k.columns() + c)
				for i := range k.held * k.run {
					query, key := k.Add(k.first, k.rowOf(r, i/k.run)), k.Add(j, k.columnOf(c, i%k.run))
					k.FragSet(k.score, at, i, k.flashKernel.score(k.FragGet(k.score, at, i), query, key))
				}
			}
		}
	}
	if !k.plain() || k.Mask != dtype.Invalid || k.Window > 0 {
		adjust()
	} else {
		// Most tiles are seen completely and need no mask.
		end := k.Add(j, k.Int(k.tile))
		part := k.Lt(k.keys, end)
		if k.Causal {
			part = k.Binary(ir.Or, part, k.Lt(k.Add(k.Add(k.first, k.past), k.Int(1)), end))
		}
		k.If(part, adjust)
	}
	k.raise()
	for r := range k.times {
		for h := range k.held {
			k.weighRow(r, h)
		}
		for c := range k.tile / 16 {
			k.FragPack(k.weight, k.Int(r*k.tile/16+c), k.score, k.Int(r*k.columns()+16/k.N*c))
		}
	}
}

// maxPower is the greatest difference between the exponent (of 2) of a score and the reference that is subtracted from exponents.
const maxPower = 8

// raise computes the greatest score of each query in the tile. If such a score exceeds the current reference by more than maxPower, the
// greatest scores become the new reference, and the sums are rescaled to this reference.
func (k *fragKernel) raise() {
	factor := k.Float(dtype.F32, k.flash.factor())
	tops := make([]ir.Value, k.held*k.times)
	var far ir.Value
	for i := range tops {
		before := k.Get(k.top, k.Int(i))
		top := before
		for c := range k.columns() {
			for e := range k.run {
				top = k.Max(top, k.FragGet(k.score, k.Int(i/k.held*k.columns()+c), k.element(i%k.held, e)))
			}
		}
		top = k.acrossRow(k.Builder, top, k.Max)
		tops[i] = top
		above := k.Lt(k.FMA(before, factor, k.Float(dtype.F32, maxPower)), k.Mul(top, factor))
		if i == 0 {
			far = above
		} else {
			far = k.Or(far, above)
		}
	}
	k.If(k.anywhere(k.Builder, far), func() {
		for i, top := range tops {
			at := k.Int(i)
			base := k.Unary(ir.Neg, k.Mul(k.finite(top), factor))
			scale := k.Unary(ir.Exp2Fast, k.FMA(k.Get(k.top, at), factor, base))
			k.Set(k.top, at, top)
			k.Set(k.all, at, k.Mul(k.Get(k.all, at), scale))
			for c := range k.outputs() {
				for e := range k.run {
					sum, n := k.Int(i/k.held*k.outputs()+c), k.element(i%k.held, e)
					k.FragSet(k.sum, sum, n, k.Mul(k.FragGet(k.sum, sum, n), scale))
				}
			}
		}
	})
}

// weighRow replaces the scores of one query of each thread by exponentials, and sums them.
func (k *fragKernel) weighRow(r, h int) {
	at := k.Int(k.held*r + h)
	factor := k.Float(dtype.F32, k.flash.factor())
	base := k.Unary(ir.Neg, k.Mul(k.finite(k.Get(k.top, at)), factor))
	sum := k.Get(k.all, at)
	for c := range k.columns() {
		for e := range k.run {
			i, n := k.Int(r*k.columns()+c), k.element(h, e)
			w := k.Unary(ir.Exp2Fast, k.FMA(k.FragGet(k.score, i, n), factor, base))
			sum = k.Add(sum, w)
			k.FragSet(k.score, i, n, w)
		}
	}
	k.Set(k.all, at, sum)
}

// collect adds the values of a tile to the sums, each multiplied by its weight.
func (k *fragKernel) collect(j ir.Value) {
	from := k.Mul(k.half(j), k.Int(k.tile*k.vStride()))
	for d := range k.tile / 16 {
		for c := 0; c < k.outputs(); c += 16 / k.N {
			k.FragLoadWide(k.factor, k.Int(0), 16/k.N, k.vs, k.Add(from, k.Int(16*d*k.vStride()+k.N*c)), k.Int(k.vStride()), false)
			for n := range 16 / k.N {
				for r := range k.times {
					k.FragMMA(k.sum, k.Int(r*k.outputs()+c+n), k.weight, k.Int(r*k.tile/16+d), k.factor, k.Int(n))
				}
			}
		}
	}
}

// finish stores the results. The results pass through the subgroup's part of the shared memory of queries, so that accesses are wide.
func (k *fragKernel) finish() {
	const wide = 8
	for r := range k.times {
		for h := range k.held {
			inverse := k.inverse(k.acrossRow(k.Builder, k.Get(k.all, k.Int(k.held*r+h)), k.Add))
			for c := range k.outputs() {
				at := k.Add(k.Mul(k.rowOf(r, h), k.Int(k.qStride())), k.columnOf(c, 0))
				v := make([]ir.Value, k.run)
				for e := range v {
					v[e] = k.Cast(k.d, k.Mul(k.FragGet(k.sum, k.Int(r*k.outputs()+c), k.element(h, e)), inverse))
				}
				k.SharedStore(k.qs, at, v...)
			}
		}
	}
	k.SubgroupBarrier()
	across := k.ValueWidth / wide
	k.For(k.lane, k.Int(fragRows*k.times*across), k.subgroup, func(e ir.Value) {
		row, c := k.Add(k.row, k.Div(e, k.Int(across))), k.Mul(k.Rem(e, k.Int(across)), k.Int(wide))
		i := k.Add(k.first, row)
		k.If(k.And(k.used, k.Lt(i, k.queries)), func() {
			v := k.SharedLoadWide(k.qs, k.Add(k.Mul(row, k.Int(k.qStride())), c), wide)
			k.Store(k.y, k.Add(k.Mul(k.Add(k.qRow, i), k.Int(k.ValueWidth)), c), v...)
		})
	})
}
