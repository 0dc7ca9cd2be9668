package gemm

// packGroup is the number of neighbouring elements that packAcross takes at a
// time: a cache line of float32, so that no line is fetched twice.
const packGroup = 16

// pack copies a lines x depth matrix into panels of width lines each: element
// (l, p), at src[l*lineStride+p*depthStride], goes to panel l/width, place
// p*width + l%width. The last panel is filled up with zeros.
func pack[T Number](dst, src []T, lines, lineStride, depth, depthStride, width int, kern *Kernel[T]) {
	if lines <= 0 || depth <= 0 {
		return
	}
	if rest := lines % width; rest != 0 {
		clear(dst[(lines-rest)*depth:][:depth*width])
	}
	if lineStride == 1 && kern.Strip != nil {
		for l := 0; l < lines; l += width {
			kern.Strip(dst[l*depth:], src[l:], min(width, lines-l), depthStride, depth, width)
		}
		return
	}
	if lineStride == 1 {
		packAcross(dst, src, lines, depth, depthStride, width)
		return
	}
	if depthStride == 1 && kern.Transpose != nil {
		for l := 0; l < lines; l += width {
			kern.Transpose(dst[l*depth:], src[l*lineStride:], min(width, lines-l), lineStride, depth, width)
		}
		return
	}
	for l := range lines {
		panel := dst[(l/width)*width*depth:][:width*depth]
		from := src[l*lineStride:]
		at := l % width
		if depthStride == 1 {
			for _, v := range from[:depth] {
				panel[at] = v
				at += width
			}
			continue
		}
		for p := range depth {
			panel[at] = from[p*depthStride]
			at += width
		}
	}
}

// packAcross is pack for lines that are neighbours in memory.
func packAcross[T Number](dst, src []T, lines, depth, depthStride, width int) {
	group := max(packGroup/width, 1) * width
	for l0 := 0; l0 < lines; l0 += group {
		n := min(group, lines-l0)
		panels := dst[l0*depth:]
		for p := range depth {
			row := src[p*depthStride+l0:][:n]
			at := p * width
			switch {
			case width == 2:
				for len(row) >= 2 {
					to := panels[at:][:2]
					to[0], to[1] = row[0], row[1]
					row = row[2:]
					at += 2 * depth
				}
			case width == 4:
				for len(row) >= 4 {
					*(*[4]T)(panels[at:]) = [4]T(row)
					row = row[4:]
					at += 4 * depth
				}
			default:
				for len(row) >= width {
					copy(panels[at:], row[:width])
					row = row[width:]
					at += width * depth
				}
			}
			if len(row) > 0 {
				copy(panels[at:], row)
			}
		}
	}
}
