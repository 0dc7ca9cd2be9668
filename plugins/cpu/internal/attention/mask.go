package attention

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
	"github.com/goburn/burn/plugins/cpu/internal/vector"
)

// mask is the boolean mask of visible keys, or the bias that is added to scores. Its view has one element for each score.
type mask struct {
	kernel.Array
}

func newMask(a kernel.Array, l *layer) *mask {
	a.View = a.View.Expand(shape.Of(l.batch, l.heads, l.queries, l.keys))
	return &mask{a}
}

// apply applies the mask to the scores x of one query and the keys from j on. low contains -Inf only, and is at least as long as x.
func apply[T float](m *mask, x, low []T, b, head, query, j int) {
	s := m.View.Strides
	at, step := m.View.Offset+b*s[0]+head*s[1]+query*s[2]+j*s[3], s[3]
	switch m.DType {
	case dtype.Bool:
		hide(x, low, kernel.Data[uint8](m.Array), at, step)
	case dtype.F64:
		bias(x, kernel.Data[float64](m.Array), at, step)
	default:
		bias(x, kernel.Data[float32](m.Array), at, step)
	}
}

// hide sets x[i] to -Inf where m[at+i*step] is zero.
func hide[T float](x, low []T, m []uint8, at, step int) {
	if y, ok := float32s(x); ok && step == 1 {
		low := any(low).([]float32)
		for len(y) > 0 {
			n := min(len(y), len(low))
			n = vector.Choose(y[:n], m[at:][:n], y[:n], low[:n])
			if n == 0 {
				break
			}
			y, x, at = y[n:], x[n:], at+n
		}
	}
	for i := range x {
		if m[at+i*step] == 0 {
			x[i] = T(math.Inf(-1))
		}
	}
}

// bias adds m[at+i*step] to x[i].
func bias[T float, M float32 | float64](x []T, m []M, at, step int) {
	if y, ok := float32s(x); ok && step == 1 {
		if m, ok := any(m).([]float32); ok {
			vector.Add().Both(y, y, m[at:][:len(y)])
			return
		}
	}
	for i := range x {
		x[i] += T(m[at+i*step])
	}
}
