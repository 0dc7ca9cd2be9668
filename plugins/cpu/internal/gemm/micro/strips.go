package micro

// packGroup is the approximate number of adjacent elements that PackStrips copies at a time. It is a cache line of float32, so that each
// cache line is fetched once.
const packGroup = 16

// PackStrips copies a lines x depth matrix, whose lines are adjacent in memory, into panels of width lines: element (l, p), at
// src[l+p*depthStride], goes to panel l/width, position p*width + l%width. It does not write missing lines of the last panel.
func PackStrips[T Number](dst, src []T, lines, depth, depthStride, width int) {
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
