package vector

// Interleave is the inverse of Split. For rows of r.Cols elements of dst, it sets dst[y*DstStep+2*i] to even[y*SrcStep+i] and
// dst[y*DstStep+2*i+1] to odd[y*SrcStep+i]. Has must report true.
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

// Sample sets dst[y*DstStep+i] to src[y*SrcStep+2*i] for rows of r.Cols
// elements of src. Has must report true.
func Sample(r Rows, dst, src []float32) {
	if r.Count <= 0 || r.Cols <= 0 {
		return
	}
	_ = src[(r.Count-1)*r.SrcStep+r.Cols-1]
	half := r
	half.Cols = (r.Cols + 1) / 2
	half.check(dst, src, []int{0})
	sampleRows(r.Count, r.Cols, &dst[0], r.DstStep, &src[0], r.SrcStep)
}
