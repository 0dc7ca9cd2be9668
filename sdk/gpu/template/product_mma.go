package template

import (
	"fmt"
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// fragmentTile divides a product into blocks that compute with matrix instructions. Each subgroup holds high×wide elements of C in
// fragments. Shared memory holds stages tiles of the depth at a time.
type fragmentTile struct {
	Tile
	high, wide, stages int
}

// fragmentTiles are the choices for asynchronous copies and subgroups of 32 threads. TM and TN have no meaning here, except that
// Tile.threads returns the number of threads.
var fragmentTiles = []fragmentTile{
	{Tile{Rows: 128, Cols: 256, Depth: 64, TM: 16, TN: 8, Blocks: 1, Speed: 1}, 64, 64, 3},
	{Tile{Rows: 128, Cols: 128, Depth: 32, TM: 16, TN: 8, Blocks: 2, Speed: 0.85}, 64, 64, 4},
	{Tile{Rows: 128, Cols: 64, Depth: 32, TM: 8, TN: 8, Blocks: 3, Speed: 0.7}, 64, 32, 4},
	{Tile{Rows: 64, Cols: 64, Depth: 32, TM: 8, TN: 4, Blocks: 3, Speed: 0.5}, 32, 32, 4},
}

// heldTiles are the choices, by size of subgroup, where threads hold the elements of the next tile in registers while they multiply.
var heldTiles = map[int][]fragmentTile{
	32: {{Tile{Rows: 128, Cols: 128, Depth: 32, TM: 8, TN: 8, Blocks: 1, Speed: 1}, 64, 32, 2}, {Tile{Rows: 64, Cols: 64, Depth: 32, TM: 8, TN: 4, Blocks: 2, Speed: 0.7}, 32, 32, 2}},
	64: {{Tile{Rows: 128, Cols: 128, Depth: 32, TM: 8, TN: 8, Blocks: 1, Speed: 1}, 64, 64, 2}, {Tile{Rows: 64, Cols: 64, Depth: 32, TM: 8, TN: 4, Blocks: 2, Speed: 0.7}, 64, 32, 2}},
}

// fragmentTiles returns the choices that fit the target.
func (t Target) fragmentTiles() []fragmentTile {
	all := heldTiles[t.Subgroup]
	if t.Async {
		all = fragmentTiles
	}
	var fitting []fragmentTile
	for _, x := range all {
		if x.threads() <= t.Threads && x.bytes(2) <= t.Shared {
			fitting = append(fitting, x)
		}
	}
	return fitting
}

// chooseFragments chooses a tile for matrix instructions, as choose does for scalar instructions.
func (c *product) chooseFragments(list []fragmentTile) (best fragmentTile, parts int) {
	tiles := make([]Tile, len(list))
	for i, x := range list {
		tiles[i] = x.Tile
	}
	found, parts := c.choose(tiles)
	return list[slices.Index(tiles, found)], parts
}

// fragmentPad is the padding of rows of tiles in shared memory, with which eight neighbouring rows begin in different banks.
const fragmentPad = 8

// stagePad pads the rows of the part of C that a subgroup rearranges in shared memory.
const stagePad = 8

func (x fragmentTile) bytes(size int) int {
	lines := max(x.Rows*(x.Depth+fragmentPad), x.Depth*(x.Rows+fragmentPad)) + max(x.Cols*(x.Depth+fragmentPad), x.Depth*(x.Cols+fragmentPad))
	return x.stages*lines*size + x.Rows/x.high*(x.Cols/x.wide)*16*(x.wide+stagePad)*4
}

// mma returns the matrix instruction for the product, if the target has one and the product is large enough for it.
func (c *product) mma() (ir.MMA, bool) {
	if c.a.typ != c.b.typ || c.compute != dtype.F32 || c.m < 16 || c.n < 8 || c.k < 16 || c.t.Async && c.t.Subgroup != 32 || c.t.Wide < 16 {
		return ir.MMA{}, false
	}
	return c.t.matrixInstruction(c.a.typ)
}

// fragmented builds the product with matrix instructions. Factors that cannot be copied 16 bytes at a time are packed first.
func (c *product) fragmented(m ir.MMA) ([]ir.Launch, error) {
	fitting := c.t.fragmentTiles()
	if len(fitting) == 0 {
		return c.tiled()
	}
	var l []ir.Launch
	if !c.copied(c.a, true, c.m) {
		l = append(l, c.pack(&c.a, true, c.m))
	}
	if !c.copied(c.b, false, c.n) {
		l = append(l, c.pack(&c.b, false, c.n))
	}
	x, parts := c.chooseFragments(fitting)
	return append(l, c.split(parts, func(slot int) ir.Launch { return c.fragmentKernel(m, x, parts, slot) })...), nil
}

// copied reports whether a factor has aligned groups of 16 contiguous bytes along one of its dimensions. rows says that the factor is A.
func (c *product) copied(m matrix, rows bool, extent int) bool {
	const n = 8
	return m.aligned(rows, extent, 16, c.batch) == n || m.aligned(!rows, c.k, 16, c.batch) == n
}

// fragmentFactors returns the loads of tiles of both factors.
func (k *productKernel) fragmentFactors(x fragmentTile, g productGrid) (la, lb *tileLoad) {
	c := k.c
	if c.conv != nil {
		return c.conv.factors(k, x.Tile, g, true)
	}
	pa, pb := k.region("a", c.a, ir.Read, g.batch), k.region("b", c.b, ir.Read, g.batch)
	la, lb = k.fragmentFactor(x, pa, true, x.Rows), k.fragmentFactor(x, pb, false, x.Cols)
	tail := c.k%x.Depth != 0
	la.stored(pa, true, g.row, g.m, c.m%x.Rows != 0, tail)
	lb.stored(pb, false, g.col, g.n, c.n%x.Cols != 0, tail)
	return la, lb
}

// fragmentFactor returns the load of tiles of a factor for matrix instructions, in the layout of memory. a says that the factor is A.
func (k *productKernel) fragmentFactor(x fragmentTile, p strided, a bool, span int) *tileLoad {
	c := k.c
	l := &tileLoad{k: k, typ: p.typ, span: span, depth: x.Depth, width: 8, async: c.t.Async, threads: x.threads()}
	if p.packed || p.aligned(!a, c.k, 16, c.batch) == l.width {
		l.alongDepth, l.pitch = true, x.Depth+fragmentPad
		l.size = span * l.pitch
	} else {
		l.byDepth, l.pitch = true, span+fragmentPad
		l.size = x.Depth * l.pitch
	}
	return l
}

// fragmentKernel returns the launch of the product, or of parts of it, with one shape of tiles.
func (c *product) fragmentKernel(mma ir.MMA, x fragmentTile, parts, slot int) ir.Launch {
	k := c.kernel(fmt.Sprintf("product_%v_%dx%d", mma.Type, x.Rows, x.Cols), x.threads())
	k.SetSubgroup(c.t.Subgroup)
	k.SetBlocks(x.Blocks)
	g := k.grid(x.Rows, x.Cols, x.Depth, parts)
	lane, warp := k.Lane(), k.Div(k.Thread(), k.Int(c.t.Subgroup))
	across := x.Cols / x.wide
	row, col := k.Mul(k.Div(warp, k.Int(across)), k.Int(x.high)), k.Mul(k.Rem(warp, k.Int(across)), k.Int(x.wide))

	const width = 8 // columns that a thread writes at a time
	e := k.results(g, slot, width)
	la, lb := k.fragmentFactors(x, g)
	la.to, lb.to = k.Shared("a", mma.Type, x.stages*la.size), k.Shared("b", mma.Type, x.stages*lb.size)
	pitch := x.wide + stagePad
	ordered := k.Shared("c", dtype.F32, x.threads()/c.t.Subgroup*16*pitch)

	down, right := x.high/16, x.wide/mma.N
	sets := 1 // sets of fragments of factors: with two, one set is loaded while the other is multiplied
	if c.t.Async {
		sets = 2
	}
	fa, fb := k.Fragments("a", mma, ir.A, sets*down), k.Fragments("b", mma, ir.B, sets*right)
	fc := k.Fragments("c", mma, ir.C, down*right)
	zero := k.Float(dtype.F32, 0)
	k.Unroll(down*right, func(i ir.Value) { k.FragFill(fc, i, zero) })
	steps := x.Depth / 16
	load := func(stage []ir.Value, step int) {
		set := step % sets
		for i := range down {
			k.fragmentLoad(fa, set*down+i, 1, la, stage[0], row, i*16, step*16, la.byDepth)
		}
		for j := 0; j < right; j += 16 / mma.N {
			k.fragmentLoad(fb, set*right+j, 16/mma.N, lb, stage[1], col, j*mma.N, step*16, !lb.byDepth)
		}
	}
	multiply := func(step int) {
		set := step % sets
		k.Unroll(down, func(i ir.Value) {
			k.Unroll(right, func(j ir.Value) {
				at := k.Add(k.Mul(i, k.Int(right)), j)
				k.FragMMA(fc, at, fa, k.plus(i, set*down), fb, k.plus(j, set*right))
			})
		})
	}
	if loads := []*tileLoad{la, lb}; c.t.Async {
		k.overlapped(x.stages, x.Depth, steps, g.from, g.end, loads, load, multiply)
	} else {
		la.hold("held a")
		lb.hold("held b")
		k.pipeline(x.stages, x.Depth, g.from, g.end, loads, func(stage []ir.Value) {
			for step := range steps {
				load(stage, step)
				multiply(step)
			}
		})
	}

	mine := k.Mul(warp, k.Int(16*pitch))
	threads := x.wide / width // number of threads that write one row
	k.Unroll(down, func(i ir.Value) {
		k.SubgroupBarrier()
		k.Unroll(right, func(j ir.Value) {
			k.FragStore(fc, k.Add(k.Mul(i, k.Int(right)), j), ordered, k.Add(mine, k.Mul(j, k.Int(mma.N))), k.Int(pitch))
		})
		k.SubgroupBarrier()
		k.Unroll(16*threads/c.t.Subgroup, func(r ir.Value) {
			line := k.Add(k.Mul(r, k.Int(c.t.Subgroup/threads)), k.Div(lane, k.Int(threads)))
			at := k.Mul(k.Rem(lane, k.Int(threads)), k.Int(width))
			from := k.Add(mine, k.Add(k.Mul(line, k.Int(pitch)), at))
			sums := append(k.SharedLoadWide(ordered, from, 4), k.SharedLoadWide(ordered, k.plus(from, 4), 4)...)
			e.put(k.Add(g.row, k.Add(row, k.Add(k.Mul(i, k.Int(16)), line))), k.Add(g.col, k.Add(col, at)), sums)
		})
	})
	return k.launch(g.size[0], g.size[1], g.size[2])
}

// overlapped processes each tile of the depth between from and end in an even number of steps. load loads the fragments of a step from the
// stage, whose offset is given for each tileLoad, and multiply multiplies them. The fragments of a step are loaded while the fragments of
// the previous step are multiplied, also across the ends of tiles. Copies of later tiles are distributed over the steps.
func (k *productKernel) overlapped(stages, depth, steps int, from, end ir.Value, loads []*tileLoad, load func(stage []ir.Value, step int), multiply func(step int)) {
	ahead := stages - 1
	offsets := func(at ir.Value) []ir.Value {
		stage := k.Rem(k.Div(at, k.Int(depth)), k.Int(stages))
		var o []ir.Value
		for _, l := range loads {
			o = append(o, k.Mul(stage, k.Int(l.size)))
		}
		return o
	}
	begin := func(at ir.Value) {
		for _, l := range loads {
			l.begin(at, end)
		}
	}
	// issue starts one part, of parts equal parts, of the copies of the tile at depth at. begin was called for this tile.
	issue := func(at ir.Value, part, parts int) {
		k.If(k.Lt(at, end), func() {
			total := 0
			for _, l := range loads {
				total += l.count()
			}
			first, last, before := total*part/parts, total*(part+1)/parts, 0
			for i, o := range offsets(at) {
				n := loads[i].count()
				loads[i].issueSome(o, first-before, last-before)
				before += n
			}
		})
	}
	for s := range ahead {
		at := k.plus(from, s*depth)
		begin(at)
		issue(at, 0, 1)
		k.AsyncCommit()
	}
	k.If(k.Lt(from, end), func() {
		k.AsyncWait(ahead - 1)
		k.Barrier()
		load(offsets(from), 0)
	})
	k.For(from, end, depth, func(at ir.Value) {
		stage, next, later := offsets(at), k.plus(at, depth), k.plus(at, ahead*depth)
		begin(later)
		for step := range steps {
			if step+1 < steps {
				issue(later, step, steps-1)
				load(stage, step+1)
			} else {
				k.AsyncCommit()
				k.AsyncWait(ahead - 1)
				k.Barrier()
				k.If(k.Lt(next, end), func() { load(offsets(next), 0) })
			}
			multiply(step)
		}
	})
}

// fragmentLoad loads count neighbouring fragments, from fragment i on, from a tile in the given stage. The fragments begin at line at+line
// and at the given depth of the tile. transposed says that the matrix in memory is the transpose of the fragment: the depth runs along rows
// in one and along columns in the other.
func (k *productKernel) fragmentLoad(f ir.Frag, i, count int, l *tileLoad, stage, at ir.Value, line, depth int, transposed bool) {
	o := k.plus(at, line)
	if l.byDepth {
		o = k.plus(o, depth*l.pitch)
	} else {
		o = k.plus(k.Mul(o, k.Int(l.pitch)), depth)
	}
	k.FragLoadWide(f, k.Int(i), count, l.to, k.Add(stage, o), k.Int(l.pitch), transposed)
}
