package vector

import "unsafe"

// Functions of this file that return one int process complete vectors only, and return the number of elements processed. The caller
// processes the remaining elements, fewer than a vector has. They return 0 if there are no loops for this processor. d and x have the same
// length.

// wholeVectors returns n rounded down to a multiple of a vector.
func wholeVectors(n int) int {
	if active == nil {
		return 0
	}
	return n &^ (active.lanes - 1)
}

func whole[D, X any](f func(n int, d *D, x *X), d []D, x []X) int {
	n := wholeVectors(len(d))
	if n > 0 {
		f(n, &d[0], &x[:n][0])
	}
	return n
}

// storageFuncs contains the loops for one instruction set.
type storageFuncs struct {
	fromF16, fromBF16    func(n int, d *float32, x *uint16)
	toF16, toBF16        func(n int, d *uint16, x *float32)
	toF16NonTemporal     func(n int, d *uint16, x *float32)
	toI32                func(n int, d *int32, x *float32)
	fromI32              func(n int, d *float32, x *int32)
	fromU8               func(n int, d *float32, x *uint8)
	fromI8               func(n int, d *float32, x *int8)
	pow                  func(n int, d, x *float32, y float64)
	stream               func(n int, d, x *float32)
	streamAhead          func(n int, d, x, next, other *float32)
	copyAhead            func(n int, d, x, next *float32)
	fence                func()
	choose               func(n int, d *float32, cond *uint8, a, b *float32)
	chooseNonTemporal    func(n int, d *float32, cond *uint8, a, b *float32)
	quantize             func(n int, d *uint8, x *float32, scale, zero, lo, hi float32)
	dequantizeU8         func(n int, d *float32, x *uint8, scale float32, zero int32)
	dequantizeI8         func(n int, d *float32, x *int8, scale float32, zero int32)
	transposeNonTemporal func(lines, depth int, src *float32, line int, dst *float32, width int)
	transpose            func(lines, depth int, src *float32, line int, dst *float32, width int)
	square               func(depth int, src *float32, line int, dst *float32, width int)
}

// FromF16 widens binary16 numbers.
func FromF16(d []float32, x []uint16) int {
	if active == nil {
		return 0
	}
	return whole(active.fromF16, d, x)
}

// FromBF16 widens bfloat16 numbers.
func FromBF16(d []float32, x []uint16) int {
	if active == nil {
		return 0
	}
	return whole(active.fromBF16, d, x)
}

// ToF16 rounds to binary16, to nearest, ties to even.
func ToF16(d []uint16, x []float32) int {
	if active == nil {
		return 0
	}
	return whole(active.toF16, d, x)
}

// ToF16NonTemporal is like ToF16, with non-temporal stores. It begins at the first vector of d that is aligned, and returns the bounds of
// the elements that it has converted. Call Fence before another thread reads d.
func ToF16NonTemporal(d []uint16, x []float32) (from, to int) {
	if active == nil || len(d) < 4*active.lanes {
		return 0, 0
	}
	size := uintptr(4 * active.lanes)
	from = int(-uintptr(unsafe.Pointer(&d[0]))&(size-1)) / 2
	n := (len(d) - from) &^ (2*active.lanes - 1)
	if n > 0 {
		active.toF16NonTemporal(n, &d[from], &x[:from+n][from])
	}
	return from, from + n
}

// ToBF16 rounds to bfloat16, to nearest, ties to even.
func ToBF16(d []uint16, x []float32) int {
	if active == nil {
		return 0
	}
	return whole(active.toBF16, d, x)
}

// ToI32 truncates toward zero. Numbers out of range become the nearest bound, and NaN becomes 0.
func ToI32(d []int32, x []float32) int {
	if active == nil {
		return 0
	}
	return whole(active.toI32, d, x)
}

// FromI32 converts integers to float32, rounded to nearest, ties to even.
func FromI32(d []float32, x []int32) int {
	if active == nil {
		return 0
	}
	return whole(active.fromI32, d, x)
}

// FromU8 converts bytes.
func FromU8(d []float32, x []uint8) int {
	if active == nil {
		return 0
	}
	return whole(active.fromU8, d, x)
}

// FromI8 converts signed bytes.
func FromI8(d []float32, x []int8) int {
	if active == nil {
		return 0
	}
	return whole(active.fromI8, d, x)
}

