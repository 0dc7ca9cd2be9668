package elementwise

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
	"github.com/goburn/burn/plugins/cpu/internal/mem"
)

// randomView returns a view that broadcasts to s, within a buffer of the returned number of elements: with permuted, negative,
// zero and spaced strides.
func randomView(r *rand.Rand, s shape.Shape) (v shape.View, size int) {
	v.Shape = append(shape.Shape{}, s[r.IntN(len(s)+1):]...)
	for i := range v.Shape {
		if r.IntN(4) == 0 {
			v.Shape[i] = 1
		}
	}
	if r.IntN(3) == 0 {
		v.Shape = append(shape.Shape{}, s...)
	}
	v.Strides = make([]int, len(v.Shape))
	step, low, high := 1, 0, 0
	order := r.Perm(len(v.Shape))
	if r.IntN(2) == 0 { // row-major
		for i := range order {
			order[i] = len(order) - 1 - i
		}
	}
	for _, d := range order {
		if r.IntN(8) == 0 {
			step *= 2
		}
		v.Strides[d] = step
		step *= v.Shape[d]
		switch r.IntN(8) {
		case 0:
			v.Strides[d] = -v.Strides[d]
		case 1:
			v.Strides[d] = 0
		}
		if reach := v.Strides[d] * (v.Shape[d] - 1); reach < 0 {
			low -= reach
		} else {
			high += reach
		}
	}
	v.Offset = low + r.IntN(3)
	return v, v.Offset + high + 1
}

// element returns the position in the buffer of element i of s, in row-major order, of a view that broadcasts to s.
func element(v shape.View, s shape.Shape, i int) int {
	pos := v.Offset
	for d := len(s) - 1; d >= 0; d-- {
		if k := d - (len(s) - len(v.Shape)); k >= 0 && v.Shape[k] > 1 {
			pos += i % s[d] * v.Strides[k]
		}
		i /= s[d]
	}
	return pos
}

// TestLayoutOfRandomViews reads random views in pieces of random lengths, from random positions on, and compares each element with
// the element at the position that its index determines. Half of the operands are 16-bit floats.
func TestLayoutOfRandomViews(t *testing.T) {
	r, memory := rand.New(rand.NewPCG(61, 62)), mem.NewPool(1<<26, 1<<24)
	account := memory.NewAccount()
	for range 1500 {
		s := make(shape.Shape, r.IntN(5))
		for i := range s {
			s[i] = []int{1, 2, 3, 7, 64, 65, 80}[r.IntN(7)]
		}
		if s.Size() > 40000 {
			continue
		}
		arrays := make([]kernel.Array, 1+r.IntN(4))
		for k := range arrays {
			v, size := randomView(r, s)
			dt := dtype.F32
			if r.IntN(2) == 0 {
				dt = dtype.BF16
			}
			buf, err := account.New(size * dt.Size())
			require.NoError(t, err)
			arrays[k] = kernel.Array{DType: dt, View: v, Buf: buf}
			if dt == dtype.F32 {
				for i, d := 0, kernel.Data[float32](arrays[k]); i < size; i++ {
					d[i] = float32(i)
				}
				continue
			}
			for i, d := 0, kernel.Data[uint16](arrays[k]); i < size; i++ {
				d[i] = uint16(i%251) + 0x3f80 // 251 different numbers
			}
		}
		checkPieces(t, r, s, arrays)
		for _, a := range arrays {
			a.Buf.Release()
		}
	}
	require.Zero(t, account.InUse())
}

func checkPieces(t *testing.T, r *rand.Rand, s shape.Shape, arrays []kernel.Array) {
	l := new(layout)
	setLayout(l, s, arrays)
	require.Equal(t, s.Size(), l.n)
	lo := r.IntN(l.n)
	hi := lo + r.IntN(l.n-lo+1)
	most, tmp := 1+r.IntN(block), make([]float32, block)
	if r.IntN(2) == 0 {
		most = block
	}
	var p piece
	at := lo
	for l.pieces(&p, lo, hi, most); p.next(); at += p.n {
		require.Equal(t, at, p.at, "pieces follow each other")
		require.LessOrEqual(t, p.n, most)
		for k, a := range arrays {
			o := reads[float32](a, k)
			v, one, scalar := o.load(&p, tmp)
			if !scalar {
				require.Len(t, v, p.n)
			}
			for i := range p.n {
				got, pos := one, element(a.View, s, at+i)
				if !scalar {
					got = v[i]
				}
				want := float32(pos)
				if a.DType == dtype.BF16 {
					want = dtype.BFloat16(pos%251 + 0x3f80).Float32()
				}
				if got != want {
					t.Fatalf("element %d of %v as %v: got %v, want %v", at+i, a.View, s, got, want)
				}
			}
		}
	}
	require.Equal(t, hi, at, "pieces end where the range does")
}

// TestStreamedParts writes results of lengths around multiples of the buffer's size, at several alignments, and checks that nothing beside
// them is written.
func TestStreamedParts(t *testing.T) {
	checkStream[uint8](t)
	checkStream[uint16](t)
	checkStream[float32](t)
	checkStream[float64](t)
}

func checkStream[R uint8 | uint16 | float32 | float64](t *testing.T) {
	var z R
	full := int(unsafe.Sizeof(streamBuffer{}) / unsafe.Sizeof(z))
	memory := make([]R, 3*full+64)
	for _, n := range []int{0, 1, 2, 15, 63, full - 1, full, full + 1, 2*full - 7, 2*full + 33, 3 * full} {
		for start := range 9 {
			for i := range memory {
				memory[i] = 77
			}
			calls := 0
			y, x := memory[start:start+n], make([]float32, n+1)
			stream(y, func(d []R, at int) {
				calls += len(d)
				for i := range d {
					d[i] = R((at + i) % 61)
				}
			}, source1(x[:n]))
			require.Equal(t, n, calls)
			for i, v := range memory {
				want := R(77)
				if i >= start && i < start+n {
					want = R((i - start) % 61)
				}
				if v != want {
					t.Fatalf("%T, %d elements from %d on: element %d is %v, want %v", z, n, start, i, v, want)
				}
			}
		}
	}
}
