package vector

import "unsafe"

// Transpose sets dst[p*width+l] to src[l*line+p] for l < lines and p < depth. Has must report true.
func Transpose(lines, depth int, dst []float32, width int, src []float32, line int) {
	transpose(lines, depth, dst, width, src, line, false)
}

// TransposeNonTemporal is like Transpose, with non-temporal stores where possible. Call Fence before another thread reads dst.
func TransposeNonTemporal(lines, depth int, dst []float32, width int, src []float32, line int) {
	transpose(lines, depth, dst, width, src, line, true)
}

func transpose(lines, depth int, dst []float32, width int, src []float32, line int, nonTemporal bool) {
	if lines <= 0 || depth <= 0 {
		return
	}
	if width < 0 || line < 0 {
		panic("vector: negative step")
	}
	_, _ = dst[(depth-1)*width+lines-1], src[(lines-1)*line+depth-1]
	if f := active.transpose; f != nil {
		for l := 0; l < lines; l += active.lanes {
			if nonTemporal && lines-l >= active.lanes && (uintptr(unsafe.Pointer(&dst[l]))|uintptr(4*width))%64 == 0 {
				active.transposeNonTemporal(active.lanes, depth, &src[l*line], line, &dst[l], width)
				continue
			}
			f(min(active.lanes, lines-l), depth, &src[l*line], line, &dst[l], width)
		}
		return
	}
	wide, deep := lines&^3, depth&^3
	for l := 0; l < wide && deep > 0; l += 4 {
		active.square(deep, &src[l*line], line, &dst[l], width)
	}
	for p := range depth {
		from := 0
		if p < deep {
			from = wide
		}
		for l := from; l < lines; l++ {
			dst[p*width+l] = src[l*line+p]
		}
	}
}
