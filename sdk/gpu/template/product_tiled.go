package template

import (
	"fmt"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// tile is a way to divide a product into blocks that compute with scalar instructions: each thread holds tm×tn elements of C, and
// 4×8 neighbouring threads hold a part of 4·tm × 8·tn.
type tile struct {
	rows, cols, depth int // of C, and the depth that is in shared memory at a time
	tm, tn            int
	blocks            int // that should fit on a multiprocessor
	speed             float64
}

func (x tile) threads() int { return x.rows / x.tm * x.cols / x.tn }

// tiles are the choices for sums of 4 and of 8 bytes. speed is the fraction of the fastest choice's speed on a large product.
var tiles = map[int][]tile{
	4: {{128, 128, 16, 8, 8, 2, 1}, {64, 64, 16, 8, 4, 4, 0.7}, {32, 64, 16, 4, 4, 4, 0.5}},
	8: {{128, 64, 8, 8, 4, 1, 1}, {64, 64, 8, 4, 4, 2, 0.8}, {32, 64, 8, 4, 4, 2, 0.7}},
}

// stages returns how many tiles of the depth are in shared memory at a time.
func (c *product) stages(async bool) int {
	if async {
		return 3
	}
	return 2
}

// tiled makes the product with scalar instructions.
func (c *product) tiled() ([]ir.Launch, error) {
	size := c.compute.Size()
	var fitting []tile
	for _, x := range tiles[size] {
		for x.depth > 4 && c.tileBytes(x) > c.t.Shared {
			x.depth /= 2
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

// linePad keeps rows of tiles in shared memory apart, so that neighbouring depths begin in different banks.
const linePad = 4

func (c *product) tileBytes(x tile) int {
	return c.stages(c.t.Async) * x.depth * (x.rows + x.cols + 2*linePad) * c.compute.Size()
}

// factors returns the loads of tiles of both factors.
func (k *productKernel) factors(x tile, g productGrid) (la, lb *tileLoad) {
	c := k.c
	if c.conv != nil {
		return c.conv.factors(k, x, g, false)
	}
	pa, pb := k.region("a", c.a, ir.Read, g.batch), k.region("b", c.b, ir.Read, g.batch)
	la, lb = k.factor(x, pa, true, x.rows, c.m, c.batch), k.factor(x, pb, false, x.cols, c.n, c.batch)
	tail := c.k%x.depth != 0
	la.stored(pa, true, g.row, g.m, c.m%x.rows != 0, tail)
	lb.stored(pb, false, g.col, g.n, c.n%x.cols != 0, tail)
	return la, lb
}

// factor returns the load of tiles of a factor for scalar instructions. a: it is A.
func (k *productKernel) factor(x tile, p strided, a bool, span, extent int, dims []int) *tileLoad {
	c := k.c
	l := &tileLoad{k: k, typ: c.compute, span: span, depth: x.depth, byDepth: true, pitch: span + linePad, threads: x.threads()}
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

// tileKernel makes the product, or parts of it, with one shape of tiles.
func (c *product) tileKernel(x tile, parts, slot int) ir.Launch {
	k := c.kernel(fmt.Sprintf("product_%v_%dx%d", c.compute, x.rows, x.cols), x.threads())
	k.SetBlocks(x.blocks)
	g := k.grid(x.rows, x.cols, x.depth, parts)
	t := k.Thread()
	lane, warp := k.Rem(t, k.Int(32)), k.Div(t, k.Int(32))
	across := x.cols / (8 * x.tn)
	row := k.Mul(k.Div(warp, k.Int(across)), k.Int(4*x.tm))
	col := k.Mul(k.Rem(warp, k.Int(across)), k.Int(8*x.tn))
	v := 16 / c.compute.Size()
	vm, vn := min(v, x.tm), min(v, x.tn)
	row = k.Add(row, k.Mul(k.Div(lane, k.Int(8)), k.Int(vm)))
	col = k.Add(col, k.Mul(k.Rem(lane, k.Int(8)), k.Int(vn)))

	e := k.results(g, slot, vn)
	la, lb := k.factors(x, g)
	la.async = la.async && lb.async
	lb.async = la.async
	stages := c.stages(la.async)
	la.to = k.Shared("a", c.compute, stages*la.size)
	lb.to = k.Shared("b", c.compute, stages*lb.size)
	la.hold("held a")
	lb.hold("held b")

	fa, fb := k.Local("a", c.compute, x.tm), k.Local("b", c.compute, x.tn)
	acc := k.Local("sum", c.compute, x.tm*x.tn)
	k.Unroll(x.tm*x.tn, func(i ir.Value) { k.Set(acc, i, k.Const(c.compute, 0)) })
	compute := func(stageA, stageB ir.Value) {
		k.Unroll(x.depth, func(d ir.Value) {
			k.fragment(fa, la, stageA, d, row, x.tm, vm, 4*vm)
			k.fragment(fb, lb, stageB, d, col, x.tn, vn, 8*vn)
			k.Unroll(x.tm, func(i ir.Value) {
				k.Unroll(x.tn, func(j ir.Value) {
					s := k.Add(k.Mul(i, k.Int(x.tn)), j)
					k.Set(acc, s, k.multiply(k.Get(fa, i), k.Get(fb, j), k.Get(acc, s)))
				})
			})
		})
	}
	k.pipeline(stages, x.depth, g.from, g.end, []*tileLoad{la, lb}, func(stage []ir.Value) { compute(stage[0], stage[1]) })

	k.Unroll(x.tm/vm, func(p ir.Value) {
		k.Unroll(vm, func(r ir.Value) {
			i := k.Add(k.Mul(p, k.Int(vm)), r)
			at := k.Add(g.row, k.Add(row, k.Add(k.Mul(p, k.Int(4*vm)), r)))
			k.Unroll(x.tn/vn, func(q ir.Value) {
				sums := make([]ir.Value, vn)
				for u := range sums {
					sums[u] = k.Get(acc, k.Add(k.Mul(i, k.Int(x.tn)), k.Add(k.Mul(q, k.Int(vn)), k.Int(u))))
				}
				e.put(at, k.Add(g.col, k.Add(col, k.Mul(q, k.Int(8*vn)))), sums)
			})
		})
	})
	return k.launch(g.size[0], g.size[1], g.size[2])
}

// fragment loads the elements of a thread at one depth into registers: n of them in groups of v, apart groups apart.
func (k *productKernel) fragment(to ir.Var, l *tileLoad, stage, depth, at ir.Value, n, v, apart int) {
	base := k.Add(k.Add(stage, k.Mul(depth, k.Int(l.pitch))), at)
	for g := 0; g < n/v; g++ {
		for u, x := range k.SharedLoadWide(l.to, k.plus(base, g*apart), v) {
			k.Set(to, k.Int(g*v+u), x)
		}
	}
}

// multiply returns x·y + sum, for floats with one rounding.
func (k *productKernel) multiply(x, y, sum ir.Value) ir.Value {
	if k.TypeOf(x).Class() == dtype.Float {
		return k.FMA(x, y, sum)
	}
	return k.Add(k.Mul(x, y), sum)
}

// pipeline runs compute for each tile of the depth between from and end, with the tile in the stage at the offset given for each
// load, while later tiles are loaded.
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
