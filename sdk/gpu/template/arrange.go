package template

import (
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// joinedAtOnce bounds the operands that one launch of Concat copies.
const joinedAtOnce = 16

// Concat returns the work that writes to the last slot, outer times, one run of each operand, in the order of the operands. A run of
// operand k has runs[k] elements.
func Concat(t Target, outer int, runs []int, in []Operand, y Operand) ir.Work {
	s := newSequence(t, len(in)+1, false)
	py, size := regionOf(len(in), y), y.Type.Size()
	bytes := []int{int(py.offset)}
	for k, r := range runs {
		bytes = append(bytes, r*size, int(regionOf(k, in[k]).offset))
	}
	u := unitOf(t, y.Type, bytes...)
	units := make([]int, len(runs)) // units of a run, by operand
	total := 0
	for k, r := range runs {
		units[k] = r * size / u.bytes()
		total += units[k]
	}
	most := joinedAtOnce
	if t.Buffers > 0 {
		most = min(most, t.Buffers-1) // the result is a buffer too
	}
	for first, start := 0, 0; first < len(in); first += most {
		last := min(first+most, len(in))
		part := 0
		for _, n := range units[first:last] {
			part += n
		}
		if outer*part == 0 {
			continue
		}
		s.each("concat", outer*part, outer*total*u.width, func(p *step) func(ir.Value) {
			to := p.buffer("y", u.d, ir.Write, py)
			from := make([]ir.Buf, len(in))
			for k := first; k < last; k++ {
				if units[k] > 0 {
					from[k] = p.buffer("x", u.d, ir.Read, regionOf(k, in[k]))
				}
			}
			return func(i ir.Value) {
				c := p.split(i, outer, part)
				dst := p.Mul(p.Add(p.Mul(c[0], p.Int(total)), p.Add(c[1], p.Int(start))), p.Int(u.width))
				var choose func(k, before int)
				choose = func(k, before int) {
					for units[k] == 0 {
						k++
					}
					copied := func() {
						at := p.clamp(p.Sub(c[1], p.Int(before)), 0, units[k]-1)
						src := p.Mul(p.Add(p.Mul(c[0], p.Int(units[k])), at), p.Int(u.width))
						p.Store(to, dst, p.LoadWide(from[k], src, u.width)...)
					}
					if before+units[k] == part {
						copied()
						return
					}
					p.IfElse(p.Lt(c[1], p.Int(before+units[k])), copied, func() { choose(k+1, before+units[k]) })
				}
				choose(first, 0)
			}
		})
		start += part
	}
	return s.work
}

// Pad returns the work that computes slot 1 from slot 0, which has shape dims. Along each axis it adds lo elements before and hi elements
// after. value has the bits of the added elements. Negative numbers remove elements.
func Pad(t Target, dims, lo, hi []int, value uint64, x, y Operand) ir.Work {
	s := newSequence(t, 2, false)
	in, before, out := folded(dims, lo, hi)
	px, py, size := regionOf(0, x), regionOf(1, y), x.Type.Size()
	last := len(in) - 1
	u := unitOf(t, x.Type, in[last]*size, before[last]*size, out[last]*size, int(px.offset), int(py.offset))
	in[last], before[last], out[last] = in[last]*size/u.bytes(), before[last]*size/u.bytes(), out[last]*size/u.bytes()
	n := volume(out)
	if n == 0 {
		return s.work
	}
	s.each("pad", n, max(volume(in), n)*u.width, func(p *step) func(ir.Value) {
		to, from := p.buffer("y", u.d, ir.Write, py), ir.Buf(-1)
		if volume(in) > 0 {
			from = p.buffer("x", u.d, ir.Read, px)
		}
		return func(i ir.Value) {
			at := p.Mul(i, p.Int(u.width))
			padding := func() { p.Store(to, at, p.filled(u, value, size)...) }
			if volume(in) == 0 {
				padding()
				return
			}
			c := p.split(i, out...)
			inside := p.Const(dtype.Bool, 1)
			for d := range c {
				if before[d] == 0 && out[d] == in[d] {
					continue
				}
				v := p.Sub(c[d], p.Int(before[d]))
				c[d] = p.clamp(v, 0, in[d]-1)
				inside = p.And(inside, p.Eq(c[d], v))
			}
			p.IfElse(inside, func() {
				p.Store(to, at, p.LoadWide(from, p.Mul(p.join(in, c...), p.Int(u.width)), u.width)...)
			}, padding)
		}
	})
	return s.work
}

// folded joins each dimension without padding to the dimension before it. It returns the sizes, the numbers of elements added before, and
// the sizes of the result.
func folded(dims, lo, hi []int) (in, before, out []int) {
	in, before, out = []int{1}, []int{0}, []int{1}
	for d, n := range dims {
		last := len(in) - 1
		if lo[d] == 0 && hi[d] == 0 {
			in[last], before[last], out[last] = in[last]*n, before[last]*n, out[last]*n
			continue
		}
		in, before, out = append(in, n), append(before, lo[d]), append(out, n+lo[d]+hi[d])
	}
	return in, before, out
}

// filled returns a unit whose elements have size bytes each and these bits.
func (p *step) filled(u unit, bits uint64, size int) []ir.Value {
	for n := size; n < 8; n *= 2 {
		bits = bits&(1<<(8*n)-1) | bits<<(8*n)
	}
	v := make([]ir.Value, u.width)
	for k := range v {
		word := bits >> (8 * (k * u.d.Size() % 8)) << (64 - 8*u.d.Size())
		if u.d.Class() == dtype.Signed {
			v[k] = p.Const(u.d, uint64(int64(word)>>(64-8*u.d.Size())))
			continue
		}
		v[k] = p.Const(u.d, word>>(64-8*u.d.Size()))
	}
	return v
}

// CacheWrite returns the work that computes slot 3: a copy of slot 0 in which slot 2 is written along the axis, beginning at the position
// in slot 1. There is one position for each batch, or one position for all batches. g has the shapes of an assignment of Count neighbouring
// slices.
func CacheWrite(t Target, g Indexing, cache, position, update, y Operand) ir.Work {
	s := newSequence(t, 4, true)
	pc, pu, py := regionOf(0, cache), regionOf(2, update), regionOf(3, y)
	row := g.Inner * cache.Type.Size()
	u := unitOf(t, cache.Type, row, int(pc.offset), int(pu.offset), int(py.offset))
	g.Inner = row / u.bytes() // counts units from here on
	if g.whole() == 0 {
		return s.work
	}
	s.each("cache_write", g.whole(), g.whole()*u.width, func(p *step) func(ir.Value) {
		to, from := p.buffer("y", u.d, ir.Write, py), p.buffer("cache", u.d, ir.Read, pc)
		if g.Count == 0 {
			return func(i ir.Value) {
				at := p.Mul(i, p.Int(u.width))
				p.Store(to, at, p.LoadWide(from, at, u.width)...)
			}
		}
		start, with := p.buffer("position", position.Type, ir.Read, regionOf(1, position)), p.buffer("update", u.d, ir.Read, pu)
		fault := p.buffer("fault", dtype.U32, ir.Atomic, s.fault())
		return func(i ir.Value) {
			c := p.split(i, g.Batch, g.Outer, g.Axis, g.Inner)
			k := p.Sub(c[2], p.guarded(p.Load(start, c[0]), g.Axis-g.Count+1, fault))
			row := p.clamp(k, 0, g.Count-1)
			at := p.Mul(i, p.Int(u.width))
			p.IfElse(p.Eq(k, row), func() {
				src := p.join([]int{g.Batch, g.Outer, g.Count, g.Inner}, c[0], c[1], row, c[3])
				p.Store(to, at, p.LoadWide(with, p.Mul(src, p.Int(u.width)), u.width)...)
			}, func() {
				p.Store(to, at, p.LoadWide(from, at, u.width)...)
			})
		}
	})
	return s.work
}
