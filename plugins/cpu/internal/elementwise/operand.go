package elementwise

import (
	"unsafe"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
	"github.com/goburn/burn/plugins/cpu/internal/vector"
)

// operand reads an array as elements of type T: its own type, or float32 for the 16-bit floats.
type operand[T any] struct {
	k    int // index in the layout
	data []T
	half []uint16 // used in place of data for 16-bit floats
	dt   dtype.DType
}

func reads[T any](a kernel.Array, k int) operand[T] {
	if kernel.IsHalf(a.DType) {
		return operand[T]{k: k, half: kernel.Data[uint16](a), dt: a.DType}
	}
	return operand[T]{k: k, data: kernel.Data[T](a), dt: a.DType}
}

// one returns the element at position i.
func (o *operand[T]) one(i int) T {
	if o.half == nil {
		return o.data[i]
	}
	var v [1]T
	kernel.Decode(o.dt, float32s(v[:]), o.half[i:i+1])
	return v[0]
}

// load returns the elements of a piece, either a slice of the operand or a copy in tmp. For an operand of one element it
// returns that element instead.
func (o *operand[T]) load(p *piece, tmp []T) (v []T, s T, scalar bool) {
	l, k := p.l, o.k
	switch {
	case l.same[k]:
		return nil, o.one(l.base[k]), true
	case l.flat:
		v = o.run(tmp[:min(len(tmp), p.n)], l.base[k]+p.at*l.step[k], l.step[k], p.n)
	case l.rows && l.step[k] == 0:
		return nil, o.one(p.cursor.Pos[k]), true
	case l.rows:
		v = o.run(tmp[:min(len(tmp), p.n)], p.cursor.Pos[k]+p.col*l.step[k], l.step[k], p.n)
	case l.line[k]:
		v = o.run(tmp[:min(len(tmp), p.n)], l.base[k]+p.at, 1, p.n)
	default:
		v = o.gather(tmp, p)
	}
	return v, s, false
}

// run returns n elements from position pos on, step apart.
func (o *operand[T]) run(tmp []T, pos, step, n int) []T {
	switch {
	case o.half != nil && step == 1:
		kernel.Decode(o.dt, float32s(tmp), o.half[pos:pos+n])
	case o.half != nil:
		var h [1]uint16
		f := float32s(tmp)
		for i := range f {
			h[0] = o.half[pos]
			kernel.Decode(o.dt, f[i:i+1], h[:])
			pos += step
		}
	case step == 1:
		return o.data[pos : pos+n]
	default:
		for i := range tmp {
			tmp[i] = o.data[pos]
			pos += step
		}
	}
	return tmp
}

// gather copies a piece that crosses short rows into tmp.
func (o *operand[T]) gather(tmp []T, p *piece) []T {
	l, k := p.l, o.k
	at, col := l.walk.Start(p.at/l.inner), p.at%l.inner
	step := l.step[k]
	for done := 0; done < p.n; {
		n := min(l.inner-col, p.n-done)
		pos := at.Pos[k] + col*step
		if o.half != nil {
			o.run(tmp[done:done+n], pos, step, n)
		} else {
			for i := done; i < done+n; i++ {
				tmp[i] = o.data[pos]
				pos += step
			}
		}
		done += n
		col = 0
		at.Next()
	}
	return tmp[:p.n]
}

// result writes elements of type R to an array. For an array of 16-bit floats, R is float32, which is rounded, or uint16, the bits.
type result[R any] struct {
	data        []R
	half        []uint16
	dt          dtype.DType
	nonTemporal bool // use such stores
}

func writes[R any](c *kernel.Call, a kernel.Array) result[R] {
	var z R
	if kernel.IsHalf(a.DType) && unsafe.Sizeof(z) == 4 {
		return result[R]{half: kernel.Data[uint16](a), dt: a.DType}
	}
	return result[R]{data: kernel.Data[R](a), dt: a.DType, nonTemporal: streams(c, a)}
}

// destination returns the memory into which a piece is computed: the array, or tmp if store has to convert or copy the elements.
func (r *result[R]) destination(p *piece, tmp []R) []R {
	if r.half == nil && !r.nonTemporal {
		return r.data[p.at : p.at+p.n]
	}
	return tmp[:p.n]
}

// store stores the computed elements of a piece.
func (r *result[R]) store(p *piece, v []R) {
	switch {
	case r.half != nil:
		kernel.Encode(r.dt, r.half[p.at:p.at+p.n], float32s(v))
	case r.nonTemporal:
		vector.Stream(kernel.Bytes(r.data[p.at:p.at+p.n]), kernel.Bytes(v))
	}
}

// finish completes the non-temporal stores of a thread.
func (r *result[R]) finish() {
	if r.nonTemporal {
		vector.Fence()
	}
}

// float32s returns s as []float32. T must be float32, as it is for operands of 16-bit floats.
func float32s[T any](s []T) []float32 { return *(*[]float32)(unsafe.Pointer(&s)) }
