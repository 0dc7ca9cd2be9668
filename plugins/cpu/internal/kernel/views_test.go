package kernel

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/cpu/internal/mem"
	"github.com/goburn/burn/plugins/cpu/internal/par"
)

func newEnv(t *testing.T, threads int) (*Env, *mem.Pool) {
	pool := par.New(threads)
	t.Cleanup(pool.Close)
	memory := mem.NewGuardedPool(1<<28, 1<<26, 64)
	return &Env{Pool: pool, Account: memory.NewAccount()}, memory
}

// randomView returns a view over dims into a buffer of size elements: in any order, with gaps, backwards, and, if repeats is
// set, with elements that several indices share.
func randomView(r *rand.Rand, dims shape.Shape, repeats bool) (v shape.View, size int) {
	v = shape.View{Shape: dims, Strides: make([]int, len(dims))}
	size = 1
	for _, d := range r.Perm(len(dims)) {
		if repeats && r.IntN(4) == 0 {
			continue // stride zero
		}
		gap := 1
		if r.IntN(4) == 0 {
			gap = 1 + r.IntN(3)
		}
		v.Strides[d] = size * gap
		size *= gap * max(1, dims[d])
		if r.IntN(4) == 0 && dims[d] > 0 {
			v.Offset += (dims[d] - 1) * v.Strides[d]
			v.Strides[d] = -v.Strides[d]
		}
	}
	return v, size
}

// place returns the position in the buffer of element number i in row-major order.
func place(v shape.View, i int) int {
	at := v.Offset
	for d := len(v.Shape) - 1; d >= 0; d-- {
		at += i % v.Shape[d] * v.Strides[d]
		i /= v.Shape[d]
	}
	return at
}

// Copies between random views, of all element sizes, from empty views to views that several threads copy, are compared element by element.
func TestCopyViews(t *testing.T) {
	env, memory := newEnv(t, 3)
	types := []dtype.DType{dtype.U8, dtype.F16, dtype.F32, dtype.F64}
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 70))
		d := types[r.IntN(len(types))]
		dims := make(shape.Shape, r.IntN(5))
		for i := range dims {
			dims[i] = []int{0, 1, 2, 3, 5, 8, 17, 33}[1+r.IntN(7)]
			if r.IntN(40) == 0 {
				dims[i] = 0
			}
		}
		if dims.Size() > 1<<15 {
			dims = dims[1:]
		}
		if seed%100 == 0 {
			dims = shape.Of(70, 11, 400+r.IntN(30)) // several threads
		}
		to, toSize := randomView(r, dims, false)
		from, fromSize := randomView(r, dims, true)
		dst, src := newArray(t, env, d, to, toSize), newArray(t, env, d, from, fromSize)
		for i := range src.Buf.Bytes() {
			src.Buf.Bytes()[i] = byte(r.Uint32())
		}
		for i := range dst.Buf.Bytes() {
			dst.Buf.Bytes()[i] = 0xee
		}
		want := slices.Clone(dst.Buf.Bytes())
		size := d.Size()
		for i := range dims.Size() {
			copy(want[place(to, i)*size:][:size], src.Buf.Bytes()[place(from, i)*size:])
		}
		Copy(env.Pool, dst, src)
		require.True(t, slices.Equal(want, dst.Buf.Bytes()), "seed %d: %v %v from %v", seed, d, to, from)

		read := make([]byte, dims.Size()*size)
		Read(env.Pool, read, src)
		for i := range dims.Size() {
			require.True(t, bytes.Equal(src.Buf.Bytes()[place(from, i)*size:][:size], read[i*size:][:size]), "seed %d: read", seed)
		}
		dst.Buf.Release()
		src.Buf.Release()
		require.NoError(t, memory.CheckGuards(), "seed %d", seed)
	}
	require.Zero(t, env.Account.InUse())
}

func newArray(t *testing.T, env *Env, d dtype.DType, v shape.View, size int) Array {
	b, err := env.Account.New(size * d.Size())
	require.NoError(t, err)
	return Array{Buf: b, DType: d, View: v}
}

