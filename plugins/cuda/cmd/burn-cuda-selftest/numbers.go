package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"unsafe"

	"github.com/goburn/burn/plugins/cuda/internal/nv"
)

// alloc allocates device memory, which is freed when the check ends.
func (b *bench) alloc(bytes int) (nv.Ptr, error) {
	p, err := b.d.Alloc(uint64(max(bytes, 1)))
	if err == nil {
		b.owned = append(b.owned, p)
	}
	return p, err
}

// upload copies values to new device memory.
func upload[T any](b *bench, v []T) (nv.Ptr, error) {
	bytes := len(v) * int(unsafe.Sizeof(v[0]))
	p, err := b.alloc(bytes)
	if err != nil {
		return 0, err
	}
	if err := b.d.CopyToDevice(p, unsafe.Pointer(&v[0]), uint64(bytes), b.s); err != nil {
		return 0, err
	}
	return p, b.d.SynchronizeStream(b.s)
}

// download copies n values from the device, after all work of the stream.
func download[T any](b *bench, p nv.Ptr, n int) ([]T, error) {
	v := make([]T, n)
	if err := b.d.CopyToHost(unsafe.Pointer(&v[0]), p, uint64(n)*uint64(unsafe.Sizeof(v[0])), b.s); err != nil {
		return nil, err
	}
	return v, b.d.SynchronizeStream(b.s)
}

// format is an element type, with its conversions on the host.
type format struct {
	name   string
	bytes  int
	lt     nv.DataType
	dnn    nv.DNNType
	encode func(float64) uint32
	decode func(uint32) float64
	eps    float64 // relative error of a rounded value
}

// The encoders accept values that the format represents exactly.
var (
	f32 = format{"f32", 4, nv.F32, nv.DNNF32, func(v float64) uint32 { return math.Float32bits(float32(v)) },
		func(u uint32) float64 { return float64(math.Float32frombits(u)) }, 1e-6}
	f16 = format{"f16", 2, nv.F16, nv.DNNF16, func(v float64) uint32 { return small(v, 10, 15, 15) },
		func(u uint32) float64 { return large(u, 10, 15, 15) }, 1.0 / 1024}
	bf16 = format{"bf16", 2, nv.BF16, nv.DNNBF16, func(v float64) uint32 { return math.Float32bits(float32(v)) >> 16 },
		func(u uint32) float64 { return float64(math.Float32frombits(u << 16)) }, 1.0 / 128}
	e4m3 = format{"e4m3", 1, nv.F8E4M3, nv.DNNF8E4M3, func(v float64) uint32 { return small(v, 3, 7, 7) },
		func(u uint32) float64 { return large(u, 3, 7, 7) }, 1.0 / 8}
	i8 = format{"i8", 1, nv.I8, nv.DNNI8, func(v float64) uint32 { return uint32(uint8(int8(v))) },
		func(u uint32) float64 { return float64(int8(u)) }, 0}
	i32 = format{"i32", 4, nv.I32, nv.DNNI32, func(v float64) uint32 { return uint32(int32(v)) },
		func(u uint32) float64 { return float64(int32(u)) }, 0}
)

// small encodes a normal number or zero with the given bits of mantissa, bias of the exponent, and position of the sign bit.
func small(v float64, mantissa, bias, signShift int) uint32 {
	var sign uint32
	if math.Signbit(v) {
		sign, v = 1<<signShift, -v
	}
	if v == 0 {
		return sign
	}
	frac, exp := math.Frexp(v)
	return sign | uint32(exp-1+bias)<<mantissa | uint32((frac*2-1)*float64(int(1)<<mantissa))
}

// large decodes a finite number with the parameters of small.
func large(u uint32, mantissa, bias, signShift int) float64 {
	sign := 1.0
	if u>>signShift&1 == 1 {
		sign = -1
	}
	u &= 1<<signShift - 1
	exp, frac := int(u>>mantissa), float64(u&(1<<mantissa-1))/float64(int(1)<<mantissa)
	if exp == 0 {
		return sign * math.Ldexp(frac, 1-bias)
	}
	return sign * math.Ldexp(1+frac, exp-bias)
}

