package template

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// backPart is the result of one launch of backLanes.
type backPart int

const (
	backStatistics backPart = iota
	backQueries
	backKeys
	backValues
)

var backNames = [...]string{"statistics", "queries", "keys", "values"}

// backLanes builds the backward pass without matrix instructions, for any type and any width of heads.
func (s *sequence) backLanes(f flashBack) {
	for part := backStatistics; part <= backValues; part++ {
		width := f.Width
		if part == backValues {
			width = f.ValueWidth
		}
		if width > 0 || part == backStatistics {
			s.backLane(f, part, width)
		}
	}
}

// backLane builds one launch, whose results have width columns. Wide results are divided among blocks.
func (s *sequence) backLane(f flashBack, part backPart, width int) {
	own := part >= backKeys
	l := &laneKernel{flashKernel: &flashKernel{flash: f.flash}}
	extra := 1
	if part != backStatistics {
		l.groups, extra = ceil(min(width, laneValues), 4*laneSide), ceil(width, laneValues)
	}
	for _, side := range []int{4, 2, 1} {
		l.r, l.c = side, side
		l.rows, l.tile = laneSide*side, laneSide*side
		if (side <= 2 || f.compute() != dtype.F64) && l.shared(s.t) <= min(s.t.Shared, 48<<10) {
			break
		}
	}
	n := s.back(f, "attention_back_"+backNames[part], laneSide*laneSide, l.rows, l.tile, extra, own)
	count := ceil(f.Queries, n.rows) * f.Batch * f.Heads
	if own {
		count = ceil(f.Keys, n.rows) * f.Batch * f.KeyHeads
	}
	l.flashKernel = n.flashKernel
	all := n.Min(n.block, n.Int(count*extra-1))
	l.used = n.Lt(n.block, n.Int(count*extra))
	l.value = n.Mul(n.Div(all, n.Int(count)), n.Int(laneValues))
	b := &backLaneKernel{laneKernel: l, n: n, part: part}
	if own {
		n.placeKeys(n.Rem(all, n.Int(count)))
	} else {
		n.region(n.Rem(all, n.Int(count)))
	}
	b.squares()
	if part == backStatistics {
		b.buildStatistics(f)
	} else {
		b.build(f, width)
	}
	s.end(n.step)
}

type backLaneKernel struct {
	*laneKernel
	n    *backKernel
	part backPart
}

func (b *backLaneKernel) keyRows(first ir.Value) matrixRows { return b.rowsOf(1, b.k, first) }

func (b *backLaneKernel) valueRows(first ir.Value) matrixRows { return b.rowsOf(2, b.v, first) }

func (b *backLaneKernel) rowsOfQueries(first ir.Value) matrixRows { return b.rowsOf(0, b.q, first) }

func (b *backLaneKernel) gradRows(first ir.Value) matrixRows { return b.rowsOf(4, b.n.dy, first) }

// buildStatistics builds the kernel of the statistics of queries.
func (b *backLaneKernel) buildStatistics(f flashBack) {
	d := b.compute()
	y := b.n.buffer("y", b.d, ir.Read, f.y)
	b.n.statistics(f, ir.Write)
	b.tops()
	b.For(b.lo, b.hi, b.tile, func(j ir.Value) {
		b.add(b.scores(j), func(int, ir.Value) {})
	})
	all, mean := make([]ir.Value, b.r), make([]ir.Value, b.r)
	for a := range b.r {
		all[a] = b.Get(b.laneKernel.all, b.Int(a))
		sum := b.Local("mean", d, 1)
		b.Put(sum, b.Float(d, 0))
		row := b.Min(b.rowOf(a), b.Sub(b.queries, b.Int(1)))
		b.For(b.x, b.Int(b.ValueWidth), laneSide, func(e ir.Value) {
			v, g := b.Load(y, b.n.elementOf(3, row, e)), b.Load(b.n.dy, b.n.elementOf(4, row, e))
			b.Put(sum, b.FMA(b.Cast(d, g), b.Cast(d, v), b.At(sum)))
		})
		mean[a] = b.At(sum)
	}
	all, mean = b.across(all, "sums", b.Add), b.across(mean, "means", b.Add)
	for a := range b.r {
		i, sum := b.rowOf(a), all[a]
		top := b.Mul(b.finite(b.Get(b.top, b.Int(a))), b.Float(d, b.factor()))
		total := b.Select(b.Eq(sum, b.Float(d, 0)), b.Float(d, math.Inf(1)), b.Add(top, b.Unary(ir.Log2, sum)))
		b.If(b.And(b.And(b.used, b.Eq(b.x, b.Int(0))), b.Lt(i, b.queries)), func() {
			b.Store(b.n.total, b.Add(b.qRow, i), total)
			b.Store(b.n.mean, b.Add(b.qRow, i), mean[a])
		})
	}
}

// build builds the kernel of the gradient of q, k or v.
func (b *backLaneKernel) build(f flashBack, width int) {
	b.n.statistics(f, ir.Read)
	to := b.n.buffer("d", b.d, ir.Write, f.grads[b.part-backQueries])
	b.sums()
	before, limit, scale := b.qRow, b.queries, b.Scale
	if b.part == backQueries {
		b.For(b.lo, b.hi, b.tile, func(j ir.Value) {
			dots := b.dots("dots", b.rowsOfQueries(b.first), b.keyRows(j), b.Width)
			grads := b.dots("grads", b.gradRows(b.first), b.valueRows(j), b.ValueWidth)
			b.share(b.weights(j, dots, grads))
			b.collect(b.keyRows(j), width)
		})
	} else {
		before, limit = b.kRow, b.keys
		b.n.heads(func() {
			b.For(b.lo, b.hi, b.tile, func(j ir.Value) {
				dots := b.dots("dots", b.keyRows(b.first), b.rowsOfQueries(j), b.Width)
				from := b.gradRows(j)
				var grads []ir.Value
				if b.part == backKeys {
					grads, from = b.dots("grads", b.valueRows(b.first), b.gradRows(j), b.ValueWidth), b.rowsOfQueries(j)
				}
				b.share(b.weights(j, dots, grads))
				b.collect(from, width)
			})
		})
	}
	if b.part == backValues {
		scale = 1
	}
	factors := make([]ir.Value, b.r)
	for a := range factors {
		factors[a] = b.Float(b.compute(), scale)
	}
	b.results(to, before, limit, width, factors)
}

// weights returns the weights of values in results for the tile that begins at j. With grads, the products of values and gradients, it
// returns the gradients of scores.
func (b *backLaneKernel) weights(j ir.Value, dots, grads []ir.Value) []ir.Value {
	d := b.compute()
	out := make([]ir.Value, len(dots))
	for row := range b.r {
		for col := range b.c {
			at := row*b.c + col
			i, key := b.rowOf(row), b.columnOf(j, col)
			if b.part != backQueries {
				i, key = key, i
			}
			query := b.Add(b.qRow, b.Min(i, b.Sub(b.queries, b.Int(1))))
			total := b.Select(b.Lt(i, b.queries), b.Load(b.n.total, query), b.Float(d, math.Inf(1)))
			scaled := b.scaled(dots[at])
			out[at] = b.n.weight(ir.Exp2, b.masked(scaled, i, key), total)
			if b.part == backValues {
				continue
			}
			out[at] = b.Mul(out[at], b.Sub(grads[at], b.Load(b.n.mean, query)))
			if b.Softcap != 0 {
				out[at] = b.Mul(out[at], b.n.slope(scaled))
			}
		}
	}
	return out
}