func TestWalk(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 71))
		dims := make(shape.Shape, r.IntN(4))
		for i := range dims {
			dims[i] = 1 + r.IntN(4)
		}
		a, _ := randomView(r, dims, true)
		b, _ := randomView(r, dims, false)
		w := NewWalk(dims, []int{a.Offset, b.Offset}, a.Strides, b.Strides)
		require.Equal(t, dims.Size(), w.Count())
		first := r.IntN(dims.Size())
		c := w.Start(first)
		for i := range 2 * dims.Size() { // after the last tuple comes the first
			at := (first + i) % dims.Size()
			require.Equal(t, place(a, at), c.Pos[0], "%v, tuple %d", dims, at)
			require.Equal(t, place(b, at), c.Pos[1], "%v, tuple %d", dims, at)
			c.Next()
		}
	}
}

// Lines along any axes contain the elements in the order of those axes, and results are written back to their positions.
func TestLines(t *testing.T) {
	env, memory := newEnv(t, 2)
	dims := shape.Of(3, 4, 2, 5)
	strides := []int{40, 10, 5, 1}
	for subset := range 1 << len(dims) {
		var axes, others []int
		for d := range dims {
			if subset>>d&1 != 0 {
				axes = append(axes, d)
			} else {
				others = append(others, d)
			}
		}
		l := LinesOf(dims, axes...)
		require.Equal(t, dims.Size(), l.Count*l.N)
		desc := op.Desc{DType: dtype.I32, Shape: dims}
		x := newArray(t, env, dtype.I32, shape.Contiguous(dims), dims.Size())
		for i := range Flat[int32](x) {
			Flat[int32](x)[i] = int32(i)
		}
		var c Call
		c.Begin(env, []Array{x}, 0, []op.Desc{desc}, make([]Array, 1))
		in := Input[int32](&c, l, x)
		out, done := Output[int32](&c, l, 0, -1)
		order := slices.Concat(others, axes)
		for i, v := range in {
			rest, from := i, 0
			for k := len(order) - 1; k >= 0; k-- {
				d := order[k]
				from += rest % dims[d] * strides[d]
				rest /= dims[d]
			}
			require.Equal(t, int32(from), v, "axes %v, element %d", axes, i)
			out[i] = -v
		}
		done()
		for i, v := range Flat[int32](c.Out[0]) {
			require.Equal(t, int32(-i), v, "axes %v", axes)
		}
		c.Out[0].Buf.Release()
		c.End(false)
		x.Buf.Release()
		require.NoError(t, memory.CheckGuards())
	}
	require.Zero(t, env.Account.InUse())
}

// If memory cannot be allocated, the kernel ends with that error, and the memory that it has allocated is released.
func TestNoMemory(t *testing.T) {
	env := &Env{Pool: par.New(1), Account: mem.NewPool(1<<16, 1<<14).NewAccount()}
	defer env.Pool.Close()
	var c Call
	c.Begin(env, nil, 0, []op.Desc{{DType: dtype.F32, Shape: shape.Of(1 << 10)}}, make([]Array, 1))
	c.Alloc(0)
	TempOf[byte](&c, 1<<10)
	func() {
		defer func() {
			failure, ok := recover().(NoMemory)
			require.True(t, ok)
			require.Error(t, failure.Unwrap())
			require.Equal(t, failure.Unwrap().Error(), failure.Error())
		}()
		TempOf[float64](&c, 1<<20)
	}()
	c.End(true)
	require.Zero(t, env.Account.InUse())
}

