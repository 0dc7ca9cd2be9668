package template

import (
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// strip is the layout in shared memory of some rows of several planes of an image, with zeros where the image has no element. A plane is
// one channel of one image; the planes of a strip are the channels of an image, or one channel of several images. All lengths and distances
// are in elements.
type strip struct {
	planes, rows, cols int // planes, rows and columns that are held at a time
	high, wide         int // height and width of a plane of the image
	left               int // columns before the first column of the image; negative if columns are left out
	width              int // width of an access to memory
	pitch, plane       int // distance between rows, and between planes
}

// newStrip returns the layout of a strip of an image. strides are the strides in memory of planes and images; columns are contiguous.
// offset is the offset of the first element.
func newStrip(t Target, planes, rows, cols, left int, size, strides []int, offset int) strip {
	s := strip{planes: planes, rows: rows, cols: cols, high: size[0], wide: size[1], left: left, width: 1}
	together := []int{size[1], left, offset, min(t.Wide/dtype.F32.Size(), 4)} // numbers that the width of an access must divide
	for w := 4; w > 1 && s.width == 1; w /= 2 {
		if !slices.ContainsFunc(append(together, strides...), func(n int) bool { return n%w != 0 }) {
			s.width = w
		}
	}
	// Planes begin in different banks, four apart, and rows at multiples of the widest access.
	s.pitch = ceil(cols, 4) * 4
	s.plane = rows * s.pitch
	if planes > 1 {
		s.plane += (4 - s.plane%32 + 32) % 32
	}
	return s
}

// size returns the number of elements of a strip in shared memory.
func (s strip) size() int { return s.planes * s.plane }

// source is an image in memory from which strips are copied.
type source struct {
	buf  ir.Buf
	row  ir.Value                      // stride of rows in elements; 0 if the stride is 0 or 1
	high int                           // the same stride, known when the kernel is built
	base func(plane ir.Value) ir.Value // the offset of a plane
}

// load copies a strip to shared memory, beginning at element at. The first row of the strip is row top of the image; top may be outside of
// the image. load does not wait for asynchronous copies.
func (k *productKernel) load(s strip, x source, to ir.Mem, at, top ir.Value, threads int) {
	across := ceil(s.cols, s.width)
	k.For(k.Thread(), k.Int(s.planes*s.rows*across), threads, func(i ir.Value) {
		line := k.Div(i, k.Int(across))
		plane, row := k.Div(line, k.Int(s.rows)), k.Rem(line, k.Int(s.rows))
		col := k.Mul(k.Rem(i, k.Int(across)), k.Int(s.width))
		target := k.Add(at, k.Add(k.Add(k.Mul(plane, k.Int(s.plane)), k.Mul(row, k.Int(s.pitch))), col))
		y, z := k.Add(top, row), k.plus(col, -s.left)
		inside := k.And(k.And(k.Le(k.Int(0), y), k.Lt(y, k.Int(s.high))), k.And(k.Le(k.Int(0), z), k.Lt(z, k.Int(s.wide))))
		k.IfElse(inside, func() {
			o := k.Add(x.base(plane), z)
			if y, ok := k.times(y, x.row, x.high); ok {
				o = k.Add(o, y)
			}
			if k.c.t.Async {
				k.AsyncCopy(to, target, x.buf, o, s.width)
				return
			}
			k.SharedStore(to, target, k.LoadWide(x.buf, o, s.width)...)
		}, func() {
			v := make([]ir.Value, s.width)
			for i := range v {
				v[i] = k.Const(k.c.compute, 0)
			}
			k.SharedStore(to, target, v...)
		})
	})
}

// span loads n neighbouring elements of shared memory, beginning at element at. at is a multiple of align.
func (k *productKernel) span(from ir.Mem, at ir.Value, n, align int) []ir.Value {
	var v []ir.Value
	for len(v) < n {
		w := min(align, 4)
		for len(v)%w != 0 || len(v)+w > n {
			w /= 2
		}
		v = append(v, k.SharedLoadWide(from, k.plus(at, len(v)), w)...)
	}
	return v
}

// strips runs compute for each strip of the block, with the stage that contains the strip. Block b of the grid computes the strips b,
// b+grid, and so on. With two stages, the next strip is loaded while compute runs.
func (k *productKernel) strips(total, grid, stages int, issue func(strip, stage ir.Value), compute func(strip, stage ir.Value)) {
	number := func(strip ir.Value) ir.Value {
		if stages == 1 {
			return k.Int(0)
		}
		return k.Rem(k.Div(strip, k.Int(grid)), k.Int(stages))
	}
	begin := func(strip ir.Value) {
		issue(strip, number(strip))
		if k.c.t.Async {
			k.AsyncCommit()
		}
	}
	ready := func() {
		if k.c.t.Async {
			k.AsyncWait(0)
		}
		k.Barrier()
	}
	end := k.size("strips", total)
	if stages > 1 {
		begin(k.Block(0))
	}
	k.For(k.Block(0), end, grid, func(strip ir.Value) {
		if stages > 1 {
			ready()
			next := k.plus(strip, grid)
			k.If(k.Lt(next, end), func() { begin(next) })
		} else {
			k.Barrier()
			begin(strip)
			ready()
		}
		compute(strip, number(strip))
	})
}