// Choose sets d[i] to a[i] if cond[i] is not zero, else to b[i]. It copies bits.
func Choose(d []float32, cond []uint8, a, b []float32) int {
	n := wholeVectors(len(d))
	if n > 0 {
		active.choose(n, &d[0], &cond[:n][0], &a[:n][0], &b[:n][0])
	}
	return n
}

// ChooseNonTemporal is like Choose, with non-temporal stores if d is aligned to a vector. Call Fence before another thread reads d.
func ChooseNonTemporal(d []float32, cond []uint8, a, b []float32) int {
	n := wholeVectors(len(d))
	if n == 0 || Ahead(d) != 0 {
		return Choose(d, cond, a, b)
	}
	active.chooseNonTemporal(n, &d[0], &cond[:n][0], &a[:n][0], &b[:n][0])
	return n
}

// Quantize divides x by scale and rounds to the nearest integer, ties to even. NaN becomes 0. It adds the zero point (zero), clamps the sum
// to the integers lo and hi, and stores the low 8 bits.
func Quantize(d []uint8, x []float32, scale, zero, lo, hi float32) int {
	n := wholeVectors(len(d))
	if n > 0 {
		active.quantize(n, &d[0], &x[:n][0], scale, zero, lo, hi)
	}
	return n
}

// DequantizeU8 sets d[i] to (x[i]-zero)·scale.
func DequantizeU8(d []float32, x []uint8, scale float32, zero int32) int {
	n := wholeVectors(len(d))
	if n > 0 {
		active.dequantizeU8(n, &d[0], &x[:n][0], scale, zero)
	}
	return n
}

// DequantizeI8 is like DequantizeU8, for signed bytes.
func DequantizeI8(d []float32, x []int8, scale float32, zero int32) int {
	n := wholeVectors(len(d))
	if n > 0 {
		active.dequantizeI8(n, &d[0], &x[:n][0], scale, zero)
	}
	return n
}

// Stream copies x to d with non-temporal stores, for results larger than the caches. If there are no loops for this processor, it
// uses ordinary stores. Call Fence before another thread reads d.
func Stream(d, x []byte) {
	d = d[:len(x)]
	size := 0
	if active != nil {
		size = 4 * active.lanes
	}
	if size == 0 || len(x) < 4*size {
		copy(d, x)
		return
	}
	head := -int(uintptr(unsafe.Pointer(&d[0]))) & (size - 1)
	copy(d[:head], x)
	d, x = d[head:], x[head:]
	n := len(d) &^ (size - 1)
	active.stream(n/4, (*float32)(unsafe.Pointer(&d[0])), (*float32)(unsafe.Pointer(&x[0])))
	copy(d[n:], x[n:])
}

// StreamAhead is like Stream, and prefetches len(d) bytes at next and at other, which need not be valid addresses. The length of d and x is
// a multiple of a vector, and d is aligned to a vector.
func StreamAhead(d, x []byte, next, other unsafe.Pointer) {
	d = d[:len(x)]
	if n := len(x) / 4; n > 0 {
		active.streamAhead(n, (*float32)(unsafe.Pointer(&d[0])), (*float32)(unsafe.Pointer(&x[0])), (*float32)(next), (*float32)(other))
	}
}

// CopyAhead copies x to d and prefetches the same number of bytes at next, which need not be a valid address.
func CopyAhead(d, x []byte, next unsafe.Pointer) {
	d = d[:len(x)]
	n := 0
	if active != nil {
		n = len(x) &^ (4*active.lanes - 1)
	}
	if n > 0 {
		active.copyAhead(n/4, (*float32)(unsafe.Pointer(&d[0])), (*float32)(unsafe.Pointer(&x[0])), (*float32)(next))
	}
	copy(d[n:], x[n:])
}

// Fence makes the non-temporal stores of this thread visible to other threads.
func Fence() {
	if active != nil {
		active.fence()
	}
}

// CanStream reports whether d is valid for StreamAhead.
func CanStream(d []byte) bool {
	return active != nil && len(d) > 0 && (uintptr(unsafe.Pointer(&d[0]))|uintptr(len(d)))&uintptr(4*active.lanes-1) == 0
}

// Pow sets d[i] to x[i] to the power y, within a unit in the last place. The elements of x must be finite and positive; if y is greater
// than 1/5, they may be zero.
func Pow(d, x []float32, y float64) int {
	n := wholeVectors(len(d))
	if n > 0 {
		active.pow(n, &d[0], &x[:n][0], y)
	}
	return n
}
