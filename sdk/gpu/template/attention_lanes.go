package template

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// The threads of a block of attendLanes form a square. Each thread computes some rows and columns of a tile of scores, and of the results.
const (
	laneSide   = 16
	laneChunk  = 16 // columns of q and k, and keys of v, in shared memory at a time
	laneValues = 128
)

// attendLanes builds attention without matrix instructions, for any type and any width of heads. Wide values are divided among blocks, and
// each of these blocks computes the scores again.
func (s *sequence) attendLanes(f flash) {
	r, c, resident := f.laneSizes(s.t)
	extra := (f.ValueWidth + laneValues - 1) / laneValues
	n := s.attend(f, "attention", laneSide*laneSide, laneSide*r, laneSide*c, extra)
	l := &laneKernel{flashKernel: n, r: r, c: c, groups: f.laneGroups(), resident: resident}
	count := (f.Queries + n.rows - 1) / n.rows * f.Batch * f.Heads
	all := n.Min(n.block, n.Int(count*extra-1))
	l.used = n.Lt(n.block, n.Int(count*extra))
	n.region(n.Rem(all, n.Int(count)))
	l.value = n.Mul(n.Div(all, n.Int(count)), n.Int(laneValues))
	l.build()
	s.end(n.step)
}

// laneGroups returns the number of groups of four values that a thread computes.
func (f flash) laneGroups() int {
	return (min(f.ValueWidth, laneValues) + 4*laneSide - 1) / (4 * laneSide)
}

// laneSizes returns the numbers of rows and columns of scores of a thread, as great as shared memory allows, and reports whether all
// columns of q stay in shared memory.
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
	r, c, groups   int  // rows, keys, and groups of four values of a thread
	resident       bool // all columns of q stay in shared memory
	used, value    ir.Value
	x, y           ir.Value // column and row of the thread in the square
	qs, ks, vs, ps ir.Mem
	sum, top, all  ir.Var // sums of results, greatest scores, sums of exponentials
}

// qStride returns the stride of shared arrays, padded so that columns are not all in one bank.
func (l *laneKernel) qStride() int { return l.rows + 4 }
func (l *laneKernel) kStride() int { return l.tile + 4 }
func (l *laneKernel) vStride() int { return 4 * laneSide * l.groups }

// qColumns returns how many columns of q are in shared memory.
func (l *laneKernel) qColumns() int {
	if l.resident {
		return max(1, ceil(l.Width, laneChunk)) * laneChunk
	}
	return laneChunk
}

// shared returns the bytes of shared memory of a block.
func (l *laneKernel) shared(t Target) int {
	n := l.qColumns()*l.qStride() + laneChunk*(l.kStride()+l.vStride()) + l.tile*l.qStride()
	if t.Subgroup < laneSide {
		n += 2 * l.rows * laneSide
	}
	return n * l.compute().Size()
}

func (l *laneKernel) build() {
	l.squares()
	l.sums()
	l.tops()
	if l.resident {
		l.stageRows(l.qs, l.qStride(), l.queryRows(), l.rows, l.Width, l.Int(0), l.qColumns())
	}
	l.For(l.lo, l.hi, l.tile, func(j ir.Value) {
		l.weigh(l.scores(j))
		l.collect(l.rowsOf(2, l.v, j), l.ValueWidth)
	})
	l.finish()
}

// squares computes the thread's place in the square and declares the shared memory of both factors of products.
func (l *laneKernel) squares() {
	thread := l.Thread()
	l.x, l.y = l.Rem(thread, l.Int(laneSide)), l.Div(thread, l.Int(laneSide))
	l.qs, l.ks = l.Shared("qs", l.compute(), l.qColumns()*l.qStride()), l.Shared("ks", l.compute(), laneChunk*l.kStride())
}

// sums declares the memory that collect needs, and clears the sums that it adds to.
func (l *laneKernel) sums() {
	d := l.compute()
	l.vs, l.ps = l.Shared("vs", d, laneChunk*l.vStride()), l.Shared("ps", d, l.tile*l.qStride())
	l.sum = l.Local("sum", d, l.r*4*l.groups)
	for k := range l.r * 4 * l.groups {
		l.Set(l.sum, l.Int(k), l.Float(d, 0))
	}
}

// tops initializes the greatest scores and the sums of exponentials.
func (l *laneKernel) tops() {
	d := l.compute()
	l.top, l.all = l.Local("top", d, l.r), l.Local("all", d, l.r)
	for k := range l.r {
		l.Set(l.top, l.Int(k), l.Float(d, math.Inf(-1)))
		l.Set(l.all, l.Int(k), l.Float(d, 0))
	}
}

func (l *laneKernel) queryRows() matrixRows { return l.rowsOf(0, l.q, l.first) }

// stageRows copies some columns of rows of a matrix to shared memory, one column after the other. It stores 0 beyond the last column.
func (l *laneKernel) stageRows(m ir.Mem, stride int, from matrixRows, rows, width int, column ir.Value, columns int) {
	l.For(l.Thread(), l.Int(rows*columns), laneSide*laneSide, func(e ir.Value) {
		row, c := l.Div(e, l.Int(columns)), l.Rem(e, l.Int(columns))
		at := l.Min(l.Add(from.first, row), l.Sub(from.limit, l.Int(1)))
		col := l.Add(column, c)
		v := l.Local("element", l.compute(), 1)
		l.Put(v, l.Float(l.compute(), 0))
		l.If(l.Lt(col, l.Int(width)), func() {
			i := l.Add(from.base, l.Add(l.Mul(at, l.Int(from.stride)), col))
			l.Put(v, l.Cast(l.compute(), l.Load(from.from, i)))
		})
		l.SharedStore(m, l.Add(l.Mul(c, l.Int(stride)), row), l.At(v))
	})
}

