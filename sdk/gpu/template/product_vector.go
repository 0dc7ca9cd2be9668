package template

import (
	"fmt"

	"github.com/goburn/burn/sdk/gpu/ir"
)

// fewRows is the greatest number of rows of a product that vector builds: it reads B once, at the bandwidth of memory. Subgroups must
// have at least minLanes threads.
const (
	fewRows  = 4
	minLanes = 8
)

const (
	vectorThreads = 256
	inFlight      = 4 // accesses to B that a thread starts before it uses the first element
)

// vector builds a product of a few rows. If B is contiguous along the depth, a subgroup computes a column. Otherwise neighbouring threads
// compute neighbouring columns, and groups of threads alternate along the depth.
func (c *product) vector() []ir.Launch {
	width := c.b.aligned(false, c.n, c.t.Wide, c.batch)
	deep := c.b.along(true) && width == 1
	groups := vectorThreads / c.t.Subgroup
	cols, step := c.t.Subgroup*width, inFlight*groups // columns of a block, and length of the depth that it processes at a time
	if deep {
		width = c.b.aligned(true, c.k, c.t.Wide, c.batch)
		cols, step = groups, inFlight*c.t.Subgroup*width
	}
	blocks := ceil(c.n, cols) * c.batches()
	parts := 1
	for blocks*parts < 4*c.t.Units && c.k >= 4*step*parts && parts < 64 {
		parts *= 2
	}
	return c.split(parts, func(slot int) ir.Launch {
		if deep {
			return c.rowsKernel(width, cols, step, parts, slot)
		}
		return c.columnsKernel(width, cols, step, parts, slot)
	})
}

// vectorFactors are the operands of a kernel that multiplies vectors.
type vectorFactors struct {
	k     *productKernel
	g     productGrid
	a, b  strided
	width int
	wideA bool // A is read in wide accesses like B
	tail  bool // the depth is not a multiple of the step
	sums  ir.Var
	held  ir.Var // elements of B
}

func (k *productKernel) vectors(g productGrid, width, step int, deep bool) *vectorFactors {
	c := k.c
	f := &vectorFactors{k: k, g: g, width: width, a: k.region("a", c.a, ir.Read, g.batch), b: k.region("b", c.b, ir.Read, g.batch)}
	f.wideA = deep && c.a.aligned(false, c.k, c.t.Wide, c.batch) >= width
	f.tail = c.k%step != 0
	f.sums, f.held = k.Local("sum", c.compute, c.m*width), k.Local("held", c.compute, inFlight*width)
	k.Unroll(c.m*width, func(i ir.Value) { k.Set(f.sums, i, k.Const(c.compute, 0)) })
	return f
}

// hold reads the elements of access i to B, beginning at offset at, into held. The elements are zeros if depth is not less than the end of
// the depth.
func (f *vectorFactors) hold(i int, depth ir.Value, at func() ir.Value) {
	k := f.k
	f.within(depth, func() {
		for u, x := range k.LoadWide(f.b.buf, at(), f.width) {
			k.Set(f.held, k.Int(i*f.width+u), k.Cast(k.c.compute, x))
		}
	}, func() {
		for u := range f.width {
			k.Set(f.held, k.Int(i*f.width+u), k.Const(k.c.compute, 0))
		}
	})
}

func (f *vectorFactors) within(depth ir.Value, then, otherwise func()) {
	if f.tail {
		f.k.IfElse(f.k.Lt(depth, f.g.end), then, otherwise)
		return
	}
	then()
}

func (f *vectorFactors) add(to ir.Value, x, y ir.Value) {
	f.k.Set(f.sums, to, f.k.multiply(x, y, f.k.Get(f.sums, to)))
}

