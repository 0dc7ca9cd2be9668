package template

import (
	"fmt"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// Tile divides a product into blocks that compute with scalar instructions. Each thread holds TM×TN elements of C, and 32 neighbouring
// threads hold 4·TM × 8·TN elements.
type Tile struct {
	Rows, Cols, Depth int // rows and columns of C, and the depth that is in shared memory at a time
	TM, TN            int
	Blocks            int     // number of blocks that should fit on a multiprocessor
	Speed             float64 // the fraction of the fastest tile's speed on a large product
	Stages            int     // tiles of the depth in shared memory, 1 or 2; 0 means 2. With asynchronous copies there are always 3
	Rake              bool    // arrange lanes in squares of 2×2, in place of rows of 8
}

func (x Tile) threads() int { return x.Rows / x.TM * x.Cols / x.TN }

// tiles are the choices by size of sums, 4 or 8 bytes.
var tiles = map[int][]Tile{
	4: {{Rows: 128, Cols: 128, Depth: 16, TM: 8, TN: 8, Blocks: 2, Speed: 1}, {Rows: 64, Cols: 64, Depth: 16, TM: 8, TN: 4, Blocks: 4, Speed: 0.7}, {Rows: 32, Cols: 64, Depth: 16, TM: 4, TN: 4, Blocks: 4, Speed: 0.5}},
	8: {{Rows: 128, Cols: 64, Depth: 8, TM: 8, TN: 4, Blocks: 1, Speed: 1}, {Rows: 64, Cols: 64, Depth: 8, TM: 4, TN: 4, Blocks: 2, Speed: 0.8}, {Rows: 32, Cols: 64, Depth: 8, TM: 4, TN: 4, Blocks: 2, Speed: 0.7}},
}

// wordTiles are the choices for sums of 4 bytes on hardware whose memory consists of words (Target.Words). Compilers for this hardware do
// not unroll the loop over the depth, and a short loop with raked lanes was the fastest of 33 ways there (RATIONALE.md).
var wordTiles = append([]Tile{{Rows: 128, Cols: 128, Depth: 8, TM: 8, TN: 8, Blocks: 2, Speed: 1, Rake: true}}, tiles[4][1:]...)

// stages returns the number of tiles of the depth that are in shared memory at a time.
func (x Tile) stages(async bool) int {
	switch {
	case async:
		return 3
	case x.Stages > 0:
		return x.Stages
	}
	return 2
}

// tiles returns the choices for sums of size bytes.
func (t Target) tiles(size int) []Tile {
	switch {
	case size == 4 && len(t.Tiles) > 0:
		return t.Tiles
	case size == 4 && t.Words:
		return wordTiles
	}
	return tiles[size]
}

// tiled builds the product with scalar instructions.
func (c *product) tiled() ([]ir.Launch, error) {
	size := c.compute.Size()
	var fitting []Tile
	for _, x := range c.t.tiles(size) {
		for x.Depth > 4 && c.tileBytes(x) > c.t.Shared {
			x.Depth /= 2
		}
		if x.threads() <= c.t.Threads && c.tileBytes(x) <= c.t.Shared {
			fitting = append(fitting, x)
		}
	}
	if len(fitting) == 0 {
		return nil, fmt.Errorf("product: no tile fits %d threads and %d bytes of shared memory", c.t.Threads, c.t.Shared)
	}
	best, parts := c.choose(fitting)
	return c.split(parts, func(slot int) ir.Launch { return c.tileKernel(best, parts, slot) }), nil
}

// linePad is the padding of rows of tiles in shared memory, with which neighbouring depths begin in different banks.
const linePad = 4

func (c *product) tileBytes(x Tile) int {
	return x.stages(c.t.Async) * x.Depth * (x.Rows + x.Cols + 2*linePad) * c.compute.Size()
}

// factors returns the loads of tiles of both factors.
func (k *productKernel) factors(x Tile, g productGrid) (la, lb *tileLoad) {
	c := k.c
	if c.conv != nil {
		return c.conv.factors(k, x, g, false)
	}
	pa, pb := k.region("a", c.a, ir.Read, g.batch), k.region("b", c.b, ir.Read, g.batch)
	la, lb = k.factor(x, pa, true, x.Rows, c.m, c.batch), k.factor(x, pb, false, x.Cols, c.n, c.batch)
	tail := c.k%x.Depth != 0
	la.stored(pa, true, g.row, g.m, c.m%x.Rows != 0, tail)
	lb.stored(pb, false, g.col, g.n, c.n%x.Cols != 0, tail)
	return la, lb
}

// factor returns the load of tiles of a factor for scalar instructions. a says that the factor is A.
func (k *productKernel) factor(x Tile, p strided, a bool, span, extent int, dims []int) *tileLoad {
	c := k.c
	l := &tileLoad{k: k, typ: c.compute, span: span, depth: x.Depth, byDepth: true, pitch: span + linePad, threads: x.threads()}
	l.size = l.depth * l.pitch
	size := c.compute.Size()
	direct := c.t.Async && p.typ == c.compute
	lineWidth, depthWidth := p.aligned(a, extent, c.t.Wide, dims), p.aligned(!a, c.k, c.t.Wide, dims)
	switch {
	case lineWidth > 1:
		l.width = min(lineWidth, 16/size)
	case p.along(!a):
		l.alongDepth, l.width = true, min(depthWidth, 4, l.depth)
		if direct {
			l.width = 1
		}
	default:
		l.width = 1
	}
	for l.span*l.depth < l.width*l.threads {
		l.width /= 2
	}
	l.async = direct && (l.width*size == 4 || l.width*size == 8 || l.width*size == 16)
	return l
}

// along reports whether a matrix is contiguous along rows, or else columns.
func (m matrix) along(rows bool) bool { return rows && m.row == 1 || !rows && m.col == 1 }

// tileKernel returns the launch of the product, or of parts of it, with one shape of tiles.
func (c *product) tileKernel(x Tile, parts, slot int) ir.Launch {
	k := c.kernel(fmt.Sprintf("product_%v_%dx%d", c.compute, x.Rows, x.Cols), x.threads())
	k.SetBlocks(x.Blocks)
	g := k.grid(x.Rows, x.Cols, x.Depth, parts)
	t := k.Thread()
	lane, warp := k.Rem(t, k.Int(32)), k.Div(t, k.Int(32))
	across := x.Cols / (8 * x.TN)
	row := k.Mul(k.Div(warp, k.Int(across)), k.Int(4*x.TM))
	col := k.Mul(k.Rem(warp, k.Int(across)), k.Int(8*x.TN))
	v := 16 / c.compute.Size()
	vm, vn := min(v, x.TM), min(v, x.TN)
	down, right := k.Div(lane, k.Int(8)), k.Rem(lane, k.Int(8))
	if x.Rake {
		down = k.Add(k.Mul(k.Div(lane, k.Int(16)), k.Int(2)), k.Rem(k.Div(lane, k.Int(2)), k.Int(2)))
		right = k.Add(k.Mul(k.Rem(k.Div(lane, k.Int(4)), k.Int(4)), k.Int(2)), k.Rem(lane, k.Int(2)))
	}
	row = k.Add(row, k.Mul(down, k.Int(vm)))
	col = k.Add(col, k.Mul(right, k.Int(vn)))

	e := k.results(g, slot, vn)
	la, lb := k.factors(x, g)
	la.async = la.async && lb.async
	lb.async = la.async
	stages := x.stages(la.async)
	la.to = k.Shared("a", c.compute, stages*la.size)
	lb.to = k.Shared("b", c.compute, stages*lb.size)
	la.hold("held a")
	lb.hold("held b")

	fa, fb := k.Local("a", c.compute, x.TM), k.Local("b", c.compute, x.TN)
	acc := k.Local("sum", c.compute, x.TM*x.TN)
	k.Unroll(x.TM*x.TN, func(i ir.Value) { k.Set(acc, i, k.Const(c.compute, 0)) })
	compute := func(stageA, stageB ir.Value) {
		k.Unroll(x.Depth, func(d ir.Value) {
			k.fragment(fa, la, stageA, d, row, x.TM, vm, 4*vm)
			k.fragment(fb, lb, stageB, d, col, x.TN, vn, 8*vn)
			k.Unroll(x.TM, func(i ir.Value) {
				k.Unroll(x.TN, func(j ir.Value) {
					s := k.Add(k.Mul(i, k.Int(x.TN)), j)
					k.Set(acc, s, k.multiply(k.Get(fa, i), k.Get(fb, j), k.Get(acc, s)))
				})
			})
		})
	}
	k.pipeline(stages, x.Depth, g.from, g.end, []*tileLoad{la, lb}, func(stage []ir.Value) { compute(stage[0], stage[1]) })

	k.Unroll(x.TM/vm, func(p ir.Value) {
		k.Unroll(vm, func(r ir.Value) {
			i := k.Add(k.Mul(p, k.Int(vm)), r)
			at := k.Add(g.row, k.Add(row, k.Add(k.Mul(p, k.Int(4*vm)), r)))
			k.Unroll(x.TN/vn, func(q ir.Value) {
				sums := make([]ir.Value, vn)
				for u := range sums {
					sums[u] = k.Get(acc, k.Add(k.Mul(i, k.Int(x.TN)), k.Add(k.Mul(q, k.Int(vn)), k.Int(u))))
				}
				e.put(at, k.Add(g.col, k.Add(col, k.Mul(q, k.Int(8*vn)))), sums)
			})
		})
	})
	l := k.launch(g.size[0], g.size[1], g.size[2])
	if c.t.Unrolled {
		l.Kernel = l.Kernel.Unrolled()
	}
	return l
}

// fragment loads the elements of a thread at one depth into registers: n elements in groups of v neighbours. Groups begin apart elements
// apart.
func (k *productKernel) fragment(to ir.Var, l *tileLoad, stage, depth, at ir.Value, n, v, apart int) {
	base := k.Add(k.Add(stage, at), k.Mul(depth, k.Int(l.pitch)))
	for g := 0; g < n/v; g++ {
		for u, x := range k.SharedLoadWide(l.to, k.plus(base, g*apart), v) {
			k.Set(to, k.Int(g*v+u), x)
		}
	}
}

// multiply returns x·y + sum. For floats it rounds once.
func (k *productKernel) multiply(x, y, sum ir.Value) ir.Value {
	if k.TypeOf(x).Class() == dtype.Float {
		return k.FMA(x, y, sum)
	}
	return k.Add(k.Mul(x, y), sum)
}

// pipeline runs compute for each tile of the depth between from and end, while later tiles are loaded. It passes the offset of the stage
// that contains the tile, for each load.
func (k *productKernel) pipeline(stages, depth int, from, end ir.Value, loads []*tileLoad, compute func(stage []ir.Value)) {
	async := loads[0].async
	ahead := stages - 1
	// offsets returns the offsets of the stages of the tile at depth at.
	offsets := func(at ir.Value) []ir.Value {
		stage := k.Rem(k.Div(at, k.Int(depth)), k.Int(stages))
		var o []ir.Value
		for _, l := range loads {
			o = append(o, k.Mul(stage, k.Int(l.size)))
		}
		return o
	}
	each := func(at ir.Value, f func(l *tileLoad, to ir.Value)) {
		k.If(k.Lt(at, end), func() {
			for i, o := range offsets(at) {
				f(loads[i], o)
			}
		})
	}
	issue := func(at ir.Value) { each(at, func(l *tileLoad, to ir.Value) { l.issue(to, at, end) }) }
	settle := func(at ir.Value) {
		if !async {
			each(at, func(l *tileLoad, to ir.Value) { l.settle(to) })
		}
	}
	if stages == 1 {
		issue(from)
		k.For(from, end, depth, func(at ir.Value) {
			k.Barrier()
			settle(at)
			k.Barrier()
			issue(k.plus(at, depth))
			compute(offsets(at))
		})
		return
	}
	for s := range ahead {
		at := k.plus(from, s*depth)
		issue(at)
		if async {
			k.AsyncCommit()
		}
		settle(at)
	}
	k.For(from, end, depth, func(at ir.Value) {
		later := k.plus(at, ahead*depth)
		if async {
			k.AsyncWait(ahead - 1)
		}
		k.Barrier()
		issue(later)
		if async {
			k.AsyncCommit()
		}
		compute(offsets(at))
		settle(later)
	})
}
