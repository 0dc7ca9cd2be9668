package template

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// The threads of a block of attendLanes form a square; each has some rows and columns of a tile of scores, and of the results.
const (
	laneSide   = 16
	laneChunk  = 16 // columns of q and k, and keys of v, that are in shared memory at a time
	laneValues = 128
)

// attendLanes is attention without matrix instructions, of any type and any width of heads. Wide values are shared out to blocks,
// which compute the scores again.
func (s *sequence) attendLanes(f flash) {
	r, c, resident := f.laneSizes(s.t)
	extra := (f.ValueWidth + laneValues - 1) / laneValues
	n := s.attend(f, "attention", laneSide*laneSide, laneSide*r, laneSide*c, extra)
	l := &laneKernel{flashKernel: n, r: r, c: c, groups: f.laneGroups(), resident: resident}
	count := (f.Queries + n.rows - 1) / n.rows * f.Batch * f.Heads
	all := n.Min(n.block, n.Int(count*extra-1))
	l.used = n.Lt(n.block, n.Int(count*extra))
	n.place(n.Rem(all, n.Int(count)))
	l.value = n.Mul(n.Div(all, n.Int(count)), n.Int(laneValues))
	l.build()
	s.end(n.step)
}

// laneGroups is how many groups of four values a thread has.
func (f flash) laneGroups() int {
	return (min(f.ValueWidth, laneValues) + 4*laneSide - 1) / (4 * laneSide)
}

// laneSizes is the rows and columns of scores of a thread, the most for which shared memory is enough, and whether all columns of q stay there.
func (f flash) laneSizes(t Target) (r, c int, resident bool) {
	limit := min(t.Shared, 48<<10)
	for _, side := range []int{4, 2, 1} {
		r, c = side, side
		if f.Queries <= laneSide {
			r = 1
		}
		if side > 2 && f.compute() == dtype.F64 {
			continue
		}
		for _, resident = range []bool{f.Width <= 64, false} {
			l := laneKernel{flashKernel: &flashKernel{flash: f, rows: laneSide * r, tile: laneSide * c}, r: r, c: c, groups: f.laneGroups(), resident: resident}
			if l.shared(t) <= limit {
				return r, c, resident
			}
		}
	}
	return r, c, false
}

type laneKernel struct {
	*flashKernel
	r, c, groups   int  // rows, keys, and fours of values of a thread
	resident       bool // all columns of q stay in shared memory
	used, value    ir.Value
	x, y           ir.Value // column and row of the thread in the square
	qs, ks, vs, ps ir.Mem
	sum, top, all  ir.Var // of results, greatest scores, sums of exponentials
}

// Rows of shared arrays are a little longer than needed, so that columns are not all in one bank.
func (l *laneKernel) qStride() int { return l.rows + 4 }
func (l *laneKernel) kStride() int { return l.tile + 4 }
func (l *laneKernel) vStride() int { return 4 * laneSide * l.groups }

// qColumns is how many columns of q are in shared memory.
func (l *laneKernel) qColumns() int {
	if l.resident {
		return max(1, ceil(l.Width, laneChunk)) * laneChunk
	}
	return laneChunk
}

// shared is the bytes of shared memory of a block.
func (l *laneKernel) shared(t Target) int {
	n := l.qColumns()*l.qStride() + laneChunk*(l.kStride()+l.vStride()) + l.tile*l.qStride()
	if t.Subgroup < laneSide {
		n += 2 * l.rows * laneSide
	}
	return n * l.compute().Size()
}

func (l *laneKernel) build() {
	d := l.compute()
	thread := l.Thread()
	l.x, l.y = l.Rem(thread, l.Int(laneSide)), l.Div(thread, l.Int(laneSide))
	l.qs, l.ks = l.Shared("qs", d, l.qColumns()*l.qStride()), l.Shared("ks", d, laneChunk*l.kStride())
	l.vs, l.ps = l.Shared("vs", d, laneChunk*l.vStride()), l.Shared("ps", d, l.tile*l.qStride())
	l.sum, l.top, l.all = l.Local("sum", d, l.r*4*l.groups), l.Local("top", d, l.r), l.Local("all", d, l.r)
	for k := range l.r * 4 * l.groups {
		l.Set(l.sum, l.Int(k), l.Float(d, 0))
	}
	for k := range l.r {
		l.Set(l.top, l.Int(k), l.Float(d, math.Inf(-1)))
		l.Set(l.all, l.Int(k), l.Float(d, 0))
	}
	if l.resident {
		l.stageRows(l.qs, l.qStride(), l.q, l.qRow, l.first, l.queries, l.rows, l.Int(0), l.qColumns())
	}
	l.For(l.lo, l.hi, l.tile, func(j ir.Value) {
		l.weigh(l.scores(j))
		l.collect(j)
	})
	l.finish()
}

