package micro

// portable4x4 unrolls the inner dimension by four.
func portable4x4[T Number](k int, a, b, c []T, ldc int, accumulate bool) {
	var c00, c01, c02, c03 T
	var c10, c11, c12, c13 T
	var c20, c21, c22, c23 T
	var c30, c31, c32, c33 T
	a, b = a[:4*k], b[:4*k]
	for len(a) >= 16 && len(b) >= 16 {
		ap, bp := (*[16]T)(a), (*[16]T)(b)
		b0, b1, b2, b3 := bp[0], bp[1], bp[2], bp[3]
		a0 := ap[0]
		c00, c01, c02, c03 = c00+a0*b0, c01+a0*b1, c02+a0*b2, c03+a0*b3
		a1 := ap[1]
		c10, c11, c12, c13 = c10+a1*b0, c11+a1*b1, c12+a1*b2, c13+a1*b3
		a2 := ap[2]
		c20, c21, c22, c23 = c20+a2*b0, c21+a2*b1, c22+a2*b2, c23+a2*b3
		a3 := ap[3]
		c30, c31, c32, c33 = c30+a3*b0, c31+a3*b1, c32+a3*b2, c33+a3*b3
		b0, b1, b2, b3 = bp[4], bp[5], bp[6], bp[7]
		a0 = ap[4]
		c00, c01, c02, c03 = c00+a0*b0, c01+a0*b1, c02+a0*b2, c03+a0*b3
		a1 = ap[5]
		c10, c11, c12, c13 = c10+a1*b0, c11+a1*b1, c12+a1*b2, c13+a1*b3
		a2 = ap[6]
		c20, c21, c22, c23 = c20+a2*b0, c21+a2*b1, c22+a2*b2, c23+a2*b3
		a3 = ap[7]
		c30, c31, c32, c33 = c30+a3*b0, c31+a3*b1, c32+a3*b2, c33+a3*b3
		b0, b1, b2, b3 = bp[8], bp[9], bp[10], bp[11]
		a0 = ap[8]
		c00, c01, c02, c03 = c00+a0*b0, c01+a0*b1, c02+a0*b2, c03+a0*b3
		a1 = ap[9]
		c10, c11, c12, c13 = c10+a1*b0, c11+a1*b1, c12+a1*b2, c13+a1*b3
		a2 = ap[10]
		c20, c21, c22, c23 = c20+a2*b0, c21+a2*b1, c22+a2*b2, c23+a2*b3
		a3 = ap[11]
		c30, c31, c32, c33 = c30+a3*b0, c31+a3*b1, c32+a3*b2, c33+a3*b3
		b0, b1, b2, b3 = bp[12], bp[13], bp[14], bp[15]
		a0 = ap[12]
		c00, c01, c02, c03 = c00+a0*b0, c01+a0*b1, c02+a0*b2, c03+a0*b3
		a1 = ap[13]
		c10, c11, c12, c13 = c10+a1*b0, c11+a1*b1, c12+a1*b2, c13+a1*b3
		a2 = ap[14]
		c20, c21, c22, c23 = c20+a2*b0, c21+a2*b1, c22+a2*b2, c23+a2*b3
		a3 = ap[15]
		c30, c31, c32, c33 = c30+a3*b0, c31+a3*b1, c32+a3*b2, c33+a3*b3
		a, b = a[16:], b[16:]
	}
	for len(a) >= 4 && len(b) >= 4 {
		ap, bp := (*[4]T)(a), (*[4]T)(b)
		b0, b1, b2, b3 := bp[0], bp[1], bp[2], bp[3]
		a0 := ap[0]
		c00, c01, c02, c03 = c00+a0*b0, c01+a0*b1, c02+a0*b2, c03+a0*b3
		a1 := ap[1]
		c10, c11, c12, c13 = c10+a1*b0, c11+a1*b1, c12+a1*b2, c13+a1*b3
		a2 := ap[2]
		c20, c21, c22, c23 = c20+a2*b0, c21+a2*b1, c22+a2*b2, c23+a2*b3
		a3 := ap[3]
		c30, c31, c32, c33 = c30+a3*b0, c31+a3*b1, c32+a3*b2, c33+a3*b3
		a, b = a[4:], b[4:]
	}
	r0 := (*[4]T)(c[0*ldc:])
	r1 := (*[4]T)(c[1*ldc:])
	r2 := (*[4]T)(c[2*ldc:])
	r3 := (*[4]T)(c[3*ldc:])
	if accumulate {
		c00 += r0[0]
		c01 += r0[1]
		c02 += r0[2]
		c03 += r0[3]
		c10 += r1[0]
		c11 += r1[1]
		c12 += r1[2]
		c13 += r1[3]
		c20 += r2[0]
		c21 += r2[1]
		c22 += r2[2]
		c23 += r2[3]
		c30 += r3[0]
		c31 += r3[1]
		c32 += r3[2]
		c33 += r3[3]
	}
	*r0 = [4]T{c00, c01, c02, c03}
	*r1 = [4]T{c10, c11, c12, c13}
	*r2 = [4]T{c20, c21, c22, c23}
	*r3 = [4]T{c30, c31, c32, c33}
}