// nearest returns the 16-bit float of type d nearest to an integer, ties to even, by exact arithmetic.
func nearest(d dtype.DType, v *big.Int) uint16 {
	value := func(h uint16) float64 {
		var b [2]byte
		binary.LittleEndian.PutUint16(b[:], h)
		return dtype.FloatAt(d, b[:], 0)
	}
	top := uint16(0x7c00) // infinity
	if d == dtype.BF16 {
		top = 0x7f80
	}
	abs := new(big.Float).SetPrec(200).SetInt(new(big.Int).Abs(v))
	distance := func(h uint16) *big.Float {
		x := new(big.Float).SetPrec(200)
		if h == top { // where the next finite float would be
			x.SetFloat64(2*value(top-1) - value(top-2))
		} else {
			x.SetFloat64(value(h))
		}
		return x.Abs(x.Sub(x, abs))
	}
	best := uint16(0)
	lo, hi := uint16(0), top
	for lo < hi { // find the first float that is not below abs
		if mid := (lo + hi) / 2; mid != top && new(big.Float).SetFloat64(value(mid)).Cmp(abs) < 0 {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	best = lo
	if lo > 0 {
		switch distance(lo - 1).Cmp(distance(lo)) {
		case -1:
			best = lo - 1
		case 0:
			best = lo &^ 1
			if lo&1 != 0 {
				best = lo - 1
			}
		}
	}
	if v.Sign() < 0 {
		best |= 0x8000
	}
	return best
}

// An integer attribute is converted to the nearest 16-bit float, without rounding to float64 first.
func TestScalarOfIntegers(t *testing.T) {
	values := []int64{0, 1, -1, 2047, 2049, 2051, 4097, 4098, 4099, 65503, 65504, 65519, 65520, -65520, 257, 258, 259, 1<<53 + 1, math.MaxInt64, math.MinInt64,
		1<<54 + 1<<46, 1<<54 + 1<<46 + 1, 1<<54 + 1<<46 - 1, 1<<62 + 1<<54 + 1, -(1<<62 + 1<<54 + 1), 3<<60 + 1<<53 - 1}
	r := rand.New(rand.NewPCG(72, 1))
	for range 400 {
		v := int64(r.Uint64()) >> r.IntN(64)
		values = append(values, v, v&^(1<<r.IntN(62)-1)+int64(r.IntN(3))-1)
	}
	for _, v := range values {
		exact := big.NewInt(v)
		for _, d := range []dtype.DType{dtype.F16, dtype.BF16} {
			got := uint16(Scalar(d, op.ScalarInt("v", v).Value))
			require.Equal(t, nearest(d, exact), got, "%v of %d", d, v)
			require.Equal(t, nearest(d, exact), round16(d, StickyInt(v)), "sticky %v of %d", d, v)
		}
		unsigned := new(big.Int).SetUint64(uint64(v))
		require.Equal(t, nearest(dtype.BF16, unsigned), round16(dtype.BF16, StickyUint(uint64(v))), "%d", uint64(v))
		f, _ := new(big.Float).SetInt(exact).Float32()
		require.Equal(t, uint64(math.Float32bits(f)), Scalar(dtype.F32, op.ScalarInt("v", v).Value), "%d", v)
	}
}

func round16(d dtype.DType, v float64) uint16 {
	if d == dtype.BF16 {
		return uint16(dtype.BFloat16From64(v))
	}
	return uint16(dtype.Float16From64(v))
}

// Floats are converted to integers as by cast: towards zero, within the range of the type, NaN as zero (docs/OPS.md).
func TestScalarOfFloats(t *testing.T) {
	for _, d := range []dtype.DType{dtype.I8, dtype.I16, dtype.I32, dtype.I64, dtype.U8, dtype.U16, dtype.U32, dtype.U64} {
		lo, hi := new(big.Int), new(big.Int).Lsh(big.NewInt(1), uint(8*d.Size()))
		if d.Class() != dtype.Unsigned {
			hi.Rsh(hi, 1)
			lo.Neg(hi)
		}
		hi.Sub(hi, big.NewInt(1))
		edge, _ := new(big.Float).SetInt(hi).Float64()
		for _, v := range []float64{0, math.Copysign(0, -1), 0.99, -0.99, 1.5, -1.5, 126.99, 127, 127.01, 128, -128, -128.9, -129, 255, 256, 65535.5, edge, edge + 1, -edge, -edge - 1,
			math.Nextafter(edge, 0), math.Nextafter(-edge, 0), 1e300, -1e300, math.Inf(1), math.Inf(-1), math.NaN(), 5e-324} {
			want := new(big.Int)
			switch {
			case v != v:
			case math.IsInf(v, 1):
				want = hi
			case math.IsInf(v, -1):
				want = lo
			default:
				want, _ = new(big.Float).SetFloat64(v).Int(nil)
				if want.Cmp(hi) > 0 {
					want = hi
				}
				if want.Cmp(lo) < 0 {
					want = lo
				}
			}
			mask := ^uint64(0) >> (64 - 8*d.Size())
			bits := want.Uint64()
			if want.Sign() < 0 {
				bits = uint64(want.Int64())
			}
			require.Equal(t, bits&mask, Scalar(d, op.ScalarFloat("v", v).Value), fmt.Sprintf("%v of %v", d, v))
		}
	}
}