// stageRows puts columns of rows of q or k into shared memory, a column after the other, and 0 beyond the last column.
func (l *laneKernel) stageRows(m ir.Mem, stride int, from ir.Buf, before, first, limit ir.Value, rows int, column ir.Value, columns int) {
	l.For(l.Thread(), l.Int(rows*columns), laneSide*laneSide, func(e ir.Value) {
		row, c := l.Div(e, l.Int(columns)), l.Rem(e, l.Int(columns))
		at := l.Min(l.Add(first, row), l.Sub(limit, l.Int(1)))
		col := l.Add(column, c)
		v := l.Local("element", l.compute(), 1)
		l.Put(v, l.Float(l.compute(), 0))
		l.If(l.Lt(col, l.Int(l.Width)), func() {
			i := l.Add(l.Mul(l.Add(before, at), l.Int(l.Width)), col)
			l.Put(v, l.Cast(l.compute(), l.Load(from, i)))
		})
		l.SharedStore(m, l.Add(l.Mul(c, l.Int(stride)), row), l.At(v))
	})
}

// scores is the thread's scores of a tile of keys from j on, row by row.
func (l *laneKernel) scores(j ir.Value) []ir.Value {
	d := l.compute()
	dots := l.Local("dots", d, l.r*l.c)
	for k := range l.r * l.c {
		l.Set(dots, l.Int(k), l.Float(d, 0))
	}
	l.For(l.Int(0), l.Int(l.Width), laneChunk, func(column ir.Value) {
		l.Barrier()
		l.stageRows(l.ks, l.kStride(), l.k, l.kRow, j, l.keys, l.tile, column, laneChunk)
		base := column
		if !l.resident {
			base = l.Int(0)
			l.stageRows(l.qs, l.qStride(), l.q, l.qRow, l.first, l.queries, l.rows, column, laneChunk)
		}
		l.Barrier()
		acc := make([]ir.Value, l.r*l.c)
		for k := range acc {
			acc[k] = l.Get(dots, l.Int(k))
		}
		for c := range laneChunk {
			q := l.sharedRun(l.qs, l.Add(l.Mul(l.Add(base, l.Int(c)), l.Int(l.qStride())), l.Mul(l.y, l.Int(l.r))), l.r)
			k := l.sharedRun(l.ks, l.Add(l.Int(c*l.kStride()), l.Mul(l.x, l.Int(l.c))), l.c)
			for a := range q {
				for b := range k {
					acc[a*l.c+b] = l.FMA(q[a], k[b], acc[a*l.c+b])
				}
			}
		}
		for k := range acc {
			l.Set(dots, l.Int(k), acc[k])
		}
	})
	out := make([]ir.Value, l.r*l.c)
	for a := range l.r {
		for b := range l.c {
			i := l.Add(l.first, l.Add(l.Mul(l.y, l.Int(l.r)), l.Int(a)))
			key := l.Add(j, l.Add(l.Mul(l.x, l.Int(l.c)), l.Int(b)))
			out[a*l.c+b] = l.score(l.Get(dots, l.Int(a*l.c+b)), i, key)
		}
	}
	return out
}

// weigh makes exponentials of scores, which go to shared memory, key by key, and brings the sums so far to the new greatest score.
func (l *laneKernel) weigh(scores []ir.Value) {
	tops := l.rowTops(scores)
	weights := make([]ir.Value, len(scores))
	for a := range l.r {
		at := l.Int(a)
		before := l.Get(l.top, at)
		top := l.Max(before, tops[a])
		base := l.finite(top)
		scale := l.power(before, base)
		sum := l.Mul(l.Get(l.all, at), scale)
		for b := range l.c {
			w := l.power(scores[a*l.c+b], base)
			weights[a*l.c+b] = w
			sum = l.Add(sum, w)
		}
		l.Set(l.top, at, top)
		l.Set(l.all, at, sum)
		for k := range 4 * l.groups {
			i := l.Int(a*4*l.groups + k)
			l.Set(l.sum, i, l.Mul(l.Get(l.sum, i), scale))
		}
	}
	for b := range l.c {
		row := make([]ir.Value, l.r)
		for a := range row {
			row[a] = weights[a*l.c+b]
		}
		key := l.Add(l.Mul(l.x, l.Int(l.c)), l.Int(b))
		l.sharedPut(l.ps, l.Add(l.Mul(key, l.Int(l.qStride())), l.Mul(l.y, l.Int(l.r))), row)
	}
}

