package template

import "github.com/goburn/burn/sdk/gpu/ir"

// stage starts a copy of rows of a matrix to shared memory, beginning at base and with the given stride, both in elements. Rows beyond
// the last row of the matrix are copies of the last. All threads of the fragGroups subgroups must call it.
func (n *flashKernel) stage(m ir.Mem, base ir.Value, stride int, from matrixRows, rows, width int) {
	const wide = 8
	threads := n.t.Subgroup * fragGroups
	n.For(n.Thread(), n.Int(rows*width/wide), threads, func(e ir.Value) {
		row, c := n.Div(e, n.Int(width/wide)), n.Mul(n.Rem(e, n.Int(width/wide)), n.Int(wide))
		at := n.Min(n.Add(from.first, row), n.Sub(from.limit, n.Int(1)))
		src := n.Add(from.base, n.Add(n.Mul(at, n.Int(from.stride)), c))
		dst := n.Add(base, n.Add(n.Mul(row, n.Int(stride)), c))
		if n.t.Async {
			n.AsyncCopy(m, dst, from.from, src, wide)
			return
		}
		n.SharedStore(m, dst, n.LoadWide(from.from, src, wide)...)
	})
	if n.t.Async {
		n.AsyncCommit()
	}
}

// staged waits for all copies that stage started and for all threads of the block.
func (n *flashKernel) staged() {
	if n.t.Async {
		n.AsyncWait(0)
	}
	n.Barrier()
}
