package template

import (
	"github.com/goburn/burn/sdk/gpu/ir"
)

// packWidth is the number of elements of 16 bits that one access moves.
const packWidth = 8

// packs reports whether the elements can be moved 8 at a time: transposed operands have elements of 16 bits, and they and the results
// have aligned groups of 8.
func (k *transposition) packs(t Target, all []Operand, outs int) bool {
	if k.edge != 64 || t.Wide < 2*packWidth || k.n.dims[k.a]%packWidth != 0 || k.n.dims[k.b]%packWidth != 0 || k.edge/2*k.edge/packWidth != threads {
		return false
	}
	for i, d := range all {
		switch {
		case i < outs:
			if accessOf(t, d, i, packWidth, &k.n).chunk == 1 {
				return false
			}
		case k.across[i-outs]:
			if d.Type.Size() != 2 || lowest(d.View)%packWidth != 0 {
				return false
			}
			for dim, s := range k.n.strides[i] {
				if dim != k.b && k.n.dims[dim] > 1 && s%packWidth != 0 {
					return false
				}
			}
		}
	}
	return true
}

// turn computes the tile that begins at a0 and b0. A thread reads 8 neighbours of each of two rows, stores elements that are neighbours in
// the results as pairs, and computes 8 neighbours of two rows of results. The order of the groups of 8 in a row of the tile depends on the
// number of the group of 8 rows (a swizzle), so that neither reads nor writes have bank conflicts.
func (k *transposition) turn(c []ir.Value, a0, b0, na, nb ir.Value) {
	m := k.m
	groups := k.edge / packWidth
	x, y := m.Rem(m.Thread(), m.Int(groups)), m.Div(m.Thread(), m.Int(groups))
	cell := func(row, eight, group ir.Value) ir.Value {
		return m.Add(m.times(row, k.edge), m.times(m.Binary(ir.Xor, eight, group), packWidth))
	}
	i, j := m.Add(b0, m.times(x, packWidth)), m.Add(a0, m.times(y, 2))
	m.If(m.And(m.Lt(i, nb), m.Lt(j, na)), func() {
		first, second := k.spot(c, j, i), k.spot(c, m.plus(j, 1), i)
		for o, across := range k.across {
			if !across {
				continue
			}
			number := len(k.out) + o
			v, w := m.LoadWide(k.in[o].buf, first.offset(number), packWidth), m.LoadWide(k.in[o].buf, second.offset(number), packWidth)
			for e := range packWidth {
				row := m.plus(m.times(x, packWidth), e)
				at := m.Add(cell(row, x, m.Div(y, m.Int(packWidth/2))), m.times(m.Rem(y, m.Int(packWidth/2)), 2))
				m.SharedStore(k.tiles[o], at, v[e], w[e])
			}
		}
	})
	m.Barrier()
	for s := range k.edge * groups / threads {
		row := m.plus(y, s*threads/groups)
		i, j := m.Add(a0, m.times(x, packWidth)), m.Add(b0, row)
		m.If(m.And(m.Lt(i, na), m.Lt(j, nb)), func() {
			k.computeGroup(k.spot(c, i, j), cell(row, m.Div(row, m.Int(packWidth)), x))
		})
	}
}

// computeGroup computes 8 neighbours of the results. The elements of transposed operands begin at offset cell in their tiles.
func (k *transposition) computeGroup(p *spot, cell ir.Value) {
	m := k.m
	x := make([][]ir.Value, len(k.in))
	for i, a := range k.in {
		if k.across[i] {
			x[i] = m.SharedLoadWide(k.tiles[i], cell, packWidth)
			continue
		}
		for e := range packWidth {
			v := a.fixed
			if v == 0 {
				v = m.Load(a.buf, k.w.along(len(k.out)+i, p.offset(len(k.out)+i), e))
			}
			x[i] = append(x[i], v)
		}
	}
	y := make([][]ir.Value, len(k.out))
	for e := range packWidth {
		in := make([]ir.Value, len(x))
		for i := range in {
			in[i] = x[i][e]
		}
		index := func(axis int) ir.Value {
			return coordinate(m, k.space, k.order, axis, func() ir.Value { return m.plus(p.element(), e) })
		}
		for i, v := range k.body(m.Builder, in, index) {
			y[i] = append(y[i], v)
		}
	}
	for i := range k.out {
		k.out[i].store(k.w, i, p.offset, y[i])
	}
}
