package template

import (
	"fmt"

	"github.com/goburn/burn/sdk/gpu/ir"
)

// productGrid is the part of a product that a block computes.
type productGrid struct {
	size      [3]int     // size of the grid
	block     ir.Value   // number of the pair of an element of the batch and a part of the depth
	number    ir.Value   // number of the element of the batch
	batch     []ir.Value // position of that element, by dimension
	m, n      ir.Value
	valid     ir.Value // whether the block has work; 0 means that all blocks have work
	row, col  ir.Value // first row and column of the tile
	from, end ir.Value // first depth of the block's part, and its end
}

// swizzle is the number of rows of tiles that consecutive blocks compute before they continue with the next column, so that concurrent
// blocks share factors in the cache.
const swizzle = 8

// grid assigns each block a tile of rows×cols elements of C, an element of the batch, and one of the parts of the depth.
func (k *productKernel) grid(rows, cols, depth, parts int) productGrid {
	c := k.c
	var g productGrid
	down, across := ceil(c.m, rows), ceil(c.n, cols)
	g.m, g.n = k.size("m", c.m), k.size("n", c.n)
	deep := k.size("k", c.k)
	group := k.size("group", swizzle*across)
	id := k.Block(0)
	first := k.Mul(k.Div(id, group), k.Int(swizzle))
	high := k.Min(k.Sub(k.size("down", down), first), k.Int(swizzle))
	in := k.Rem(id, group)
	g.row = k.Mul(k.Add(first, k.Rem(in, high)), k.Int(rows))
	g.col = k.Mul(k.Div(in, high), k.Int(cols))

	limit := c.t.Grid[1]
	if limit == 0 {
		limit = 65535
	}
	number := c.batches() * parts
	g.size = [3]int{down * across, min(number, limit), ceil(number, limit)}
	g.number = k.Block(1)
	if g.size[2] > 1 {
		g.number = k.Add(k.Mul(k.Block(2), k.Int(limit)), g.number)
		last := k.size("last", number-1)
		g.valid = k.Le(g.number, last)
		g.number = k.Min(g.number, last)
	}
	g.block, g.from, g.end = g.number, k.Int(0), deep
	if parts > 1 {
		part := k.Rem(g.number, k.Int(parts))
		g.number = k.Div(g.number, k.Int(parts))
		chunk := c.chunk(depth, parts)
		g.from = k.Mul(part, k.size("chunk", chunk))
		g.end = k.Min(deep, k.Add(g.from, k.size("chunk", chunk)))
	}
	g.batch = k.position(g.number, c.batch, "batch")
	return g
}

// chunk returns the length of a part of the depth: a multiple of the depth of tiles.
func (c *product) chunk(depth, parts int) int { return ceil(ceil(c.k, parts), depth) * depth }

// choose returns the tile and the number of parts of the depth that have the least estimated time. The estimate covers rounds of blocks
// over the multiprocessors and the memory traffic of partial sums. It depends only on shapes and target.
func (c *product) choose(list []Tile) (best Tile, parts int) {
	least := -1.0
	for _, x := range list {
		for p := 1; p <= 64; p *= 2 {
			if p > 1 && c.k < 256*p {
				break
			}
			blocks := ceil(c.m, x.Rows) * ceil(c.n, x.Cols) * c.batches() * p
			slots := max(c.t.Units, 1) * x.Blocks
			rounds := ceil(blocks, slots)
			// With less than one full round, blocks that run alone on a multiprocessor are faster.
			share := float64(x.Blocks)
			if blocks < slots {
				share = max(1, float64(blocks)/float64(max(c.t.Units, 1)))
			}
			work := float64(rounds) * share * float64(x.Rows*x.Cols) * float64(ceil(c.k, p)+2*x.Depth) / x.Speed
			if p > 1 {
				work += float64(p+1) * float64(c.m*c.n*c.batches()) * 16 / float64(max(c.t.Units, 1))
				work += 5e5 // the cost of a launch
			}
			if least < 0 || work < least {
				least, best, parts = work, x, p
			}
		}
	}
	return best, parts
}

// split returns the launches of the product. kernel builds a launch for the given slot of partial sums. If there are several parts, a
// second launch adds the partial sums and writes the results.
func (c *product) split(parts int, kernel func(slot int) ir.Launch) []ir.Launch {
	if parts == 1 {
		return []ir.Launch{kernel(0)}
	}
	slot := c.temporary(c.batches() * parts * c.m * c.n * c.compute.Size())
	return []ir.Launch{kernel(slot), c.sum(parts, slot)}
}

// results returns the epilogue of a block. It writes partial sums to slot, or the results if slot is 0.
func (k *productKernel) results(g productGrid, slot, width int) *epilogue {
	if slot == 0 {
		e := k.epilogue(g.number, g.batch, g.m, g.n, width)
		e.valid = g.valid
		return e
	}
	c := k.c
	e := &epilogue{k: k, m: g.m, n: g.n, every: c.n%width == 0, valid: g.valid, at: k.at}
	e.body = func(_ *ir.Builder, in []ir.Value, _ func(int) ir.Value) []ir.Value { return in }
	x := strided{matrix: matrix{typ: c.compute, row: c.n, col: 1}, buf: k.memory("partial", c.compute, ir.Write, slot), rowStride: g.n}
	x.base = k.Mul(g.block, k.Mul(g.m, g.n))
	e.out = []strided{x}
	e.wide = []int{min(width, x.aligned(false, c.n, c.t.Wide, nil))}
	return e
}

// sum returns the launch that adds partial sums in order and writes the results. Each thread computes some neighbouring elements of a row.
func (c *product) sum(parts, slot int) ir.Launch {
	const threads = 256
	k := c.kernel(fmt.Sprintf("product_sum_%v", c.compute), threads)
	width := max(1, c.t.Wide/c.compute.Size())
	for c.n%width != 0 {
		width /= 2
	}
	groups := c.batches() * c.m * c.n / width
	m, n := k.size("m", c.m), k.size("n", c.n)
	across := k.Div(n, k.Int(width))
	from := k.memory("partial", c.compute, ir.Read, slot)
	position := k.Add(k.Mul(k.Block(0), k.Int(threads)), k.Thread())
	last := k.size("last", groups-1)
	id := k.Min(position, last)
	col, line := k.Mul(k.Rem(id, across), k.Int(width)), k.Div(id, across)
	row, number := k.Rem(line, m), k.Div(line, m)
	e := k.epilogue(number, k.position(number, c.batch, "batch"), m, n, width)
	e.valid = k.Le(position, last)
	sums := k.Local("sum", c.compute, width)
	for i := range width {
		k.Set(sums, k.Int(i), k.Const(c.compute, 0))
	}
	first := k.Mul(number, k.Int(parts))
	k.For(k.Int(0), k.Int(parts), 1, func(part ir.Value) {
		at := k.Add(k.Mul(k.Add(k.Mul(k.Add(first, part), m), row), n), col)
		for i, v := range k.LoadWide(from, at, width) {
			k.Set(sums, k.Int(i), k.Add(k.Get(sums, k.Int(i)), v))
		}
	})
	total := make([]ir.Value, width)
	for i := range total {
		total[i] = k.Get(sums, k.Int(i))
	}
	e.put(row, col, total)
	return k.launch(ceil(groups, threads), 1, 1)
}
