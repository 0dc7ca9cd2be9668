package elementwise

import (
	"math"
	"unsafe"

	"github.com/goburn/burn/core/op"
)

type float interface{ float32 | float64 }

type integer interface {
	int64 | int32 | int16 | int8 | uint64 | uint32 | uint16 | uint8
}

type number interface{ float | integer }

func add[T number]() *pair[T, T] {
	vs := func(d, a []T, b T) {
		a = a[:len(d)]
		for i := range d {
			d[i] = a[i] + b
		}
	}
	return &pair[T, T]{func(d, a, b []T) {
		a, b = a[:len(d)], b[:len(d)]
		for i := range d {
			d[i] = a[i] + b[i]
		}
	}, vs, func(d []T, a T, b []T) { vs(d, b, a) }}
}

func mul[T number]() *pair[T, T] {
	vs := func(d, a []T, b T) {
		a = a[:len(d)]
		for i := range d {
			d[i] = a[i] * b
		}
	}
	return &pair[T, T]{func(d, a, b []T) {
		a, b = a[:len(d)], b[:len(d)]
		for i := range d {
			d[i] = a[i] * b[i]
		}
	}, vs, func(d []T, a T, b []T) { vs(d, b, a) }}
}

func sub[T number]() *pair[T, T] {
	return &pair[T, T]{func(d, a, b []T) {
		a, b = a[:len(d)], b[:len(d)]
		for i := range d {
			d[i] = a[i] - b[i]
		}
	}, func(d, a []T, b T) {
		a = a[:len(d)]
		for i := range d {
			d[i] = a[i] - b
		}
	}, func(d []T, a T, b []T) {
		b = b[:len(d)]
		for i := range d {
			d[i] = a - b[i]
		}
	}}
}

func divFloat[T float]() *pair[T, T] {
	return &pair[T, T]{func(d, a, b []T) {
		a, b = a[:len(d)], b[:len(d)]
		for i := range d {
			d[i] = a[i] / b[i]
		}
	}, func(d, a []T, b T) {
		a = a[:len(d)]
		for i := range d {
			d[i] = a[i] / b
		}
	}, func(d []T, a T, b []T) {
		b = b[:len(d)]
		for i := range d {
			d[i] = a / b[i]
		}
	}}
}

// maximum returns the loops of the op max. The builtins max and min propagate NaN and order -0 before +0, as the op table requires.
func maximum[T number]() *pair[T, T] {
	vs := func(d, a []T, b T) {
		a = a[:len(d)]
		for i := range d {
			d[i] = max(a[i], b)
		}
	}
	return &pair[T, T]{func(d, a, b []T) {
		a, b = a[:len(d)], b[:len(d)]
		for i := range d {
			d[i] = max(a[i], b[i])
		}
	}, vs, func(d []T, a T, b []T) { vs(d, b, a) }}
}

func minimum[T number]() *pair[T, T] {
	vs := func(d, a []T, b T) {
		a = a[:len(d)]
		for i := range d {
			d[i] = min(a[i], b)
		}
	}
	return &pair[T, T]{func(d, a, b []T) {
		a, b = a[:len(d)], b[:len(d)]
		for i := range d {
			d[i] = min(a[i], b[i])
		}
	}, vs, func(d []T, a T, b []T) { vs(d, b, a) }}
}

// common returns the loops of the ops that all types of numbers share.
func common[T number](c op.Code) *pair[T, T] {
	switch c {
	case op.Add:
		return add[T]()
	case op.Sub:
		return sub[T]()
	case op.Mul:
		return mul[T]()
	case op.Max:
		return maximum[T]()
	case op.Min:
		return minimum[T]()
	}
	return nil
}