// dots returns the thread's products of rows of a (rows of the block) and rows of b (rows of a tile), row by row.
func (l *laneKernel) dots(name string, a, b matrixRows, width int) []ir.Value {
	d := l.compute()
	dots := l.Local(name, d, l.r*l.c)
	for k := range l.r * l.c {
		l.Set(dots, l.Int(k), l.Float(d, 0))
	}
	if width == 0 {
		l.Barrier() // the code after this writes to shared memory that other threads may be reading
	}
	l.For(l.Int(0), l.Int(width), laneChunk, func(column ir.Value) {
		l.Barrier()
		l.stageRows(l.ks, l.kStride(), b, l.tile, width, column, laneChunk)
		base := column
		if !l.resident {
			base = l.Int(0)
			l.stageRows(l.qs, l.qStride(), a, l.rows, width, column, laneChunk)
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
	for k := range out {
		out[k] = l.Get(dots, l.Int(k))
	}
	return out
}

// rowOf and columnOf return the numbers of the thread's row a and of its column b of the tile that begins at j.
func (l *laneKernel) rowOf(a int) ir.Value {
	return l.Add(l.first, l.Add(l.Mul(l.y, l.Int(l.r)), l.Int(a)))
}

func (l *laneKernel) columnOf(j ir.Value, b int) ir.Value {
	return l.Add(j, l.Add(l.Mul(l.x, l.Int(l.c)), l.Int(b)))
}

// scores returns the thread's scores of the tile of keys that begins at key j, row by row.
func (l *laneKernel) scores(j ir.Value) []ir.Value {
	out := l.dots("dots", l.queryRows(), l.rowsOf(1, l.k, j), l.Width)
	for a := range l.r {
		for b := range l.c {
			out[a*l.c+b] = l.score(out[a*l.c+b], l.rowOf(a), l.columnOf(j, b))
		}
	}
	return out
}

// weigh stores exponentials of scores in shared memory, key by key. It rescales the sums computed so far to the new greatest score.
func (l *laneKernel) weigh(scores []ir.Value) {
	weights := l.add(scores, func(a int, scale ir.Value) {
		for k := range 4 * l.groups {
			i := l.Int(a*4*l.groups + k)
			l.Set(l.sum, i, l.Mul(l.Get(l.sum, i), scale))
		}
	})
	l.share(weights)
}

// add returns exponentials of scores relative to the greatest score so far, and adds them to the sums of the rows. It calls adjust for each
// row with the factor that corrects earlier exponentials.
func (l *laneKernel) add(scores []ir.Value, adjust func(a int, scale ir.Value)) []ir.Value {
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
		adjust(a, scale)
	}
	return weights
}

// share stores the thread's part of a tile in shared memory, column by column.
func (l *laneKernel) share(weights []ir.Value) {
	for b := range l.c {
		row := make([]ir.Value, l.r)
		for a := range row {
			row[a] = weights[a*l.c+b]
		}
		key := l.Add(l.Mul(l.x, l.Int(l.c)), l.Int(b))
		l.sharedPut(l.ps, l.Add(l.Mul(key, l.Int(l.qStride())), l.Mul(l.y, l.Int(l.r))), row)
	}
}

// rowTops returns the greatest score of each of the thread's rows. The threads of a row have neighbouring numbers.
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

// across combines, for each row, the values of the threads of that row: by shuffles in a subgroup, or through shared memory.
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

// collect adds the rows of a tile to the sums, multiplied by the weights in shared memory.
func (l *laneKernel) collect(from matrixRows, rowWidth int) {
	d, width := l.compute(), l.vStride()
	l.For(l.Int(0), l.Int(l.tile), laneChunk, func(chunk ir.Value) {
		l.Barrier()
		l.For(l.Thread(), l.Int(laneChunk*width), laneSide*laneSide, func(e ir.Value) {
			row, c := l.Div(e, l.Int(width)), l.Rem(e, l.Int(width))
			at, col := l.Add(from.first, l.Add(chunk, row)), l.Add(l.value, c)
			v := l.Local("value", d, 1)
			l.Put(v, l.Float(d, 0))
			l.If(l.And(l.Lt(at, from.limit), l.Lt(col, l.Int(rowWidth))), func() {
				l.Put(v, l.Cast(d, l.Load(from.from, l.Add(from.base, l.Add(l.Mul(at, l.Int(from.stride)), col)))))
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
	for a := range sums {
		sums[a] = l.inverse(sums[a])
	}
	l.results(l.flashKernel.y, l.qRow, l.queries, l.ValueWidth, sums)
}

// results stores the sums of each row, multiplied by the factor of the row, as rows of a matrix.
func (l *laneKernel) results(to ir.Buf, before, limit ir.Value, width int, factors []ir.Value) {
	for a := range l.r {
		i := l.rowOf(a)
		for g := range l.groups {
			for b := range 4 {
				col := l.Add(l.value, l.Add(l.Mul(l.x, l.Int(4)), l.Int(g*4*laneSide+b)))
				v := l.Mul(l.Get(l.sum, l.Int((a*l.groups+g)*4+b)), factors[a])
				l.If(l.And(l.used, l.And(l.Lt(i, limit), l.Lt(col, l.Int(width)))), func() {
					l.Store(to, l.Add(l.Mul(l.Add(before, i), l.Int(width)), col), l.Cast(l.d, v))
				})
			}
		}
	}
}
