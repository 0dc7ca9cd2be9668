package micro

// packing adapts functions in assembly to the packing functions of a Kernel.
type packing[T Float] struct {
	// strip copies lines that are adjacent in memory: any number up to NR if stripMasked is set, else exactly stripLines.
	strip       func(lines, depth int, src *T, row int, dst *T, width int)
	stripLines  int
	stripMasked bool

	// collect is like strip, for rows that each begin at an arbitrary offset.
	collect func(lines, depth int, src *T, offsets *int, dst *T, width int)
	// transpose transposes up to transposeLines lines; nil where squares are used.
	transpose      func(lines, depth int, src *T, line int, dst *T, width int)
	transposeLines int

	// square4 and square2 are used if transpose is nil. They transpose four or two lines, and a multiple of step elements of each. square4
	// may be nil.
	square4, square2 func(depth int, src *T, line int, dst *T, width int)
	step             int
}

func (n *packing[T]) runStrip(dst, src []T, lines, row, depth, width int) {
	_, _ = src[(depth-1)*row+lines-1], dst[(depth-1)*width+lines-1]
	if lines == n.stripLines || n.stripMasked {
		n.strip(lines, depth, &src[0], row, &dst[0], width)
		return
	}
	if lines == six && width == six {
		for p := range depth {
			*(*[six]T)(dst[p*six:]) = [six]T(src[p*row:])
		}
		return
	}
	PackStrips(dst, src, lines, depth, row, width)
}

func (n *packing[T]) runCollect(dst, src []T, lines int, offsets []int, width int) {
	if lines == 0 || len(offsets) == 0 {
		return
	}
	least, most := offsets[0], offsets[0]
	for _, o := range offsets {
		least, most = min(least, o), max(most, o)
	}
	_, _, _ = src[least], src[most+lines-1], dst[(len(offsets)-1)*width+lines-1]
	if lines == n.stripLines || n.stripMasked {
		n.collect(lines, len(offsets), &src[0], &offsets[0], &dst[0], width)
		return
	}
	for p, o := range offsets {
		to, from := dst[p*width:][:lines], src[o:][:lines]
		for l := range to {
			to[l] = from[l]
		}
	}
}

// six is the number of rows of an AVX2 tile.
const six = 6

func (n *packing[T]) runTranspose(dst, src []T, lines, line, depth, width int) {
	_, _ = src[(lines-1)*line+depth-1], dst[(depth-1)*width+lines-1]
	if n.transpose != nil {
		for l := 0; l < lines; l += n.transposeLines {
			n.transpose(min(n.transposeLines, lines-l), depth, &src[l*line], line, &dst[l], width)
		}
		return
	}
	l, whole := 0, depth/n.step*n.step
	if whole > 0 {
		for ; n.square4 != nil && l+4 <= lines; l += 4 {
			n.square4(whole, &src[l*line], line, &dst[l], width)
		}
		for ; l+2 <= lines; l += 2 {
			n.square2(whole, &src[l*line], line, &dst[l], width)
		}
	}
	for i := range lines {
		p := whole
		if i >= l {
			p = 0
		}
		for ; p < depth; p++ {
			dst[p*width+i] = src[i*line+p]
		}
	}
}