// pack returns values encoded in the format.
func (f format) pack(v []float64) []byte {
	out := make([]byte, len(v)*f.bytes)
	for i, x := range v {
		u := f.encode(x)
		for j := range f.bytes {
			out[i*f.bytes+j] = byte(u >> (8 * j))
		}
	}
	return out
}

// unpack returns the values that b encodes in the format.
func (f format) unpack(b []byte) []float64 {
	out := make([]float64, len(b)/f.bytes)
	for i := range out {
		var u uint32
		for j := range f.bytes {
			u |= uint32(b[i*f.bytes+j]) << (8 * j)
		}
		out[i] = f.decode(u)
	}
	return out
}

// quarters returns n values from -2 to 2 in steps of a quarter, which every float format of the checks represents exactly. For integer
// formats it returns whole numbers.
func quarters(r *rand.Rand, n int, f format) []float64 {
	v := make([]float64, n)
	for i := range v {
		if f.eps == 0 {
			v[i] = float64(r.IntN(17) - 8)
		} else {
			v[i] = float64(r.IntN(17)-8) / 4
		}
	}
	return v
}

// normal returns n values of a normal distribution, rounded to f32.
func normal(r *rand.Rand, n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = float64(float32(r.NormFloat64()))
	}
	return v
}

// apart returns the largest difference of got and want, relative to the largest magnitude of want, and its index.
func apart(got, want []float64) (worst float64, at int) {
	top := 1e-30
	for _, w := range want {
		top = max(top, math.Abs(w))
	}
	for i := range want {
		diff := math.Abs(got[i]-want[i]) / top
		if diff > worst || math.IsNaN(diff) {
			worst, at = diff, i
			if math.IsNaN(diff) {
				return math.Inf(1), i
			}
		}
	}
	return worst, at
}

// near compares got with want. It returns the error (see apart) as text, and fails if the error exceeds tolerance.
func near(got, want []float64, tolerance float64) (string, error) {
	if len(got) != len(want) {
		return "", fmt.Errorf("%d values, want %d", len(got), len(want))
	}
	worst, at := apart(got, want)
	if worst > tolerance {
		return "", fmt.Errorf("value %d: got %v, want %v (error %.3g, allowed %.3g)", at, got[at], want[at], worst, tolerance)
	}
	return fmt.Sprintf("error %.2g of %.2g", worst, tolerance), nil
}

// product returns the product of a [m, k] and b [k, n] in float64, all row-major. transA and transB say that an operand is stored transposed.
func product(a, b []float64, m, n, k int, transA, transB bool) []float64 {
	c := make([]float64, m*n)
	for i := range m {
		for j := range n {
			s := 0.0
			for x := range k {
				ai, bi := i*k+x, x*n+j
				if transA {
					ai = x*m + i
				}
				if transB {
					bi = j*k + x
				}
				s += a[ai] * b[bi]
			}
			c[i*n+j] = s
		}
	}
	return c
}

// timed returns the mean time in milliseconds of n runs of f on the stream, after one run that is not counted.
func (b *bench) timed(n int, f func() error) (float64, error) {
	if err := f(); err != nil {
		return 0, err
	}
	start, err := b.d.NewEvent(true, false)
	if err != nil {
		return 0, err
	}
	end, err := b.d.NewEvent(true, false)
	if err != nil {
		return 0, err
	}
	if err := b.d.Record(start, b.s); err != nil {
		return 0, err
	}
	for range n {
		if err := f(); err != nil {
			return 0, err
		}
	}
	if err := b.d.Record(end, b.s); err != nil {
		return 0, err
	}
	if err := b.d.SynchronizeEvent(end); err != nil {
		return 0, err
	}
	ms, err := b.d.Elapsed(start, end)
	if err != nil {
		return 0, err
	}
	if err := b.d.DestroyEvent(start); err != nil {
		return 0, err
	}
	return float64(ms) / float64(n), b.d.DestroyEvent(end)
}
