package elementwise

import (
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/cpu/internal/vector"
)

// native32 is the binary ops of float32 that are in assembly on this processor, nil for the others.
func native32(c op.Code) *pair[float32, float32] {
	if !vector.Has() {
		return nil
	}
	var p vector.Pair
	switch c {
	case op.Add:
		p = vector.Add()
	case op.Sub:
		p = vector.Sub()
	case op.Mul:
		p = vector.Mul()
	case op.Div:
		p = vector.Div()
	case op.Max:
		p = vector.Max()
	case op.Min:
		p = vector.Min()
	default:
		return nil
	}
	return &pair[float32, float32]{p.Both, p.To, p.From}
}

// nativeClamp is clampLoop in assembly, nil where there is none.
func nativeClamp[T number](lo, hi T) func(d, x []T) {
	least, ok := any(lo).(float32)
	if !ok || !vector.Has() {
		return nil
	}
	most := any(hi).(float32)
	f := func(d, x []float32) { vector.Clamp(d[:len(x)], x, least, most) }
	return any(f).(func(d, x []T))
}

// nativeRelu is relu in assembly, nil where there is none.
func nativeRelu[T number]() func(d, x []T) {
	if !vector.Has() {
		return nil
	}
	greater := vector.Max().To
	f, _ := any(func(d, x []float32) { greater(d[:len(x)], x, 0) }).(func(d, x []T))
	return f
}
