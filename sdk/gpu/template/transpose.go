package template

import (
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// transposition is an elementwise kernel with transposed operands: neighbours in a result are far apart in such an operand, and neighbours
// in the operand are far apart in the result. A block reads a square tile of each such operand in the order of its memory and transposes it
// in shared memory.
type transposition struct {
	m       *maker
	space   shape.Shape
	order   []int
	n       nest
	w       *walk
	edge    int // edge of the tile in elements
	a, b    int // the dimensions along which results (a) and transposed operands (b) are contiguous
	in, out []access
	across  []bool // by operand: whether it is transposed
	tiles   []ir.Mem
	body    Body
	// packed says that elements are moved 8 at a time.
	packed bool
}

// least is the least length of a dimension for which tiles are used.
const least = 16

// transposed returns the launch of an elementwise computation with transposed operands, or false if no operand is transposed.
func transposed(t Target, name string, space shape.Shape, in, out []Operand, body Body) (ir.Launch, bool) {
	all := append(append([]Operand(nil), out...), in...)
	views := make([]shape.View, len(all))
	most := space.Size()
	for i, d := range all {
		views[i] = d.View
		most = max(most, reach(d.View))
	}
	k := &transposition{space: space, order: memoryOrder(views[0], axesOf(space)), body: body, across: make([]bool, len(in))}
	k.n = newNest(views, k.order)
	k.a = len(k.n.dims) - 1
	if k.a < 1 || k.n.dims[k.a] < least {
		return ir.Launch{}, false
	}
	for i := range out {
		if k.n.step(i) != 1 {
			return ir.Launch{}, false
		}
	}
	k.b = -1
	size, narrow := 0, 16
	for i, d := range in {
		o := len(out) + i
		if d.Number != nil || abs(k.n.step(o)) <= 1 {
			continue
		}
		for b := range k.a {
			if k.n.strides[o][b] == 1 && k.n.dims[b] >= least && (k.b < 0 || k.b == b) {
				k.b, k.across[i] = b, true
				size, narrow = size+t.sharedSize(d.Type), min(narrow, d.Type.Size())
			}
		}
	}
	k.edge = 64
	if narrow > 2 || k.edge*(k.edge+1)*size > t.Shared || k.edge > k.n.dims[k.a] || k.b >= 0 && k.edge > k.n.dims[k.b] {
		k.edge = 32
	}
	if k.b < 0 || k.edge*(k.edge+1)*size > t.Shared {
		return ir.Launch{}, false
	}
	k.m = newMaker(t, name+"_turned", threads, most)
	k.packed = k.packs(t, all, len(out))
	k.parameters(all, len(out))
	return k.launch(), true
}

func (k *transposition) parameters(all []Operand, outs int) {
	for i, d := range all {
		a := access{bytes: d.Type.Size(), width: 1, chunk: 1}
		if k.packed && i < outs {
			a = accessOf(k.m.t, d, i, packWidth, &k.n)
		}
		switch {
		case i < outs:
			a.buf = k.m.buffer(numbered("y", i), d, ir.Write)
			k.out = append(k.out, a)
			continue
		case d.Number != nil:
			a.fixed = k.m.number(numbered("x", i-outs), d)
		default:
			a.buf = k.m.buffer(numbered("x", i-outs), d, ir.Read)
		}
		k.in = append(k.in, a)
		mem := ir.Mem(-1)
		if k.across[i-outs] {
			n := k.edge * (k.edge + 1)
			if k.packed {
				n = k.edge * k.edge
			}
			mem = k.m.Shared(numbered("tile", i-outs), d.Type, n)
		}
		k.tiles = append(k.tiles, mem)
	}
	k.w = newWalk(k.m, "", &k.n, 1)
}

func (k *transposition) launch() ir.Launch {
	m := k.m
	na, nb := m.size("na", k.n.dims[k.a]), m.size("nb", k.n.dims[k.b])
	ta, tb := ceil(k.n.dims[k.a], k.edge), ceil(k.n.dims[k.b], k.edge)
	tilesA, tilesB := m.size("ta", ta), m.size("tb", tb)
	others := 1
	for d, n := range k.n.dims {
		if d != k.a && d != k.b {
			others *= n
		}
	}
	blocks := ta * tb * others
	grid := m.blocks(blocks, func(block ir.Value) {
		c := make([]ir.Value, len(k.n.dims))
		a0 := m.times(m.Rem(block, tilesA), k.edge)
		rest := m.Div(block, tilesA)
		b0 := m.times(m.Rem(rest, tilesB), k.edge)
		k.others(c, m.Div(rest, tilesB))
		if k.packed {
			k.turn(c, a0, b0, na, nb)
		} else {
			k.turnSingle(c, a0, b0, na, nb)
		}
		if most := m.t.Grid[0]; most > 0 && blocks > most {
			m.Barrier()
		}
	})
	return m.launch(grid)
}

// turnSingle computes the tile that begins at a0 and b0, one element at a time. c holds the coordinates along the other dimensions.
func (k *transposition) turnSingle(c []ir.Value, a0, b0, na, nb ir.Value) {
	m := k.m
	tall := threads / k.edge // rows of the tile that the block handles at a time
	x, y := m.Rem(m.Thread(), m.Int(k.edge)), m.Div(m.Thread(), m.Int(k.edge))
	// visit calls f for each element of a tile that is assigned to this thread. The tile begins at along0 and down0; i and j are the
	// coordinates of the element, which are less than along and down, and row is its row in the tile.
	visit := func(along0, down0, along, down ir.Value, f func(i, j, row ir.Value)) {
		i := m.Add(along0, x)
		m.If(m.Lt(i, along), func() {
			for s := range k.edge / tall {
				row := m.plus(y, s*tall)
				j := m.Add(down0, row)
				m.If(m.Lt(j, down), func() { f(i, j, row) })
			}
		})
	}
	visit(b0, a0, nb, na, func(i, j, row ir.Value) {
		p := k.spot(c, j, i)
		for o, across := range k.across {
			if across {
				v := m.Load(k.in[o].buf, p.offset(len(k.out)+o))
				m.SharedStore(k.tiles[o], m.Add(m.times(row, k.edge+1), x), v)
			}
		}
	})
	m.Barrier()
	visit(a0, b0, na, nb, func(i, j, row ir.Value) { k.compute(k.spot(c, i, j), m.Add(m.times(x, k.edge+1), row)) })
}

// others computes the coordinates along the dimensions that are not dimensions of the tile.
func (k *transposition) others(c []ir.Value, i ir.Value) {
	outermost := 0
	for outermost == k.b {
		outermost++
	}
	for d := k.a - 1; d >= 0; d-- {
		switch {
		case d == k.b:
		case d == outermost:
			c[d] = i
		default:
			c[d] = k.m.Rem(i, k.w.sizes[d])
			i = k.m.Div(i, k.w.sizes[d])
		}
	}
}

// spot returns the place with coordinates a and b along the dimensions of the tile, and c along the other dimensions.
func (k *transposition) spot(c []ir.Value, a, b ir.Value) *spot {
	p := &spot{w: k.w, c: append([]ir.Value(nil), c...), where: map[int]ir.Value{}}
	p.c[k.a], p.c[k.b] = a, b
	for d := range p.c {
		if d == 0 {
			p.i = p.c[0]
			continue
		}
		p.i = k.m.Add(k.m.Mul(p.i, k.w.sizes[d]), p.c[d])
	}
	return p
}

// compute computes one element. The elements of transposed operands are at offset cell in their tiles.
func (k *transposition) compute(p *spot, cell ir.Value) {
	m := k.m
	x := make([]ir.Value, len(k.in))
	for i, a := range k.in {
		switch {
		case a.fixed != 0:
			x[i] = a.fixed
		case k.across[i]:
			x[i] = m.SharedLoad(k.tiles[i], cell)
		default:
			x[i] = m.Load(a.buf, p.offset(len(k.out)+i))
		}
	}
	index := func(axis int) ir.Value { return coordinate(m, k.space, k.order, axis, p.element) }
	for i, v := range k.body(m.Builder, x, index) {
		m.Store(k.out[i].buf, p.offset(i), v)
	}
}
