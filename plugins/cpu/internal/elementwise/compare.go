package elementwise

import "github.com/goburn/burn/core/op"

// comparison returns the loops of a comparison. Greater and greater-or-equal are less and less-or-equal with the operands
// exchanged, which is correct for NaN too.
func comparison[T number](c op.Code) *pair[T, uint8] {
	switch c {
	case op.Equal:
		vs := func(d []uint8, a []T, b T) {
			a = a[:len(d)]
			for i := range d {
				d[i] = truth(a[i] == b)
			}
		}
		return &pair[T, uint8]{func(d []uint8, a, b []T) {
			a, b = a[:len(d)], b[:len(d)]
			for i := range d {
				d[i] = truth(a[i] == b[i])
			}
		}, vs, func(d []uint8, a T, b []T) { vs(d, b, a) }}
	case op.NotEqual:
		vs := func(d []uint8, a []T, b T) {
			a = a[:len(d)]
			for i := range d {
				d[i] = truth(a[i] != b)
			}
		}
		return &pair[T, uint8]{func(d []uint8, a, b []T) {
			a, b = a[:len(d)], b[:len(d)]
			for i := range d {
				d[i] = truth(a[i] != b[i])
			}
		}, vs, func(d []uint8, a T, b []T) { vs(d, b, a) }}
	case op.Less:
		return &pair[T, uint8]{less[T], lessThan[T], func(d []uint8, a T, b []T) { greaterThan(d, b, a) }}
	case op.Greater:
		return &pair[T, uint8]{func(d []uint8, a, b []T) { less(d, b, a) }, greaterThan[T],
			func(d []uint8, a T, b []T) { lessThan(d, b, a) }}
	case op.LessEqual:
		return &pair[T, uint8]{lessEqual[T], atMost[T], func(d []uint8, a T, b []T) { atLeast(d, b, a) }}
	case op.GreaterEqual:
		return &pair[T, uint8]{func(d []uint8, a, b []T) { lessEqual(d, b, a) }, atLeast[T],
			func(d []uint8, a T, b []T) { atMost(d, b, a) }}
	}
	return nil
}

func truth(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

func less[T number](d []uint8, a, b []T) {
	a, b = a[:len(d)], b[:len(d)]
	for i := range d {
		d[i] = truth(a[i] < b[i])
	}
}

func lessEqual[T number](d []uint8, a, b []T) {
	a, b = a[:len(d)], b[:len(d)]
	for i := range d {
		d[i] = truth(a[i] <= b[i])
	}
}

func lessThan[T number](d []uint8, a []T, b T) {
	a = a[:len(d)]
	for i := range d {
		d[i] = truth(a[i] < b)
	}
}

func greaterThan[T number](d []uint8, a []T, b T) {
	a = a[:len(d)]
	for i := range d {
		d[i] = truth(a[i] > b)
	}
}

func atMost[T number](d []uint8, a []T, b T) {
	a = a[:len(d)]
	for i := range d {
		d[i] = truth(a[i] <= b)
	}
}

func atLeast[T number](d []uint8, a []T, b T) {
	a = a[:len(d)]
	for i := range d {
		d[i] = truth(a[i] >= b)
	}
}
