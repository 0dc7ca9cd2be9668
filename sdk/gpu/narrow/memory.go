package narrow

import (
	"math/bits"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// index returns operand i as an index. For an operand of 64 bits it returns the low word: the high word of an index within an array is 0.
func (r *rewriter) index(in *ir.Inst, i int) ir.Value { return r.arg(in, i).lo }

// place returns operand 0 as an index of a buffer.
func (r *rewriter) place(in *ir.Inst) ir.Value {
	at := r.index(in, 0)
	if base := r.bases[in.Ref]; base != 0 {
		at = r.Add(at, r.Cast(r.TypeOf(at), base))
	}
	return at
}

// number returns a constant of the type of v.
func (r *rewriter) number(v ir.Value, n int) ir.Value { return r.Const(r.TypeOf(v), uint64(n)) }

// plus returns i + n.
func (r *rewriter) plus(i ir.Value, n int) ir.Value {
	if n == 0 {
		return i
	}
	return r.Add(i, r.number(i, n))
}

// words calls f for each access to n neighbouring words, with the widest accesses that the hardware has.
func (r *rewriter) words(n int, f func(k, width int)) {
	w := min(n, max(r.t.Wide/4, 1))
	for k := 0; k < n; k += w {
		f(k, w)
	}
}

// load rewrites a Load.
func (r *rewriter) load(in *ir.Inst) {
	p, at, n := r.buffers[in.Ref], r.place(in), int(in.Width)
	read := func(at ir.Value, n int) (w []ir.Value) {
		r.words(n, func(k, width int) { w = append(w, r.LoadWide(p, r.plus(at, k), width)...) })
		return w
	}
	size := in.Type.Size()
	switch {
	case size == 4:
		for k, v := range read(at, n) {
			r.values[in.Out[k]] = pair{lo: v}
		}
	case size == 8:
		r.joined(in, read(r.double(at), 2*n))
	case n*size >= 4:
		for k, w := range read(r.word(at, size), n*size/4) {
			for e := range 4 / size {
				r.values[in.Out[k*(4/size)+e]] = pair{lo: r.unpack(in.Type, w, r.Const(dtype.U32, uint64(8*size*e)))}
			}
		}
	default:
		w, shift := r.part(p, r.parts[in.Ref], r.word(at, size)), r.shift(at, size)
		for k, out := range in.Out {
			r.values[out] = pair{lo: r.unpack(in.Type, w, r.Add(shift, r.Const(dtype.U32, uint64(8*size*k))))}
		}
	}
}

// part loads a word that contains a part. The load is atomic if other threads may change other parts at the same time.
func (r *rewriter) part(p ir.Buf, changing bool, w ir.Value) ir.Value {
	if changing {
		return r.Atomic(ir.AtomicAdd, p, w, r.Const(dtype.U32, 0))
	}
	return r.Load(p, w)
}

// joined sets the results of an instruction, which are pairs, from the words w.
func (r *rewriter) joined(in *ir.Inst, w []ir.Value) {
	for k, out := range in.Out {
		r.values[out] = pair{w[2*k], r.Bitcast(high(in.Type), w[2*k+1])}
	}
}

// apart returns the words of the pairs that an instruction stores.
func (r *rewriter) apart(in *ir.Inst) (w []ir.Value) {
	for _, v := range in.Args[1:] {
		w = append(w, r.values[v].lo, r.Bitcast(dtype.U32, r.values[v].hi))
	}
	return w
}

// double returns 2·i.
func (r *rewriter) double(i ir.Value) ir.Value { return r.Mul(i, r.number(i, 2)) }

// word returns the index of the word that contains element i. shift returns the number of the lowest bit of the element in that word.
func (r *rewriter) word(i ir.Value, size int) ir.Value {
	return r.Binary(ir.Shr, i, r.number(i, bits.TrailingZeros(uint(4/size))))
}

func (r *rewriter) shift(i ir.Value, size int) ir.Value {
	return r.Cast(dtype.U32, r.Mul(r.And(i, r.number(i, 4/size-1)), r.number(i, 8*size)))
}

// unpack returns the element of type d that begins at a bit of a word.
func (r *rewriter) unpack(d dtype.DType, w, shift ir.Value) ir.Value {
	w = r.Binary(ir.Shr, w, shift)
	switch d {
	case dtype.Bool:
		return r.Ne(r.And(w, r.Const(dtype.U32, 0xff)), r.Const(dtype.U32, 0))
	case dtype.F16, dtype.BF16:
		return r.Bitcast(d, r.Cast(dtype.U16, w))
	}
	return r.Cast(d, w)
}

// pack returns a word with an element in its lowest bits. The other bits are 0.
func (r *rewriter) pack(d dtype.DType, v ir.Value) ir.Value {
	switch d {
	case dtype.F16, dtype.BF16, dtype.I16:
		v = r.Bitcast(dtype.U16, v)
	case dtype.I8:
		v = r.Bitcast(dtype.U8, v)
	}
	return r.Cast(dtype.U32, v)
}

// packed returns a word that contains the elements vs.
func (r *rewriter) packed(d dtype.DType, vs []ir.Value) ir.Value {
	w := r.Const(dtype.U32, 0)
	for k, v := range vs {
		w = r.Or(w, r.Binary(ir.Shl, r.pack(d, r.values[v].lo), r.Const(dtype.U32, uint64(8*d.Size()*k))))
	}
	return w
}

// store rewrites a Store.
func (r *rewriter) store(in *ir.Inst) {
	p, at, vs := r.buffers[in.Ref], r.place(in), in.Args[1:]
	write := func(at ir.Value, w []ir.Value) {
		r.words(len(w), func(k, width int) { r.Store(p, r.plus(at, k), w[k:k+width]...) })
	}
	size := in.Type.Size()
	switch {
	case size == 4:
		var w []ir.Value
		for _, v := range vs {
			w = append(w, r.values[v].lo)
		}
		write(at, w)
	case size == 8:
		write(r.double(at), r.apart(in))
	case len(vs)*size >= 4:
		var w []ir.Value
		for each := 4 / size; len(vs) > 0; vs = vs[each:] {
			w = append(w, r.packed(in.Type, vs[:each]))
		}
		write(r.word(at, size), w)
	default:
		r.change(in, at, size)
	}
}

// change stores to a part of a word. No other thread changes the bits of that part. So the difference between the old and the new value of
// the part is still correct when it is added, even if other parts have changed.
func (r *rewriter) change(in *ir.Inst, at ir.Value, size int) {
	p, vs := r.buffers[in.Ref], in.Args[1:]
	w, shift := r.word(at, size), r.shift(at, size)
	there := r.part(p, true, w)
	mask := r.Const(dtype.U32, 1<<(8*size*len(vs))-1)
	difference := r.Sub(r.packed(in.Type, vs), r.And(r.Binary(ir.Shr, there, shift), mask))
	r.Atomic(ir.AtomicAdd, p, w, r.Binary(ir.Shl, difference, shift))
}

// sharedLoad rewrites a SharedLoad.
func (r *rewriter) sharedLoad(in *ir.Inst) {
	m, at, n := r.shared[in.Ref], r.index(in, 0), int(in.Width)
	if wide.Has(in.Type) {
		at, n = r.double(at), 2*n
	}
	var w []ir.Value
	r.words(n, func(k, width int) { w = append(w, r.SharedLoadWide(m, r.plus(at, k), width)...) })
	switch {
	case wide.Has(in.Type):
		r.joined(in, w)
	case in.Type.Size() == 4:
		for k, v := range w {
			r.values[in.Out[k]] = pair{lo: v}
		}
	default:
		for k, v := range w {
			r.values[in.Out[k]] = pair{lo: r.unpack(in.Type, v, r.Const(dtype.U32, 0))}
		}
	}
}

// sharedStore rewrites a SharedStore.
func (r *rewriter) sharedStore(in *ir.Inst) {
	m, at := r.shared[in.Ref], r.index(in, 0)
	var w []ir.Value
	switch {
	case wide.Has(in.Type):
		at, w = r.double(at), r.apart(in)
	case in.Type.Size() == 4:
		for _, v := range in.Args[1:] {
			w = append(w, r.values[v].lo)
		}
	default:
		for _, v := range in.Args[1:] {
			w = append(w, r.pack(in.Type, r.values[v].lo))
		}
	}
	r.words(len(w), func(k, width int) { r.SharedStore(m, r.plus(at, k), w[k:k+width]...) })
}

// atomic rewrites an atomic on elements of one word and returns its result.
func (r *rewriter) atomic(in *ir.Inst) ir.Value {
	if in.Type.Size() != 4 {
		refuse("%s", r.old.Line(in))
	}
	switch in.Op {
	case ir.SharedAdd:
		return r.SharedAdd(r.shared[in.Ref], r.index(in, 0), r.arg(in, 1).lo)
	case ir.AtomicSwap:
		return r.AtomicSwap(r.buffers[in.Ref], r.place(in), r.arg(in, 1).lo, r.arg(in, 2).lo)
	}
	return r.Atomic(in.Op, r.buffers[in.Ref], r.place(in), r.arg(in, 1).lo)
}
