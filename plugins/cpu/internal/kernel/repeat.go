package kernel

import (
	"unsafe"

	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/cpu/internal/par"
	"github.com/goburn/burn/plugins/cpu/internal/vector"
)

// shortRun is the greatest length of a run of equal elements that copyRepeated copies. Longer runs are written one by one.
const shortRun = 8

// repeats reports whether each element of src is repeated at most shortRun times in adjacent elements of dst, as in nearest-neighbour
// interpolation.
func repeats(dims shape.Shape, ds, ss []int) bool {
	last := len(dims) - 1
	return last > 0 && ss[last] == 0 && ds[last] == 1 && dims[last] <= shortRun && ds[last-1] == dims[last]
}

// repeat writes each element of src n times. Elements of src are step apart.
func repeat[T any](dst []T, n int, src []T, s, step int) {
	if n == 2 {
		for len(dst) >= 2 {
			v := src[s]
			dst[0], dst[1] = v, v
			dst = dst[2:]
			s += step
		}
		return
	}
	for len(dst) >= n {
		v, to := src[s], dst[:n]
		for i := range to {
			to[i] = v
		}
		dst = dst[n:]
		s += step
	}
}

// copyRepeated copies arrays for which repeats reports true. do and so are the indices of their first elements.
func copyRepeated[T any](pool *par.Pool, dst []T, do int, src []T, so int, dims shape.Shape, ds, ss []int) {
	last := len(dims) - 1
	m, n, step := dims[last-1], dims[last], ss[last-1]
	dims, ds, ss = dims[:last-1].Clone(), append([]int(nil), ds[:last-1]...), append([]int(nil), ss[:last-1]...)
	if n == 2 && step == 1 && unsafe.Sizeof(dst[0]) == 4 && vector.Has() && len(dims) > 0 && forward(ds) && forward(ss) {
		copyDoubled(pool, Cast[float32](Bytes(dst[do:])), Cast[float32](Bytes(src[so:])), m, dims, ds, ss)
		return
	}
	w := NewWalk(dims, []int{do, so}, ds, ss)
	pool.For(w.Count(), copyGrain/(8*m*n)+1, func(lo, hi int) {
		at := w.Start(lo)
		for i := lo; i < hi; i++ {
			repeat(dst[at.Pos[0]:][:m*n], n, src, at.Pos[1], step)
			at.Next()
		}
	})
}

// copyDoubled writes each element of src twice, for all lines of m elements in dims. It processes the lines along the longest dimension
// together.
func copyDoubled(pool *par.Pool, dst, src []float32, m int, dims shape.Shape, ds, ss []int) {
	long, end := 0, len(dims)-1
	for i, d := range dims {
		if d > dims[long] {
			long = i
		}
	}
	dims[long], dims[end] = dims[end], dims[long]
	ds[long], ds[end] = ds[end], ds[long]
	ss[long], ss[end] = ss[end], ss[long]
	w := NewWalk(dims[:end], []int{0, 0}, ds[:end], ss[:end])
	rows := dims[end]
	pool.For(w.Count()*rows, copyGrain/(16*m)+1, func(lo, hi int) {
		at := w.Start(lo / rows)
		for first := lo % rows; lo < hi; first = 0 {
			count := min(rows-first, hi-lo)
			from := src[at.Pos[1]+first*ss[end]:]
			vector.Interleave(vector.Rows{Count: count, Cols: 2 * m, DstStep: ds[end], SrcStep: ss[end]}, dst[at.Pos[0]+first*ds[end]:], from, from)
			lo += count
			at.Next()
		}
	})
}

func forward(strides []int) bool {
	for _, s := range strides {
		if s < 0 {
			return false
		}
	}
	return true
}
