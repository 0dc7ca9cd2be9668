package template

import (
	"fmt"

	"github.com/goburn/burn/sdk/gpu/ir"
)

// pack copies a factor into a temporary in which the depth is contiguous, padded with zeros to a multiple of 8, and replaces the factor by
// it. Batch dimensions along which the factor is broadcast have one element in the copy. rows says that the factor is A.
func (c *product) pack(m *matrix, rows bool, extent int) ir.Launch {
	const threads, width = 256, 8
	k := c.kernel(fmt.Sprintf("product_pack_%v", m.typ), threads)
	deep := ceil(c.k, width) * width
	to := *m
	to.batch = make([]int, len(m.batch))
	lines := extent
	dims := make([]int, len(m.batch))
	for i := len(dims) - 1; i >= 0; i-- {
		dims[i] = 1
		if m.batch[i] != 0 {
			dims[i] = c.batch[i]
			to.batch[i] = lines * deep
			lines *= dims[i]
		}
	}
	to.packed, to.off, to.row, to.col = true, 0, deep, 1
	if !rows {
		to.row, to.col = 1, deep
	}
	to.slot = c.temporary(lines * deep * m.typ.Size())

	groups := lines * deep / width
	id := k.Add(k.Mul(k.Block(0), k.Int(threads)), k.Thread())
	size, depth := k.size("lines", extent), k.size("k", c.k)
	k.If(k.Lt(id, k.size("groups", groups)), func() {
		across := k.Div(k.plus(depth, width-1), k.Int(width))
		first := k.Mul(k.Rem(id, across), k.Int(width))
		line := k.Div(id, across)
		p := k.region("from", *m, ir.Read, k.position(k.Div(line, size), dims, "batch"))
		out := k.memory("packed", m.typ, ir.Write, to.slot)
		line = k.Rem(line, size)
		held := k.Local("held", m.typ, width)
		for i := range width {
			at := k.plus(first, i)
			k.IfElse(k.Lt(at, depth), func() {
				o := k.at(p, line, at)
				if !rows {
					o = k.at(p, at, line)
				}
				k.Set(held, k.Int(i), k.Load(p.buf, o))
			}, func() { k.Set(held, k.Int(i), k.Const(m.typ, 0)) })
		}
		v := make([]ir.Value, width)
		for i := range v {
			v[i] = k.Get(held, k.Int(i))
		}
		k.Store(out, k.Mul(id, k.Int(width)), v...)
	})
	l := k.launch(ceil(groups, threads), 1, 1)
	*m = to
	return l
}