// rowTops is the greatest score of each of the thread's rows. The threads of a row are neighbours.
func (l *laneKernel) rowTops(scores []ir.Value) []ir.Value {
	tops := make([]ir.Value, l.r)
	for a := range tops {
		tops[a] = scores[a*l.c]
		for _, v := range scores[a*l.c+1 : (a+1)*l.c] {
			tops[a] = l.Max(tops[a], v)
		}
	}
	return l.across(tops, "tops", l.Max)
}

// across combines values of each row over the threads of the row: by exchange, or through shared memory.
func (l *laneKernel) across(rows []ir.Value, name string, join func(a, b ir.Value) ir.Value) []ir.Value {
	out := make([]ir.Value, len(rows))
	if l.t.Subgroup >= laneSide {
		l.SetSubgroup(l.t.Subgroup)
		for a, v := range rows {
			for d := 1; d < laneSide; d *= 2 {
				v = join(v, l.ShuffleXor(v, d))
			}
			out[a] = v
		}
		return out
	}
	m := l.Shared(name, l.compute(), l.rows*laneSide)
	l.Barrier()
	for a, v := range rows {
		row := l.Add(l.Mul(l.y, l.Int(l.r)), l.Int(a))
		l.SharedStore(m, l.Add(l.Mul(row, l.Int(laneSide)), l.x), v)
	}
	l.Barrier()
	for a := range rows {
		row := l.Mul(l.Add(l.Mul(l.y, l.Int(l.r)), l.Int(a)), l.Int(laneSide))
		out[a] = l.SharedLoad(m, row)
		for k := 1; k < laneSide; k++ {
			out[a] = join(out[a], l.SharedLoad(m, l.Add(row, l.Int(k))))
		}
	}
	return out
}

// collect adds the values of a tile of keys from j on, by their weights.
func (l *laneKernel) collect(j ir.Value) {
	d, width := l.compute(), l.vStride()
	l.For(l.Int(0), l.Int(l.tile), laneChunk, func(chunk ir.Value) {
		l.Barrier()
		l.For(l.Thread(), l.Int(laneChunk*width), laneSide*laneSide, func(e ir.Value) {
			row, c := l.Div(e, l.Int(width)), l.Rem(e, l.Int(width))
			key, col := l.Add(j, l.Add(chunk, row)), l.Add(l.value, c)
			v := l.Local("value", d, 1)
			l.Put(v, l.Float(d, 0))
			l.If(l.And(l.Lt(key, l.keys), l.Lt(col, l.Int(l.ValueWidth))), func() {
				l.Put(v, l.Cast(d, l.Load(l.v, l.Add(l.Mul(l.Add(l.kRow, key), l.Int(l.ValueWidth)), col))))
			})
			l.SharedStore(l.vs, e, l.At(v))
		})
		l.Barrier()
		acc := make([]ir.Value, l.r*4*l.groups)
		for k := range acc {
			acc[k] = l.Get(l.sum, l.Int(k))
		}
		for k := range laneChunk {
			p := l.sharedRun(l.ps, l.Add(l.Mul(l.Add(chunk, l.Int(k)), l.Int(l.qStride())), l.Mul(l.y, l.Int(l.r))), l.r)
			for g := range l.groups {
				at := l.Add(l.Int(k*width+g*4*laneSide), l.Mul(l.x, l.Int(4)))
				v := l.sharedRun(l.vs, at, 4)
				for a := range p {
					for b := range v {
						i := (a*l.groups+g)*4 + b
						acc[i] = l.FMA(p[a], v[b], acc[i])
					}
				}
			}
		}
		for k := range acc {
			l.Set(l.sum, l.Int(k), acc[k])
		}
	})
}

// finish stores the results.
func (l *laneKernel) finish() {
	sums := make([]ir.Value, l.r)
	for a := range sums {
		sums[a] = l.Get(l.all, l.Int(a))
	}
	sums = l.across(sums, "sums", l.Add)
	for a := range l.r {
		i := l.Add(l.first, l.Add(l.Mul(l.y, l.Int(l.r)), l.Int(a)))
		inverse := l.inverse(sums[a])
		for g := range l.groups {
			for b := range 4 {
				col := l.Add(l.value, l.Add(l.Mul(l.x, l.Int(4)), l.Int(g*4*laneSide+b)))
				v := l.Mul(l.Get(l.sum, l.Int((a*l.groups+g)*4+b)), inverse)
				l.If(l.And(l.used, l.And(l.Lt(i, l.queries), l.Lt(col, l.Int(l.ValueWidth)))), func() {
					at := l.Add(l.Mul(l.Add(l.qRow, i), l.Int(l.ValueWidth)), col)
					l.Store(l.flashKernel.y, at, l.Cast(l.d, v))
				})
			}
		}
	}
}