// rowsKernel returns a launch in which one subgroup computes each column.
func (c *product) rowsKernel(width, cols, step, parts, slot int) ir.Launch {
	k := c.kernel(fmt.Sprintf("product_%v_rows", c.compute), vectorThreads)
	sub := c.t.Subgroup
	k.SetSubgroup(sub)
	g := k.grid(c.m, cols, step, parts)
	e := k.results(g, slot, 1)
	f := k.vectors(g, width, step, true)
	lane := k.Lane()
	col := k.Add(g.col, k.Div(k.Thread(), k.Int(sub)))
	held := k.Min(col, k.Sub(g.n, k.Int(1)))
	k.For(g.from, g.end, step, func(from ir.Value) {
		at := make([]ir.Value, inFlight)
		for i := range at {
			at[i] = k.Add(from, k.Add(k.Mul(lane, k.Int(width)), k.Int(i*sub*width)))
			f.hold(i, at[i], func() ir.Value { return k.at(f.b, at[i], held) })
		}
		for i := range at {
			f.within(at[i], func() {
				for r := range c.m {
					w := 1
					if f.wideA {
						w = width
					}
					for u := 0; u < width; u += w {
						for v, x := range k.LoadWide(f.a.buf, k.at(f.a, k.Int(r), k.plus(at[i], u)), w) {
							f.add(k.Int(r*width+u+v), k.Cast(c.compute, x), k.Get(f.held, k.Int(i*width+u+v)))
						}
					}
				}
			}, func() {})
		}
	})
	for r := range c.m {
		s := k.Get(f.sums, k.Int(r*width))
		for u := 1; u < width; u++ {
			s = k.Add(s, k.Get(f.sums, k.Int(r*width+u)))
		}
		for m := sub / 2; m > 0; m /= 2 {
			s = k.Add(s, k.ShuffleXor(s, m))
		}
		k.If(k.Eq(lane, k.Int(0)), func() { e.put(k.Int(r), col, []ir.Value{s}) })
	}
	return k.launch(g.size[0], g.size[1], g.size[2])
}

// columnsKernel assigns neighbouring columns to neighbouring threads.
func (c *product) columnsKernel(width, cols, step, parts, slot int) ir.Launch {
	k := c.kernel(fmt.Sprintf("product_%v_columns", c.compute), vectorThreads)
	across := cols / width // threads
	groups := vectorThreads / across
	g := k.grid(c.m, cols, step, parts)
	e := k.results(g, slot, width)
	f := k.vectors(g, width, step, false)
	t := k.Thread()
	lane, group := k.Rem(t, k.Int(across)), k.Div(t, k.Int(across))
	mine := k.Mul(lane, k.Int(width))
	col := k.Add(g.col, mine)
	held := k.Min(col, k.Sub(g.n, k.Int(width)))
	k.For(g.from, g.end, step, func(from ir.Value) {
		at := make([]ir.Value, inFlight)
		for i := range at {
			at[i] = k.Add(from, k.plus(group, i*groups))
			f.hold(i, at[i], func() ir.Value { return k.at(f.b, at[i], held) })
		}
		for i := range at {
			f.within(at[i], func() {
				for r := range c.m {
					x := k.Cast(c.compute, k.Load(f.a.buf, k.at(f.a, k.Int(r), at[i])))
					for u := range width {
						f.add(k.Int(r*width+u), x, k.Get(f.held, k.Int(i*width+u)))
					}
				}
			}, func() {})
		}
	})
	// The sums of the groups are combined in shared memory, row by row.
	partial := k.Shared("partial", c.compute, groups*cols)
	for r := range c.m {
		k.Barrier()
		for u := range width {
			k.SharedStore(partial, k.Add(k.Mul(group, k.Int(cols)), k.plus(mine, u)), k.Get(f.sums, k.Int(r*width+u)))
		}
		k.Barrier()
		k.If(k.Eq(group, k.Int(0)), func() {
			sums := make([]ir.Value, width)
			for u := range sums {
				sums[u] = k.SharedLoad(partial, k.plus(mine, u))
				for i := 1; i < groups; i++ {
					sums[u] = k.Add(sums[u], k.SharedLoad(partial, k.plus(mine, i*cols+u)))
				}
			}
			e.put(k.Int(r), col, sums)
		})
	}
	return k.launch(g.size[0], g.size[1], g.size[2])
}