func floatPair[T float](c op.Code) *pair[T, T] {
	if p, ok := any(native32(c)).(*pair[T, T]); ok && p != nil {
		return p
	}
	switch c {
	case op.Div:
		return divFloat[T]()
	case op.Rem:
		return &pair[T, T]{vv: func(d, a, b []T) {
			for i := range d {
				d[i] = T(math.Mod(float64(a[i]), float64(b[i])))
			}
		}}
	case op.FloorMod:
		return &pair[T, T]{vv: func(d, a, b []T) {
			for i := range d {
				r := T(math.Mod(float64(a[i]), float64(b[i])))
				if (r < 0) != (b[i] < 0) && r != 0 {
					r += b[i]
				}
				d[i] = r
			}
		}}
	case op.Pow:
		return &pair[T, T]{vv: func(d, a, b []T) {
			for i := range d {
				d[i] = T(math.Pow(float64(a[i]), float64(b[i])))
			}
		}, vs: powBy[T]}
	case op.Atan2:
		return &pair[T, T]{vv: func(d, a, b []T) {
			for i := range d {
				d[i] = T(math.Atan2(float64(a[i]), float64(b[i])))
			}
		}}
	}
	return common[T](c)
}

// powBy raises elements to a common exponent. Squares have a path of their own.
func powBy[T float](d, a []T, b T) {
	a = a[:len(d)]
	if b == 2 {
		for i := range d {
			d[i] = a[i] * a[i]
		}
		return
	}
	if x, ok := any(a).([]float32); ok {
		powers(any(d).([]float32), x, float64(b))
		return
	}
	for i := range d {
		d[i] = T(math.Pow(float64(a[i]), float64(b)))
	}
}

func intPair[T integer](c op.Code) *pair[T, T] {
	switch c {
	case op.Div:
		return &pair[T, T]{vv: func(d, a, b []T) {
			for i := range d {
				if b[i] == 0 {
					d[i] = ^T(0)
				} else {
					d[i] = a[i] / b[i]
				}
			}
		}}
	case op.Rem:
		return &pair[T, T]{vv: func(d, a, b []T) {
			for i := range d {
				if r := a[i]; b[i] != 0 {
					d[i] = r % b[i]
				} else {
					d[i] = r
				}
			}
		}}
	case op.FloorMod:
		return &pair[T, T]{vv: func(d, a, b []T) {
			for i := range d {
				r, m := a[i], b[i]
				if m != 0 {
					r %= m
				}
				if (r < 0) != (m < 0) && r != 0 {
					r += m
				}
				d[i] = r
			}
		}}
	case op.Pow:
		return &pair[T, T]{vv: func(d, a, b []T) {
			for i := range d {
				d[i] = intPow(a[i], b[i])
			}
		}}
	case op.And:
		return &pair[T, T]{vv: func(d, a, b []T) {
			for i := range d {
				d[i] = a[i] & b[i]
			}
		}}
	case op.Or:
		return &pair[T, T]{vv: func(d, a, b []T) {
			for i := range d {
				d[i] = a[i] | b[i]
			}
		}}
	case op.Xor:
		return &pair[T, T]{vv: func(d, a, b []T) {
			for i := range d {
				d[i] = a[i] ^ b[i]
			}
		}}
	case op.Shl:
		mask := width[T]()
		return &pair[T, T]{vv: func(d, a, b []T) {
			for i := range d {
				d[i] = a[i] << (uint64(b[i]) & mask)
			}
		}}
	case op.Shr:
		mask := width[T]()
		return &pair[T, T]{vv: func(d, a, b []T) {
			for i := range d {
				d[i] = a[i] >> (uint64(b[i]) & mask)
			}
		}}
	}
	return common[T](c)
}

// width returns the mask of a shift count, which is read as unsigned.
func width[T integer]() uint64 {
	var z T
	return ^uint64(0) >> (64 - 8*unsafe.Sizeof(z))
}

func intPow[T integer](a, b T) T {
	if b < 0 {
		switch {
		case a == 1:
			return 1
		case a == ^T(0): // -1: T is signed here
			if b&1 != 0 {
				return a
			}
			return 1
		}
		return 0
	}
	y := T(1)
	for ; b != 0; b >>= 1 {
		if b&1 != 0 {
			y *= a
		}
		a *= a
	}
	return y
}
