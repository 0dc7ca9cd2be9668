package template

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// tileLoad loads tiles of a factor, of span lines by depth, into shared memory. A line is a row of A or a column of B.
type tileLoad struct {
	k   *productKernel
	buf ir.Buf
	// element returns the offset in memory of the element at a line and depth of the tile, for access j of the thread. inside says whether
	// the element exists; 0 means that all exist. Elements that do not exist are read as zeros. at is valid where inside is true.
	element func(j int, line, depth ir.Value) (inside ir.Value, at func() ir.Value)
	// begin, if set, is called before element, with the depth at which a tile begins and the end of the depth.
	begin       func(from, end ir.Value)
	to          ir.Mem      // shared memory of all stages
	typ         dtype.DType // type of elements in shared memory
	span, depth int
	// byDepth says that the layout of the tile is [depth][span]; otherwise it is [span][depth]. pitch is the distance between its rows, and
	// size the distance between stages.
	byDepth     bool
	pitch, size int
	// alongDepth says that neighbouring threads, and the width elements of one access, are neighbours along the depth.
	alongDepth bool
	width      int
	async      bool   // copies are asynchronous
	threads    int    // threads of the block
	held       ir.Var // elements being loaded, if copies are not asynchronous
}

// stored sets the element function for a factor that is a matrix in memory. rows says that the factor is A. first is the first line of the
// tile, and limit the number of lines. Tiles may extend beyond the last line if edge is true, and beyond the end of the depth if tail is
// true.
func (l *tileLoad) stored(p strided, rows bool, first, limit ir.Value, edge, tail bool) {
	k := l.k
	l.buf = p.buf
	var start, end ir.Value
	l.begin = func(from, to ir.Value) { start, end = from, to }
	l.element = func(_ int, line, depth ir.Value) (ir.Value, func() ir.Value) {
		d := k.Add(start, depth)
		var inside ir.Value
		if tail {
			inside = k.Lt(d, end)
		}
		return inside, func() ir.Value {
			i := k.Add(first, line)
			if edge {
				w := 1
				if !l.alongDepth {
					w = l.width
				}
				i = k.Min(i, k.Sub(limit, k.Int(w)))
			}
			if rows {
				return k.at(p, i, d)
			}
			return k.at(p, d, i)
		}
	}
}

// count returns the number of accesses of a thread for a tile.
func (l *tileLoad) count() int { return ceil(l.span*l.depth, l.width*l.threads) }

// hold declares registers for elements that are being loaded.
func (l *tileLoad) hold(name string) {
	if !l.async {
		l.held = l.k.Local(name, l.typ, l.count()*l.width)
	}
}

// access returns the number of access j of this thread, and its line and depth in the tile.
func (l *tileLoad) access(j int) (e, line, depth ir.Value) {
	k := l.k
	e = k.plus(k.Thread(), j*l.threads)
	if l.alongDepth {
		n := k.Int(l.depth / l.width)
		return e, k.Div(e, n), k.Mul(k.Rem(e, n), k.Int(l.width))
	}
	n := k.Int(l.span / l.width)
	return e, k.Mul(k.Rem(e, n), k.Int(l.width)), k.Div(e, n)
}

// lines runs f for the line of each access of this thread, which may be beyond the tile.
func (l *tileLoad) lines(f func(j int, line ir.Value)) {
	for j := range l.count() {
		_, line, _ := l.access(j)
		f(j, line)
	}
}

// each runs f for each access of this thread: its number, line and depth in the tile.
func (l *tileLoad) each(f func(j int, line, depth ir.Value)) { l.some(0, l.count(), f) }

// some is like each, for the accesses first to last-1. It skips accesses that do not exist.
func (l *tileLoad) some(first, last int, f func(j int, line, depth ir.Value)) {
	k := l.k
	for j := max(first, 0); j < min(last, l.count()); j++ {
		e, line, depth := l.access(j)
		run := func() { f(j, line, depth) }
		if (j+1)*l.threads*l.width > l.span*l.depth {
			k.If(k.Lt(e, k.Int(l.span*l.depth/l.width)), run)
		} else {
			run()
		}
	}
}

// target returns the offset in shared memory of an element of a tile.
func (l *tileLoad) target(stage, line, depth ir.Value) ir.Value {
	k := l.k
	if l.byDepth {
		return k.Add(stage, k.Add(k.Mul(depth, k.Int(l.pitch)), line))
	}
	return k.Add(stage, k.Add(k.Mul(line, k.Int(l.pitch)), depth))
}

// issue starts a load of the tile that begins at depth from into the stage that begins at offset to. Without asynchronous copies, a call of
// settle must follow.
func (l *tileLoad) issue(to, from, end ir.Value) {
	l.begin(from, end)
	l.issueSome(to, 0, l.count())
}

// issueSome starts the accesses first to last-1 of the tile for which begin was called. It skips accesses that do not exist.
func (l *tileLoad) issueSome(to ir.Value, first, last int) {
	k := l.k
	l.some(first, last, func(j int, line, depth ir.Value) {
		inside, at := l.element(j, line, depth)
		copied := func() { k.AsyncCopy(l.to, l.target(to, line, depth), l.buf, at(), l.width) }
		zero := func() { k.SharedStore(l.to, l.target(to, line, depth), l.zeros()...) }
		if !l.async {
			set := func(v []ir.Value) {
				for i, x := range v {
					k.Set(l.held, k.Int(j*l.width+i), k.Cast(l.typ, x))
				}
			}
			copied = func() { set(k.LoadWide(l.buf, at(), l.width)) }
			zero = func() { set(l.zeros()) }
		}
		if inside == 0 {
			copied()
			return
		}
		k.IfElse(inside, copied, zero)
	})
}

func (l *tileLoad) zeros() []ir.Value {
	v := make([]ir.Value, l.width)
	for i := range v {
		v[i] = l.k.Const(l.typ, 0)
	}
	return v
}

// settle stores the elements that issue has loaded in the stage that begins at to.
func (l *tileLoad) settle(to ir.Value) {
	k := l.k
	l.each(func(j int, line, depth ir.Value) {
		v := make([]ir.Value, l.width)
		for i := range v {
			v[i] = k.Get(l.held, k.Int(j*l.width+i))
		}
		if l.alongDepth != l.byDepth {
			k.SharedStore(l.to, l.target(to, line, depth), v...)
			return
		}
		for i, x := range v {
			if l.alongDepth {
				k.SharedStore(l.to, l.target(to, line, k.plus(depth, i)), x)
			} else {
				k.SharedStore(l.to, l.target(to, k.plus(line, i), depth), x)
			}
		}
	})
}
