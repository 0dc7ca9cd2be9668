package photo

// upsampler produces rows of one plane at the size of the image: with a triangle filter if the plane is half as wide (and more than two
// samples wide) or half as high ("fancy upsampling", jdsample.c of libjpeg-turbo), else by repetition.
type upsampler struct {
	plane     []byte
	stride    int
	w, h      int // size of the plane
	dx, dy    int // image samples per sample of the plane
	out       []byte
	sums      []int32 // a row of the plane; if dy is 2, three times the row plus its neighbour
	triangleX bool
}

func newUpsampler(c *part, w, h, maxH, maxV int) *upsampler {
	dx, dy := maxH/c.h, maxV/c.v
	pw, ph := ceilDiv(w, dx), ceilDiv(h, dy)
	return &upsampler{plane: c.samples(), stride: c.across * 8, w: pw, h: ph, dx: dx, dy: dy,
		out: make([]byte, pw*dx), sums: make([]int32, pw), triangleX: dx == 2 && dy <= 2 && pw > 2}
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

func (u *upsampler) line(y int) []byte { return u.plane[min(max(y, 0), u.h-1)*u.stride:][:u.w] }

// row returns row y of the image. It is valid until the next call.
func (u *upsampler) row(y int) []byte {
	near := u.line(y / u.dy)
	other := u.line(y/u.dy - 1 + 2*(y%2)) // the closer neighbour, if dy is 2
	switch {
	case u.triangleX && u.dy == 2:
		for x := range near {
			u.sums[x] = 3*int32(near[x]) + int32(other[x])
		}
		u.spread(8, 7, 4)
	case u.triangleX:
		for x := range near {
			u.sums[x] = int32(near[x])
		}
		u.spread(1, 2, 2)
	case u.dx == 1 && u.dy == 2:
		bias := int32(1 + y%2)
		for x := range near {
			u.out[x] = uint8((3*int32(near[x]) + int32(other[x]) + bias) >> 2)
		}
	case u.dx == 1:
		return near
	default:
		for x := range u.out {
			u.out[x] = near[x/u.dx]
		}
	}
	return u.out
}

// spread writes two samples for each sum: each is three parts of the sum and one part of the neighbouring sum on that side or, at the ends,
// of the sum itself. All weights add up to 1<<shift; left and right are the rounding terms.
func (u *upsampler) spread(left, right int32, shift int) {
	s, last := u.sums, len(u.sums)-1
	for x := range s {
		before, after := s[max(x-1, 0)], s[min(x+1, last)]
		u.out[2*x] = uint8((3*s[x] + before + left) >> shift)
		u.out[2*x+1] = uint8((3*s[x] + after + right) >> shift)
	}
}
