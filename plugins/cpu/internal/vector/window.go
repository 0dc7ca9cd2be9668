package vector

// Rows are rows of a plane: Count rows of Cols elements, of which the first
// begin at the beginning of a slice, Step elements apart.
type Rows struct {
	Count, Cols      int
	DstStep, SrcStep int
}

// Taps sets, for each row y and column i of r,
//
//	dst[y*DstStep+i] = bound(bias + sum over t of weights[t]*src[y*SrcStep+offsets[t]+i])
//
// where bound brings a number into [lo, hi] and leaves NaN. offsets and
// weights have the same length. Products are added in the order of the taps.
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

// Most sets dst[y*DstStep+i] to the greatest src[y*SrcStep+offsets[t]+i] of
// all t: NaN if one of them is, minus infinity if there are none.
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

// check panics when an element to be read or written is not there.
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

// blocks cuts rows into blocks of the shapes that there are.
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

// Split sets even[i] to src[2*i] and odd[i] to src[2*i+1], as far as even and
// odd reach; even is as long as odd or one longer.
func Split(even, odd, src []float32) {
	n := len(odd)
	src = src[:n+len(even)]
	_ = even[:n]
	whole := n / active.lanes * active.lanes
	if whole > 0 {
		active.split(whole, &even[0], &odd[0], &src[0])
	}
	for i := whole; i < n; i++ {
		even[i], odd[i] = src[2*i], src[2*i+1]
	}
	if len(even) > n {
		even[n] = src[2*n]
	}
}
