package photo

import "image"

// FromWebP converts video-range 4:2:0 YCbCr (ITU-R 601) as libwebp does by default: each chroma sample is interpolated from the
// four around it with weights 9, 3, 3 and 1 (src/dsp/upsampling.c), and colours are computed in 14-bit fixed point
// (src/dsp/yuv.h).
func FromWebP(img *image.YCbCr) *image.NRGBA {
	w, h := img.Rect.Dx(), img.Rect.Dy()
	out := image.NewNRGBA(image.Rect(0, 0, w, h))
	chroma := make([][2]int32, w)
	rows := (h + 1) / 2
	for y := range h {
		// Rows 2k-1 and 2k are between the chroma rows k-1 and k.
		own := y / 2
		other := min(max(own-1+2*(y%2), 0), rows-1)
		interpolate(chroma, img, own, other)
		luma := img.Y[y*img.YStride:][:w]
		line := out.Pix[y*out.Stride:][:4*w]
		for x, l := range luma {
			yy, u, v := high(int32(l), 19077), chroma[x][0], chroma[x][1]
			line[4*x] = clip6(yy + high(v, 26149) - 14234)
			line[4*x+1] = clip6(yy - high(u, 6419) - high(v, 13320) + 8708)
			line[4*x+2] = clip6(yy + high(u, 33050) - 17685)
			line[4*x+3] = 255
		}
	}
	return out
}

// interpolate computes u and v of a row of pixels. The chroma row own is next to it, and other is farther away.
func interpolate(dst [][2]int32, img *image.YCbCr, own, other int) {
	last := (len(dst)+1)/2 - 1
	for i, plane := range [2][]byte{img.Cb, img.Cr} {
		a, b := plane[own*img.CStride:], plane[other*img.CStride:]
		for x := range dst {
			c := x / 2
			d := c - 1 + 2*(x%2)
			if d < 0 || d > last {
				dst[x][i] = (3*int32(a[c]) + int32(b[c]) + 2) >> 2
				continue
			}
			// The sum is rounded in two steps.
			p, q, r, s := int32(a[c]), int32(a[d]), int32(b[c]), int32(b[d])
			diagonal := (p + q + r + s + 8 + 2*(q+r)) >> 3
			dst[x][i] = (diagonal + p) >> 1
		}
	}
}

func high(v, coefficient int32) int32 { return v * coefficient >> 8 }

func clip6(v int32) uint8 { return clamp(v >> 6) }
