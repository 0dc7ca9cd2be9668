package template

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// buildQueries builds the kernel of the statistics and the gradient of q.
func (k *fragBackKernel) buildQueries(f flashBack) {
	y, dq := k.buffer("y", k.d, ir.Read, f.y), k.buffer("dq", k.d, ir.Write, f.grads[0])
	k.begin([2]matrixRows{k.rowsOf(0, k.q, k.first), k.rowsOf(4, k.dy, k.first)})
	from := [2]ir.Buf{k.k, k.v}
	rows := func(of int, first ir.Value) matrixRows { return k.rowsOf(1+of, from[of], first) }
	nothing := func(j, half ir.Value) {}

	top, all := k.Local("top", dtype.F32, k.held), k.Local("all", dtype.F32, k.held)
	for h := range k.held {
		k.Set(top, k.Int(h), k.Float(dtype.F32, math.Inf(-1)))
		k.Set(all, k.Int(h), k.Float(dtype.F32, 0))
	}
	k.tiles(rows, 1, nothing, func(j ir.Value) {
		k.multiply(0)
		k.score(j)
		for h := range k.held {
			k.addRow(h, top, all)
		}
	})
	total, mean := make([]ir.Value, k.held), make([]ir.Value, k.held)
	for h := range total {
		total[h], mean[h] = k.totalOf(h, top, all), k.meanOf(h, y)
		i := k.Add(k.first, k.ownRow(h))
		k.If(k.And(k.And(k.used, k.Eq(k.mate(k.Builder, k.lane), k.Int(0))), k.Lt(i, k.queries)), func() {
			k.Store(k.total, k.Add(k.qRow, i), total[h])
			k.Store(k.mean, k.Add(k.qRow, i), mean[h])
		})
	}

	k.sum(0, "queries")
	k.tiles(rows, 2, nothing, func(j ir.Value) {
		k.multiply(0)
		k.score(j)
		k.multiply(1)
		for c := range k.columns() {
			for e := range k.held * k.run {
				k.weighOne(c, e, total[e/k.run], mean[e/k.run])
			}
		}
		k.collect(0, 1)
	})
	k.results(0, dq, k.qRow, k.queries, k.Scale)
}

// addRow adds the exponentials of the scores of a tile, for one query of each thread.
func (k *fragBackKernel) addRow(h int, top, all ir.Var) {
	at := k.Int(h)
	before := k.Get(top, at)
	now := before
	for c := range k.columns() {
		for e := range k.run {
			now = k.Max(now, k.FragGet(k.dots[0], k.Int(c), k.element(h, e)))
		}
	}
	now = k.acrossRow(k.Builder, now, k.Max)
	factor := k.Float(dtype.F32, k.flash.factor())
	base := k.Unary(ir.Neg, k.Mul(k.finite(now), factor))
	sum := k.Mul(k.Get(all, at), k.Unary(ir.Exp2Fast, k.FMA(before, factor, base)))
	for c := range k.columns() {
		for e := range k.run {
			sum = k.Add(sum, k.Unary(ir.Exp2Fast, k.FMA(k.FragGet(k.dots[0], k.Int(c), k.element(h, e)), factor, base)))
		}
	}
	k.Set(top, at, now)
	k.Set(all, at, sum)
}

// totalOf returns the total of one query of each thread.
func (k *fragBackKernel) totalOf(h int, top, all ir.Var) ir.Value {
	sum := k.acrossRow(k.Builder, k.Get(all, k.Int(h)), k.Add)
	greatest := k.Mul(k.finite(k.Get(top, k.Int(h))), k.Float(dtype.F32, k.flash.factor()))
	return k.Select(k.Eq(sum, k.Float(dtype.F32, 0)), k.Float(dtype.F32, math.Inf(1)), k.Add(greatest, k.Unary(ir.Log2, sum)))
}

// meanOf returns the sum of dy·y of one query of each thread.
func (k *fragBackKernel) meanOf(h int, y ir.Buf) ir.Value {
	const wide = 8
	row := k.Min(k.Add(k.first, k.ownRow(h)), k.Sub(k.queries, k.Int(1)))
	sum := k.Local("mean", dtype.F32, 1)
	k.Put(sum, k.Float(dtype.F32, 0))
	k.For(k.Mul(k.mate(k.Builder, k.lane), k.Int(wide)), k.Int(k.ValueWidth), k.lanes()*wide, func(e ir.Value) {
		a, b := k.LoadWide(k.dy, k.elementOf(4, row, e), wide), k.LoadWide(y, k.elementOf(3, row, e), wide)
		v := k.At(sum)
		for i := range a {
			v = k.FMA(k.Cast(dtype.F32, a[i]), k.Cast(dtype.F32, b[i]), v)
		}
		k.Put(sum, v)
	})
	return k.acrossRow(k.Builder, k.At(sum), k.Add)
}
