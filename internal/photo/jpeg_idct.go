package photo

// zigzag maps coefficient k to its row-major position in a block.
var zigzag = [64]uint8{
	0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7, 14, 21, 28,
	35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
}

// samples returns the plane of the component, with rows of 8·across samples.
func (p *part) samples() []byte {
	stride := 8 * p.across
	out := make([]byte, 64*p.across*p.down)
	var block [64]int32
	for i := range p.across * p.down {
		for k, z := range zigzag {
			block[z] = int32(p.coefficients[64*i+k]) * p.quant[k]
		}
		at := i/p.across*8*stride + i%p.across*8
		for x := range 8 {
			transform(&block, x, 8, 11)
		}
		for y := range 8 {
			transform(&block, 8*y, 1, 18)
			for x := range 8 {
				out[at+y*stride+x] = clamp(block[8*y+x] + 128)
			}
		}
	}
	return out
}

// transform computes the inverse DCT of eight numbers (Loeffler, Ligtenberg and Moschytz, ICASSP 1989) in 13-bit fixed point,
// rounded by shift bits. The arithmetic equals jidctint.c in libjpeg, including the number of bits kept between the two passes.
func transform(b *[64]int32, at, step int, shift uint) {
	in := func(i int) int32 { return b[at+i*step] }
	z1 := (in(2) + in(6)) * 4433
	even2, even3 := z1-in(6)*15137, z1+in(2)*6270
	even0, even1 := (in(0)+in(4))<<13, (in(0)-in(4))<<13
	e0, e3, e1, e2 := even0+even3, even0-even3, even1+even2, even1-even2

	t0, t1, t2, t3 := in(7), in(5), in(3), in(1)
	z5 := (t0 + t2 + t1 + t3) * 9633
	a, c := -(t0+t3)*7373, -(t1+t2)*20995
	e, g := z5-(t0+t2)*16069, z5-(t1+t3)*3196
	t0, t1, t2, t3 = t0*2446+a+e, t1*16819+c+g, t2*25172+c+e, t3*12299+a+g

	round := int32(1) << (shift - 1)
	for i, v := range [8]int32{e0 + t3, e1 + t2, e2 + t1, e3 + t0, e3 - t0, e2 - t1, e1 - t2, e0 - t3} {
		b[at+i*step] = (v + round) >> shift
	}
}
