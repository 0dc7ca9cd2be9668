package panel

import "github.com/goburn/burn/plugins/cpu/internal/gemm/micro"

// Pack copies a lines x depth matrix into panels of width lines each: element (l, p), at src[l*lineStride+p*depthStride], goes to panel
// l/width, position p*width + l%width. The last panel is filled up with zeros.
func Pack[T micro.Number](dst, src []T, lines, lineStride, depth, depthStride, width int, kern *micro.Kernel[T]) {
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
		micro.PackStrips(dst, src, lines, depth, depthStride, width)
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
