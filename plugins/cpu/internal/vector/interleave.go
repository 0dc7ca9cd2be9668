package vector

// Interleave is the inverse of Split: it sets, for rows of r.Cols elements of
// dst, dst[y*DstStep+2*i] to even[y*SrcStep+i] and dst[y*DstStep+2*i+1] to
// odd[y*SrcStep+i]. It is for when Has.
func Interleave(r Rows, dst, even, odd []float32) {
	if r.Count <= 0 || r.Cols <= 0 {
		return
	}
	half := r
	half.Cols = (r.Cols + 1) / 2
	half.check(dst, even, []int{0})
	half.Cols = r.Cols / 2
	if half.Cols == 0 {
		odd = even
	} else {
		half.check(dst, odd, []int{0})
	}
	_ = dst[(r.Count-1)*r.DstStep+r.Cols-1]
	interleaveRows(r.Count, r.Cols, &dst[0], r.DstStep, &even[0], &odd[0], r.SrcStep)
}
