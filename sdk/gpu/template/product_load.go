package template

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// tileLoad brings tiles of a factor, span lines by depth products, into shared memory. A line is a row of A or a column of B.
type tileLoad struct {
	k           *productKernel
	from        strided
	lines       bool // along of a line's own number lies side by side in memory: strides of lines are row strides of A
	to          ir.Mem
	typ         dtype.DType
	span, depth int
	// byDepth: the tile lies as [depth][span], else as [span][depth]; pitch is the distance of its rows, and size that of stages.
	byDepth     bool
	pitch, size int
	// alongDepth: neighbouring threads and the width elements of one access go along the depth.
	alongDepth bool
	width      int
	async      bool
	// edge: tiles may stand over the last line, whose number is limit-1. tail: they may stand over the end of the depth.
	edge, tail bool
	limit      ir.Value
	first      ir.Value // line of the tile
	threads    int
	held       ir.Var // elements on their way, where copies are not asynchronous
}

// count is how many accesses a thread makes for a tile.
func (l *tileLoad) count() int { return ceil(l.span*l.depth, l.width*l.threads) }

// hold makes room for elements on their way.
func (l *tileLoad) hold(name string) {
	if !l.async {
		l.held = l.k.Local(name, l.typ, l.count()*l.width)
	}
}

// each runs f for each access of this thread: its number, line and depth in the tile.
func (l *tileLoad) each(f func(j int, line, depth ir.Value)) {
	k := l.k
	t := k.Thread()
	for j := range l.count() {
		e := k.plus(t, j*l.threads)
		var line, depth ir.Value
		if n := l.depth / l.width; l.alongDepth {
			line, depth = k.Div(e, k.Int(n)), k.Mul(k.Rem(e, k.Int(n)), k.Int(l.width))
		} else {
			n = l.span / l.width
			line, depth = k.Mul(k.Rem(e, k.Int(n)), k.Int(l.width)), k.Div(e, k.Int(n))
		}
		run := func() { f(j, line, depth) }
		if (j+1)*l.threads*l.width > l.span*l.depth {
			k.If(k.Lt(e, k.Int(l.span*l.depth/l.width)), run)
		} else {
			run()
		}
	}
}

// source is the offset in memory of an element, whose line is held within the matrix.
func (l *tileLoad) source(line, depth ir.Value) ir.Value {
	k := l.k
	i := k.Add(l.first, line)
	if l.edge {
		w := 1
		if !l.alongDepth {
			w = l.width
		}
		i = k.Min(i, k.Sub(l.limit, k.Int(w)))
	}
	if l.lines {
		return k.at(l.from, i, depth)
	}
	return k.at(l.from, depth, i)
}

// target is the offset in shared memory of an element of a tile.
func (l *tileLoad) target(stage, line, depth ir.Value) ir.Value {
	k := l.k
	if l.byDepth {
		return k.Add(stage, k.Add(k.Mul(depth, k.Int(l.pitch)), line))
	}
	return k.Add(stage, k.Add(k.Mul(line, k.Int(l.pitch)), depth))
}

// within runs f where depth is before end, and otherwise instead.
func (l *tileLoad) within(depth, end ir.Value, f, instead func()) {
	if l.tail {
		l.k.IfElse(l.k.Lt(depth, end), f, instead)
		return
	}
	f()
}

// issue starts to bring the tile that begins at depth from to the stage that begins at to. Without asynchronous copies, settle
// has to follow.
func (l *tileLoad) issue(to, from, end ir.Value) {
	k := l.k
	l.each(func(j int, line, depth ir.Value) {
		d := k.Add(from, depth)
		if l.async {
			l.within(d, end, func() {
				k.AsyncCopy(l.to, l.target(to, line, depth), l.from.buf, l.source(line, d), l.width)
			}, func() {
				k.SharedStore(l.to, l.target(to, line, depth), l.zeros()...)
			})
			return
		}
		set := func(v []ir.Value) {
			for i, x := range v {
				k.Set(l.held, k.Int(j*l.width+i), x)
			}
		}
		l.within(d, end, func() {
			var v []ir.Value
			for _, x := range k.LoadWide(l.from.buf, l.source(line, d), l.width) {
				v = append(v, k.Cast(l.typ, x))
			}
			set(v)
		}, func() { set(l.zeros()) })
	})
}

func (l *tileLoad) zeros() []ir.Value {
	v := make([]ir.Value, l.width)
	for i := range v {
		v[i] = l.k.Const(l.typ, 0)
	}
	return v
}

// settle puts what issue has loaded into the stage that begins at to.
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
