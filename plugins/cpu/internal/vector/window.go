package vector

import (
	"slices"
	"unsafe"
)

// Rows describes rows of a plane: Count rows of Cols elements. The steps are the distances between the beginnings of rows, in elements. The
// first row begins at the beginning of a slice.
type Rows struct {
	Count, Cols      int
	DstStep, SrcStep int
}

// Taps sets, for each row y and column i of r,
//
//	dst[y*DstStep+i] = bound(bias + sum over t of weights[t]*src[y*SrcStep+offsets[t]+i])
//
// where bound clamps to [lo, hi] and keeps NaN. offsets and weights have the same length, which is not zero. Products are added in the order
// of the taps.
func Taps(r Rows, dst, src []float32, offsets []int, weights []float32, bias, lo, hi float32) {
	if len(offsets) == 0 {
		panic("vector: no taps")
	}
	if r.Count <= 0 || r.Cols <= 0 {
		return
	}
	r.check(dst, src, offsets)
	weights = weights[:len(offsets)]
	r.blocks(func(shape, rows, cols, to, from int) {
		active.taps[shape](rows, cols, &dst[to], r.DstStep, &src[from], r.SrcStep, &offsets[0], &weights[0], len(offsets), bias, lo, hi)
	})
}

// planeRows is the number of rows that the loops of Plane compute at a time.
const planeRows = 4

// HasPlane reports whether Plane may be called for kernels of size x size
// elements whose windows are stride rows apart.
func HasPlane(size, stride int) bool {
	return active != nil && (size == 3 || size == 5) && (stride == 1 || stride == 2) && active.plane[size/2-1][stride-1] != nil
}

// Plane is like Taps for a kernel of size x size elements whose rows read adjacent rows of the source: tap (y, x) reads at
// offsets[x]+y*step. step is the distance between rows of the source, in elements; the windows of adjacent rows of the result are stride
// rows of the source apart. r.SrcStep is stride*step. offsets has size elements and weights their square.
func Plane(r Rows, size, stride int, dst, src []float32, offsets []int, weights []float32, bias, lo, hi float32) {
	if r.Count <= 0 || r.Cols <= 0 {
		return
	}
	step := r.SrcStep / stride
	offsets, weights = offsets[:size], weights[:size*size]
	whole := r.Count / planeRows * planeRows
	if whole > 0 {
		group := r
		group.Count = whole
		group.check(dst, src, offsets)
		_ = src[(whole-1)*r.SrcStep+(size-1)*step+slices.Max(offsets)+r.Cols-1]
		active.plane[size/2-1][stride-1](whole/planeRows, r.Cols, &dst[0], r.DstStep, &src[0], step, &offsets[0], &weights[0], bias, lo, hi)
	}
	if whole == r.Count {
		return
	}
	var taps [25]int
	for i := range weights {
		taps[i] = offsets[i%size] + i/size*step
	}
	r.Count -= whole
	Taps(r, dst[whole*r.DstStep:], src[whole*r.SrcStep:], taps[:size*size], weights, bias, lo, hi)
}

// Most sets dst[y*DstStep+i] to the maximum over t of src[y*SrcStep+offsets[t]+i], or to NaN if one of these elements is NaN. offsets is not
// empty.
func Most(r Rows, dst, src []float32, offsets []int) {
	if len(offsets) == 0 {
		panic("vector: no taps")
	}
	if r.Count <= 0 || r.Cols <= 0 {
		return
	}
	r.check(dst, src, offsets)
	r.blocks(func(shape, rows, cols, to, from int) {
		active.most[shape](rows, cols, &dst[to], r.DstStep, &src[from], r.SrcStep, &offsets[0], len(offsets))
	})
}

// check panics if an element to be read or written is out of range.
func (r *Rows) check(dst, src []float32, offsets []int) {
	least, most := offsets[0], offsets[0]
	for _, o := range offsets {
		least, most = min(least, o), max(most, o)
	}
	if r.DstStep < 0 || r.SrcStep < 0 || least < 0 {
		panic("vector: negative step or offset")
	}
	_ = dst[(r.Count-1)*r.DstStep+r.Cols-1]
	_ = src[(r.Count-1)*r.SrcStep+most+r.Cols-1]
}

// blocks divides rows into blocks of the supported shapes.
func (r *Rows) blocks(f func(shape, rows, cols, to, from int)) {
	wide := 4 * active.lanes
	for at := 0; at < r.Cols; at += wide {
		cols := min(wide, r.Cols-at)
		vectors := (cols + active.lanes - 1) / active.lanes
		many, single, group := shape4x1, shape1x1, 4
		switch vectors {
		case 2:
			many, single, group = shape2x2, shape1x2, 2
		case 3:
			many, single, group = shape1x3, shape1x3, 1
		case 4:
			many, single, group = shape1x4, shape1x4, 1
		}
		whole := r.Count / group * group
		if whole > 0 {
			f(many, whole, cols, at, at)
		}
		if rest := r.Count - whole; rest > 0 {
			f(single, rest, cols, whole*r.DstStep+at, whole*r.SrcStep+at)
		}
	}
}

// Copy sets dst[y*DstStep+i] to src[y*SrcStep+i].
func Copy(r Rows, dst, src []float32) {
	if r.Count > 0 && r.Cols > 0 {
		r.check(dst, src, []int{0})
		active.copyRows(r.Count, r.Cols, &dst[0], r.DstStep, &src[0], r.SrcStep)
	}
}

// CopyNonTemporal is like Copy, with non-temporal stores where possible. Call Fence before another thread reads dst.
func CopyNonTemporal(r Rows, dst, src []float32) {
	if r.Count <= 0 || r.Cols <= 0 {
		return
	}
	r.check(dst, src, []int{0})
	copied := active.copyRows
	if (uintptr(unsafe.Pointer(&dst[0]))|uintptr(4*r.DstStep)|uintptr(4*r.Cols))&uintptr(4*active.lanes-1) == 0 {
		copied = active.copyRowsNonTemporal
	}
	copied(r.Count, r.Cols, &dst[0], r.DstStep, &src[0], r.SrcStep)
}

// Split separates the even and odd elements of rows of r.Cols elements of src: even[y*DstStep+i] is set to src[y*SrcStep+2*i] and
// odd[y*DstStep+i] to src[y*SrcStep+2*i+1].
func Split(r Rows, even, odd, src []float32) {
	if r.Count <= 0 || r.Cols <= 0 {
		return
	}
	half := r
	half.Cols = (r.Cols + 1) / 2
	half.check(even, src, []int{0})
	half.Cols = r.Cols / 2
	if half.Cols == 0 {
		odd = even
	} else {
		half.check(odd, src, []int{0})
	}
	_ = src[(r.Count-1)*r.SrcStep+r.Cols-1]
	active.splitRows(r.Count, r.Cols, &even[0], &odd[0], r.DstStep, &src[0], r.SrcStep)
}
